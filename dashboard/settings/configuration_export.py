"""Export of a study's whole configuration as one object, from which ``create_study`` recreates it."""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Any

from accounts.models import Environment
from annotation.actions.designs import design_of
from annotation.actions.instructions import texts_of
from annotation.actions.studies import settings_of
from annotation.models import CheckKey, Story, Study
from dashboard.releases.human_baseline import newest_consent
from dashboard.settings.configuration_schema import JOIN_LINK
from publishing.queries import statement_of
from qualification.models import AnswerKey, Round, RoundStory
from recruitment.join_links import own_source
from recruitment.models import JoinLink


def configuration_of(study: Study, *, now: datetime) -> dict[str, Any]:
    """Return every decision about a study, in the format of docs/studies.md, without paths.

    It contains the answer key, so show it only to members who may change the study. The slug, the main
    stories and all data about participants are left out. The study's protocol must be installed.
    """
    document = settings_of(study) | {
        "pay_rate": None if study.pay_rate is None else str(study.pay_rate),
        "serving_seed": study.serving_seed,
        "qualification_required": study.gate != Study.Gate.NOT_REQUIRED,
        "consent": newest_consent(study),
    }
    if not study.most_votes:
        del document["most_votes"], document["decided_by"]
    if study.qualified_through:
        document["qualified_through"] = study.qualified_through.slug
    if study.instructions:
        document["instructions"] = texts_of(study)
    if study.environment == Environment.REHEARSAL:
        document["rehearsal"] = True
    required = document["qualification_required"]
    qualification = test_of(study) if required else []
    optional = {
        "qualification": qualification[0] if len(qualification) == 1 else qualification,
        "statement": {name: said for name, said in asdict(statement_of(study, at=now)).items() if said},
        "join_link": _join_link(study),
        "checks": _checks(study),
        "design": design_of(study),
    }
    return document | {name: value for name, value in optional.items() if value}


def plan_of(study: Study, *, now: datetime) -> dict[str, Any]:
    """Return the decisions of :func:`configuration_of` that a release may publish as the study's plan.

    Stories with known answers are only counted. What says nothing about the procedure is left out: title,
    description, contact, the data statement and the join link.
    """
    plan = configuration_of(study, now=now)
    for name in ("title", "description", "contact", "statement", "join_link"):
        plan.pop(name, None)
    plan["qualification"] = [_without_answers(one) for one in test_of(study)]
    if "checks" in plan:
        plan["checks"].pop("key")
        plan["checks"]["stories"] = len(plan["checks"]["stories"])
    return plan | {"stories": Story.objects.filter(study=study).main().count()}


def _without_answers(known: dict[str, Any]) -> dict[str, Any]:
    """Return a round with numbers of stories, and of its key only the pass mark."""
    shown = known | {"stories": len(known["stories"])}
    key = shown.pop("key")
    mark = {"enough": key.get("enough"), "must_pass": len(key.get("must_pass", ()))}
    return shown | {name: number for name, number in mark.items() if number}


def test_of(study: Study) -> list[dict[str, Any]]:
    """Return the active rounds of the qualification test and the practice, each with its stories and key."""
    rounds = [*Round.objects.active_in(study), Round.objects.practice_in(study)]
    return [_round(round) for round in rounds if round]


def _round(round: Round) -> dict[str, Any]:
    key = round.keys.order_by("-version")[0]
    entries = round.round_stories.select_related("story__study").order_by("position")
    return {
        **({} if round.kind == Round.Kind.TEST else {"kind": round.kind}),
        "title": round.title,
        "attempts": round.attempts_allowed,
        "pays_on_fail": round.pays_on_fail,
        "stories": [_source_row(entry.story) for entry in entries],
        "key": _key(key, entries),
    }


def _checks(study: Study) -> dict[str, Any] | None:
    keys = CheckKey.objects.filter(story__study=study, state=CheckKey.State.IN_USE)
    found = keys.select_related("story__study").prefetch_related("options").order_by("story__story_id")
    if not found:
        return None
    return asdict(study.check_rules) | {
        "stories": [_source_row(key.story) for key in found],
        "key": {key.story.story_id: key.accepted for key in found},
    }


def _source_row(story: Story) -> dict[str, Any]:
    return story.protocol.source_row(story.as_row())


def _key(key: AnswerKey, entries: Iterable[RoundStory]) -> dict[str, Any]:
    ids = {entry.pk: entry.story.story_id for entry in entries}
    optional = {
        "reasons": {ids[at]: key.why[at] for at in ids if at in key.why},
        "note": key.note,
        "enough": key.enough,
        "must_pass": [entry.story.story_id for entry in entries if entry.position in key.must_pass],
    }
    stories = {ids[at]: key.accepted[at] for at in ids}
    return {"stories": stories} | {name: said for name, said in optional.items() if said}


def _join_link(study: Study) -> dict[str, Any] | None:
    """Return the join link's settings, except its source, which belongs to this study alone."""
    link = JoinLink.objects.filter(study=study).first()
    if link is None:
        return None
    own = link.source == own_source(study.pk)
    said = {
        name: getattr(link, name)
        for name in sorted(JOIN_LINK["properties"])
        if not (own and name == "source")
    }
    return {name: value for name, value in said.items() if value}
