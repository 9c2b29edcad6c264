"""Invariant 5: qualification rounds, their keys, and people's attempts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from annotation.grading import Cell, IncompleteAttempt, IncompleteKey, grade
from annotation.protocols import is_installed
from dashboard.integrity.base import CHUNK, Check, by_sql, by_walking
from qualification.models import AcceptableOption, AnswerKey, Attempt, AttemptAnswer, RoundStory


def _cell(row: AcceptableOption | AttemptAnswer) -> Cell:
    return Cell(str(row.round_story_id), row.question, row.row)


def _accepted(key: AnswerKey) -> dict[Cell, set[str]]:
    accepted: defaultdict[Cell, set[str]] = defaultdict(set)
    for option in key.options.all():
        accepted[_cell(option)].add(option.option)
    return dict(accepted)


def _offered(key: AnswerKey) -> dict[Cell, set[str]]:
    """Everything the protocol asks about the round's stories, and the options it offers there."""
    offered: dict[Cell, set[str]] = {}
    for entry in RoundStory.objects.filter(round=key.round_id).select_related("story__study"):
        item = entry.story.item
        for question in entry.story.study.protocol.questions:
            options = {option.key for option in question.options_for(item)}
            offered |= {
                Cell(str(entry.pk), question.key, row.key): options for row in question.rows_for(item)
            }
    return offered


def _wrong_keys(study_id: int | None) -> Iterator[int]:
    """Keys that accept an option nobody is offered, or nothing at all where something is asked.

    A study whose protocol (or version of it) is not installed cannot be judged here.
    """
    keys = AnswerKey.objects.filter(round__study=study_id) if study_id else AnswerKey.objects.all()
    for key in keys.order_by("pk").select_related("round__study").prefetch_related("options"):
        if not is_installed(key.round.study.protocol_name, key.round.study.protocol_version):
            continue
        accepted, offered = _accepted(key), _offered(key)
        if accepted.keys() != offered.keys() or any(accepted[cell] - offered[cell] for cell in accepted):
            yield key.pk


def _wrong_grades(study_id: int | None) -> Iterator[int]:
    """Attempts handed in whose grade does not follow from their answers and their key."""
    keys: dict[int, dict[Cell, set[str]]] = {}
    attempts = Attempt.objects.filter(submitted_at__isnull=False)
    if study_id:
        attempts = attempts.filter(round__study=study_id)
    attempts = attempts.order_by("pk").select_related("key").prefetch_related("answers")
    for attempt in attempts.iterator(chunk_size=CHUNK):
        if attempt.key_id not in keys:
            keys[attempt.key_id] = _accepted(attempt.key)
        if not _is_graded_by(attempt, keys[attempt.key_id]):
            yield attempt.pk


def _is_graded_by(attempt: Attempt, key: dict[Cell, set[str]]) -> bool:
    answers = list(attempt.answers.all())
    try:
        outcome = grade({_cell(answer): answer.option for answer in answers}, key)
    except (IncompleteAttempt, IncompleteKey):
        return False
    return attempt.passed == outcome.passed and all(
        answer.accepted == (_cell(answer) not in outcome.not_accepted) for answer in answers
    )


CHECKS = (
    Check(
        "attempts_stay_within_what_is_allowed",
        5,
        "Enrollments with more attempts, over all rounds, than the first of theirs allows.",
        by_sql("""
            SELECT r.study_id, first.enrollment_id AS row
            FROM qualification_attempt first JOIN qualification_round r ON r.id = first.round_id
            WHERE first.number = 1 AND first.state <> 'void' AND r.attempts_allowed < (
                SELECT count(*) FROM qualification_attempt t
                WHERE t.enrollment_id = first.enrollment_id AND t.state <> 'void')
        """),
    ),
    Check(
        "attempt_stays_in_its_study",
        5,
        "Attempts at a round of another study, or under the key of another round.",
        by_sql("""
            SELECT r.study_id, t.id AS row
            FROM qualification_attempt t
            JOIN qualification_round r ON r.id = t.round_id
            JOIN qualification_answerkey k ON k.id = t.key_id
            JOIN annotation_enrollment e ON e.id = t.enrollment_id
            WHERE r.study_id <> e.study_id OR k.round_id <> t.round_id
        """),
    ),
    Check(
        "key_accepts_only_what_is_offered",
        5,
        "Answer keys that accept an option the protocol does not offer, or nothing where it asks.",
        by_walking(_wrong_keys),
    ),
    Check(
        "grade_follows_from_the_key",
        5,
        "Attempts whose grade does not follow from their answers and their key.",
        by_walking(_wrong_grades),
    ),
    Check(
        "standing_follows_from_the_attempt",
        5,
        "Events that qualify or fail somebody by an attempt that ended otherwise, or is not theirs.",
        by_sql("""
            SELECT ev.study_id, ev.id AS row
            FROM annotation_event ev
            LEFT JOIN qualification_attempt t
                ON ev.note = 'attempt ' || t.id AND t.enrollment_id = ev.enrollment_id
                AND t.passed = (ev.type = 'enrollment_qualified')
            WHERE ev.type IN ('enrollment_qualified', 'enrollment_failed')
              AND ev.note LIKE 'attempt %%' AND t.id IS NULL
        """),
    ),
    Check(
        "test_stories_are_never_served",
        5,
        "Assignments of stories that belong to the qualification.",
        by_sql("""
            SELECT s.study_id, a.id AS row
            FROM annotation_assignment a JOIN annotation_story s ON s.id = a.story_id
            WHERE s.role = 'qualification'
        """),
    ),
    Check(
        "rounds_use_test_stories",
        5,
        "Stories of a round that are not qualification stories of its study.",
        by_sql("""
            SELECT r.study_id, rs.id AS row
            FROM qualification_roundstory rs
            JOIN qualification_round r ON r.id = rs.round_id
            JOIN annotation_story s ON s.id = rs.story_id
            WHERE s.role <> 'qualification' OR s.study_id <> r.study_id
        """),
    ),
)
