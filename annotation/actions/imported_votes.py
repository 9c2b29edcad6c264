"""Import votes that were given elsewhere, with nameless annotators to hold them.

They meet every invariant of a vote: a slot each, one vote per annotator and story, recorded consent and
qualification, a complete form, an event. Only their times lie in the past.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.models import Annotator, User, locked
from annotation import rules
from annotation.actions.events import record_events
from annotation.actions.slots import settle_slots
from annotation.errors import InvalidInput
from annotation.importing.rows import batches
from annotation.models import (
    Answer,
    Assignment,
    Comment,
    ConsentText,
    Enrollment,
    Event,
    Skip,
    Story,
    Study,
    Vote,
)
from annotation.protocols.base import IncompleteForm

BATCH = 500
"""Stories held in memory and stored at a time."""
_Prepared = tuple[Vote, str, list[Answer]]
"""An unsaved vote with its comment and answers."""


@dataclass(frozen=True, slots=True)
class ImportedVote:
    """One vote on a story. ``form`` maps fields to options; ``position`` counts the annotator's stories;
    ``instructions`` is the version of the study's own that was shown (0: none)."""

    person: str
    form: Mapping[str, str]
    served_at: datetime
    submitted_at: datetime
    position: int
    order_seed: int | None = None
    option_seed: int | None = None
    language: str = "en"
    instructions: int = 0
    comment: str = ""


@dataclass(frozen=True, slots=True)
class ImportedSkip:
    """One skip of a story; ``position`` counts the annotator's stories."""

    person: str
    story_id: str
    reason: str
    words: str
    served_at: datetime
    skipped_at: datetime
    position: int


@dataclass(frozen=True, slots=True)
class ImportedStory:
    """A story's id with its counted votes."""

    story_id: str
    votes: Sequence[ImportedVote]


@transaction.atomic
def enroll_imported_annotators(
    *,
    study: Study,
    consent: ConsentText,
    people: Mapping[str, datetime],
    note: str,
    by: User | None,
    now: datetime,
) -> dict[str, Enrollment]:
    """Enroll a new, qualified annotator for each name; its value is the latest possible time of consent.

    The names are only keys of the returned mapping; nothing stores them. The study must ask for no
    qualification. ``note`` says in every event where the annotators come from.
    """
    study = locked(study)
    if study.gate != Study.Gate.NOT_REQUIRED or consent.version != study.consent_version:
        raise InvalidInput(f"“{study.slug}” asks for qualification, or for consent to another text.")
    annotators = Annotator.objects.bulk_create(Annotator(created_at=now) for _ in people)
    enrollments = Enrollment.objects.bulk_create(
        Enrollment(
            study=study,
            annotator=annotator,
            pseudonym=rules.pseudonym(study.pseudonym_key, annotator.pk),
            environment=study.environment,
            state=Enrollment.State.QUALIFIED,
            consent=consent,
            consented_at=agreed_by,
            created_at=now,
            state_changed_at=now,
        )
        for annotator, agreed_by in zip(annotators, people.values(), strict=True)
    )
    for kind, actor, subject in (
        (Event.Type.ANNOTATOR_INVITED, by, ""),
        (Event.Type.CONSENT_GIVEN, None, f"consent {consent.version}"),
        (Event.Type.ENROLLMENT_QUALIFIED, None, ""),
    ):
        rows = [(person, subject, note) for person in enrollments]
        record_events(study=study, type=kind, by=actor, now=now, rows=rows)
    return dict(zip(people, enrollments, strict=True))


@transaction.atomic
def store_imported_votes(
    *,
    study: Study,
    people: Mapping[str, Enrollment],
    stories: Iterable[ImportedStory],
    note: str,
    now: datetime,
) -> int:
    """Store all votes on the stories, each with its slot, context and event. Return their number.

    Reads a stream: memory does not grow with the votes. The study must be open. Raise :class:`InvalidInput`,
    naming the story, for an unknown story, too many votes, an incomplete form, or an annotator over the cap.
    """
    study = locked(study)
    if study.state != Study.State.OPEN:
        raise InvalidInput(f"“{study.slug}” is {study.get_state_display()}; only an open study takes votes.")
    stored = 0
    for batch in batches(stories, BATCH):
        votes = list(_prepared(study, people, batch))
        _store(study, votes, note=note, now=now)
        stored += len(votes)
    Enrollment.objects.bulk_update(
        people.values(), ["stories_submitted", "last_submitted_at"], batch_size=BATCH
    )
    return stored


