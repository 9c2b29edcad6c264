"""Queries for what is still to be settled with a platform, and our decisions. Reads only."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from django.db.models import (
    Count,
    DurationField,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.functions import Coalesce

from annotation.models import Enrollment, Story, Study, WorkSession
from annotation.queries import passed_in
from recruitment.marketplace import HANDED_IN, NEVER_APPROVED, Group, Work
from recruitment.models import Campaign, Grant, Mismatch, Payment, Posting, Submission, Visit
from recruitment.places import has_story_for_newcomers, people_with_every_story, people_with_items
from recruitment.reconciliation.plan import Decision, LocalVisit
from recruitment.visit_endings import confirmed_with, is_handed_in_elsewhere

Kind, State = Payment.Kind, Payment.State
APPROVING = (Kind.APPROVAL, Kind.OVERTURN)


def decision_of(submission: Submission) -> Decision | None:
    """Return the decision about one submission; None while it waits."""
    return decisions_of([submission.pk])[submission.pk]


def decisions_of(submissions: Iterable[int]) -> dict[int, Decision | None]:
    """Return the decisions about several submissions, by their ids. One query."""
    found: dict[int, list[Payment]] = {pk: [] for pk in submissions}
    theirs = Q(submission__in=found, pays_for=None) | Q(pays_for__in=found)
    for payment in Payment.objects.deciding().filter(theirs):
        about = payment.pays_for_id or payment.submission_id
        found[about].append(payment)
    return {pk: _decision_from(payments) for pk, payments in found.items()}


def topped_up(submission: Submission | OuterRef) -> QuerySet[Payment]:
    """Return the payments that top a submission up, or are going to, also outside the platform."""
    outside = Q(kind=Kind.OUTSIDE, repeats__kind=Kind.TOP_UP)
    by_platform = Q(kind=Kind.TOP_UP) & ~Q(state=State.FAILED)
    return Payment.objects.filter(by_platform | outside, submission=submission)


def overturned_outside(submissions: Iterable[int]) -> QuerySet[Payment]:
    """Return payments made outside the platform because it refused to overturn the rejection."""
    return Payment.objects.filter(submission__in=submissions, kind=Kind.OUTSIDE, repeats__kind=Kind.OVERTURN)


def _decision_from(found: list[Payment]) -> Decision | None:
    standing = [one for one in found if one.state != State.FAILED]
    kinds = {one.kind for one in standing}
    if kinds & {*APPROVING}:  # also the platform's own, after a rejection of ours
        return Decision.APPROVED
    if Kind.REJECTION in kinds:
        return Decision.REJECTED
    if standing:
        return Decision.PAID_OTHERWISE
    return Decision.REFUSED if found else None


DAY, HOUR = Value(timedelta(days=1)), timedelta(hours=1)
OVERTURNED_WITHIN = timedelta(days=30)
"""Time after the hand-in in which a rejection can be overturned: Mechanical Turk's rule."""


AT_ONCE = 1000
"""Submissions looked up by one query."""


def unrecorded(campaign: Campaign, works: Sequence[Work]) -> Iterator[Work]:
    """Yield the works that are unknown or known otherwise, in their order.

    A platform lists everything each time it is asked, and most of it is as it was. Work whose visit or
    posting is unknown counts as unknown.
    """
    whole = Submission.objects.filter(
        campaign=campaign,
        platform=campaign.platform,
        environment=campaign.environment,
        visit__isnull=False,
        posting__isnull=False,
        annotator__identities__platform=campaign.platform,
        annotator__identities__environment=campaign.environment,
    ).values_list("remote_id", "annotator__identities__person", "status", "receipt", "submitted_at")
    for start in range(0, len(works), AT_ONCE):
        batch = works[start : start + AT_ONCE]
        rows = whole.filter(remote_id__in={work.remote_id for work in batch})
        known = {(work, person): (status, receipt, at) for work, person, status, receipt, at in rows}
        for work in batch:
            status, receipt, at = known.get((work.remote_id, work.person), (None, "", None))
            is_same = work.receipt in ("", receipt) and work.submitted_at in (None, at)
            if work.status != status or not is_same:
                yield work


