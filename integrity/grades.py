"""Checks of keys and grades that need Python: a round's key, experts' reviews, attempts, hidden checks.

Keys and reviews of studies whose protocol (or version of it) is not installed are skipped.
"""

from collections.abc import Iterator

from annotation.grading import Cell, IncompleteAttempt, IncompleteKey, grade
from annotation.models import CheckOption
from annotation.protocols import is_installed
from integrity.base import CHUNK, by_walking, stream
from qualification.models import AnswerKey, Attempt, ExpertReview, RoundStory
from qualification.queries import cell_of, grade_by


@by_walking(5)
def key_accepts_only_what_is_offered(study_id: int | None) -> Iterator[int]:
    """Answer keys that accept an option the protocol does not offer, or nothing where it asks, or with a
    pass mark that the round cannot reach."""
    keys = AnswerKey.objects.filter(round__study=study_id) if study_id else AnswerKey.objects.all()
    for key in keys.order_by("pk").select_related("round__study").prefetch_related("options"):
        if not is_installed(key.round.study.protocol_name, key.round.study.protocol_version):
            continue
        entries = RoundStory.objects.filter(round=key.round_id).select_related("story__study")
        asked = {(entry.pk, cell.field): set(cell.labels) for entry in entries for cell in entry.story.cells}
        accepted = {(at, field): set(cells[field]) for at, cells in key.accepted.items() for field in cells}
        positions = {entry.position for entry in entries}
        beyond = (key.enough or 0) > len(asked) or set(key.must_pass) - positions
        if beyond or accepted.keys() != asked.keys() or any(accepted[at] - asked[at] for at in accepted):
            yield key.pk


@by_walking(5)
def grade_follows_from_the_key(study_id: int | None) -> Iterator[int]:
    """Attempts whose grade does not follow from their answers and their key."""
    attempts = Attempt.objects.filter(submitted_at__isnull=False)
    if study_id:
        attempts = attempts.filter(round__study=study_id)
    attempts = attempts.order_by("pk").prefetch_related("key__options", "key__round", "answers")
    for attempt in attempts.iterator(chunk_size=CHUNK):
        answers = list(attempt.answers.all())
        try:
            outcome = grade_by(attempt.key, answers)
        except (IncompleteAttempt, IncompleteKey):
            yield attempt.pk
            continue
        right = all(one.accepted == (cell_of(one) not in outcome.not_accepted) for one in answers)
        if attempt.passed != outcome.passed or not right:
            yield attempt.pk


@by_walking(5)
def expert_answers_everything(study_id: int | None) -> Iterator[int]:
    """Experts' submitted reviews that do not answer exactly the questions asked."""
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


@by_walking(7)
def check_is_graded_by_its_key(study_id: int | None) -> Iterator[int]:
    """Results of hidden checks that do not follow from the answers and the key."""
    keys: dict[int, dict[Cell, set[str]]] = {}
    for vote, key, passed, answers in stream(_RESULTS, study_id):
        if key not in keys:
            keys[key] = {}
            for option in CheckOption.objects.filter(key=key):
                keys[key].setdefault(Cell("", option.question, option.row), set()).add(option.option)
        given = {Cell("", question, row): option for question, row, option in answers}
        try:
            follows = grade(given, keys[key]).passed == passed
        except (IncompleteAttempt, IncompleteKey):
            follows = False
        if not follows:
            yield vote


CHECKS = (
    key_accepts_only_what_is_offered,
    grade_follows_from_the_key,
    expert_answers_everything,
    check_is_graded_by_its_key,
)
