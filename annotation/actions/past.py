"""Bringing in what was voted elsewhere: people without a name, and their votes, as facts of the past.

Everything the invariants ask of a vote holds for these too: a slot each, one vote per person and story,
consent and qualification on record, the whole form answered, an event. Only the moments lie behind us.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from django.db import transaction

from accounts.models import Annotator, User
from annotation.errors import PastRefused
from annotation.models import Answer, Assignment, ConsentText, Enrollment, Event, Story, Study, Vote
from annotation.protocols.base import IncompleteForm, Protocol

BATCH = 500
"""Stories stored at a time; what is in memory of them."""


@dataclass(frozen=True, slots=True)
class PastVote:
    """One vote on a story. ``form`` maps form fields to options; ``position`` counts the person's stories."""

    person: str
    form: Mapping[str, str]
    served_at: datetime
    submitted_at: datetime
    position: int


@dataclass(frozen=True, slots=True)
class PastStory:
    """All counted votes on one story of the study."""

    story_id: str
    votes: Sequence[PastVote]


@transaction.atomic
def enroll_past_people(
    *,
    study: Study,
    consent: ConsentText,
    people: Mapping[str, datetime],
    note: str,
    by: User | None,
    now: datetime,
) -> dict[str, Enrollment]:
    """A new, qualified annotator for each name, with the moment they had agreed by at the latest.

    The names are only keys of the mapping that is returned: they are stored nowhere. For a study that
    asks for no qualification; ``note`` says in every event where the people come from.
    """
    study = _lock(study)
    if study.gate != Study.Gate.NOT_REQUIRED or consent.version != study.consent_version:
        raise PastRefused(f"“{study.slug}” asks for qualification, or for consent to another text.")
    annotators = Annotator.objects.bulk_create(Annotator(created_at=now) for _ in people)
    enrollments = Enrollment.objects.bulk_create(
        Enrollment(
            study=study,
            annotator=annotator,
            environment=study.environment,
            state=Enrollment.State.QUALIFIED,
            consent=consent,
            consented_at=agreed_by,
            created_at=now,
            state_changed_at=now,
        )
        for annotator, agreed_by in zip(annotators, people.values(), strict=True)
    )
    Event.objects.bulk_create(
        Event(study=study, type=kind, actor=actor, enrollment=person, subject=subject, note=note, at=now)
        for person in enrollments
        for kind, actor, subject in (
            (Event.Type.ANNOTATOR_INVITED, by, ""),
            (Event.Type.CONSENT_GIVEN, None, f"consent {consent.version}"),
            (Event.Type.ENROLLMENT_QUALIFIED, None, ""),
        )
    )
    return dict(zip(people, enrollments, strict=True))


@transaction.atomic
def store_past_votes(
    *, study: Study, people: Mapping[str, Enrollment], stories: Iterable[PastStory], note: str, now: datetime
) -> int:
    """Store all votes on the stories, each with its slot, context and event. Returns how many.

    A stream: memory does not grow with the votes. The study must be open. Raises :class:`PastRefused`,
    naming the story, for one that the study does not have, that has another number of votes than the
    study asks for, or a vote that is not a whole form of the protocol; and for somebody past the cap.
    """
    study = _lock(study)
    if study.state != Study.State.OPEN:
        raise PastRefused(f"“{study.slug}” is {study.get_state_display()}; only an open study takes votes.")
    protocol = study.protocol
    stored = 0
    for batch in _batches(stories):
        votes = list(_prepared(study, protocol, people, batch))
        _store(study, votes, note=note, now=now)
        stored += len(votes)
    Enrollment.objects.bulk_update(
        people.values(), ["stories_submitted", "last_submitted_at"], batch_size=BATCH
    )
    return stored


def _lock(study: Study) -> Study:
    return Study.objects.select_for_update(of=("self",), no_key=True).get(pk=study.pk)


def _batches(stories: Iterable[PastStory]) -> Iterator[list[PastStory]]:
    iterator = iter(stories)
    while batch := list(islice(iterator, BATCH)):
        yield batch


def _prepared(
    study: Study, protocol: Protocol, people: Mapping[str, Enrollment], batch: list[PastStory]
) -> Iterator[tuple[Vote, list[Answer]]]:
    """The votes of a batch with their answers, not stored yet; credits them to their people."""
    ids = [past.story_id for past in batch]
    stories = {story.story_id: story for story in Story.objects.filter(study=study, story_id__in=ids).main()}
    for past in batch:
        story = stories.get(past.story_id)
        if story is None:
            raise PastRefused(f"“{study.slug}” has no story {past.story_id}.")
        if len(past.votes) != study.votes_per_story:
            raise PastRefused(
                f"The story {past.story_id} has {len(past.votes)} votes; the study asks for "
                f"{study.votes_per_story}."
            )
        item = protocol.parse(story.content)
        for slot, vote in enumerate(past.votes, 1):
            try:
                choices = protocol.read_form(item, vote.form)
            except IncompleteForm as error:
                raise PastRefused(f"A vote on the story {past.story_id}: {error}") from error
            if len(choices) != len(vote.form):
                raise PastRefused(f"A vote on the story {past.story_id} answers what nobody asks.")
            prepared = _vote(study, story, people[vote.person], vote, slot)
            yield (
                prepared,
                [
                    Answer(
                        vote=prepared,
                        question=choice.question,
                        row=choice.row,
                        option=choice.option,
                        counts_against=protocol.counts_against(item, choice),
                    )
                    for choice in choices
                ],
            )


def _vote(study: Study, story: Story, person: Enrollment, past: PastVote, slot: int) -> Vote:
    if past.position > study.story_cap:
        raise PastRefused(f"Somebody voted on more than {study.story_cap} stories, the cap of the study.")
    person.stories_submitted += 1
    person.last_submitted_at = max(past.submitted_at, person.last_submitted_at or past.submitted_at)
    return Vote(
        assignment=Assignment(
            story=story,
            enrollment=person,
            state=Assignment.State.SUBMITTED,
            slot=slot,
            slots=study.votes_per_story,
            order_position=past.position,
            served_at=past.served_at,
            lease_expires_at=past.served_at + study.lease,
        ),
        protocol_version=study.protocol_version,
        story_hash=story.content_hash,
        order_position=past.position,
        served_at=past.served_at,
        first_submitted_at=past.submitted_at,
        submitted_at=past.submitted_at,
        environment=person.environment,
    )


def _store(study: Study, votes: Sequence[tuple[Vote, list[Answer]]], *, note: str, now: datetime) -> None:
    """Write a batch: every row that an answered story leaves behind, and that the stories are full."""
    Assignment.objects.bulk_create(vote.assignment for vote, _ in votes)
    for vote, _ in votes:
        vote.assignment_id = vote.assignment.pk
    Vote.objects.bulk_create(vote for vote, _ in votes)
    for vote, answers in votes:
        for answer in answers:
            answer.vote_id = vote.pk
    Answer.objects.bulk_create(answer for _, answers in votes for answer in answers)
    Event.objects.bulk_create(
        Event(
            study=study,
            type=Event.Type.VOTE_SUBMITTED,
            enrollment=vote.assignment.enrollment,
            subject=f"vote {vote.pk}",
            note=note,
            at=now,
        )
        for vote, _ in votes
    )
    full = {vote.assignment.story_id for vote, _ in votes}
    Story.objects.filter(pk__in=full).update(has_free_slot=False)