def postings_to_ask(campaign: Campaign, *, now: datetime) -> QuerySet[Posting]:
    """Return the postings with unsettled submissions, the longest not asked first.

    The platform counts our calls: work that waits for a researcher is asked about once an hour.
    """
    postings = Posting.objects.filter(campaign=campaign).exclude(remote_id="")
    visits = unsettled_visits(campaign)
    waits_for_somebody = Q(session__state=WorkSession.State.CONFIRMED) | Q(decided_manually=True)
    is_open = Q(pk__in=visits.exclude(waits_for_somebody).values("posting"))
    waits = Q(pk__in=visits.values("posting")) & _not_lately(now)
    return postings.filter(is_open | waits).order_by(F("synced_at").asc(nulls_first=True), "number")


def other_postings(campaign: Campaign, *, now: datetime) -> QuerySet[Posting]:
    """Return the other postings in which something new could be and that were not asked for an hour.

    That is a stranger's work, or a rejection that somebody has overturned on the platform's own pages.
    """
    long_ago = Q(submissions__submitted_at__lte=now - OVERTURNED_WITHIN)
    decided = Q(submissions__status=Submission.Status.APPROVED) | long_ago & Q(
        submissions__status=Submission.Status.REJECTED
    )
    postings = Posting.objects.filter(campaign=campaign).exclude(remote_id="")
    open_ones = postings.annotate(decided=Count("submissions", filter=decided)).filter(decided__lt=F("seats"))
    return open_ones.filter(_not_lately(now)).order_by(F("synced_at").asc(nulls_first=True), "number")


def _not_lately(now: datetime) -> Q:
    return Q(synced_at=None) | Q(synced_at__lte=now - HOUR)


def unsettled_visits(campaign: Campaign) -> QuerySet[Visit]:
    """Return visits not settled yet, and those whose submission waits for a decision or was taken back.

    A decision that the platform refused leaves the work undecided: it may have been decided there. What was
    approved there is settled once that is among our payments.
    """
    work = Submission.objects.filter(visit=OuterRef("pk"))
    given_up = Q(status__in=NEVER_APPROVED) | Q(status="screened_out", campaign__screen_out_reward=None)
    undecided = work.filter(~Exists(_standing()), ~given_up, status__in=HANDED_IN)
    not_ours = work.filter(status=Submission.Status.REJECTED, mismatches__kind="decided_by_platform")
    taken_back = work.filter(given_up)
    is_open = Q(session__state=WorkSession.State.OPEN)
    is_confirmed = Q(session__state=WorkSession.State.CONFIRMED, decided_manually=False)
    return (
        Visit.objects.filter(campaign=campaign)
        .filter(
            is_open
            | is_confirmed & Exists(taken_back)
            | Exists(undecided) & ~Exists(not_ours)
            | Exists(work.filter(approved_without_payment()))
        )
        .order_by("pk")
    )


def visits_to_settle(campaign: Campaign, posting: Posting) -> list[int]:
    """Return the ids of a posting's visits that may need a step.

    Not those whose confirmed, whole work only waits for a researcher: there can be very many of them.
    """
    visits = unsettled_visits(campaign).filter(posting=posting)
    if not campaign.auto_approves:
        waits = Submission.objects.filter(
            visit=OuterRef("pk"),
            status=Submission.Status.SUBMITTED,
            payments=None,
            payments_elsewhere=None,
            mismatches=None,
        )
        confirmed = Q(session__state=WorkSession.State.CONFIRMED, session__story_limit__gt=0)
        visits = visits.exclude(whole("session") & confirmed & Exists(waits))
    return list(visits.values_list("pk", flat=True))


