from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from annotation.management.base import ActionCommand, find_study
from recruitment.actions import remove_join_link, set_join_link
from recruitment.join_links import PLATFORMS
from recruitment.links import join_address
from tomannot import clock

TEXTS = ("parameter", "placeholder", "source", "return_url", "screen_out_url", "leave_url")


class Command(ActionCommand):
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("--platform", choices=PLATFORMS)
        for name in TEXTS:
            parser.add_argument(f"--{name.replace('_', '-')}")
        parser.add_argument("--most-people", type=int, metavar="N")
        parser.add_argument("--least-stories", type=int, metavar="N")
        parser.add_argument("--close", action="store_true")
        parser.add_argument("--reopen", action="store_true")
        parser.add_argument("--remove", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["slug"])
        now = clock.now()
        if options["remove"]:
            removed = remove_join_link(study=study, by=None, now=now)
            self.stdout.write("The join link is gone." if removed else "There is no join link.")
            return
        link = set_join_link(study=study, by=None, now=now, **_settings(options, now=now))
        self.stdout.write(join_address(link))


def _settings(options: dict[str, Any], *, now: datetime) -> dict[str, Any]:
    changes = dict(PLATFORMS[options["platform"]]) if options["platform"] else {}
    if options["reopen"]:
        changes |= {"closes_at": None, "most_people": None}
    if options["close"]:
        changes |= {"closes_at": now}
    named = (*TEXTS, "most_people", "least_stories")
    return changes | {name: options[name] for name in named if options[name] is not None}
