"""Review votes: draw samples, judge votes, and record experts' decisions about stories."""

import secrets
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Window
from django.db.models.functions import RowNumber
from django.utils.translation import gettext as _

from accounts.models import User, locked
from annotation import queries, review_sampling
from annotation.actions.events import record_about, record_event
from annotation.actions.exclusions import exclude_vote, readmit_vote
from annotation.errors import ChangedMeanwhile, InvalidInput, ReasonMissing, WrongState
from annotation.models import (
    Adjudication,
    Answer,
    Event,
    ReviewItem,
    ReviewSample,
    SpotCheck,
    Story,
    Study,
    Vote,
    VoteExclusion,
)
from annotation.reasons import LONGEST_STATEMENT, check_reason
from annotation.sql import lock_person

MOST_PEOPLE = 50
MOST_PER_PERSON = 50


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
    """Draw a sample of counted votes, ``per_person`` of each of so many ``people``.

    Skip votes that were judged, or wait in another sample. The seed (random unless given) chooses the
    annotators and votes, and the sample never changes. ``of`` names the enrollments to choose from, for a
    sample that is not ``among`` everybody. Raise :class:`WrongState` if no vote matches, and ``ValueError``
    for sizes outside 1 to 50.
    """
    if (of is None) != (among == ReviewSample.Among.EVERYBODY):
        raise ValueError("Name the people of a sample that is not among everybody, and only then.")
    if not (1 <= people <= MOST_PEOPLE and 1 <= per_person <= MOST_PER_PERSON):
        raise ValueError(f"Draw 1 to {MOST_PER_PERSON} answers of 1 to {MOST_PEOPLE} people.")
    seed = secrets.randbits(32) if seed is None else seed
    excluded = VoteExclusion.objects.in_force().of_people().values("enrollment")
    voted = study.enrollments.filter(environment=study.environment, stories_submitted__gt=0)
    there = voted.exclude(pk__in=excluded).values_list("pk", flat=True)
    chosen = review_sampling.shuffled(seed, there if of is None else set(there) & set(of))[:people]
    flagged = kind == ReviewSample.Kind.FLAGGED
    candidates = _candidates(study, chosen, look_for_flags=flagged)
    drawn = review_sampling.draw(candidates, seed=seed, per_person=per_person, flagged=flagged)
    if not drawn:
        raise WrongState(_("No more answers match: all have been drawn or reviewed."))
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
        ReviewItem(sample=sample, position=position, vote_id=vote, flag=flag)
        for position, (vote, flag) in enumerate(drawn.items(), 1)
    )
    note = f"{len(drawn)} answers, {kind}, among {among}, seed {seed}"
    record_event(study=study, type=Event.Type.SAMPLE_DRAWN, by=by, now=now, subject=str(sample), note=note)
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
    """Record a decision about a vote. “Not counted” and “rejected” exclude it and free its slot.

    A later decision is a new row; “accepted” restores the vote if a slot is still free. ``seen`` is the id
    of the decision shown to the reviewer (0: none; None: not checked). Raise :class:`ReasonMissing` for an
    exclusion with a reason of fewer than two letters, and :class:`ChangedMeanwhile` if there is a newer
    decision.
    """
    assignment = vote.assignment
    person = lock_person(assignment.enrollment_id)
    accepted = decision == SpotCheck.Decision.ACCEPT
    reason = check_reason(reason) if reason.strip() or not accepted else ""
    last = SpotCheck.objects.filter(vote__assignment=assignment).order_by("-pk").first()
    if seen is not None and seen != (last.pk if last else 0):
        raise ChangedMeanwhile(_("Somebody else reviewed this answer in the meantime. Look at it again."))
    if len(reason) == 1:  # a key that was meant to decide, and went into the field
        raise ReasonMissing(_("“%(typed)s” is not a reason. Say in a few words why."), typed=reason)
    check = SpotCheck.objects.create(vote=vote, item=item, decision=decision, reason=reason, by=by, at=now)
    if accepted:
        readmit_vote(assignment=assignment, reason=reason or f"accepted ({check})", by=by, now=now)
    else:
        exclude_vote(assignment=assignment, reason=reason, by=by, now=now)
    note = f"{decision} vote {vote.pk}. {reason}".strip()
    record_about(person=person, type=Event.Type.VOTE_CHECKED, by=by, now=now, subject=str(check), note=note)
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
    decided_at: datetime | None = None,
) -> Adjudication:
    """Record an expert's decision about a story. Only a release's filter may follow it; no count changes.

    The newest decision is the valid one. ``seen`` is the id of the decision shown to the expert (0: none;
    None: not checked), ``decided_at`` the time of an imported decision. Raise :class:`ReasonMissing`,
    :class:`WrongState` for a story that nobody votes on, and :class:`ChangedMeanwhile` if there is a newer
    decision.
    """
    if story.study.protocol.resolution in ("majority", "reconciled"):
        raise WrongState(_("Experts decide about labels or rows of these stories, one by one."))
    reason = lock_to_decide(story=story, reason=reason, seen=seen)
    return store_decision(story=story, verdict=verdict, reason=reason, by=by, at=decided_at or now, now=now)


