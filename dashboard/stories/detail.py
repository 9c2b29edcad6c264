"""Queries of a story's page: its text, votes, verdicts and history."""

from collections import defaultdict
from typing import Any

from django.db.models import Q

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
from annotation.protocols.questions import Choice
from annotation.queries import choices_in_words
from dashboard.stories.labels import labels_of
from dashboard.stories.queries import OUTCOMES, ballots, judge, reason_in_words
from dashboard.stories.tables import tables_of
from dashboard.stories.versions import revisions_of
from publishing.filters import FILTERS
from publishing.study_filters import filters_of


def story_context(study: Study, story: Story) -> dict[str, Any]:
    """Return everything about one story for its page, in a constant number of queries.

    Only main stories have verdicts and votes.
    """
    given = Assignment.objects.filter(story=story, story__role=Story.Role.MAIN)
    assignments = list(given.select_related("enrollment", "skip").order_by("served_at", "pk"))
    votes = _votes(assignments, story, study)
    adjudications = list(Adjudication.objects.filter(story=story).select_related("by").order_by("-pk"))
    decided = next((one.verdict for one in adjudications if not one.question), "")
    is_main = story.role == Story.Role.MAIN
    cast = ballots([story.pk])[story.pk] if is_main else {}  # answers to a check are no votes on it
    exclusions = list(
        VoteExclusion.objects.filter(enrollment__in=[a.enrollment_id for a in assignments])
        .filter(Q(assignment=None) | Q(assignment__in=assignments))
        .select_related("excluded_by", "lifted_by")
    )
    checks = list(SpotCheck.objects.filter(vote__in=votes).select_related("by"))
    people = [_person(study, assignment, votes, exclusions, checks) for assignment in assignments]
    voted = [person for person in people if person["newest"]]
    named: dict[str, list[Any]] = {"vote": votes, "exclusion": exclusions, "spot check": checks}
    subjects = [f"{kind} {row.pk}" for kind, rows in named.items() for row in rows]
    enrollments = [assignment.enrollment_id for assignment in assignments]  # the log is found by people
    events = Event.objects.filter(study=study, enrollment__in=enrollments, subject__in=subjects)
    versions = revisions_of(study, story)
    names = [one.after.story_id for one, _passages in versions]
    events |= Event.objects.filter(study=study, type=Event.Type.STORY_REVISED, subject__in=names)
    return {
        "parts": story.parts,
        "findings": list(story.lint_findings.all()),
        "people": people,
        "voted": voted,
        "answered": _side_by_side(study, story, voted),
        "table": tables_of(study, [story])[story.pk] if study.protocol.open_table else None,
        "verdicts": [
            {"rule": rule, "outcome": OUTCOMES[verdict.outcome], "reason": reason_in_words(study, verdict)}
            for rule in filters_of(study, FILTERS).values() if is_main
            for verdict in [judge(story, rule, cast, decided)]
        ],
        "reasons": _reasons(study, cast),
        "versions": versions,
        "living": sum(assignment.state in LIVING for assignment in assignments),
        "adjudications": adjudications,
        "history": list(events.select_related("actor").order_by("-pk")),
    }  # fmt: skip


def _votes(assignments: list[Assignment], story: Story, study: Study) -> list[Vote]:
    """Return all revisions of the votes on the story, each with what its display needs."""
    found = Vote.objects.filter(assignment__in=assignments).order_by("assignment", "revision")
    votes = list(found.select_related("comment").prefetch_related("answers"))
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
    """Return one participant's part in a story: the lease, every revision, and decisions about it."""
    own = [vote for vote in votes if vote.assignment_id == assignment.pk]
    numbers = {vote.pk for vote in own}
    return {
        "assignment": assignment,
        "holds": assignment.state in LIVING,
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


def _side_by_side(study: Study, story: Story, voted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return, by question, everybody's newest answer and whether it counts against the story.

    In a study of labels, questions about one row of the item stand together, each with its ``label``.
    """
    protocol = story.protocol
    if protocol.open_table:  # its rows stand in a table of their own
        return []
    labels = labels_of(study, [story])[story.pk] if study.protocol.resolution == "majority" else []
    label_of = {label.cell.key: label for label in labels}
    given = [
        {(answer.question, answer.row): answer for answer in person["newest"].answers.all()}
        for person in voted
    ]
    rows = []
    for cell in [label.cell for label in labels] or protocol.cells(story.item):
        label = label_of.get(cell.key)
        words, answers = cell.labels, [answered.get(cell.key) for answered in given]
        said = [
            {
                "option": words.get(answer.option, answer.choice.option) if answer else "",
                "against": bool(answer and answer.counts_against),
                "seconds": answer and answer.seconds,
            }
            for answer in answers
        ]
        row = {"row": cell.row.label, "title": cell.question.title} if label else {"title": cell.title}
        rows.append({**row, "label": label, "cells": list(zip(said, voted, strict=True))})
    return rows


def _reasons(study: Study, cast: dict[int, list[tuple[Choice, bool]]]) -> list[dict[str, Any]]:
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
