from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.db import DatabaseError

from accounts.errors import DomainError
from annotation.management.base import ActionCommand
from operations.actions import restore


class Command(ActionCommand):
    refusals = (DomainError, DatabaseError, OSError)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("directory", metavar="DIR", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        releases = restore(directory=options["directory"].absolute(), progress=self.stderr.write)
        for release in releases:
            self.stdout.write(f"ok {release}")
        self.stderr.write("Restored. Now run manage.py check_integrity and manage.py doctor.")