def submissions_without_visit(campaign: Campaign) -> QuerySet[Submission]:
    """Return unnoticed submissions without a visit here.

    Also what was paid there after that and is not among our payments.
    """
    unseen = ~Exists(_standing()) & Q(mismatches=None)
    return (
        Submission.objects.filter(campaign=campaign, visit=None, status__in=HANDED_IN)
        .filter(unseen | approved_without_payment())
        .order_by("pk")
    )


def approved_without_payment() -> Q:
    """Select submissions that the platform approved and for which we have no approval."""
    return Q(~Exists(_standing().filter(kind__in=APPROVING)), status=Submission.Status.APPROVED)


def _standing() -> QuerySet[Payment]:
    return Payment.objects.standing().filter(submission=OuterRef("pk"))


def resolved_mismatches(campaign: Campaign) -> QuerySet[Mismatch]:
    """Return open mismatches with nothing left to do.

    These are decided submissions with settled visits, and tests that were handed in with another visit.
    """
    theirs = Q(submission=OuterRef("submission")) | Q(submission__visit=OuterRef("visit"))
    decided = Payment.objects.standing().filter(theirs)
    still_open = WorkSession.State.OPEN
    is_decided = Q(Exists(decided)) & ~Q(kind=Mismatch.Kind.DECIDED_BY_PLATFORM)
    elsewhere = Exists(confirmed_with("visit__session", "visit__enrollment"))
    return (
        Mismatch.objects.filter(campaign=campaign, settled_at=None)
        .exclude(Q(visit__session__state=still_open) | Q(submission__visit__session__state=still_open))
        .filter(is_decided | Q(elsewhere, kind=Mismatch.Kind.NOT_HANDED_IN))
        .order_by("pk")
    )


def whole(session: str) -> Q:
    """Select work with as many stories as asked for (``WorkSession.is_whole``) at this lookup path."""
    return Q(**{f"{session}__stories_submitted__gte": F(f"{session}__story_limit")})


def unfinished_since_confirmed(visit: Visit) -> QuerySet[Visit]:
    """Return the person's unfinished visits since the newest that their platform confirmed."""
    theirs = Visit.objects.filter(enrollment=visit.enrollment_id, platform=visit.platform)
    done = theirs.filter(session__state=WorkSession.State.CONFIRMED).order_by("-pk").values("pk")[:1]
    since = theirs.filter(pk__gt=Coalesce(Subquery(done), 0), session__state=WorkSession.State.DOUBTED)
    return since.filter(ended_by__in=[Visit.End.LEFT, Visit.End.TIME])


def local_visit(visit: Visit) -> LocalVisit:
    """Return a visit as the plan sees it. It must carry its session and enrollment."""
    session, person = visit.session, visit.enrollment
    assert session is not None
    is_test = session.story_limit == 0
    is_elsewhere = is_handed_in_elsewhere(session)
    tested = session.test_finished_at is not None and not is_elsewhere
    finished = tested if is_test else session.is_whole
    # Nobody could finish a test in which they were suspended, whether or not they came back to hand it in.
    was_stopped = session.test_begun and person.state == Enrollment.State.SUSPENDED
    return LocalVisit(
        session=session.state,
        receipt=visit.receipt,
        may_hand_in=not is_elsewhere and (finished or was_stopped or visit.handed_in_at is not None),
        answers=int(tested) if is_test else session.stories_submitted,
        expires_at=session.expires_at,
        passed_test=tested and passed_in(session),
        was_given_work=session.test_begun if is_test else session.assignments.exists(),
        is_partial=not finished,
        is_known=not session.identity_claimed or visit.return_reported_at is not None,
        decided_manually=visit.decided_manually,
    )


