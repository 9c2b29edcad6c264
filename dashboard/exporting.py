"""A study's whole configuration as one object, from which ``create_study`` makes the same study again."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from accounts.models import Environment
from annotation.models import CheckKey, Story, Study
from annotation.protocols.base import field_name
from dashboard.baseline import newest_consent
from dashboard.checks import accepted_by
from dashboard.configuration.study import JOIN_LINK_FIELDS
from publishing.queries import statement_of
from qualification.models import AcceptableOption, AnswerKey, Round
from recruitment.joining import own_source
from recruitment.models import JoinLink


def configuration_of(study: Study, *, now: datetime) -> dict[str, Any]:
    """Everything that was decided about a study, in the form of docs/studies.md, without any path.

    It holds the answer key, so it is for people who may change the study. It does not hold the slug,
    the stories people judge, or anything about people. Reading it needs the study's protocol to be
    installed.
    """
    document: dict[str, Any] = {
        "title": study.title,
        "contact": study.contact,
        "description": study.description,
        "protocol": study.protocol_name,
        "votes_per_story": study.votes_per_story,
        "story_cap": study.story_cap,
        "lease_minutes": study.lease_minutes,
        "change_hours": study.change_hours,
        "pay_rate": None if study.pay_rate is None else str(study.pay_rate),
        "currency": study.currency,
        "license": study.license,
        "serving_seed": study.serving_seed,
        "qualification_required": study.gate != Study.Gate.NOT_REQUIRED,
        "consent": newest_consent(study),
    }
    if study.qualified_through:
        document["qualified_through"] = study.qualified_through.slug
    if study.environment == Environment.REHEARSAL:
        document["rehearsal"] = True
    required = document["qualification_required"]
    qualification = [_round(round) for round in Round.objects.active_in(study)] if required else []
    optional = {
        "qualification": qualification[0] if len(qualification) == 1 else qualification,
        "statement": {name: said for name, said in asdict(statement_of(study, at=now)).items() if said},
        "join_link": _join_link(study),
        "checks": _checks(study),
    }
    return document | {name: value for name, value in optional.items() if value}


def _round(round: Round) -> dict[str, Any]:
    key = round.keys.order_by("-version")[0]
    entries = round.round_stories.select_related("story__study").order_by("position")
    return {
        "title": round.title,
        "attempts": round.attempts_allowed,
        "pays_on_fail": round.pays_on_fail,
        "stories": [_source_row(entry.story) for entry in entries],
        "key": _key(key),
    }


def _checks(study: Study) -> dict[str, Any] | None:
    """The checks that people can be given, with what is accepted, and the rules for them."""
    keys = CheckKey.objects.filter(story__study=study, state=CheckKey.State.IN_USE)
    found = keys.select_related("story__study").order_by("story__story_id")
    if not found:
        return None
    accepted = accepted_by(*found)
    return asdict(study.check_rules) | {
        "stories": [_source_row(key.story) for key in found],
        "key": {key.story.story_id: accepted[key.pk] for key in found},
    }


def _source_row(story: Story) -> dict[str, Any]:
    return story.study.protocol.source_row(story.as_row())


def _key(key: AnswerKey) -> dict[str, Any]:
    stories: dict[str, dict[str, list[str]]] = {}
    options = AcceptableOption.objects.filter(key=key).select_related("round_story__story")
    for accepted in options.order_by("round_story__position", "question", "row", "option"):
        answers = stories.setdefault(accepted.round_story.story.story_id, {})
        answers.setdefault(field_name(accepted.question, accepted.row), []).append(accepted.option)
    reasons: dict[str, dict[str, str]] = {}
    for said in key.reasons.select_related("round_story__story").order_by("round_story__position"):
        fields = reasons.setdefault(said.round_story.story.story_id, {})
        fields[field_name(said.question, said.row)] = said.reason
    optional = {"reasons": reasons, "note": key.note}
    return {"stories": stories} | {name: said for name, said in optional.items() if said}


def _join_link(study: Study) -> dict[str, Any] | None:
    """The settings of the join link that another study can have, too; its own source is its own alone."""
    link = JoinLink.objects.filter(study=study).first()
    if link is None:
        return None
    own = link.source == own_source(study.pk)
    said = {name: getattr(link, name) for name in sorted(JOIN_LINK_FIELDS) if not (own and name == "source")}
    return {name: value for name, value in said.items() if value}
