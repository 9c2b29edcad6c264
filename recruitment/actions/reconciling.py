"""Bringing what a platform says and what is here together.

The platform is asked outside of any transaction. Then each piece of work is looked at by itself, with its
rows locked, and gets the steps of ``recruitment.reconciliation.plan``; every step is safe to repeat. That
a comparison failed stands at the campaign until the next one succeeds.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import transaction

from accounts.actions import AskedToBeForgotten, recognise
from accounts.models import Annotator, PlatformIdentity
from annotation import actions as annotation_actions
from annotation.models import Event
from recruitment.actions.differences import settle_difference
from recruitment.actions.moving import record_change
from recruitment.actions.settling import settle_stranger, settle_visit
from recruitment.marketplace import Marketplace, MarketplaceError, OnOffer, Status, Work
from recruitment.models import Campaign, Posting, Submission, Visit
from recruitment.reconciliation import queries
from recruitment.reconciliation.news import batches, news, not_noted_lately
from recruitment.reconciliation.outcome import Failures, Outcome
from recruitment.reconciliation.plan import looks

logger = logging.getLogger(__name__)
ANSWERED = "The work has been decided, so nothing is left to do about this."
BY_US = "It went wrong on this site. The log of its workers says how."
MOST_SECONDS = 900.0
"""After this a comparison ends where it is; the next one goes on."""


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
    with _noting_problem(campaign):
        _compare_all(campaign, marketplace, outcome, failures, end=end, now=now)
        failures.raise_first()
    return outcome


def _compare_all(
    campaign: Campaign,
    marketplace: Marketplace,
    outcome: Outcome,
    failures: Failures,
    *,
    end: float,
    now: datetime,
) -> None:
    with failures.of(f"offer of campaign {campaign.pk}"):
        _ask_whether_open(campaign, marketplace, now=now)
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
    for difference in queries.answered_differences(campaign).select_related("campaign__study"):
        with failures.of(f"difference {difference.pk}"):
            settle_difference(difference=difference, how=ANSWERED, by=None, now=now)
    _note_synced(campaign, outcome, now=now)


def _ask_whether_open(campaign: Campaign, marketplace: Marketplace, *, now: datetime) -> None:
    """Ask whether people can begin there, where that is wanted."""
    made = list(campaign.postings.filter(state=Posting.State.MADE).values_list("remote_id", flat=True))
    if campaign.state == Campaign.State.LIVE and made:
        note_offer(campaign=campaign, found=marketplace.on_offer(campaign.remote_id, made), now=now)


@transaction.atomic
def note_offer(*, campaign: Campaign, found: OnOffer, now: datetime) -> None:
    """Say at a campaign that is up whether people can begin there, and since when they cannot."""
    changed = Campaign.objects.filter(pk=campaign.pk, state=Campaign.State.LIVE).exclude(offer_there=found)
    since = None if found is OnOffer.OPEN else now
    if changed.update(offer_there=found, offer_there_since=since):
        note = f"on the platform: {found.value or 'open'}"
        record_change(campaign=campaign, type=Event.Type.CAMPAIGN_CHANGED, by=None, now=now, note=note)


@contextmanager
def _noting_problem(campaign: Campaign) -> Iterator[None]:
    try:
        yield
    except MarketplaceError as error:
        note_sync_problem(campaign=campaign, problem=str(error))
        raise
    except Exception:
        note_sync_problem(campaign=campaign, problem=BY_US)
        raise
    note_sync_problem(campaign=campaign, problem="")


@transaction.atomic
def note_sync_problem(*, campaign: Campaign, problem: str) -> None:
    """Say at the campaign why it could not be compared with its platform; empty when it could."""
    Campaign.objects.filter(pk=campaign.pk).exclude(sync_problem=problem).update(sync_problem=problem)


def _compare(
    campaign: Campaign,
    posting: Posting,
    marketplace: Marketplace,
    outcome: Outcome,
    failures: Failures,
    *,
    now: datetime,
) -> None:
    """Ask about one posting, and settle the visits in it by what is known then.

    If something that the platform lists could not be taken in, it has not been seen who is missing there.
    """
    failed_before = failures.number
    for batch in batches(marketplace.work(campaign.remote_id, [posting.remote_id])):
        for work in news(campaign, batch):
            with failures.of(f"work in posting {posting.pk}"):
                take_in(campaign=campaign, work=work, now=now)
        _note_seen(campaign, batch, now=now)
    polls = looks(posting.synced_at, now) if failures.number == failed_before else []
    if now in polls:
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
        replaced_at=None,
        campaign=campaign,
        hit_assignment=work.hit_assignment,
        enrollment__annotator=annotator,
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
            replaced_at=None,
            campaign=campaign,
            hit_assignment=work.hit_assignment,
            enrollment__annotator__erased_at__isnull=False,
        ).select_related("enrollment__annotator")
        found = list(theirs[:2])
        if len(found) == 1:
            return found[0].enrollment.annotator
        logger.warning("Work of campaign %s is of somebody who has been forgotten.", campaign.pk)
        return None


def _is_stale(known: Status, said: Status) -> bool:
    """Whether the platform says something that was true before what it has said already."""
    if said in (Status.ACTIVE, Status.UNKNOWN):
        return known not in (Status.ACTIVE, Status.UNKNOWN)
    if said == Status.REJECTED:  # what is paid is never taken back
        return known == Status.APPROVED
    return said == Status.SUBMITTED and known in (Status.APPROVED, Status.REJECTED)
