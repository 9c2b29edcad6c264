"""What is still to be settled with a platform. Reads only."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import (
    Aggregate,
    Count,
    DateTimeField,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Value,
)

from annotation.models import Enrollment, WorkSession
from annotation.queries import began_test, had_test, test_outcome
from recruitment.models import Campaign, Difference, Payment, Posting, Submission, Visit
from recruitment.pay import HourlyPay, hourly_pay
from recruitment.reconciliation.decisions import (
    APPROVING,
    STANDING,
    decided_about,
    standing_decisions,
    topped_up,
)
from recruitment.reconciliation.plan import Here

DAY, HOUR = Value(timedelta(days=1)), timedelta(hours=1)
OVERTURNED_WITHIN = timedelta(days=30)
"""So long after work was handed in its rejection may be overturned: Mechanical Turk's rule."""
HANDED_IN = (Submission.Status.SUBMITTED, Submission.Status.APPROVED, Submission.Status.REJECTED)
GIVEN_UP = (
    Submission.Status.RETURNED,
    Submission.Status.TIMED_OUT,
    Submission.Status.SCREENED_OUT,
)
TESTED = (Enrollment.State.QUALIFIED, Enrollment.State.FAILED)


def postings_to_ask(campaign: Campaign, *, now: datetime) -> QuerySet[Posting]:
    """The postings with people's work that is not settled; the longest not asked first.

    The platform counts our calls: work that waits for a researcher is asked about once an hour.
    """
    postings = Posting.objects.filter(campaign=campaign).exclude(remote_id="")
    visits = unsettled_visits(campaign)
    waits_for_somebody = Q(session__state=WorkSession.State.CONFIRMED) | Q(decided_by_hand=True)
    is_open = Q(pk__in=visits.exclude(waits_for_somebody).values("posting"))
    waits = Q(pk__in=visits.values("posting")) & (Q(synced_at=None) | Q(synced_at__lte=now - HOUR))
    return postings.filter(is_open | waits).order_by(F("synced_at").asc(nulls_first=True), "number")


def other_postings(campaign: Campaign, *, now: datetime) -> QuerySet[Posting]:
    """The others in which something new could be, and that have not been asked about for an hour.

    That is a stranger's work, or a rejection that somebody has overturned on the platform's own pages.
    """
    long_ago = Q(submissions__submitted_at__lte=now - OVERTURNED_WITHIN)
    decided = Q(submissions__status=Submission.Status.APPROVED) | long_ago & Q(
        submissions__status=Submission.Status.REJECTED
    )
    postings = Posting.objects.filter(campaign=campaign).exclude(remote_id="")
    open_ones = postings.annotate(decided=Count("submissions", filter=decided)).filter(decided__lt=F("seats"))
    not_lately = Q(synced_at=None) | Q(synced_at__lte=now - HOUR)
    return open_ones.filter(not_lately).order_by(F("synced_at").asc(nulls_first=True), "number")


def unsettled_visits(campaign: Campaign) -> QuerySet[Visit]:
    """Visits not confirmed or given up yet, and those whose work waits for a decision or was taken back.

    A decision that the platform refused leaves the work undecided: it may have been decided there. What was
    approved there is settled once that is among our payments.
    """
    work = Submission.objects.filter(visit=OuterRef("pk"))
    undecided = work.filter(~Exists(standing_decisions(OuterRef("pk"))), status__in=HANDED_IN)
    not_ours = work.filter(status=Submission.Status.REJECTED, differences__kind="decided_there")
    taken_back = work.filter(status__in=GIVEN_UP)
    is_open = Q(session__state=WorkSession.State.OPEN)
    is_confirmed = Q(session__state=WorkSession.State.CONFIRMED, decided_by_hand=False)
    return (
        Visit.objects.filter(campaign=campaign)
        .filter(
            is_open
            | is_confirmed & Exists(taken_back)
            | Exists(undecided) & ~Exists(not_ours)
            | Exists(work.filter(paid_there_unnoted()))
        )
        .order_by("pk")
    )


