import json
import secrets
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from accounts.errors import DomainError
from annotation.management.base import ActionCommand, find_study
from annotation.models import Study
from dashboard import actions
from dashboard.releases.human_baseline import Admission, BaselinePlan, Viewers, Who
from dashboard.settings.configuration import InvalidConfiguration, RoundConfiguration, read_round
from publishing.human_baseline.drawing import draw
from publishing.models import Release
from tomannot import clock

MOST_SEED = 2**62


class Command(ActionCommand):
    refusals = (DomainError, OSError)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("number", metavar="NUMBER", type=int)
        parser.add_argument("--study", metavar="NEW")
        parser.add_argument("--title")
        parser.add_argument("--per-scenario", type=int, default=5, metavar="N")
        parser.add_argument("--seed", type=int, metavar="S")
        parser.add_argument("--votes", type=int, default=3, metavar="N")
        parser.add_argument("--who", choices=list(Who), default=Who.QUALIFIED)
        parser.add_argument("--round", type=Path, metavar="FILE")
        parser.add_argument("--viewers", choices=list(Viewers), default=Viewers.AUTO)
        parser.add_argument("--contact", default="", metavar="EMAIL")
        parser.add_argument("--consent", type=Path, metavar="FILE")
        parser.add_argument("--truth", type=Path, metavar="FILE")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        source = find_study(options["slug"])
        release = Release.objects.filter(study=source, number=options["number"]).first()
        if release is None:
            raise CommandError(f"“{source.slug}” has no release {options['number']}.")
        plan = _plan(source, options)
        if options["truth"]:
            truth = draw(release, per_scenario=plan.per_scenario, seed=plan.seed).truth()
            options["truth"].write_text(json.dumps(truth, indent=1) + "\n", encoding="utf-8")
        study, admission = actions.draw_baseline(release=release, plan=plan, by=None, now=clock.now())
        if options["json"]:
            self.stdout.write(json.dumps(_facts(study, admission)))
            return
        facts = {"study": study, "sample": study.baseline_sample, "plan": plan, "admission": admission}
        self.stdout.write(self.text(**facts, by_test=plan.who is Who.QUALIFIED))


def _plan(source: Study, options: dict[str, Any]) -> BaselinePlan:
    wrong = [
        f"--{name}: give at least 1."
        for name in ("per-scenario", "votes")
        if options[name.replace("-", "_")] < 1
    ]
    seed = secrets.randbits(32) if options["seed"] is None else options["seed"]
    if abs(seed) > MOST_SEED:
        wrong.append("--seed: give a whole number of at most 18 digits.")
    who = Who(options["who"])
    if (options["round"] is not None) != (who is Who.ROUND):
        wrong.append("--round: give it with --who round, and only then.")
    if wrong:
        raise CommandError("\n".join(wrong), returncode=2)
    slug = options["study"] or f"{source.slug}-{options['number']}-baseline"
    return BaselinePlan(
        slug=slug,
        title=options["title"] or f"{source.title}: questions",
        seed=seed,
        per_scenario=options["per_scenario"],
        votes_per_question=options["votes"],
        who=who,
        viewers=Viewers(options["viewers"]),
        contact=options["contact"],
        consent=_text(options["consent"]) if options["consent"] else "",
        round=_round(options["round"]) if options["round"] else None,
    )


def _text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise CommandError(f"--consent: {path} cannot be read as UTF-8: {error}", returncode=2) from error
    if not text:
        raise CommandError(f"--consent: {path} is empty.", returncode=2)
    return text


def _round(path: Path) -> RoundConfiguration:
    try:
        return read_round(path)
    except InvalidConfiguration as error:
        raise CommandError(str(error), returncode=2) from error


def _facts(study: Study, admission: Admission) -> dict[str, Any]:
    return {
        "study": study.slug,
        **study.baseline_sample.provenance(),
        "viewers": len(admission.viewers),
        "excluded": len(admission.excluded),
        "qualified_remaining": admission.remaining,
    }
