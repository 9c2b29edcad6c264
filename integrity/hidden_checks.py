"""Invariants 1, 2, 7 and 10 for hidden checks."""

from collections.abc import Iterator

from annotation.grading import Cell, IncompleteAttempt, IncompleteKey, grade
from annotation.models import CheckKey
from integrity.base import Check, by_sql, by_walking, in_the_log, stream, where

_RESULTS = """
    SELECT r.vote_id, r.key_id, r.passed, array_agg(ARRAY[an.question, an.row, an.option])
    FROM annotation_checkresult r
    JOIN annotation_checkkey k ON k.id = r.key_id
    JOIN annotation_story s ON s.id = k.story_id
    JOIN annotation_answer an ON an.vote_id = r.vote_id
    WHERE %(study)s::bigint IS NULL OR s.study_id = %(study)s
    GROUP BY r.vote_id ORDER BY r.vote_id
"""


def _wrong_results(study_id: int | None) -> Iterator[int]:
    keys: dict[int, dict[Cell, set[str]]] = {}
    for vote, key, passed, answers in stream(_RESULTS, study_id):
        if key not in keys:
            keys[key] = _accepted(key)
        given = {Cell("", question, row): option for question, row, option in answers}
        if not _is_graded_by(keys[key], given, passed=passed):
            yield vote


def _accepted(key_id: int) -> dict[Cell, set[str]]:
    accepted: dict[Cell, set[str]] = {}
    for option in CheckKey.objects.get(pk=key_id).options.all():
        accepted.setdefault(Cell("", option.question, option.row), set()).add(option.option)
    return accepted


def _is_graded_by(key: dict[Cell, set[str]], given: dict[Cell, str], *, passed: bool) -> bool:
    try:
        return grade(given, key).passed == passed
    except (IncompleteAttempt, IncompleteKey):
        return False


CHECKS = (
    Check(
        "only_main_stories_have_slots",
        1,
        "Assignments of a hidden check that have a slot, or of other stories that have none.",
        where("assignments", "(role = 'check') <> (slot IS NULL)"),
    ),
    Check(
        "answer_to_a_check_is_graded",
        2,
        "Votes on a hidden check that its key did not grade, or graded votes on other stories.",
        by_sql("""
            SELECT v.study_id, v.id AS row
            FROM votes v
            LEFT JOIN annotation_checkresult r ON r.vote_id = v.id
            LEFT JOIN annotation_checkkey k ON k.id = r.key_id
            WHERE (v.role = 'check' OR r.vote_id IS NOT NULL) AND k.story_id IS DISTINCT FROM v.story_id
        """),
    ),
    Check(
        "check_is_graded_by_its_key",
        7,
        "Results of hidden checks that do not follow from the answers and the key.",
        by_walking(_wrong_results),
    ),
    in_the_log(
        "failed_check_is_in_the_log",
        "Votes that failed a hidden check, without an entry in the log.",
        "annotation_checkresult x JOIN votes s ON s.id = x.vote_id AND NOT x.passed",
        "'vote ' || x.vote_id",
        "'check_failed'",
        row="x.vote_id",
    ),
    Check(
        "warning_is_in_the_log",
        10,
        "Enrollments that were warned about failed checks, without an entry in the log.",
        where(
            "annotation_enrollment e",
            "e.warned_after IS NOT NULL AND NOT EXISTS (SELECT FROM annotation_event ev "
            "WHERE ev.enrollment_id = e.id AND ev.type = 'annotator_warned')",
        ),
    ),
)