def visits_to_settle(campaign: Campaign, posting: Posting) -> list[int]:
    """Those in a posting of which something may follow, by their ids.

    Not those whose confirmed, whole work only waits for a researcher: there can be very many of them.
    """
    visits = unsettled_visits(campaign).filter(posting=posting)
    if not campaign.approves_by_itself:
        waits = Submission.objects.filter(
            visit=OuterRef("pk"),
            status=Submission.Status.SUBMITTED,
            payments=None,
            payments_elsewhere=None,
            differences=None,
        )
        confirmed = Q(session__state=WorkSession.State.CONFIRMED, session__story_limit__gt=0)
        visits = visits.exclude(whole("session") & confirmed & Exists(waits))
    return list(visits.values_list("pk", flat=True))


def unsettled_strangers(campaign: Campaign) -> QuerySet[Submission]:
    """Work that was handed in there and of which no visit is known here, as long as nobody has noticed.

    Also what was paid there after that and is not among our payments.
    """
    unseen = ~Exists(standing_decisions(OuterRef("pk"))) & Q(differences=None)
    return (
        Submission.objects.filter(campaign=campaign, visit=None, status__in=HANDED_IN)
        .filter(unseen | paid_there_unnoted())
        .order_by("pk")
    )


def paid_there_unnoted() -> Q:
    """Of submissions: the platform has approved them, and no approval is among our payments."""
    approvals = standing_decisions(OuterRef("pk")).filter(kind__in=APPROVING)
    return Q(~Exists(approvals), status=Submission.Status.APPROVED)


def answered_differences(campaign: Campaign) -> QuerySet[Difference]:
    """Open ones about which nothing is left to do: the work was decided, and its visit is settled."""
    theirs = Q(submission=OuterRef("submission")) | Q(submission__visit=OuterRef("visit"))
    decided = Payment.objects.filter(theirs, STANDING)
    still_open = WorkSession.State.OPEN
    known = Visit.objects.filter(
        enrollment=OuterRef("visit__enrollment"),
        campaign__purpose=Campaign.Purpose.TEST,
        session__state=WorkSession.State.CONFIRMED,
    )
    about_work = Q(Exists(decided)) & ~Q(kind__in=[Difference.Kind.DECIDED_THERE, Difference.Kind.TWO_VISITS])
    return (
        Difference.objects.filter(campaign=campaign, settled_at=None)
        .exclude(Q(visit__session__state=still_open) | Q(submission__visit__session__state=still_open))
        .filter(about_work | Q(Exists(known), kind=Difference.Kind.TWO_VISITS))
        .order_by("pk")
    )


def whole(session: str) -> Q:
    """Work with as many stories as were asked for (``WorkSession.is_whole``); ``session``: the way to it."""
    return Q(**{f"{session}__stories_submitted__gte": F(f"{session}__story_limit")})


def here(visit: Visit) -> Here:
    """A visit as the plan looks at it. It must carry its session and enrollment."""
    session, person = visit.session, visit.enrollment
    assert session is not None
    is_test = session.story_limit == 0
    # Whoever is suspended, leaves or is let take the test again after it has taken all of it.
    tested = person.state in TESTED or (
        is_test and (test_outcome(person) is not None or had_test(person, since=visit.arrived_at))
    )
    began = is_test and began_test(person)
    finished = tested if is_test else session.is_whole
    # Nobody could finish a test in which they were suspended, whether or not they came back to hand it in.
    was_stopped = began and person.state == Enrollment.State.SUSPENDED
    return Here(
        session=session.state,
        receipt=visit.receipt,
        may_hand_in=finished or was_stopped or visit.handed_in_at is not None,
        answers=int(tested) if is_test else session.stories_submitted,
        expires_at=session.expires_at,
        passed_test=is_test and person.state == Enrollment.State.QUALIFIED,
        was_given_work=began if is_test else session.assignments.exists(),
        is_partial=not finished,
        is_known=not session.identity_claimed or visit.left_told_at is not None,
        decided_by_hand=visit.decided_by_hand,
    )


