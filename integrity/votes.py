"""Checks of votes, people, keys and grades that SQL alone cannot decide: they need protocols and hashes.

Keys and reviews of studies whose protocol (or version of it) is not installed are skipped.
"""

import json
from collections.abc import Iterator

from django.db.models import F

from annotation.actions.slots import wanted_and_free
from annotation.grading import Cell, IncompleteAttempt, IncompleteKey, grade
from annotation.importing.rows import batches
from annotation.models import Answer, CheckOption, Enrollment, Story, Study
from annotation.protocols import all_protocols, is_installed
from annotation.protocols.base import IncompleteForm, Protocol
from annotation.rules import pseudonym
from integrity.base import CHUNK, by_walking, of_study, stream
from qualification.models import AnswerKey, Attempt, ExpertReview, RoundStory
from qualification.queries import cell_of, grade_by


@by_walking(6)
def protocol_is_installed(study_id: int | None) -> Iterator[int]:
    """Studies whose protocol is not installed in the version that they were created with."""
    for study in of_study(Study.objects.order_by("pk"), study_id, at="pk"):
        if not is_installed(study.protocol_name, study.protocol_version):
            yield study.pk


@by_walking(2)
def vote_answers_the_whole_form(study_id: int | None) -> Iterator[int]:
    """Votes that do not answer each question with one of its options."""
    for vote, name, version, content, count, given in stream("answers_of_votes", study_id):
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
    answers = of_study(everywhere, study_id, at="vote__assignment__story__study")
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
    for story in of_study(Story.objects.order_by("pk"), study_id).iterator(chunk_size=CHUNK):
        row = story.as_row()
        if (row.content_hash, row.text_hash) != (story.content_hash, story.text_hash):
            yield story.pk


@by_walking(1)
def story_wants_votes_until_it_is_decided(study_id: int | None) -> Iterator[int]:
    """Stories that want more votes than their study’s rule says, or fewer."""
    for study in of_study(Study.objects.order_by("pk"), study_id, at="pk"):
        stories = Story.objects.wanted().filter(study=study).order_by("pk")
        if not study.most_votes:
            yield from stories.exclude(extra_votes=0).values_list("pk", flat=True)
            continue
        for batch in batches(stories.values_list("pk", "extra_votes").iterator(chunk_size=CHUNK), CHUNK):
            extra = dict(batch)
            yield from (one.pk for one in wanted_and_free(study, extra) if one.extra_votes != extra[one.pk])


@by_walking(8)
def pseudonym_follows_from_the_key(study_id: int | None) -> Iterator[str]:
    """Enrollments whose pseudonym does not follow from the study's key."""
    people = of_study(Enrollment.objects.order_by("pk"), study_id)
    facts = people.values_list("pk", "annotator", "pseudonym", "study__pseudonym_key")
    for number, annotator, stored, key in facts.iterator(chunk_size=CHUNK):
        if stored != pseudonym(key, annotator):
            yield f"enrollment {number}"


@by_walking(5)
def key_accepts_only_what_is_offered(study_id: int | None) -> Iterator[int]:
    """Answer keys that accept an option the protocol does not offer, or nothing where it asks, or with a
    pass mark that the round cannot reach."""
    keys = of_study(AnswerKey.objects.order_by("pk"), study_id, at="round__study")
    for key in keys.select_related("round__study").prefetch_related("options"):
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
    handed_in = Attempt.objects.filter(submitted_at__isnull=False).order_by("pk")
    attempts = of_study(handed_in, study_id, at="round__study")
    related = ("key__options", "key__round", "answers")
    for attempt in attempts.prefetch_related(*related).iterator(chunk_size=CHUNK):
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
    handed_in = ExpertReview.objects.filter(handed_in_at__isnull=False).order_by("pk")
    reviews = of_study(handed_in, study_id, at="round__study")
    related = ("answers", "round__round_stories__story__study")
    for review in reviews.prefetch_related(*related).iterator(chunk_size=CHUNK):
        entries = review.round.round_stories.all()
        study = review.round.study
        if not is_installed(study.protocol_name, study.protocol_version):
            continue
        offered = {(entry.pk, *cell.key): cell.labels for entry in entries for cell in entry.story.cells}
        said = {(one.round_story_id, one.question, one.row): one.option for one in review.answers.all()}
        if said.keys() != offered.keys() or any(said[cell] not in offered[cell] for cell in said):
            yield review.pk


@by_walking(7)
def check_is_graded_by_its_key(study_id: int | None) -> Iterator[int]:
    """Results of hidden checks that do not follow from the answers and the key."""
    keys: dict[int, dict[Cell, set[str]]] = {}
    for vote, key, passed, answers in stream("results_of_checks", study_id):
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
