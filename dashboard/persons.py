"""What the page of a person reads: their answers beside the others’, and the hidden checks they failed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q
from django.urls import NoReverseMatch, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from annotation.models import Answer, CheckResult, Enrollment, Event, Story, Study, Vote
from annotation.protocols.base import Protocol, field_name
from annotation.queries import choices
from dashboard.checks import accepted_by
from recruitment.models import Visit

FAILED_SHOWN = 20
"""Failed checks that are shown with what was chosen, the newest first."""

NARROWED: dict[str, Promise] = {
    "": gettext_lazy("all of them"),
    "alone": gettext_lazy("where nobody else answered the same"),
    "checks": gettext_lazy("hidden checks"),
}
"""Which of their answers one looks at."""

Others = Mapping[tuple[int, str, str], Mapping[str, int]]
"""Per story, question and row: how many other people's counted votes chose each option."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One answer in words; ``others`` as (option, how many chose it), those that most chose first.

    ``stands_alone``: others answered it, and none of them the same.
    """

    row: str
    own: str
    others: list[tuple[str, int]]
    stands_alone: bool


@dataclass(frozen=True, slots=True)
class Mistake:
    """What a check asked, what was chosen, and what is accepted, in words."""

    title: str
    chosen: str
    accepted: list[str]


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A check that somebody failed, by their newest answer. ``is_past``: it is not held against them now."""

    story: Story
    vote: Vote
    mistakes: list[Mistake]
    is_past: bool


def story_address(study: Study, story_id: str) -> str:
    """The researchers' page about a story."""
    try:
        return reverse("dashboard:story", args=[study.slug, story_id])
    except NoReverseMatch:
        return ""


def answer_rows(
    study: Study, enrollment: Enrollment, votes: Sequence[Vote], passed: Mapping[int, bool]
) -> list[dict[str, Any]]:
    """These votes of a person, each with a list of :class:`Cell` per question. One query.

    ``passed``: of votes that answer a hidden check, which passed. Beside those stands nobody else's answer.
    """
    main = [vote.assignment.story_id for vote in votes if vote.assignment.story.role == Story.Role.MAIN]
    others = _others(enrollment, main) if main else {}
    return [
        {
            "vote": vote,
            "story_id": vote.assignment.story.story_id,
            "address": story_address(study, vote.assignment.story.story_id),
            "state": vote.assignment.get_state_display(),
            "cells": _cells(study.protocol, vote, others),
            "passed": passed.get(vote.pk),
        }
        for vote in votes
    ]


def narrowed(enrollment: Enrollment, to: str, *, may_change: bool, closed: Collection[str]) -> Q:
    """What holds for the answers that one looks at, of :data:`NARROWED`.

    Answers to checks are for who may change the study: of somebody who failed none, what they chose is what
    is accepted. ``closed``: texts of which such a reader must not know whether they are those of checks.
    """
    checks = Story.objects.filter(study=enrollment.study, role=Story.Role.CHECK)
    told = checks.exclude(text_hash__in=list(closed)) if may_change else checks.none()
    if to == "checks":
        return Q(assignment__story__in=told)
    shown = Q(assignment__story__role=Story.Role.MAIN) | Q(assignment__story__in=told)
    if to == "alone":
        counted = Vote.objects.counted().exclude(assignment__enrollment=enrollment)
        others = Answer.objects.filter(
            vote__in=counted,
            vote__assignment__story=OuterRef("vote__assignment__story"),
            question=OuterRef("question"),
            row=OuterRef("row"),
        )
        own = Answer.objects.filter(vote=OuterRef("pk"), vote__assignment__story__role=Story.Role.MAIN)
        return Q(Exists(own.filter(Exists(others), ~Exists(others.filter(option=OuterRef("option"))))))
    return shown