@transaction.atomic
def store_imported_skips(
    *, study: Study, people: Mapping[str, Enrollment], skips: Iterable[ImportedSkip], note: str, now: datetime
) -> int:
    """Store the skips of stories that are in the study, uncredited, with their events. Return their number.

    Raise :class:`InvalidInput` for a story that the annotator has voted on.
    """
    study = locked(study)
    stories = dict(Story.objects.filter(study=study).main().values_list("story_id", "pk"))
    stored = []
    for past in skips:
        if past.story_id not in stories:
            continue
        person = people[past.person]
        if Assignment.objects.filter(enrollment=person, story=stories[past.story_id]).exists():
            raise InvalidInput(f"Somebody skipped the story {past.story_id} and voted on it.")
        assignment = Assignment.objects.create(
            story_id=stories[past.story_id],
            enrollment=person,
            state=Assignment.State.SKIPPED,
            slot=1,
            slots=study.slots_per_story,
            order_position=past.position,
            served_at=past.served_at,
            lease_expires_at=past.served_at + study.lease,
        )
        person.stories_skipped += 1
        fields = {"reason": past.reason, "words": past.words, "skipped_at": past.skipped_at}
        stored.append(Skip(assignment=assignment, credited=False, **fields))
    Skip.objects.bulk_create(stored)
    Enrollment.objects.bulk_update(people.values(), ["stories_skipped"], batch_size=BATCH)
    rows = [(skip.assignment.enrollment, f"assignment {skip.pk}", note) for skip in stored]
    record_events(study=study, type=Event.Type.STORY_SKIPPED, now=now, rows=rows)
    return len(stored)


def _prepared(
    study: Study, people: Mapping[str, Enrollment], batch: list[ImportedStory]
) -> Iterator[_Prepared]:
    """Yield the unsaved votes of a batch with their answers, and credit the annotators."""
    protocol = study.protocol
    ids = [past.story_id for past in batch]
    texts = dict(study.instruction_texts.values_list("version", "pk"))
    stories = {story.story_id: story for story in Story.objects.filter(study=study, story_id__in=ids).main()}
    for past in batch:
        story = stories.get(past.story_id)
        if story is None:
            raise InvalidInput(f"“{study.slug}” has no story {past.story_id}.")
        given, asked = len(past.votes), study.slots_per_story
        if given > asked:
            raise InvalidInput(f"The story {past.story_id} has {given} votes; the study asks for {asked}.")
        item = protocol.parse(story.content)
        for slot, vote in enumerate(past.votes, 1):
            try:
                choices = protocol.read_form(item, vote.form)
            except IncompleteForm as error:
                raise InvalidInput(f"A vote on the story {past.story_id}: {error}") from error
            if len(choices) != len(vote.form):
                raise InvalidInput(f"A vote on the story {past.story_id} answers what nobody asks.")
            prepared = _vote(study, story, people[vote.person], vote, slot)
            prepared.instructions_id = texts[vote.instructions] if vote.instructions else None
            answers = [
                Answer(
                    vote=prepared,
                    question=choice.question,
                    row=choice.row,
                    **{"words" if choice.question in protocol.written else "option": choice.option},
                    counts_against=protocol.counts_against(item, choice),
                )
                for choice in choices
            ]
            yield prepared, vote.comment, answers


def _vote(study: Study, story: Story, person: Enrollment, past: ImportedVote, slot: int) -> Vote:
    if past.position > study.story_cap:
        raise InvalidInput(f"Somebody voted on more than {study.story_cap} stories, the cap of the study.")
    person.stories_submitted += 1
    person.last_submitted_at = max(past.submitted_at, person.last_submitted_at or past.submitted_at)
    shared: dict[str, Any] = {
        "order_position": past.position,
        "order_seed": past.order_seed,
        "option_seed": past.option_seed,
        "served_at": past.served_at,
    }
    return Vote(
        **shared,
        assignment=Assignment(
            **shared,
            story=story,
            enrollment=person,
            state=Assignment.State.SUBMITTED,
            slot=slot,
            slots=study.slots_per_story,
            lease_expires_at=past.served_at + study.lease,
        ),
        protocol_version=study.protocol_version,
        language=past.language,
        story_hash=story.content_hash,
        first_submitted_at=past.submitted_at,
        submitted_at=past.submitted_at,
        environment=person.environment,
    )


def _store(study: Study, votes: Sequence[_Prepared], *, note: str, now: datetime) -> None:
    Assignment.objects.bulk_create(vote.assignment for vote, _, _ in votes)
    Vote.objects.bulk_create(vote for vote, _, _ in votes)
    Comment.objects.bulk_create(Comment(vote=vote, words=words) for vote, words, _ in votes if words)
    Answer.objects.bulk_create(answer for _, _, answers in votes for answer in answers)
    rows = [(vote.assignment.enrollment, f"vote {vote.pk}", note) for vote, _, _ in votes]
    record_events(study=study, type=Event.Type.VOTE_SUBMITTED, now=now, rows=rows)
    given = Counter(vote.assignment.story_id for vote, _, _ in votes)
    full = [story for story, number in given.items() if number == study.votes_per_story]
    Story.objects.filter(pk__in=full).mark_full()
    settle_slots(study=study, stories=given)
