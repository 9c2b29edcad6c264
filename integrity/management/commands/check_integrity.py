import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from annotation.management.base import ActionCommand, find_study
from integrity.catalogue import CHECKS, CheckOutcome, run


class Command(ActionCommand):
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--study", metavar="SLUG")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        study_id = find_study(options["study"]).pk if options["study"] else None
        results = []
        try:
            for result in run(CHECKS, study_id=study_id):
                results.append(result)
                if not options["json"]:
                    self.stdout.write(_line(result))
        except OSError as error:  # the shared store does not answer, or a file cannot be read
            raise CommandError(f"Not all checks could run: {error}") from error
        broken = [result for result in results if not result.holds]
        if options["json"]:
            checks = [
                {
                    "name": one.check.name,
                    "invariant": one.check.invariant,
                    "holds": one.holds,
                    "sentence": one.check.sentence,
                    "count": one.offenders.count,
                    "rows": list(one.offenders.rows),
                }
                for one in results
            ]
            document = {"holds": not broken, "checks": checks}
            self.stdout.write(json.dumps(document, indent=2))
        if broken:
            raise CommandError(f"{len(broken)} of {len(results)} checks failed.")


def _line(result: CheckOutcome) -> str:
    check, found = result.check, result.offenders
    if result.holds:
        return f"ok      {check.invariant:>2}  {check.name}"
    more = ", …" if found.count > len(found.rows) else ""
    return (
        f"BROKEN  {check.invariant:>2}  {check.name}: {check.sentence} {found.count:,} found: "
        f"{', '.join(found.rows)}{more}"
    )