def campaigns_to_ask(*, now: datetime) -> QuerySet[Campaign]:
    """Return campaigns about which the platform may have something new to say.

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
    rejected = Submission.objects.filter(
        campaign=OuterRef("pk"), status=Submission.Status.REJECTED, submitted_at__gt=now - OVERTURNED_WITHIN
    )
    lately = _not_lately(now) & (Q(until__gte=now) | Exists(rejected))
    ended = Q(state=Campaign.State.ENDED) & (waiting | lately)
    return (
        Campaign.objects.annotate(until=F("ended_at") + decided_in)
        .filter(on_the_platform | ended)
        .exclude(remote_id="")
        .order_by("pk")
    )


def to_top_up(campaign: Campaign) -> QuerySet[Submission]:
    """Return approved whole submissions of confirmed visits that have not been topped up in any way.

    Not what a researcher paid though nothing, or little, of it is here: that took nobody too long.
    """
    confirmed = Q(visit__session__state=WorkSession.State.CONFIRMED) & whole("visit__session")
    approved = Submission.objects.filter(confirmed, campaign=campaign, status=Submission.Status.APPROVED)
    return approved.filter(~Exists(topped_up(OuterRef("pk")))).order_by("pk")


def to_approve(campaign: Campaign) -> QuerySet[Submission]:
    """Return whole submissions of confirmed visits that nobody has decided, or paid otherwise."""
    confirmed = Q(visit__session__state=WorkSession.State.CONFIRMED, status=Submission.Status.SUBMITTED)
    work = Submission.objects.filter(confirmed, whole("visit__session"), campaign=campaign)
    # A test that was begun and not finished is no fewer stories than were asked for.
    unfinished = Mismatch.objects.filter(visit=OuterRef("visit"), kind=Mismatch.Kind.PARTIAL)
    decided = Payment.objects.deciding().about(OuterRef("pk"))
    return work.filter(~Exists(decided), ~Exists(unfinished)).order_by("pk")


# -- membership in the group of people who passed, which is shown the stories: whoever has no more stories
#    to come must not be shown them, since nobody may be turned away on Prolific


def to_join(study: Study) -> QuerySet[Visit]:
    """Return tests that were settled before their people passed in a retake in the same visit.

    Only a person's newest: if they came once more, the visit in which they passed is settled as every other.
    """
    theirs = Grant.objects.filter(
        study=study,
        kind=Group.QUALIFIED,
        platform=OuterRef("platform"),
        environment=OuterRef("environment"),
        annotator=OuterRef("enrollment__annotator"),
    )
    is_test = Q(campaign__purpose=Campaign.Purpose.TEST)
    later = Visit.objects.filter(is_test, enrollment=OuterRef("enrollment"), pk__gt=OuterRef("pk"))
    confirmed = Visit.objects.filter(
        is_test, enrollment__study=study, session__state=WorkSession.State.CONFIRMED
    )
    found = confirmed.exclude(campaign__qualified_group="").exclude(enrollment__in=done_with_stories(study))
    return (
        found.filter(~Exists(theirs), ~Exists(later))
        .select_related("campaign__study", "enrollment__annotator")
        .order_by("pk")
    )


def done_with_stories(study: Study) -> QuerySet[Enrollment]:
    """Return people who get no more stories: suspended, gone, at their limit, or done with all free ones.

    In a study with a design also people with their load, or without a free item of a stratum that they lack;
    in one for named people those who hold nothing.

    While no story is free the campaign pauses, and only those leave who have had all.
    """
    stories = Story.objects.wanted().filter(study=study)
    free = stories.filter(has_free_slot=True)
    is_over = ~Q(state=Enrollment.State.QUALIFIED) | Q(stories_submitted__gte=F("study__story_cap"))
    if study.stratum_field or study.only_given:
        working = people_with_items(study, free if has_story_for_newcomers(study) else stories)
        return Enrollment.objects.filter(is_over | ~Q(pk__in=working.values("pk")), study=study)
    had_all = people_with_every_story(free if free.exists() else stories, study=study)
    return Enrollment.objects.filter(study=study).filter(is_over | Q(pk__in=had_all))
