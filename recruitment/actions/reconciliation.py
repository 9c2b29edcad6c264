"""Compare campaigns with their platforms and settle differences; notifications make this happen sooner."""

import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from celery.exceptions import SoftTimeLimitExceeded
from django.core.cache import caches
from django.db import transaction
from django.db.models import Q

from accounts.actions import AskedToBeForgotten, recognise
from accounts.models import Annotator, PlatformIdentity
from annotation.models import Event
from recruitment.actions.campaign_lifecycle import limit_concurrency, record_change
from recruitment.actions.mismatches import settle_mismatch
from recruitment.actions.settlement import settle_visit, settle_without_visit
from recruitment.marketplace import (
    Marketplace,
    MarketplaceError,
    NotConfigured,
    OnOffer,
    Status,
    Unreachable,
    Work,
)
from recruitment.models import Campaign, Posting, Submission, Visit
from recruitment.platforms import Hint
from recruitment.queue import RECONCILE_TASK, queue_soon
from recruitment.reconciliation import queries
from recruitment.reconciliation.plan import polls_of

GATHERED = 20
"""Seconds in which all notifications about a campaign lead to one comparison."""
REMEMBERED = timedelta(days=30)
"""Longer than any platform repeats a notification."""


@transaction.atomic
def handle_notification(*, platform: str, environment: str, hint: Hint, now: datetime) -> list[Campaign]:
    """Have a notification's campaigns compared soon; none if it has come before.

    Note which visits the platform reports as returned.
    """
    cache, seen = caches["shared"], f"notification:{platform}:{hint.event_id}"
    if cache.get(seen):
        return []
    here = {"platform": platform, "environment": environment}
    for work, person in hint.returned:
        identity = {f"enrollment__annotator__identities__{name}": value for name, value in here.items()}
        identity["enrollment__annotator__identities__person"] = person
        visits = Visit.objects.filter(**here, **identity, remote_id=work, return_reported_at=None)
        visits.update(return_reported_at=now)
    named = Q(remote_id__in=hint.about) | Q(postings__remote_id__in=hint.about)
    named |= Q(visits__remote_id__in=hint.about)
    campaigns = list(Campaign.objects.filter(named, **here).distinct().order_by("pk"))
    for campaign in campaigns:
        if cache.add(f"hinted-{campaign.pk}", 1, timeout=GATHERED):
            queue_soon(RECONCILE_TASK, campaign.pk, after=GATHERED)
    cache.set(seen, 1, timeout=REMEMBERED.total_seconds())
    return campaigns


logger = logging.getLogger(__name__)
ANSWERED = "The work has been decided, so nothing is left to do about this."
OUR_ERROR = "It went wrong on this site. The log of its workers says how."
MOST_SECONDS = 900.0
"""After this a comparison ends where it is; the next one goes on."""


def reconcile(
    *, campaign: Campaign, marketplace: Marketplace, now: datetime, most_seconds: float = MOST_SECONDS
) -> Counter[str]:
    """Ask the platform about everything of a campaign that is not settled, and settle it; count the steps.

    Posting by posting, the one asked longest ago first, and each is settled as soon as it was asked: a run
    that is cut short has done what it did, and the next one goes on with the others. Once an hour postings
    are asked about for which nobody has come here. What goes wrong with one posting or visit keeps no other
    waiting, and is raised at the end: ``Unreachable``, or else the first error.
    """
    comparison = Comparison(campaign, marketplace, now, end=time.monotonic() + most_seconds)
    try:
        comparison.run()
        for error in sorted(comparison.errors, key=lambda error: isinstance(error, Unreachable)):
            raise error  # something else than silence first
    except Exception as error:
        problem = str(error) if isinstance(error, MarketplaceError) else OUR_ERROR
        record_sync_problem(campaign=campaign, problem=problem)
        raise
    record_sync_problem(campaign=campaign, problem="")
    return comparison.taken


