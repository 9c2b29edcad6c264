"""Bringing what a platform says and what is here together.

The platform is asked outside of any transaction. Then each piece of work is looked at by itself, with its
rows locked, and gets the steps of ``recruitment.reconciliation.plan``; every step is safe to repeat.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.actions import AskedToBeForgotten, recognise
from accounts.models import Annotator, PlatformIdentity, User
from annotation import actions as annotation_actions
from annotation.models import Event
from recruitment.actions.grants import grant
from recruitment.actions.payments import approve
from recruitment.errors import CannotSettle
from recruitment.marketplace import Marketplace, Status, Unreachable, Work
from recruitment.models import Campaign, Difference, Grant, Payment, Posting, Submission, Visit
from recruitment.reconciliation import queries
from recruitment.reconciliation.plan import Rules, Step, There, plan

logger = logging.getLogger(__name__)
FLAGS = {
    Step.FLAG_NO_DATA: Difference.Kind.NO_DATA,
    Step.FLAG_WRONG_RECEIPT: Difference.Kind.WRONG_RECEIPT,
    Step.FLAG_NOT_HANDED_IN: Difference.Kind.NOT_HANDED_IN,
    Step.FLAG_DECIDED_THERE: Difference.Kind.DECIDED_THERE,
    Step.FLAG_DOUBTED_BUT_THERE: Difference.Kind.DOUBTED_BUT_THERE,
}
NOT_HANDED_IN = "The platform does not list this work as handed in."


@dataclass(slots=True)
class Outcome:
    """What a comparison came to: pieces of work looked at, and how often each step was taken."""

    looked_at: int = 0
    steps: dict[Step, int] = field(default_factory=dict)

    def add(self, steps: Iterable[Step]) -> None:
        self.looked_at += 1
        for step in steps:
            self.steps[step] = self.steps.get(step, 0) + 1


def reconcile(*, campaign: Campaign, marketplace: Marketplace, now: datetime) -> Outcome:
    """Ask the platform about everything of a campaign that is not settled, and do what follows.

    Once an hour it is also asked about postings for which nobody has come here. A posting about which it
    does not answer is left for the next run, and keeps no other one waiting; then ``Unreachable`` is raised
    at the end. Raises the other errors of ``recruitment.marketplace`` at once; what was done stays done.
    """
    polls, failure = _ask(campaign, marketplace, now=now)
    outcome, receipts = Outcome(), marketplace.abilities.returns_receipt
    for visit in queries.unsettled_visits(campaign):
        asked = polls.get(visit.posting_id or 0, [])
        outcome.add(settle_visit(visit_id=visit.pk, returns_receipt=receipts, polls=asked, now=now))
    for submission in queries.unsettled_strangers(campaign):
        outcome.add(settle_stranger(submission_id=submission.pk, returns_receipt=receipts, now=now))
    _note_synced(campaign, outcome, now=now)
    if failure:
        raise failure
    return outcome


def _ask(
    campaign: Campaign, marketplace: Marketplace, *, now: datetime
) -> tuple[dict[int, list[datetime]], Unreachable | None]:
    """Take in what the platform lists now; per posting when it was asked, this time and the time before."""
    polls: dict[int, list[datetime]] = {}
    failure: Unreachable | None = None
    for posting in queries.postings_to_ask(campaign):
        try:
            _take_in_all(campaign, marketplace.work(campaign.remote_id, [posting.remote_id]), now=now)
        except Unreachable as error:
            failure = error
            continue
        polls[posting.pk] = [moment for moment in (posting.synced_at, now) if moment]
        _note_asked(posting, now=now)
    is_first_of_the_hour = campaign.synced_at is None or campaign.synced_at.hour != now.hour
    others = queries.other_postings(campaign) if is_first_of_the_hour else []
    if others:
        try:
            _take_in_all(campaign, marketplace.work(campaign.remote_id, others), now=now)
        except Unreachable as error:
            failure = error
    return polls, failure


def _take_in_all(campaign: Campaign, listed: Iterable[Work], *, now: datetime) -> None:
    for work in listed:
        take_in(campaign=campaign, work=work, now=now)


@transaction.atomic
def _note_asked(posting: Posting, *, now: datetime) -> None:
    Posting.objects.filter(pk=posting.pk).update(synced_at=now)


@transaction.atomic
def take_in(*, campaign: Campaign, work: Work, now: datetime) -> Submission | None:
    """Write down what the platform says of one piece of work; None when nobody knows whose it is.

    Only what it says of handed-in work may change what it said of that before: a stale answer that still
    calls it active does not.
    """
    annotator = _who(campaign, work, now=now)
    if annotator is None:
        return None
    key = {
        "platform": campaign.platform,
        "environment": campaign.environment,
        "hit_assignment": work.hit_assignment,
        "annotator": annotator,
    }
    visit = Visit.objects.filter(
        campaign=campaign, hit_assignment=work.hit_assignment, enrollment__annotator=annotator
    ).first()
    posting = Posting.objects.filter(campaign=campaign, remote_id=work.posting).first()
    known = Submission.objects.select_for_update(of=("self",), no_key=True).filter(**key).first()
    if known is None:
        return Submission.objects.create(
            **key,
            campaign=campaign,
            posting=posting,
            visit=visit,
            status=work.status,
            receipt=work.receipt,
            submitted_at=work.submitted_at,
            seen_at=now,
        )
    if not (_is_final(known.status) and not _is_final(work.status)):
        known.status = work.status
    known.receipt = work.receipt or known.receipt
    known.submitted_at = work.submitted_at or known.submitted_at
    known.visit = known.visit or visit
    known.posting = known.posting or posting
    known.seen_at = now
    known.save(update_fields=["status", "receipt", "submitted_at", "visit", "posting", "seen_at"])
    return known


@transaction.atomic
def settle_difference(*, difference: Difference, how: str, by: User | None, now: datetime) -> Difference:
    """Somebody has dealt with a difference, and says how. Raises :class:`CannotSettle` without a word."""
    difference = Difference.objects.select_for_update(of=("self",)).get(pk=difference.pk)
    if not how.strip():
        raise CannotSettle(_("Say in a few words how this was dealt with. It is kept in the log."))
    if difference.settled_at:
        return difference
    difference.settled_at, difference.settled_by, difference.settled_how = now, by, how.strip()
    difference.save(update_fields=["settled_at", "settled_by", "settled_how"])
    annotation_actions.record_event(
        study=difference.campaign.study,
        type=Event.Type.PLATFORM_SYNCED,
        by=by,
        now=now,
        subject=f"{difference.kind} {difference.pk}",
        note=how.strip(),
    )
    return difference


@transaction.atomic
def confirm_by_hand(*, difference: Difference, how: str, by: User | None, now: datetime) -> Difference:
    """Let the votes of a visit count on a researcher's word, and settle the difference about it.

    Where the campaign approves confirmed work by itself, work that waits for a decision is approved, too.
    Raises :class:`CannotSettle` for work of which nothing is here.
    """
    visit = difference.visit or (difference.submission.visit if difference.submission else None)
    if visit is None or visit.session is None:
        raise CannotSettle(_("Nothing of this work is here, so there is nothing that could count."))
    annotation_actions.confirm_session(session=visit.session, by=by, now=now)
    submission = Submission.objects.filter(visit=visit, status=Submission.Status.SUBMITTED).first()
    if submission and difference.campaign.approves_by_itself and _decision(submission) is None:
        approve(submission=submission, by=by, now=now)
    return settle_difference(difference=difference, how=how, by=by, now=now)


@transaction.atomic
def settle_visit(
    *, visit_id: int, returns_receipt: bool, polls: Iterable[datetime], now: datetime
) -> list[Step]:
    """Do what follows for a visit from what both sides say now; returns the steps that changed anything.

    ``polls``: when the platform was asked, this time and the time before.
    """
    visit = (
        Visit.objects.select_for_update(of=("self",), no_key=True)
        .select_related("session__enrollment", "campaign__study", "enrollment")
        .get(pk=visit_id)
    )
    session, campaign = visit.session, visit.campaign
    assert session is not None
    assert campaign is not None
    submission = Submission.objects.filter(visit=visit).first()
    rules = Rules(
        returns_receipt=returns_receipt,
        approves_by_itself=campaign.approves_by_itself,
        polls_since_expiry=sum(moment > session.expires_at for moment in polls),
    )
    steps = plan(queries.here(visit), _there(submission), rules, decision=_decision(submission), now=now)
    return [step for step in steps if _do(step, visit, submission, campaign, now=now)]


@transaction.atomic
def settle_stranger(*, submission_id: int, returns_receipt: bool, now: datetime) -> list[Step]:
    """The same for work that was handed in there and of which nothing is here."""
    submission = (
        Submission.objects.select_for_update(of=("self",), no_key=True)
        .select_related("campaign__study")
        .get(pk=submission_id)
    )
    campaign = submission.campaign
    rules = Rules(
        returns_receipt=returns_receipt,
        approves_by_itself=campaign.approves_by_itself,
        polls_since_expiry=0,
    )
    steps = plan(None, _there(submission), rules, decision=_decision(submission), now=now)
    return [step for step in steps if _do(step, None, submission, campaign, now=now)]


def _do(
    step: Step,
    visit: Visit | None,
    submission: Submission | None,
    campaign: Campaign,
    *,
    now: datetime,
) -> bool:
    """Take one step. Whether it changed anything."""
    if step in FLAGS:
        return _flag(FLAGS[step], visit, submission, campaign, now=now)
    if step == Step.APPROVE:
        assert submission is not None
        approve(submission=submission, by=None, now=now)
        return True
    assert visit is not None
    assert visit.session is not None
    session = visit.session
    if step == Step.CONFIRM:
        annotation_actions.know_person(session=session)
        return annotation_actions.confirm_session(session=session, by=None, now=now)
    if step == Step.DOUBT:
        return annotation_actions.doubt_session(session=session, reason=NOT_HANDED_IN, by=None, now=now)
    kind = Grant.Kind.QUALIFIED if step == Step.GRANT_QUALIFIED else Grant.Kind.INCOMPLETE
    had = Grant.objects.filter(
        study=campaign.study,
        platform=campaign.platform,
        environment=campaign.environment,
        annotator=visit.enrollment.annotator_id,
        kind=kind,
    ).exists()
    given = grant(campaign=campaign, annotator=visit.enrollment.annotator, kind=kind, now=now)
    return given is not None and not had


def _flag(
    kind: Difference.Kind,
    visit: Visit | None,
    submission: Submission | None,
    campaign: Campaign,
    *,
    now: datetime,
) -> bool:
    about = {"submission": submission} if submission else {"visit": visit}
    _difference, made = Difference.objects.get_or_create(
        kind=kind, **about, defaults={"campaign": campaign, "visit": visit, "noticed_at": now}
    )
    return made


@transaction.atomic
def _note_synced(campaign: Campaign, outcome: Outcome, *, now: datetime) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(synced_at=now)
    if outcome.steps:
        done = ", ".join(f"{step.value} {count}" for step, count in sorted(outcome.steps.items()))
        annotation_actions.record_event(
            study=campaign.study,
            type=Event.Type.PLATFORM_SYNCED,
            now=now,
            subject=f"campaign {campaign.number}",
            note=done,
        )


def _who(campaign: Campaign, work: Work, *, now: datetime) -> Annotator | None:
    """Whose work it is. Somebody who has been forgotten is known by nothing but the work itself."""
    try:
        return recognise(
            platform=PlatformIdentity.Platform(campaign.platform),
            environment=campaign.environment,
            person=work.person,
            now=now,
        )
    except AskedToBeForgotten:
        theirs = Visit.objects.filter(
            campaign=campaign,
            hit_assignment=work.hit_assignment,
            enrollment__annotator__erased_at__isnull=False,
        ).select_related("enrollment__annotator")
        found = list(theirs[:2])
        if len(found) == 1:
            return found[0].enrollment.annotator
        logger.warning("Work of campaign %s is of somebody who has been forgotten.", campaign.pk)
        return None


def _there(submission: Submission | None) -> There | None:
    return There(Status(submission.status), submission.receipt) if submission else None


def _decision(submission: Submission | None) -> str | None:
    """Our own newest decision, also one that the platform refused: no sweep asks for the same again."""
    if submission is None:
        return None
    kinds = [Payment.Kind.APPROVAL, Payment.Kind.REJECTION]
    made = submission.payments.filter(kind__in=kinds).last()
    return made.kind if made else None


def _is_final(status: str) -> bool:
    return Status(status) in (Status.SUBMITTED, Status.APPROVED, Status.REJECTED)
