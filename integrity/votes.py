"""Checks of votes, people, keys and grades that SQL alone cannot decide: they need protocols and hashes.

Keys and reviews of studies whose protocol (or version of it) is not installed are skipped.
"""

import json
from collections.abc import Iterator

from django.db.models import Exists, F, OuterRef, Q

from annotation.actions.slots import settled
from annotation.grading import Cell, IncompleteAttempt, IncompleteKey, grade
from annotation.importing.rows import batches
from annotation.models import Answer, CheckOption, Story, Study, Vote
from annotation.protocols import all_protocols, is_installed
from annotation.protocols.base import IncompleteForm, Protocol
from annotation.rules import pseudonym
from integrity.base import CHUNK, by_walking, stream
from qualification.models import AnswerKey, Attempt, ExpertReview, RoundStory
from qualification.queries import cell_of, grade_by

_ANSWERS_OF_VOTES = """
    SELECT v.id, st.protocol_name, st.protocol_version, s.content,
           count(an.id),
           jsonb_object_agg(an.question || CASE WHEN an.row = '' THEN '' ELSE '.' || an.row END,
                            an.words || an.option)
               FILTER (WHERE an.id IS NOT NULL)
    FROM annotation_vote v
    JOIN annotation_assignment a ON a.id = v.assignment_id
    JOIN annotation_story s ON s.id = a.story_id
    JOIN annotation_study st ON st.id = s.study_id
    LEFT JOIN annotation_answer an ON an.vote_id = v.id
    WHERE %(study)s::bigint IS NULL OR s.study_id = %(study)s
    GROUP BY v.id, s.id, st.id ORDER BY v.id
"""


@by_walking(6)
def protocol_is_installed(study_id: int | None) -> Iterator[int]:
    """Studies whose protocol is not installed in the version that they were created with."""
    studies = Study.objects.filter(pk=study_id) if study_id else Study.objects.all()
    for study in studies.order_by("pk"):
        if not is_installed(study.protocol_name, study.protocol_version):
            yield study.pk


@by_walking(2)
def vote_answers_the_whole_form(study_id: int | None) -> Iterator[int]:
    """Votes that do not answer each question with one of its options."""
    # Studies whose protocol (or version of it) is not installed are skipped.
    for vote, name, version, content, count, given in stream(_ANSWERS_OF_VOTES, study_id):
        protocol = all_protocols().get(name)
        if protocol is None or protocol.version != version:
            continue
        try:
            item = protocol.parse(json.loads(content))
            complete = len(protocol.read_form(item, json.loads(given or "{}"))) == count
        except (IncompleteForm, ValueError):
            complete = False
        if not complete:
            yield vote


@by_walking(7)
def answer_counts_as_the_protocol_says(study_id: int | None) -> Iterator[int]:
    """Answers whose stored “counts against the story” differs from the protocol's."""
    everywhere = Answer.objects.annotate(protocol=F("vote__assignment__story__study__protocol_name"))
    answers = everywhere.filter(vote__assignment__story__study=study_id) if study_id else everywhere
    # There are few kinds of answers, so the protocol judges kinds; rows are fetched only for wrong ones.
    kinds = answers.order_by().values("protocol", "question", "row", "option", "counts_against").distinct()
    for kind in kinds:
        protocol = all_protocols().get(kind["protocol"])
        if protocol is None:
            continue
        judged = _counts_against(protocol, kind["question"], kind["option"])
        if judged not in (kind["counts_against"], UNJUDGED):
            wrong = answers.filter(**kind).order_by("pk").values_list("pk", flat=True)
            yield from wrong.iterator(chunk_size=CHUNK)


UNJUDGED = "depends on the story"


def _counts_against(protocol: Protocol, question: str, option: str) -> bool | str | None:
    """Return True if the protocol counts an answer against the story; None for an unknown answer.

    Options that come from the story cannot be judged without it; tests cover them.
    """
    if question in protocol.written:
        return False
    try:
        asked = protocol.question(question)
        return asked.option(option).counts_against if asked.has_fixed_options else UNJUDGED
    except KeyError:
        return None


@by_walking(6)
def story_is_as_imported(study_id: int | None) -> Iterator[int]:
    """Stories whose content does not match their hash."""
    stories = Story.objects.filter(study=study_id) if study_id else Story.objects.all()
    for story in stories.order_by("pk").iterator(chunk_size=CHUNK):
        row = story.as_row()
        if (row.content_hash, row.text_hash) != (story.content_hash, story.text_hash):
            yield story.pk


@by_walking(1)
def story_wants_votes_until_it_is_decided(study_id: int | None) -> Iterator[int]:
    """Stories that want more votes than their study’s rule says, or fewer."""
    studies = Study.objects.filter(pk=study_id) if study_id else Study.objects.all()
    for study in studies.order_by("pk"):
        stories = Story.objects.main().filter(study=study).order_by("pk")
        if not study.most_votes:
            yield from stories.exclude(extra_votes=0).values_list("pk", flat=True)
            continue
        for batch in batches(stories.values_list("pk", "extra_votes").iterator(chunk_size=CHUNK), CHUNK):
            extra = dict(batch)
            yield from (one.pk for one in settled(study, extra) if one.extra_votes != extra[one.pk])


@by_walking(7)
def only_the_last_revision_counts(study_id: int | None) -> Iterator[int]:
    """Counted votes that their annotator has replaced."""
    rival = Vote.objects.filter(assignment=OuterRef("assignment"), revision__gte=OuterRef("revision"))
    counted = Vote.objects.counted().filter(Exists(rival.filter(~Q(pk=OuterRef("pk")))))
    if study_id:
        counted = counted.filter(assignment__story__study=study_id)
    yield from counted.order_by("pk").values_list("pk", flat=True).iterator(chunk_size=CHUNK)


@by_walking(8)
def pseudonym_follows_from_the_key(study_id: int | None) -> Iterator[str]:
    """Enrollments whose pseudonym does not follow from the study's key."""
    query = """
        SELECT e.id, e.annotator_id, e.pseudonym, s.pseudonym_key
        FROM annotation_enrollment e JOIN annotation_study s ON s.id = e.study_id
        WHERE %(study)s::bigint IS NULL OR s.id = %(study)s ORDER BY e.id"""
    for number, annotator, stored, key in stream(query, study_id):
        if stored != pseudonym(key, annotator):
            yield f"enrollment {number}"


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
    protocol_is_installed,
    vote_answers_the_whole_form,
    answer_counts_as_the_protocol_says,
    story_is_as_imported,
    story_wants_votes_until_it_is_decided,
    only_the_last_revision_counts,
    pseudonym_follows_from_the_key,
    key_accepts_only_what_is_offered,
    grade_follows_from_the_key,
    expert_answers_everything,
    check_is_graded_by_its_key,
)
