"""What is still to be settled with a platform. Reads only."""

from __future__ import annotations

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from annotation.models import Enrollment, Event, WorkSession
from recruitment.models import Campaign, Payment, Posting, Submission, Visit
from recruitment.pay import HourlyPay, hourly_pay
from recruitment.reconciliation.plan import Here

HANDED_IN = (Submission.Status.SUBMITTED, Submission.Status.APPROVED, Submission.Status.REJECTED)
TESTED = (Enrollment.State.QUALIFIED, Enrollment.State.FAILED)


def postings_to_ask(campaign: Campaign) -> QuerySet[Posting]:
    """The postings with people's work that is not settled; the platform counts our calls."""
    postings = Posting.objects.filter(campaign=campaign).exclude(remote_id="")
    return postings.filter(visits__in=unsettled_visits(campaign)).distinct().order_by("number")


def other_postings(campaign: Campaign) -> list[str]:
    """The platform's ids of the others in which a stranger's work could be: not every seat is decided."""
    decided = Q(submissions__status__in=[Submission.Status.APPROVED, Submission.Status.REJECTED])
    postings = Posting.objects.filter(campaign=campaign).exclude(remote_id="")
    open_ones = postings.annotate(decided=Count("submissions", filter=decided)).filter(decided__lt=F("seats"))
    rest = open_ones.exclude(pk__in=postings_to_ask(campaign).values("pk"))
    return list(rest.order_by("number").values_list("remote_id", flat=True))


def unsettled_visits(campaign: Campaign) -> QuerySet[Visit]:
    """Visits that are not confirmed or given up yet, or whose work was handed in and is not decided."""
    handed_in = Submission.objects.filter(visit=OuterRef("pk"), status__in=HANDED_IN)
    undecided = handed_in.filter(~Exists(_decisions(OuterRef("pk"))))
    not_ours = Submission.objects.filter(visit=OuterRef("pk"), differences__kind="decided_there")
    return (
        Visit.objects.filter(campaign=campaign)
        .filter(Q(session__state=WorkSession.State.OPEN) | Exists(undecided) & ~Exists(not_ours))
        .order_by("pk")
    )


def unsettled_strangers(campaign: Campaign) -> QuerySet[Submission]:
    """Work that was handed in there and of which no visit is known here, as long as nobody has noticed."""
    return (
        Submission.objects.filter(campaign=campaign, visit=None, status__in=HANDED_IN)
        .filter(~Exists(_decisions(OuterRef("pk"))), differences=None)
        .order_by("pk")
    )


def here(visit: Visit) -> Here:
    """A visit as the plan looks at it. It must carry its session and enrollment."""
    session, person = visit.session, visit.enrollment
    assert session is not None
    is_test = session.story_limit == 0
    tested = person.state in TESTED
    finished = tested if is_test else session.stories_submitted >= session.story_limit
    return Here(
        session=session.state,
        receipt=visit.receipt,
        may_hand_in=finished or visit.handed_in_at is not None,
        answers=int(tested) if is_test else session.stories_submitted,
        expires_at=session.expires_at,
        passed_test=is_test and person.state == Enrollment.State.QUALIFIED,
        was_given_work=_began_test(person) if is_test else session.assignments.exists(),
    )


def _began_test(person: Enrollment) -> bool:
    return person.events.filter(type=Event.Type.ATTEMPT_STARTED).exists()


def campaigns_to_ask() -> QuerySet[Campaign]:
    """Campaigns about which the platform may have something new to say."""
    # HITs can be taken as soon as they are made, also when the platform refuses to make the others.
    on_the_platform = Q(state__in=[Campaign.State.CREATING, Campaign.State.LIVE, Campaign.State.PAUSED])
    waiting = Exists(
        Visit.objects.filter(campaign=OuterRef("pk"), session__state=WorkSession.State.OPEN)
    ) | Exists(Submission.objects.filter(campaign=OuterRef("pk"), status=Submission.Status.SUBMITTED))
    ended = Q(state=Campaign.State.ENDED) & waiting
    return Campaign.objects.filter(on_the_platform | ended).exclude(remote_id="").order_by("pk")


def campaigns_to_put_up() -> list[int]:
    """Campaigns whose way onto the platform was cut off, or has just begun."""
    return list(Campaign.objects.filter(state=Campaign.State.CREATING).values_list("pk", flat=True))


def _decisions(submission: OuterRef) -> QuerySet[Payment]:
    """Also what the platform refused: that is for a researcher to ask for again, not for every sweep."""
    return Payment.objects.filter(
        submission=submission, kind__in=[Payment.Kind.APPROVAL, Payment.Kind.REJECTION]
    )


def hourly_pay_of(campaign: Campaign) -> HourlyPay | None:
    """What the campaign has paid by the hour: from coming to handing in, of confirmed work."""
    times = campaign.visits.filter(session__state=WorkSession.State.CONFIRMED, handed_in_at__isnull=False)
    seconds = [
        (handed_in - arrived).total_seconds()
        for arrived, handed_in in times.values_list("arrived_at", "handed_in_at")
        if handed_in
    ]
    return hourly_pay(campaign.reward, seconds, campaign.study.pay_rate)


def to_top_up(campaign: Campaign) -> QuerySet[Submission]:
    """Approved work of the campaign that has not been topped up."""
    topped = Payment.objects.filter(submission=OuterRef("pk"), kind=Payment.Kind.TOP_UP).exclude(
        state=Payment.State.FAILED
    )
    approved = Submission.objects.filter(campaign=campaign, status=Submission.Status.APPROVED)
    return approved.filter(~Exists(topped)).order_by("pk")


def to_approve(campaign: Campaign) -> QuerySet[Submission]:
    """Work of confirmed visits that was handed in and that nobody has decided."""
    confirmed = Q(visit__session__state=WorkSession.State.CONFIRMED, status=Submission.Status.SUBMITTED)
    work = Submission.objects.filter(confirmed, campaign=campaign)
    return work.filter(~Exists(_decisions(OuterRef("pk")))).order_by("pk")