@transaction.atomic
def adjudicate_labels(
    *,
    story: Story,
    chosen: Mapping[str, str],
    reason: str,
    by: User | None,
    now: datetime,
    seen: int | None = None,
    decided_at: datetime | None = None,
) -> list[Adjudication]:
    """Record the options that an expert chose for labels of a story, by form field, all or none.

    A release follows them where no option has more than half of the votes. Raise like :func:`adjudicate`,
    :class:`WrongState` also for a story that lacks votes (unless its decisions are imported) or whose study
    has no labels, and :class:`InvalidInput` for no option and for one that the form does not offer.
    """
    if story.study.protocol.resolution != "majority":
        raise WrongState(_("In this study, experts decide about whole stories."))
    if decided_at is None and not queries.has_all_votes(story):
        raise WrongState(_("This story lacks votes, which may still decide its labels."))
    reason = lock_to_decide(story=story, reason=reason, seen=seen)
    if not chosen:
        raise InvalidInput(_("Choose an answer for at least one label."))
    cells = {cell.field: cell for cell in story.protocol.cells(story.protocol.parse(story.content))}
    for field, option in chosen.items():
        if field not in cells or option not in cells[field].labels:
            raise InvalidInput(
                _("“%(value)s” is not one of the answers to this question."), value=option[:40]
            )
    shared: dict[str, Any] = {"story": story, "reason": reason, "by": by, "at": decided_at or now, "now": now}
    return [store_decision(field=field, verdict=option, **shared) for field, option in chosen.items()]


def lock_to_decide(*, story: Story, reason: str, seen: int | None) -> str:
    """Lock a story that may be decided about, and return the reason as it is stored."""
    reason = check_reason(reason, most=LONGEST_STATEMENT)
    if story.role != Story.Role.MAIN:
        raise WrongState(_("Only main stories can be decided."))
    if locked(story).is_old_version:  # two experts take turns
        raise WrongState(_("This is an old version. Decide about the newest version."))
    newest = Adjudication.objects.filter(story=story).order_by("-pk").values_list("pk", flat=True).first()
    if seen is not None and seen != (newest or 0):
        raise ChangedMeanwhile(_("Somebody else decided about this story in the meantime. Look at it again."))
    return reason


def store_decision(
    *, story: Story, field: str = "", verdict: str, reason: str, by: User | None, at: datetime, now: datetime
) -> Adjudication:
    """Save a decision about a form field of a story, or about the whole story, and record it in the log."""
    question, _dot, row = field.partition(".")
    decision = Adjudication.objects.create(
        story=story, question=question, row=row, verdict=verdict, reason=reason, by=by, at=at
    )
    what = f"{field}: {verdict[:100]}, {story.story_id}" if field else f"{verdict} {story.story_id}"
    record_event(
        study=story.study,
        type=Event.Type.STORY_ADJUDICATED,
        by=by,
        now=now,
        subject=str(decision),
        note=f"{what}. {reason}",
    )
    return decision


@transaction.atomic
def adjudicate_stories(
    *,
    study: Study,
    seen: Mapping[str, int],
    verdict: Adjudication.Verdict,
    reason: str,
    by: User | None,
    now: datetime,
) -> list[Adjudication]:
    """Record the same decision about several stories, all or none.

    ``seen`` maps story ids to the decision that the expert saw, as in :func:`adjudicate`. Raise
    :class:`WrongState` if it names no story.
    """
    stories = Story.objects.filter(study=study, story_id__in=seen).select_related("study").order_by("pk")
    if not stories:
        raise WrongState(_("Tick at least one story. Nothing was saved."))
    return [
        adjudicate(story=story, verdict=verdict, reason=reason, by=by, now=now, seen=seen[story.story_id])
        for story in stories
    ]


def _candidates(study: Study, people: list[int], *, look_for_flags: bool) -> list[review_sampling.Candidate]:
    """Return counted votes of these enrollments that are neither judged nor drawn.

    Look up which of them object alone only if the sample needs it: where the number of votes is
    adaptive, among the first ones that every story gets.
    """
    against = Answer.objects.filter(counts_against=True)
    others = Vote.objects.counted().filter(assignment__story=OuterRef("assignment__story"))
    others = others.exclude(assignment=OuterRef("assignment"))
    votes = (
        Vote.objects.of_study(study)
        .counted()
        .filter(assignment__enrollment__in=people)
        .exclude(assignment__votes__spot_checks__isnull=False)
        .exclude(assignment__votes__review_items__isnull=False)
    )
    alone: set[int] = set()
    if look_for_flags and study.votes_per_story > 1:
        compared = votes
        if study.most_votes:  # later votes were asked for because of the first ones
            order = ("submitted_at", "assignment__enrollment__pseudonym")
            place = Window(RowNumber(), partition_by="assignment__story", order_by=order)
            placed = Vote.objects.of_study(study).counted().annotate(place=place)
            first = placed.filter(place__lte=study.votes_per_story).values("pk")
            compared, others = votes.filter(pk__in=first), others.filter(pk__in=first)
        standing_alone = compared.filter(
            Exists(against.filter(vote=OuterRef("pk"))),
            ~Exists(others.filter(Exists(against.filter(vote=OuterRef("pk"))))),
            assignment__story__has_free_slot=False,
            assignment__story__is_old_version=False,  # which may have been revised because of it
        )
        alone = set(standing_alone.values_list("pk", flat=True))
    rows = votes.values_list("pk", "assignment__enrollment", "served_at", "first_submitted_at")
    return [
        review_sampling.Candidate(pk, person, (submitted - served).total_seconds(), pk in alone)
        for pk, person, served, submitted in rows
    ]
