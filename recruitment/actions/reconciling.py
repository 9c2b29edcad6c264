"""Bringing what a platform says and what is here together.

The platform is asked outside of any transaction. Then each piece of work is looked at by itself, with its
rows locked, and gets the steps of ``recruitment.reconciliation.plan``; every step is safe to repeat.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.actions import AskedToBeForgotten, recognise
from accounts.models import Annotator, PlatformIdentity, User
from annotation import actions as annotation_actions
from annotation.models import Event, WorkSession
from recruitment.actions.grants import grant, take_back
from recruitment.actions.payments import approve
from recruitment.errors import CannotSettle
from recruitment.marketplace import Marketplace, Status, Work
from recruitment.models import Campaign, Difference, Grant, Payment, Posting, Submission, Visit
from recruitment.reconciliation import queries
from recruitment.reconciliation.news import batches, news, not_noted_lately
from recruitment.reconciliation.outcome import Failures, Outcome
from recruitment.reconciliation.plan import Rules, Step, There, plan

logger = logging.getLogger(__name__)
FLAGS = {
    Step.FLAG_NO_DATA: Difference.Kind.NO_DATA,
    Step.FLAG_WRONG_RECEIPT: Difference.Kind.WRONG_RECEIPT,
    Step.FLAG_NOT_HANDED_IN: Difference.Kind.NOT_HANDED_IN,
    Step.FLAG_DECIDED_THERE: Difference.Kind.DECIDED_THERE,
    Step.FLAG_DOUBTED_BUT_THERE: Difference.Kind.DOUBTED_BUT_THERE,
    Step.FLAG_PARTIAL: Difference.Kind.PARTIAL,
}
UNPROVEN = (Difference.Kind.WRONG_RECEIPT, Difference.Kind.NO_DATA)
"""Differences about work that is not confirmed unless a researcher says so."""
MOST_SECONDS = 900.0
"""After this a comparison ends where it is; the next one goes on."""
NOT_HANDED_IN = "The platform does not list this work as handed in."


def reconcile(
    *, campaign: Campaign, marketplace: Marketplace, now: datetime, most_seconds: float = MOST_SECONDS
) -> Outcome:
    """Ask the platform about everything of a campaign that is not settled, and do what follows.

    Posting by posting, the one asked longest ago first, and each is settled as soon as it was asked: a run
    that is cut short has done what it did, and the next one goes on with the others. Once an hour postings
    are asked about for which nobody has come here. What goes wrong with one posting or visit keeps no other
    waiting, and is raised at the end: ``Unreachable``, or else the first error.
    """
    outcome, failures = Outcome(), Failures()
    end = time.monotonic() + most_seconds
    for posting in queries.postings_to_ask(campaign, now=now):
        with failures.of(f"posting {posting.pk}"):
            _compare(campaign, posting, marketplace, outcome, failures, now=now)
        if time.monotonic() > end:
            break
    else:
        _ask_the_others(campaign, marketplace, outcome, failures, end=end, now=now)
    receipts = marketplace.abilities.returns_receipt
    for submission_id in list(queries.unsettled_strangers(campaign).values_list("pk", flat=True)):
        with failures.of(f"submission {submission_id}"):
            outcome.add(settle_stranger(submission_id=submission_id, returns_receipt=receipts, now=now))
    _note_synced(campaign, outcome, now=now)
    failures.raise_first()
    return outcome


def _compare(
    campaign: Campaign,
    posting: Posting,
    marketplace: Marketplace,
    outcome: Outcome,
    failures: Failures,
    *,
    now: datetime,
) -> None:
    """Ask about one posting, and settle the visits in it by what is known then."""
    for batch in batches(marketplace.work(campaign.remote_id, [posting.remote_id])):
        for work in news(campaign, batch):
            with failures.of(f"work in posting {posting.pk}"):
                take_in(campaign=campaign, work=work, now=now)
        _note_seen(campaign, batch, now=now)
    polls = [moment for moment in (posting.synced_at, now) if moment]
    _note_asked(posting, now=now)
    receipts = marketplace.abilities.returns_receipt
    for visit_id in queries.visits_to_settle(campaign, posting):
        with failures.of(f"visit {visit_id}"):
            outcome.add(settle_visit(visit_id=visit_id, returns_receipt=receipts, polls=polls, now=now))


def _ask_the_others(
    campaign: Campaign,
    marketplace: Marketplace,
    outcome: Outcome,
    failures: Failures,
    *,
    end: float,
    now: datetime,
) -> None:
    """Compare the postings in which only a stranger's work could be, or that of somebody given up.

    What could not be asked is asked by the next run.
    """
    others = {posting.remote_id: posting for posting in queries.other_postings(campaign, now=now)}
    worth = set(others)
    with failures.of(f"postings of campaign {campaign.pk}"):
        worth = set(marketplace.worth_asking(campaign.remote_id, list(others)))
    for remote_id, posting in others.items():
        with failures.of(f"posting {posting.pk}"):
            if remote_id in worth:
                _compare(campaign, posting, marketplace, outcome, failures, now=now)
            else:
                _note_asked(posting, now=now)
        if time.monotonic() > end:
            return


@transaction.atomic
def _note_asked(posting: Posting, *, now: datetime) -> None:
    Posting.objects.filter(pk=posting.pk).update(synced_at=now)


@transaction.atomic
def _note_seen(campaign: Campaign, works: Collection[Work], *, now: datetime) -> None:
    not_noted_lately(campaign, works, now=now).update(seen_at=now)


@transaction.atomic
def take_in(*, campaign: Campaign, work: Work, now: datetime) -> Submission | None:
    """Write down what the platform says of one piece of work; None when nobody knows whose it is.

    A stale answer changes nothing: work that was handed in is not active any more, and what was decided
    does not wait for a decision.
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
    if not _is_stale(Status(known.status), work.status):
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
    """Somebody has dealt with a difference, and says how. Raises :class:`CannotSettle` without a word.

    Votes of work that could not be proven do not count after that: their slots go to others.
    """
    if not how.strip():
        raise CannotSettle(_("Say in a few words how this was dealt with. It is kept in the log."))
    session = _session_of(difference)
    if difference.kind in UNPROVEN and session and session.state == WorkSession.State.OPEN:
        # Nothing else would ever let go of its slots.
        annotation_actions.doubt_session(session=session, reason=how.strip(), by=by, now=now)
    difference = Difference.objects.select_for_update(of=("self",)).get(pk=difference.pk)
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


