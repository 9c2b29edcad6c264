"""Looking at people's work: drawing answers, judging them, and an expert's word about a story."""

from __future__ import annotations

import secrets
from collections.abc import Collection
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import sampling
from annotation.actions.events import record_event
from annotation.actions.exclusions import check_reason, exclude_vote, readmit_vote
from annotation.errors import JudgedMeanwhile, NothingToReview, ReasonMissing, WrongState
from annotation.models import (
    Adjudication,
    Answer,
    Enrollment,
    Event,
    ReviewItem,
    ReviewSample,
    SpotCheck,
    Story,
    Study,
    Vote,
    VoteExclusion,
)
from annotation.sql import lock_person

MOST_PEOPLE = 50
MOST_PER_PERSON = 50
LONGEST_STATEMENT = 1000
"""Characters of the reason for an adjudication."""


@transaction.atomic
def draw_sample(
    *,
    study: Study,
    kind: ReviewSample.Kind,
    people: int,
    per_person: int,
    by: User | None,
    now: datetime,
    seed: int | None = None,
    among: ReviewSample.Among = ReviewSample.Among.EVERYBODY,
    of: Collection[int] | None = None,
) -> ReviewSample:
    """Draw counted answers: ``per_person`` of each of so many ``people``. None that somebody has judged, and
    none that is in a sample already, where it waits to be judged.

    People and answers are chosen by the seed (a new one unless given), and the sample stays as it was
    drawn. ``of``: the enrollments from which people are chosen, for a sample that is not ``among``
    everybody. Raises :class:`NothingToReview`, and ``ValueError`` for sizes that are not between 1 and 50.
    """
    if (of is None) != (among == ReviewSample.Among.EVERYBODY):
        raise ValueError("Name the people of a sample that is not among everybody, and only then.")
    if not (1 <= people <= MOST_PEOPLE and 1 <= per_person <= MOST_PER_PERSON):
        raise ValueError(f"Draw 1 to {MOST_PER_PERSON} answers of 1 to {MOST_PEOPLE} people.")
    seed = secrets.randbits(32) if seed is None else seed
    there = _people_with_votes(study)
    chosen = sampling.shuffled(seed, there if of is None else set(there) & set(of))[:people]
    flagged = kind == ReviewSample.Kind.FLAGGED
    candidates = _candidates(study, chosen, look_for_flags=flagged)
    drawn = sampling.draw(candidates, seed=seed, per_person=per_person, flagged=flagged)
    if not drawn:
        raise NothingToReview(
            _("There is no answer to review that fits and has not been drawn or judged yet.")
        )
    sample = ReviewSample.objects.create(
        study=study,
        kind=kind,
        among=among,
        people=people,
        per_person=per_person,
        seed=seed,
        drawn_by=by,
        drawn_at=now,
    )
    ReviewItem.objects.bulk_create(
        ReviewItem(sample=sample, position=position, vote_id=item.vote, flag=item.flag)
        for position, item in enumerate(drawn, 1)
    )
    record_event(
        study=study,
        type=Event.Type.SAMPLE_DRAWN,
        by=by,
        now=now,
        subject=f"sample {sample.pk}",
        note=f"{len(drawn)} answers, {kind}, among {among}, seed {seed}",
    )
    return sample


@transaction.atomic
def spot_check(
    *,
    vote: Vote,
    decision: SpotCheck.Decision,
    reason: str,
    by: User | None,
    now: datetime,
    item: ReviewItem | None = None,
    seen: int | None = None,
) -> SpotCheck:
    """Decide about a vote. “Not counted” and “rejected” take it out of the count and free its slot.

    A later decision is a new row; “accepted” takes the vote back as far as its slot is still free. ``seen``
    is the number of the decision that the one who decides has in front of them (0: none); without it no
    matter. Raises :class:`ReasonMissing` for a vote taken out without a reason, or one of one letter, and
    :class:`JudgedMeanwhile` when there is a newer decision than the one that was seen.
    """
    assignment = vote.assignment
    person = lock_person(assignment.enrollment_id)
    accepted = decision == SpotCheck.Decision.ACCEPT
    reason = check_reason(reason) if reason.strip() or not accepted else ""
    last = SpotCheck.objects.filter(vote__assignment=assignment).order_by("-pk").first()
    if seen is not None and seen != (last.pk if last else 0):
        raise JudgedMeanwhile(_("Somebody else has judged this answer meanwhile. Look at it again."))
    if len(reason) == 1:  # a key that was meant to decide, and went into the field
        raise ReasonMissing(_("“%(typed)s” is no reason. Say in a few words why.") % {"typed": reason})
    check = SpotCheck.objects.create(vote=vote, item=item, decision=decision, reason=reason, by=by, at=now)
    if accepted:
        readmit_vote(assignment=assignment, reason=reason or f"accepted ({check})", by=by, now=now)
    else:
        exclude_vote(assignment=assignment, reason=reason, by=by, now=now)
    record_event(
        study=person.study,
        type=Event.Type.VOTE_CHECKED,
        by=by,
        enrollment=person,
        now=now,
        subject=f"spot check {check.pk}",
        note=f"{decision} vote {vote.pk}. {reason}".strip(),
    )
    return check