@dataclass
class Comparison:
    """A run over a campaign's postings, which goes on after errors in single rows."""

    campaign: Campaign
    marketplace: Marketplace
    now: datetime
    end: float
    taken: Counter[str] = field(default_factory=Counter)
    errors: list[Exception] = field(default_factory=list)

    def run(self) -> None:
        """Compare all postings while there is time, then settle what has no visit here."""
        campaign, now = self.campaign, self.now
        made = list(campaign.postings.filter(state=Posting.State.MADE).values_list("remote_id", flat=True))
        if campaign.state == Campaign.State.LIVE and made:
            with self.collecting_errors(f"offer of campaign {campaign.pk}"):
                found = self.marketplace.on_offer(campaign.remote_id, made)
                record_availability(campaign=campaign, found=found, now=now)
                limit_concurrency(campaign=campaign, marketplace=self.marketplace)
        if self.compare_each(queries.postings_to_ask(campaign, now=now)):
            self.compare_others()
        for submission_id in list(queries.submissions_without_visit(campaign).values_list("pk", flat=True)):
            with self.collecting_errors(f"submission {submission_id}"):
                self.taken.update(settle_without_visit(submission_id=submission_id, now=now))
        for mismatch in queries.resolved_mismatches(campaign).select_related("campaign__study"):
            with self.collecting_errors(f"mismatch {mismatch.pk}"):
                settle_mismatch(mismatch=mismatch, how=ANSWERED, by=None, now=now)
        _record_sync(campaign, self.taken, now=now)

    @contextmanager
    def collecting_errors(self, what: str) -> Iterator[None]:
        """Log errors in this block, and keep them to be raised at the end."""
        try:
            yield
        except (NotConfigured, SoftTimeLimitExceeded):
            raise  # nothing else will go better, or there is no time left for it
        except Exception as error:
            self.errors.append(error)
            is_silence = isinstance(error, Unreachable)
            level = logging.WARNING if is_silence else logging.ERROR
            logger.log(level, "Comparing %s failed: %s", what, error, exc_info=not is_silence)

    def compare_each(self, postings: Iterable[Posting]) -> bool:
        """Compare postings until the time is up. Return True if there is time left."""
        for posting in postings:
            with self.collecting_errors(f"posting {posting.pk}"):
                self.compare(posting)
            if time.monotonic() > self.end:
                return False
        return True

    def compare(self, posting: Posting) -> None:
        """Ask the platform about one posting, then settle its visits.

        If any listed submission could not be recorded, this comparison doesn't prove that a visit is missing.
        """
        campaign, now, failed_before = self.campaign, self.now, len(self.errors)
        listed = self.marketplace.work(campaign.remote_id, posting.remote_id)
        for work in queries.unrecorded(campaign, listed):
            with self.collecting_errors(f"work in posting {posting.pk}"):
                record_submission(campaign=campaign, work=work, now=now)
        polls = polls_of(posting.synced_at, now) if len(self.errors) == failed_before else []
        if now in polls:
            _record_request(posting, now=now)
        for visit_id in queries.visits_to_settle(campaign, posting):
            with self.collecting_errors(f"visit {visit_id}"):
                self.taken.update(settle_visit(visit_id=visit_id, polls=polls, now=now))

    def compare_others(self) -> None:
        """Compare postings whose submissions have no visit here, or a doubted one."""
        others = {one.remote_id: one for one in queries.other_postings(self.campaign, now=self.now)}
        worth = set(others)
        with self.collecting_errors(f"postings of campaign {self.campaign.pk}"):
            worth = set(self.marketplace.worth_asking(self.campaign.remote_id, list(others)))
        for remote_id, posting in others.items():
            if remote_id not in worth:
                _record_request(posting, now=self.now)
        self.compare_each(posting for remote_id, posting in others.items() if remote_id in worth)


@transaction.atomic
def record_availability(*, campaign: Campaign, found: OnOffer, now: datetime) -> None:
    """Record on a live campaign whether people can begin on the platform, and since when they cannot."""
    changed = Campaign.objects.filter(pk=campaign.pk, state=Campaign.State.LIVE).exclude(platform_offer=found)
    since = None if found is OnOffer.OPEN else now
    if changed.update(platform_offer=found, platform_offer_since=since):
        note = f"on the platform: {found.value or 'open'}"
        record_change(campaign=campaign, type=Event.Type.CAMPAIGN_CHANGED, by=None, now=now, note=note)


@transaction.atomic
def record_sync_problem(*, campaign: Campaign, problem: str) -> None:
    """Say at the campaign why it could not be compared with its platform; empty when it could."""
    Campaign.objects.filter(pk=campaign.pk).exclude(sync_problem=problem).update(sync_problem=problem)


@transaction.atomic
def _record_request(posting: Posting, *, now: datetime) -> None:
    Posting.objects.filter(pk=posting.pk).update(synced_at=now)


@transaction.atomic
def record_submission(*, campaign: Campaign, work: Work, now: datetime) -> Submission | None:
    """Record what the platform says of one submission; return None when its person is unknown.

    A stale answer changes nothing: work that was handed in is not active any more, and what was decided
    does not wait for a decision.
    """
    annotator = _annotator_of(campaign, work, now=now)
    if annotator is None:
        return None
    key = {
        "platform": campaign.platform,
        "environment": campaign.environment,
        "remote_id": work.remote_id,
        "annotator": annotator,
    }
    visit = Visit.objects.filter(
        replaced_at=None, campaign=campaign, remote_id=work.remote_id, enrollment__annotator=annotator
    ).first()
    posting = Posting.objects.filter(campaign=campaign, remote_id=work.posting).first()
    stored = Submission.objects.select_for_update(of=("self",), no_key=True).filter(**key).first()
    known = stored or Submission(**key, campaign=campaign, status=Status.UNKNOWN)
    if not _is_stale(Status(known.status), work.status):
        known.status = work.status
    known.receipt = work.receipt or known.receipt
    known.submitted_at = work.submitted_at or known.submitted_at
    known.visit = known.visit or visit
    known.posting = known.posting or posting
    known.save()
    return known


@transaction.atomic
def _record_sync(campaign: Campaign, taken: Counter[str], *, now: datetime) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(synced_at=now)
    if taken:
        done = ", ".join(f"{step} {count}" for step, count in sorted(taken.items()))
        record_change(campaign=campaign, type=Event.Type.PLATFORM_SYNCED, by=None, now=now, note=done)


def _annotator_of(campaign: Campaign, work: Work, *, now: datetime) -> Annotator | None:
    """Return the submission's annotator; one whose data were deleted is known by the submission alone."""
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
            remote_id=work.remote_id,
            enrollment__annotator__erased_at__isnull=False,
        ).select_related("enrollment__annotator")
        found = list(theirs[:2])
        if len(found) == 1:
            return found[0].enrollment.annotator
        logger.warning("Work of campaign %s is of somebody who has been forgotten.", campaign.pk)
        return None


def _is_stale(known: Status, said: Status) -> bool:
    """Return True if the platform's answer is older than what it has said already."""
    if said in (Status.ACTIVE, Status.UNKNOWN):
        return known not in (Status.ACTIVE, Status.UNKNOWN)
    if said == Status.REJECTED:  # a payment is never reverted
        return known == Status.APPROVED
    return said == Status.SUBMITTED and known in (Status.APPROVED, Status.REJECTED)