def failed_checks(enrollment: Enrollment, *, closed: Collection[str]) -> tuple[list[FailedCheck], int]:
    """The checks in use that the person failed, the newest first, and how many more there are.

    ``closed``: texts about which the reader must not know what is accepted; these are neither shown nor
    counted. Four queries at most, one where nothing was failed.
    """
    results = list(
        CheckResult.objects.standing()
        .filter(passed=False, vote__assignment__enrollment=enrollment)
        .exclude(key__story__text_hash__in=list(closed))
        .select_related("key", "vote__assignment__story")
        .prefetch_related("vote__answers")
        .order_by("-vote__first_submitted_at", "-pk")
    )
    shown = results[:FAILED_SHOWN]
    accepted = accepted_by(*(result.key for result in shown)) if shown else {}
    protocol = enrollment.study.protocol
    found = [
        FailedCheck(
            story=result.vote.assignment.story,
            vote=result.vote,
            mistakes=_mistakes(protocol, result.vote, accepted[result.key_id]),
            is_past=result.vote.order_position <= enrollment.checks_from,
        )
        for result in shown
    ]
    return found, len(results) - len(found)


def ids_of_checks(study: Study, texts: Collection[str]) -> frozenset[str]:
    """The ids of the study's hidden checks with one of these texts. No query where there are none."""
    if not texts:
        return frozenset()
    checks = Story.objects.filter(study=study, role=Story.Role.CHECK, text_hash__in=list(texts))
    return frozenset(checks.values_list("story_id", flat=True))


def suspension_of(enrollment: Enrollment) -> Event | None:
    """The line of the log that says who suspended the person, when, and why; None for who is not."""
    if enrollment.state != Enrollment.State.SUSPENDED:
        return None
    told = enrollment.events.filter(type=Event.Type.ENROLLMENT_SUSPENDED)
    return told.select_related("actor").order_by("-pk").first()


def may_have_link(enrollment: Enrollment) -> bool:
    """Whether a new link may be made for them.

    Not for who comes back by their work on a platform: a new link would end the page they have open there.
    And not for who was forgotten; who has only left still needs it, to be forgotten.
    """
    by_platform = Visit.objects.filter(enrollment=enrollment, campaign__isnull=False)
    return enrollment.annotator.erased_at is None and not by_platform.exists()


def _others(enrollment: Enrollment, stories: Collection[int]) -> Others:
    theirs = Vote.objects.counted().filter(assignment__story__in=stories)
    rows = (
        Answer.objects.filter(vote__in=theirs.exclude(assignment__enrollment=enrollment))
        .order_by()
        .values_list("vote__assignment__story", "question", "row", "option")
        .annotate(people=Count("pk"))
    )
    found: defaultdict[tuple[int, str, str], dict[str, int]] = defaultdict(dict)
    for story, question, row, option, people in rows:
        found[story, question, row][option] = people
    return found


def _cells(protocol: Protocol, vote: Vote, others: Others) -> list[list[Cell]]:
    """The answers of a vote, per question of the form and row of it."""
    story = vote.assignment.story
    item = protocol.parse(story.content)
    given = {(choice.question, choice.row): choice.option for choice in choices(vote)}
    columns = []
    for question in protocol.questions:
        labels = {option.key: str(option.label) for option in question.options_for(item)}
        cells = []
        for row in question.rows_for(item):
            own = given.get((question.key, row.key), "")
            theirs = others.get((story.pk, question.key, row.key), {})
            ordered = sorted(theirs.items(), key=lambda entry: (-entry[1], entry[0]))
            named = [(labels.get(option, option), people) for option, people in ordered]
            alone = bool(own and theirs and own not in theirs)
            cells.append(Cell(str(row.label or ""), labels.get(own, own), named, alone))
        columns.append(cells)
    return columns


def _mistakes(protocol: Protocol, vote: Vote, accepted: Mapping[str, Sequence[str]]) -> list[Mistake]:
    """What of the answers to a check is not accepted, in the order of the form."""
    item = protocol.parse(vote.assignment.story.content)
    given = {(choice.question, choice.row): choice.option for choice in choices(vote)}
    found = []
    for question in protocol.questions:
        labels = {option.key: str(option.label) for option in question.options_for(item)}
        for row in question.rows_for(item):
            chosen = given.get((question.key, row.key), "")
            right = accepted.get(field_name(question.key, row.key), [])
            if chosen not in right:
                title = f"{question.title}: {row.label}" if row.label else str(question.title)
                words = [labels.get(option, option) for option in right]
                found.append(Mistake(title, labels.get(chosen, chosen), words))
    return found
