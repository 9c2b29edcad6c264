import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError

from annotation.management.base import ActionCommand
from operations.doctor import Level, examine


class Command(ActionCommand):
    requires_system_checks = ()  # they are among what it examines

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        findings = []
        for check, finding in examine():
            findings.append({"check": check, **asdict(finding)})
            if not options["json"]:
                remedy = f". {finding.remedy}" if finding.remedy else ""
                self.stdout.write(f"{finding.level:<8} {check:<12} {finding.text}{remedy}")
        problems = sum(finding["level"] == Level.PROBLEM for finding in findings)
        if options["json"]:
            self.stdout.write(json.dumps({"ok": not problems, "findings": findings}, indent=2))
        if problems:
            raise CommandError(f"{problems} problem{'s' * (problems != 1)} found.")
