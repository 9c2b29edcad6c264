"""Checks of keys and grades that need Python: a round's key, experts' reviews, attempts, hidden checks."""

from collections.abc import Iterator

from annotation.grading import Cell, IncompleteAttempt, IncompleteKey, grade
from annotation.models import CheckKey
from annotation.protocols import is_installed
from integrity.base import CHUNK, Check, by_walking, stream
from qualification.models import AnswerKey, Attempt, ExpertReview, RoundStory
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


def _incomplete_reviews(study_id: int | None) -> Iterator[int]:
    """Yield submitted reviews that miss a question, or choose an option that is not offered.

    Studies whose protocol (or version of it) is not installed are skipped.
    """
    reviews = ExpertReview.objects.filter(handed_in_at__isnull=False)
    if study_id:
        reviews = reviews.filter(round__study=study_id)
    related = ("answers", "round__round_stories__story__study")
    for review in reviews.order_by("pk").prefetch_related(*related).iterator(chunk_size=CHUNK):
        entries = review.round.round_stories.all()
        study = review.round.study
        if not is_installed(study.protocol_name, study.protocol_version):
            continue
        offered = {(entry.pk, *cell.key): cell.labels for entry in entries for cell in entry.story.cells}
        said = {(one.round_story_id, one.question, one.row): one.option for one in review.answers.all()}
        if said.keys() != offered.keys() or any(said[cell] not in offered[cell] for cell in said):
            yield review.pk


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
        if not _check_is_graded_by(keys[key], given, passed=passed):
            yield vote


def _accepted(key_id: int) -> dict[Cell, set[str]]:
    accepted: dict[Cell, set[str]] = {}
    for option in CheckKey.objects.get(pk=key_id).options.all():
        accepted.setdefault(Cell("", option.question, option.row), set()).add(option.option)
    return accepted


def _check_is_graded_by(key: dict[Cell, set[str]], given: dict[Cell, str], *, passed: bool) -> bool:
    try:
        return grade(given, key).passed == passed
    except (IncompleteAttempt, IncompleteKey):
        return False


CHECKS = (
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
        "expert_answers_everything",
        5,
        "Experts' submitted reviews that do not answer exactly the questions asked.",
        by_walking(_incomplete_reviews),
    ),
    Check(
        "check_is_graded_by_its_key",
        7,
        "Results of hidden checks that do not follow from the answers and the key.",
        by_walking(_wrong_results),
    ),
)