def _session_of(difference: Difference) -> WorkSession | None:
    """The work session that it is about, as it stands now."""
    visit = difference.visit_id or (difference.submission.visit_id if difference.submission else None)
    return WorkSession.objects.filter(visit=visit).first() if visit else None


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
    if step == Step.REVOKE_INCOMPLETE:
        return _revoke_incomplete(visit, campaign, now=now)
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


def _revoke_incomplete(visit: Visit, campaign: Campaign, *, now: datetime) -> bool:
    given = Grant.objects.filter(
        study=campaign.study,
        platform=campaign.platform,
        environment=campaign.environment,
        annotator=visit.enrollment.annotator_id,
        kind=Grant.Kind.INCOMPLETE,
    ).first()
    return given is not None and take_back(wanted=given, now=now)


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
    """Our own newest decision, also one that the platform refused: no sweep asks for the same again.

    That somebody was paid in another way stands for a decision where there is none.
    """
    if submission is None:
        return None
    made = submission.payments.filter(kind__in=queries.DECISIONS).last()
    made = made or submission.payments.filter(kind=Payment.Kind.OUTSIDE).first()
    return made.kind if made else None


def _is_stale(known: Status, said: Status) -> bool:
    """Whether the platform says something that was true before what it has said already."""
    if said in (Status.ACTIVE, Status.UNKNOWN):
        return known not in (Status.ACTIVE, Status.UNKNOWN)
    return said == Status.SUBMITTED and known in (Status.APPROVED, Status.REJECTED)
