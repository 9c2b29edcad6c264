"""What the researchers' page about one story reads: its text, its votes, and what became of them."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from django.db.models import Q

from annotation import rules
from annotation.models import (
    LIVING,
    Adjudication,
    Assignment,
    Event,
    SpotCheck,
    Story,
    Study,
    Vote,
    VoteExclusion,
)
from annotation.protocols.base import Choice, Protocol
from annotation.queries import choices_in_words
from dashboard.stories import ballots, judge
from publishing.filters import DEFAULT_FILTER, FILTERS


def about(study: Study, story: Story) -> dict[str, Any]:
    """Everything about one story, for its page; a constant number of queries.

    Verdicts, votes and what comes of them are of main stories; others have none.
    """
    protocol = study.protocol
    given = Assignment.objects.filter(story=story, story__role=Story.Role.MAIN)
    assignments = list(given.select_related("enrollment").order_by("served_at", "pk"))
    votes = _votes(assignments, story, study)
    is_main = story.role == Story.Role.MAIN
    cast = ballots([story.pk])[story.pk] if is_main else {}  # answers to a check are no votes on it
    exclusions = list(
        VoteExclusion.objects.filter(enrollment__in=[a.enrollment_id for a in assignments])
        .filter(Q(assignment=None) | Q(assignment__in=assignments))
        .select_related("excluded_by", "lifted_by")
    )
    checks = list(SpotCheck.objects.filter(vote__in=votes).select_related("by"))
    people = [_person(study, assignment, votes, exclusions, checks) for assignment in assignments]
    for number, person in enumerate(people, 1):
        person["number"] = number
    voted = [person for person in people if person["newest"]]
    return {
        "parts": protocol.parts(protocol.parse(story.content)),
        "findings": list(story.lint_findings.all()),
        "people": people,
        "voted": voted,
        "answered": _side_by_side(protocol, story, voted),
        "verdicts": [
            {"title": rule.shown(study.votes_per_story)[0], "verdict": judge(study, rule, cast),
             "is_default": rule.name == DEFAULT_FILTER}
            for rule in FILTERS.values() if is_main
        ],
        "reasons": _reasons(study, cast),
        "living": sum(assignment.state in LIVING for assignment in assignments),
        "adjudications": list(Adjudication.objects.filter(story=story).select_related("by").order_by("-pk")),
        "history": _history(study, assignments, votes, exclusions, checks),
    }  # fmt: skip


def _votes(assignments: list[Assignment], story: Story, study: Study) -> list[Vote]:
    """All revisions of the votes on the story, each with what it needs to be shown."""
    found = Vote.objects.filter(assignment__in=assignments).order_by("assignment", "revision")
    votes = list(found.prefetch_related("answers"))
    by_number = {assignment.pk: assignment for assignment in assignments}
    for assignment in assignments:
        assignment.story = story
    for vote in votes:
        vote.assignment = by_number[vote.assignment_id]
    return votes


def _person(
    study: Study,
    assignment: Assignment,
    votes: list[Vote],
    exclusions: list[VoteExclusion],
    checks: list[SpotCheck],
) -> dict[str, Any]:
    """One person's part in a story: the lease, every revision, and what was decided about it."""
    own = [vote for vote in votes if vote.assignment_id == assignment.pk]
    numbers = {vote.pk for vote in own}
    return {
        "pseudonym": rules.pseudonym(study.pseudonym_key, assignment.enrollment.annotator_id),
        "assignment": assignment,
        "holds": assignment.state in LIVING,
        "leased": assignment.state == Assignment.State.LEASED,
        "newest": own[-1] if own else None,
        "earlier": [{"vote": vote, "words": choices_in_words(study.protocol, vote)} for vote in own[:-1]],
        "exclusions": [
            exclusion
            for exclusion in exclusions
            if exclusion.assignment_id == assignment.pk
            or (
                exclusion.assignment_id is None
                and exclusion.enrollment_id == assignment.enrollment_id
                and own
            )
        ],
        "checks": [check for check in checks if check.vote_id in numbers],
    }


def _side_by_side(protocol: Protocol, story: Story, voted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Per question of the form, what each person answered last and whether that counts against the story."""
    item = protocol.parse(story.content)
    given = [
        {(answer.question, answer.row): answer for answer in person["newest"].answers.all()}
        for person in voted
    ]
    rows = []
    for question in protocol.questions:
        labels = {option.key: str(option.label) for option in question.options_for(item)}
        for row in question.rows_for(item):
            answers = [answered.get((question.key, row.key)) for answered in given]
            rows.append(
                {
                    "title": f"{question.title}: {row.label}" if row.label else str(question.title),
                    "cells": [
                        (
                            {
                                "option": labels.get(answer.option, answer.option) if answer else "",
                                "against": bool(answer and answer.counts_against),
                            },
                            person,
                        )
                        for answer, person in zip(answers, voted, strict=True)
                    ],
                }
            )
    return rows


def _reasons(study: Study, cast: dict[int, list[tuple[Choice, bool]]]) -> list[dict[str, Any]]:
    """Per question that somebody answered against the story: how many did."""
    against: dict[str, set[int]] = defaultdict(set)
    for vote, given in cast.items():
        for choice, counts in given:
            if counts:
                against[choice.question].add(vote)
    return [
        {"title": question.title, "votes": len(against[question.key])}
        for question in study.protocol.questions
        if against[question.key]
    ]


def _history(
    study: Study,
    assignments: list[Assignment],
    votes: list[Vote],
    exclusions: list[VoteExclusion],
    checks: list[SpotCheck],
) -> list[Event]:
    """What the log says about the votes on a story, found through the people who had it; the newest first."""
    subjects = [f"vote {vote.pk}" for vote in votes]
    subjects += [f"exclusion {exclusion.pk}" for exclusion in exclusions]
    subjects += [f"spot check {check.pk}" for check in checks]
    people = [assignment.enrollment_id for assignment in assignments]
    events = Event.objects.filter(study=study, enrollment__in=people, subject__in=subjects)
    return list(events.select_related("actor").order_by("-pk"))
