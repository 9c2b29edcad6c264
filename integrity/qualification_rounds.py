"""Invariant 5 for qualification rounds, their keys, and attempts."""

from collections.abc import Iterator

from annotation.grading import IncompleteAttempt, IncompleteKey
from annotation.protocols import is_installed
from integrity.base import CHUNK, Check, by_sql, by_walking, where
from qualification.models import AnswerKey, Attempt, RoundStory
from qualification.queries import cell_of, grade_by


def _offered(key: AnswerKey) -> dict[int, dict[str, set[str]]]:
    """Return the options that are offered, by story of the round and form field."""
    entries = RoundStory.objects.filter(round=key.round_id).select_related("story__study")
    return {entry.pk: {cell.field: set(cell.labels) for cell in entry.story.cells} for entry in entries}


def _wrong_keys(study_id: int | None) -> Iterator[int]:
    """Yield keys that accept an option that is not offered, or nothing for a question, or ask for too much.

    Studies whose protocol (or version of it) is not installed are skipped.
    """
    keys = AnswerKey.objects.filter(round__study=study_id) if study_id else AnswerKey.objects.all()
    for key in keys.order_by("pk").select_related("round__study").prefetch_related("options"):
        if not is_installed(key.round.study.protocol_name, key.round.study.protocol_version):
            continue
        offered = _offered(key)
        asked = {(at, field): options for at, cells in offered.items() for field, options in cells.items()}
        accepted = {(at, field): set(cells[field]) for at, cells in key.accepted.items() for field in cells}
        positions = RoundStory.objects.filter(round=key.round_id).values_list("position", flat=True)
        beyond = (key.enough or 0) > len(asked) or set(key.must_pass) - set(positions)
        if beyond or accepted.keys() != asked.keys() or any(accepted[at] - asked[at] for at in accepted):
            yield key.pk


def _wrong_grades(study_id: int | None) -> Iterator[int]:
    """Yield submitted attempts whose grade does not follow from their answers and their key."""
    attempts = Attempt.objects.filter(submitted_at__isnull=False)
    if study_id:
        attempts = attempts.filter(round__study=study_id)
    attempts = attempts.order_by("pk").prefetch_related("key__options", "key__round", "answers")
    for attempt in attempts.iterator(chunk_size=CHUNK):
        if not _is_graded_by_its_key(attempt):
            yield attempt.pk


def _is_graded_by_its_key(attempt: Attempt) -> bool:
    answers = list(attempt.answers.all())
    try:
        outcome = grade_by(attempt.key, answers)
    except (IncompleteAttempt, IncompleteKey):
        return False
    return attempt.passed == outcome.passed and all(
        answer.accepted == (cell_of(answer) not in outcome.not_accepted) for answer in answers
    )


CHECKS = (
    Check(
        "attempts_stay_within_what_is_allowed",
        5,
        "Enrollments with more attempts, over all rounds, than their first round allows.",
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
        "instructions_are_of_the_study",
        6,
        "Votes and attempts that name the instructions of another study.",
        by_sql("""
            SELECT v.study_id, v.id AS row
            FROM votes v JOIN annotation_instructiontext i ON i.id = v.instructions_id
            WHERE v.study_id <> i.study_id
            UNION ALL SELECT r.study_id, t.id
            FROM qualification_attempt t
            JOIN annotation_instructiontext i ON i.id = t.instructions_id
            JOIN qualification_round r ON r.id = t.round_id WHERE r.study_id <> i.study_id
        """),
    ),
    Check(
        "key_accepts_only_what_is_offered",
        5,
        "Answer keys that accept an option the protocol does not offer, or nothing where it asks, or with a "
        "pass mark that the round cannot reach.",
        by_walking(_wrong_keys),
    ),
    Check(
        "grade_follows_from_the_key",
        5,
        "Attempts whose grade does not follow from their answers and their key.",
        by_walking(_wrong_grades),
    ),
    Check(
        "practice_is_no_test",
        5,
        "Practice rounds with an attempt or a text that is also tested, and tests with practice answers.",
        by_sql("""
            SELECT DISTINCT r.study_id, r.id AS row FROM qualification_round r
            JOIN qualification_roundstory rs ON rs.round_id = r.id
            JOIN annotation_story s ON s.id = rs.story_id
            WHERE CASE r.kind WHEN 'test'
                THEN EXISTS (SELECT FROM qualification_practiceanswer p WHERE p.round_story_id = rs.id)
                ELSE EXISTS (SELECT FROM qualification_attempt t WHERE t.round_id = r.id) OR EXISTS (
                    SELECT FROM qualification_round test
                    JOIN qualification_roundstory tested ON tested.round_id = test.id
                    JOIN annotation_story o ON o.id = tested.story_id AND o.text_hash = s.text_hash
                    WHERE test.study_id = r.study_id AND test.kind = 'test') END
        """),
    ),
    Check(
        "standing_follows_from_the_attempt",
        5,
        "Events that qualify or fail an annotator by an attempt with another result, or of somebody else.",
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
        "Assignments of qualification stories.",
        where("assignments", "role = 'qualification'"),
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
