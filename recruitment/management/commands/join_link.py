from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from annotation.management.base import ActionCommand, find_study
from recruitment.actions import remove_join_link, set_join_link
from recruitment.join_links import PLATFORMS
from recruitment.links import join_address
from tomannot import clock

TEXTS = {
    "parameter": ("NAME", "under which name the id comes (default participant)"),
    "placeholder": ("TEXT", "what the platform replaces by the id, such as %%SURVEY_CODE%%"),
    "source": ("NAME", "whose ids they are; not to be changed once people have come"),
    "return_url": ("URL", "the way back, with {code}, {participant}"),
    "screen_out_url": ("URL", "the way back of who has done less: the test, or too few stories"),
    "leave_url": ("URL", "the way back of who has done nothing, and has no code"),
}


class Command(ActionCommand):
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG", help="the study")
        parser.add_argument("--platform", choices=PLATFORMS, help="fill in what is known of this one")
        for name, (metavar, words) in TEXTS.items():
            parser.add_argument(f"--{name.replace('_', '-')}", metavar=metavar, help=words)
        parser.add_argument("--most-people", type=int, metavar="N", help="let in no more people than these")
        parser.add_argument("--least-stories", type=int, metavar="N", help="stories that complete the study")
        parser.add_argument("--close", action="store_true", help="let nobody new in; codes go on being shown")
        parser.add_argument("--reopen", action="store_true", help="let people in again, any number of them")
        parser.add_argument("--remove", action="store_true", help="let nobody in by it any more")

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
    """Return the settings that were named, over those known of the platform that was named."""
    said = dict(PLATFORMS[options["platform"]].settings) if options["platform"] else {}
    if options["reopen"]:
        said |= {"closes_at": None, "most_people": None}
    if options["close"]:
        said |= {"closes_at": now}
    named = (*TEXTS, "most_people", "least_stories")
    return said | {name: options[name] for name in named if options[name] is not None}
