"""Queries of a participant's pages: answers beside those of others, failed checks, tests, visits."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, prefetch_related_objects
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from accounts.models import PlatformIdentity
from annotation import rules
from annotation.models import Answer, CheckResult, Enrollment, Event, Story, Study, Vote
from annotation.protocols.base import Protocol
from annotation.queries import answered_fields
from qualification.models import Attempt
from recruitment.marketplace import Group
from recruitment.models import Campaign, Grant, Visit
from recruitment.visit_endings import CARRIED, unproven_visits

FAILED_SHOWN = 20
"""Failed checks that are shown with what was chosen, the newest first."""

NARROWED: dict[str, Promise] = {
    "": gettext_lazy("all of them"),
    "alone": gettext_lazy("where nobody else answered the same"),
    "checks": gettext_lazy("hidden checks"),
}
"""Filters of the answers on the page."""

OUT = (Grant.State.LEAVING, Grant.State.LEFT)

Others = Mapping[tuple[int, str, str], Mapping[str, int]]
"""Per story, question and row: how many other people's counted votes chose each option."""


@dataclass(frozen=True, slots=True)
class GroupMembership:
    """A participant's relation to one group; ``grant`` is None if they were never put into it."""

    campaign: Campaign
    kind: Group
    grant: Grant | None

    @property
    def key(self) -> tuple[str, str]:
        """The group's name in forms."""
        return self.campaign.platform, self.kind.value

    @property
    def is_member(self) -> bool:
        """True if they are in the group or being added."""
        return self.grant is not None and self.grant.state not in OUT


def answer_rows(
    study: Study, enrollment: Enrollment, votes: Sequence[Vote], passed: Mapping[int, bool]
) -> list[dict[str, Any]]:
    """Return these votes of a participant, each with a list of :func:`_cells` per question. One query.

    ``passed`` says which answers to hidden checks passed. Those stand without anybody else's answers.
    """
    main = [vote.assignment.story_id for vote in votes if vote.assignment.story.role == Story.Role.MAIN]
    others = _others(enrollment, main) if main else {}
    return [
        {"vote": vote, "cells": _cells(study.protocol, vote, others), "passed": passed.get(vote.pk)}
        for vote in votes
    ]


def narrowed(enrollment: Enrollment, to: str, *, may_change: bool, closed: Collection[str]) -> Q:
    """Return the condition of one of the filters in :data:`NARROWED`.

    Hide answers to checks from members without change rights: a passed answer reveals the key. ``closed``:
    texts of which such a reader must not learn whether they are checks.
    """
    checks = Story.objects.filter(study=enrollment.study, role=Story.Role.CHECK)
    known_checks = checks.exclude(text_hash__in=list(closed)) if may_change else checks.none()
    if to == "checks":
        return Q(assignment__story__in=known_checks)
    shown = Q(assignment__story__role=Story.Role.MAIN) | Q(assignment__story__in=known_checks)
    return Q(pk__in=_unshared(enrollment)) if to == "alone" else shown


def _unshared(enrollment: Enrollment) -> set[int]:
    """Return the votes with an answer that nobody else gave to the question, where others answered it.

    Two plain queries and sets: as one statement, PostgreSQL may plan it badly before it has statistics.
    """
    cell = ("vote__assignment__story", "question", "row")
    theirs = Answer.objects.filter(
        vote__assignment__enrollment=enrollment, vote__assignment__story__role=Story.Role.MAIN
    )
    own = list(theirs.values_list("vote", *cell, "option"))
    counted = Vote.objects.counted().filter(assignment__story__in={story for _vote, story, *_ in own})
    others = Answer.objects.filter(vote__in=counted.exclude(assignment__enrollment=enrollment))
    given = set(others.values_list(*cell, "option"))
    answered = {answer[:-1] for answer in given}
    return {vote for vote, *answer in own if tuple(answer[:-1]) in answered and tuple(answer) not in given}


def failed_checks(enrollment: Enrollment, *, closed: Collection[str]) -> tuple[list[dict[str, Any]], int]:
    """Return the checks in use that the participant failed, the newest first, and how many more there are.

    Each has its ``story``, ``vote`` and ``mistakes``; ``is_past``: it no longer counts against them.

    ``closed``: texts whose accepted answers the reader must not learn; these are neither shown nor counted.
    Four queries at most, one if nothing was failed.
    """
    results = list(
        CheckResult.objects.current()
        .filter(passed=False, vote__assignment__enrollment=enrollment)
        .exclude(key__story__text_hash__in=list(closed))
        .select_related("key", "vote__assignment__story")
        .prefetch_related("vote__answers")
        .order_by("-vote__first_submitted_at", "-pk")
    )
    shown = results[:FAILED_SHOWN]
    prefetch_related_objects(shown, "key__options")
    protocol = enrollment.study.protocol
    found = [
        {
            "story": result.vote.assignment.story,
            "vote": result.vote,
            "mistakes": _mistakes(protocol, result.vote, result.key.accepted),
            "is_past": result.vote.order_position <= enrollment.checks_from,
        }
        for result in shown
    ]
    return found, len(results) - len(found)


def ids_of_checks(study: Study, texts: Collection[str]) -> frozenset[str]:
    """Return the ids of the study's hidden checks with one of these texts. No query without texts."""
    if not texts:
        return frozenset()
    checks = Story.objects.filter(study=study, role=Story.Role.CHECK, text_hash__in=list(texts))
    return frozenset(checks.values_list("story_id", flat=True))


def suspension_of(enrollment: Enrollment) -> Event | None:
    """Return the log event of the suspension: its author, time and reason. None if not suspended."""
    if enrollment.state != Enrollment.State.SUSPENDED:
        return None
    events = enrollment.events.filter(type=Event.Type.ENROLLMENT_SUSPENDED)
    return events.select_related("actor").order_by("-pk").first()