def campaigns_to_ask(*, now: datetime) -> QuerySet[Campaign]:
    """Campaigns about which the platform may have something new to say.

    An ended one is asked about as long as somebody's work is open, and hourly until its time for decisions
    is over, or that in which rejections are overturned: somebody whom stale lists made us give up may be
    found after all.
    """
    # HITs can be taken as soon as they are made, also when the platform refuses to make the others.
    on_the_platform = ~Q(state__in=[Campaign.State.DRAFT, Campaign.State.ENDED])
    waiting = Exists(
        Visit.objects.filter(campaign=OuterRef("pk"), session__state=WorkSession.State.OPEN)
    ) | Exists(Submission.objects.filter(campaign=OuterRef("pk"), status=Submission.Status.SUBMITTED))
    decided_in = ExpressionWrapper(F("days_to_review") * DAY, output_field=DurationField())
    until = ExpressionWrapper(F("ended_at") + decided_in, output_field=DateTimeField())
    rejected = Submission.objects.filter(
        campaign=OuterRef("pk"),
        status=Submission.Status.REJECTED,
        submitted_at__gt=now - OVERTURNED_WITHIN,
    )
    not_lately = Q(synced_at=None) | Q(synced_at__lte=now - HOUR)
    lately = not_lately & (Q(until__gte=now) | Exists(rejected))
    ended = Q(state=Campaign.State.ENDED) & (waiting | lately)
    return (
        Campaign.objects.annotate(until=until)
        .filter(on_the_platform | ended)
        .exclude(remote_id="")
        .order_by("pk")
    )


def campaigns_to_carry_out() -> list[int]:
    """Campaigns of which something is wanted that is not done on the platform yet."""
    return list(Campaign.objects.filter(state__in=Campaign.UNDERWAY).values_list("pk", flat=True))


class Median(Aggregate):
    """The middle of some values, halfway between the two where their number is even."""

    function = "PERCENTILE_CONT"
    template = "%(function)s(0.5) WITHIN GROUP (ORDER BY %(expressions)s)"


def hourly_pay_of(campaign: Campaign) -> HourlyPay | None:
    """What the campaign has paid by the hour: from coming to handing in, of confirmed work done in full."""
    confirmed = campaign.visits.filter(whole("session"), session__state=WorkSession.State.CONFIRMED)
    times = confirmed.filter(handed_in_at__isnull=False)
    took = times.annotate(took=F("handed_in_at") - F("arrived_at"))
    found = took.aggregate(number=Count("pk"), median=Median("took", output_field=DurationField()))
    median = found["median"].total_seconds() if found["median"] else 0.0
    return hourly_pay(campaign.reward, median, campaign.study.pay_rate, pieces=found["number"])


def to_top_up(campaign: Campaign) -> QuerySet[Submission]:
    """Approved whole work of confirmed visits that has not been topped up, in whatever way.

    Not what a researcher paid though nothing, or little, of it is here: that took nobody too long.
    """
    confirmed = Q(visit__session__state=WorkSession.State.CONFIRMED) & whole("visit__session")
    approved = Submission.objects.filter(confirmed, campaign=campaign, status=Submission.Status.APPROVED)
    return approved.filter(~Exists(topped_up(OuterRef("pk")))).order_by("pk")


def to_approve(campaign: Campaign) -> QuerySet[Submission]:
    """Work of confirmed visits that was handed in in full and that nobody has decided, or paid otherwise."""
    confirmed = Q(visit__session__state=WorkSession.State.CONFIRMED, status=Submission.Status.SUBMITTED)
    work = Submission.objects.filter(confirmed, whole("visit__session"), campaign=campaign)
    # A test that was begun and not finished is no fewer stories than were asked for.
    unfinished = Difference.objects.filter(visit=OuterRef("visit"), kind=Difference.Kind.PARTIAL)
    return work.filter(~Exists(decided_about(OuterRef("pk"))), ~Exists(unfinished)).order_by("pk")