@transaction.atomic
def adjudicate(
    *,
    story: Story,
    verdict: Adjudication.Verdict,
    reason: str,
    by: User | None,
    now: datetime,
    seen: int | None = None,
) -> Adjudication:
    """Write an expert's decision beside a story's votes. It changes no count and no verdict.

    The newest decision about a story stands. ``seen`` is the number of the one that the expert has in front
    of them (0: none); without it no matter. Raises :class:`ReasonMissing`, :class:`WrongState` for a story
    that nobody votes on, and :class:`JudgedMeanwhile` when there is a newer decision than the one seen.
    """
    reason = reason.strip()
    if "\0" in reason or not 1 <= len(reason) <= LONGEST_STATEMENT:
        raise ReasonMissing(_("Give the reason in 1 to %(most)s characters.") % {"most": LONGEST_STATEMENT})
    if story.role != Story.Role.MAIN:
        raise WrongState(_("Only stories that the study is about are adjudicated."))
    Story.objects.select_for_update(no_key=True).get(pk=story.pk)  # two experts take turns
    if _standing(story) != seen and seen is not None:
        raise JudgedMeanwhile(_("Somebody else has decided about this story meanwhile. Look at it again."))
    adjudication = Adjudication.objects.create(story=story, verdict=verdict, reason=reason, by=by, at=now)
    record_event(
        study=story.study,
        type=Event.Type.STORY_ADJUDICATED,
        by=by,
        now=now,
        subject=f"adjudication {adjudication.pk}",
        note=f"{verdict} {story.story_id}. {reason}",
    )
    return adjudication


def _standing(story: Story) -> int:
    """The number of the decision that stands about the story; 0 when there is none."""
    newest = Adjudication.objects.filter(story=story).order_by("-pk").values_list("pk", flat=True)
    return newest.first() or 0


def _people_with_votes(study: Study) -> list[int]:
    excluded = VoteExclusion.objects.standing().of_people().values("enrollment")
    people = Enrollment.objects.filter(
        study=study, environment=study.environment, stories_submitted__gt=0
    ).exclude(pk__in=excluded)
    return list(people.values_list("pk", flat=True))


def _candidates(study: Study, people: list[int], *, look_for_flags: bool) -> list[sampling.Candidate]:
    """Counted votes of these people, neither judged nor drawn; whether they stand alone only if asked for."""
    against = Answer.objects.filter(counts_against=True)
    others = (
        Vote.objects.counted()
        .filter(assignment__story=OuterRef("assignment__story"))
        .exclude(assignment=OuterRef("assignment"))
    )
    votes = (
        Vote.objects.of_study(study)
        .counted()
        .filter(assignment__enrollment__in=people)
        .exclude(assignment__votes__spot_checks__isnull=False)
        .exclude(assignment__votes__review_items__isnull=False)
    )
    alone: set[int] = set()
    if look_for_flags and study.votes_per_story > 1:
        standing_alone = votes.filter(
            Exists(against.filter(vote=OuterRef("pk"))),
            ~Exists(others.filter(Exists(against.filter(vote=OuterRef("pk"))))),
            assignment__story__has_free_slot=False,
        )
        alone = set(standing_alone.values_list("pk", flat=True))
    rows = votes.values_list("pk", "assignment__enrollment", "served_at", "first_submitted_at")
    return [
        sampling.Candidate(pk, person, (submitted - served).total_seconds(), pk in alone)
        for pk, person, served, submitted in rows
    ]