def may_have_link(enrollment: Enrollment) -> bool:
    """Return True if the participant may get a new personal link.

    Participants from a platform come back through it, and a new link would end the page they have open there.
    Nobody whose personal data are deleted needs one; participants who have only left do, to delete theirs.
    """
    by_platform = Visit.objects.filter(enrollment=enrollment, campaign__isnull=False)
    return enrollment.annotator.erased_at is None and not by_platform.exists()


def memberships_of(person: Enrollment) -> list[GroupMembership]:
    """Return the study's groups on the platforms that the participant came from."""
    platforms = PlatformIdentity.objects.filter(annotator=person.annotator_id, environment=person.environment)
    campaigns = Campaign.objects.filter(
        study=person.study_id, platform__in=platforms.values("platform")
    ).order_by("number")
    newest = {campaign.platform: campaign for campaign in campaigns if campaign.qualified_group}
    found = Grant.objects.filter(study=person.study_id, annotator=person.annotator_id)
    grants = {(grant.platform, grant.kind): grant for grant in found}
    return [
        GroupMembership(campaign, kind, grants.get((campaign.platform, kind)))
        for campaign in newest.values()
        for kind in Group
        if kind == Group.QUALIFIED or campaign.incomplete_group
    ]


def _others(enrollment: Enrollment, stories: Collection[int]) -> Others:
    theirs = Vote.objects.counted().filter(assignment__story__in=stories)
    rows = (
        Answer.objects.filter(vote__in=theirs.exclude(assignment__enrollment=enrollment), words="")
        .order_by()
        .values_list("vote__assignment__story", "question", "row", "option")
        .annotate(people=Count("pk"))
    )
    found: defaultdict[tuple[int, str, str], dict[str, int]] = defaultdict(dict)
    for story, question, row, option, people in rows:
        found[story, question, row][option] = people
    return found


def _cells(protocol: Protocol, vote: Vote, others: Others) -> list[list[dict[str, Any]]]:
    """Return the answers of a vote in words, by question of the form and its rows.

    ``others``: (option, number of others who chose it), the most chosen first. ``stands_alone``: others
    answered the question, and none of them the same. ``seconds``: how long it took, None if not known.
    """
    story = vote.assignment.story
    item = protocol.parse(story.content)
    given = {answer.choice.field: answer for answer in vote.answers.all()}
    columns: list[list[dict[str, Any]]] = [[] for _question in protocol.questions]
    for asked in protocol.cells(item):
        if protocol.open_table and asked.field not in given:
            continue
        answer, labels, theirs = given.get(asked.field), asked.labels, others.get((story.pk, *asked.key), {})
        own, seconds = (answer.choice.option, answer.seconds) if answer else ("", None)
        ordered = sorted(theirs.items(), key=lambda entry: (-entry[1], entry[0]))
        named = [(labels.get(option, option), people) for option, people in ordered]
        alone = bool(own and theirs and own not in theirs)
        cell = {"row": asked.row.label, "own": labels.get(own, own), "others": named}
        columns[asked.number - 1].append(cell | {"stands_alone": alone, "seconds": seconds})
    return columns


def _mistakes(protocol: Protocol, vote: Vote, accepted: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Return the wrong answers to a check, in the order of the form, each with the ``accepted`` options."""
    item = protocol.parse(vote.assignment.story.content)
    given = answered_fields(vote)
    found = []
    for cell in protocol.cells(item):
        chosen, right, labels = given.get(cell.field, ""), accepted.get(cell.field, []), cell.labels
        if chosen not in right:
            words = [labels.get(option, option) for option in right]
            found.append({"title": cell.title, "chosen": labels.get(chosen, chosen), "accepted": words})
    return found


_OWN_STEPS = (
    Event.Type.CONSENT_GIVEN,
    Event.Type.CONSENT_DECLINED,
    Event.Type.CONSENT_ASKED,
    Event.Type.ATTEMPT_STARTED,
    Event.Type.ATTEMPT_SUBMITTED,
    Event.Type.TEST_GIVEN_BACK,
)
"""Events after which a researcher's open form is outdated."""


def retaking_of(person: Enrollment) -> dict[str, Any]:
    """Return the participant's tests and visits from platforms, and whether they may retake the test.

    ``two_visits``: an unproven visit hands in the test of an earlier one, perhaps of another person.
    ``is_consent``: it is about consent alone, since the study has no test of its own. ``seen``: that of
    :func:`dashboard.actions.let_take_test_again`.
    """
    seen = newest_step(person)  # first: what comes after it has not been seen
    attempts = list(Attempt.objects.filter(enrollment=person).select_related("round"))
    has_test = person.study.gate != Study.Gate.NOT_REQUIRED
    began: dict[str, Any] = {Enrollment.State.CONSENTED: bool(attempts), Enrollment.State.INVITED: False}
    has_something = began.get(person.state, has_test or person.state == Enrollment.State.DECLINED)
    visits = Visit.objects.filter(enrollment=person, campaign__isnull=False)
    return {
        "attempts": attempts,
        "visits": list(visits.select_related("campaign", "session", "submission").order_by("pk")),
        "unproven": unproven_visits(person).count(),
        "two_visits": visits.filter(CARRIED, session__state="open", session__identity_claimed=True).exists(),
        "is_possible": person.state in rules.BEFORE_OR_AFTER_TEST and bool(has_something),
        "is_consent": not has_test,
        "seen": seen,
    }


def newest_step(person: Enrollment) -> int:
    """Return the number of the newest event on the way to the test, or of its return; 0 without any."""
    steps = Event.objects.filter(enrollment=person, type__in=_OWN_STEPS)
    return steps.order_by("-pk").values_list("pk", flat=True).first() or 0
