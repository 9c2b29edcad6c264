"""People who come from a platform to do a piece of work, and go back to it."""

from __future__ import annotations

import secrets
from datetime import datetime

from django.db import transaction

from accounts.actions import AskedToBeForgotten, recognise
from accounts.models import Annotator, PlatformIdentity
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event, Study, WorkSession
from recruitment.actions.claims import note_two_visits, unproven_test
from recruitment.actions.grants import grants_of, take_back
from recruitment.arriving.admission import TESTED, is_taken_anew, may_begin
from recruitment.arriving.arrival import Arrival, CannotArrive, Problem
from recruitment.models import Campaign, Grant, Posting, Submission, Visit
from recruitment.models.campaigns import GRACE

RECEIPT_BYTES = 12
TAKEN_ANEW = "The same person took this piece of work anew."
_OPEN = WorkSession.State.OPEN


@transaction.atomic
def arrive_for_campaign(*, campaign: Campaign, arrival: Arrival, is_proven: bool, now: datetime) -> Visit:
    """The visit of a person for a piece of work, made with its work session if there is none.

    Opening the same piece of work again, also twice at once, is the same visit; another person with the
    same id of a piece of work has another one, and so has who gave it back and took it anew. ``is_proven``:
    the platform itself said who it is. Raises :class:`CannotArrive`, and then nothing was changed.
    """
    posting = _posting(campaign, arrival)
    annotator = _recognise(campaign, arrival, now=now)  # locked: two arrivals of one person take turns
    known = (
        Visit.objects.select_related("enrollment__study", "enrollment__annotator", "session", "campaign")
        .filter(
            replaced_at=None,
            platform=campaign.platform,
            environment=campaign.environment,
            hit_assignment=arrival.hit_assignment,
            enrollment__annotator=annotator,
        )
        .first()
    )
    if known and not _takes_anew(known, posting, now=now):
        return _open_again(known, posting, arrival, is_proven=is_proven)
    enrollment = _let_in(campaign, annotator, now=now)
    return _begin(campaign, posting, arrival, enrollment, is_proven=is_proven, now=now)


@transaction.atomic
def note_refused_visit(
    *,
    study: Study,
    problem: Problem,
    campaign_number: int,
    now: datetime,
    other_visit: int | None = None,
) -> None:
    """Say in the log that somebody was not let in, and why; never who.

    ``other_visit``: that of the same person because of which they were not; researchers are shown it.
    """
    if other_visit is not None:
        note_two_visits(visit_id=other_visit, now=now)
    annotation_actions.record_event(
        study=study,
        type=Event.Type.VISIT_REFUSED,
        now=now,
        subject=f"campaign {campaign_number}",
        note=problem.value,
    )


@transaction.atomic
def send_to_hand_in(*, visit: Visit, now: datetime) -> None:
    """Remember when the person was first sent to hand the work in."""
    Visit.objects.filter(pk=visit.pk, handed_in_at=None).update(handed_in_at=now)


def _posting(campaign: Campaign, arrival: Arrival) -> Posting:
    posting = campaign.postings.exclude(remote_id="").filter(remote_id=arrival.posting).first()
    if posting is None:
        raise CannotArrive(Problem.UNKNOWN_POSTING)
    return posting


def _recognise(campaign: Campaign, arrival: Arrival, *, now: datetime) -> Annotator:
    try:
        return recognise(
            platform=PlatformIdentity.Platform(campaign.platform),
            environment=campaign.environment,
            person=arrival.person,
            now=now,
        )
    except AskedToBeForgotten as error:
        raise CannotArrive(Problem.FORGOTTEN) from error


def _open_again(visit: Visit, posting: Posting, arrival: Arrival, *, is_proven: bool) -> Visit:
    if visit.posting_id != posting.pk:
        raise CannotArrive(Problem.OTHER_WORK)
    if visit.submit_to != arrival.submit_to:
        visit.submit_to = arrival.submit_to
        visit.save(update_fields=["submit_to"])
    if is_proven and visit.session and visit.session.identity_claimed:
        annotation_actions.know_person(session=visit.session)
    return visit


def _takes_anew(visit: Visit, posting: Posting, *, now: datetime) -> bool:
    """Whether the person has taken a piece of work again that they had given back; the earlier visit is over.

    Not where they could begin nothing: then the earlier one says why.
    """
    session, campaign, person = visit.session, visit.campaign, visit.enrollment
    assert session is not None
    assert campaign is not None
    is_test = session.story_limit == 0
    anew = is_taken_anew(
        session=session.state,
        is_whole=person.state in TESTED if is_test else session.is_whole,
        has_answers=session.stories_submitted > 0,
        told_left=visit.left_told_at is not None,
        is_listed=Submission.objects.filter(visit=visit).exists(),
        handed_in=visit.handed_in_at is not None,
        decided_by_hand=visit.decided_by_hand,
        expires_at=session.expires_at,
        now=now,
    )
    if not anew or visit.posting_id != posting.pk or _problem(campaign, person):
        return False
    annotation_actions.doubt_session(session=session, reason=TAKEN_ANEW, by=None, now=now)
    Visit.objects.filter(pk=visit.pk).update(replaced_at=now)
    left = grants_of(campaign, person.annotator_id, Grant.Kind.INCOMPLETE).filter(by_hand=False).first()
    if left:
        take_back(wanted=left, now=now)
    return True


def _let_in(campaign: Campaign, annotator: Annotator, *, now: datetime) -> Enrollment:
    """The person's place in the campaign's study, made for somebody new who may begin."""
    # Not the caller's copy: somebody may have paused it since.
    campaign = Campaign.objects.select_related("study").get(pk=campaign.pk)
    study = campaign.study
    known = Enrollment.objects.select_related("study").filter(study=study, annotator=annotator).first()
    problem = _problem(campaign, known)
    other = unproven_test(known) if known else None
    if problem == Problem.TEST_TAKEN and other:
        raise CannotArrive(Problem.TAKEN_BY_ANOTHER, other_visit=other.pk)
    if problem:
        raise CannotArrive(problem)
    if known is None:
        return annotation_actions.enroll(study=study, annotator=annotator, now=now)
    if other and known.state in TESTED:  # they can hand in a test that may not be theirs
        note_two_visits(visit_id=other.pk, now=now)
    return annotation_actions.ask_again(enrollment=known, now=now)


def _problem(campaign: Campaign, known: Enrollment | None) -> Problem | None:
    study = campaign.study
    return may_begin(
        is_test=campaign.purpose == Campaign.Purpose.TEST,
        needs_test=study.gate != Study.Gate.NOT_REQUIRED,
        study_state=study.state,
        campaign_state=campaign.state,
        enrollment_state=known.state if known else None,
        left_unfinished=known is not None
        and campaign.visits.filter(enrollment=known, handed_in_at=None, session__state=_OPEN).exists(),
    )


def _begin(
    campaign: Campaign,
    posting: Posting,
    arrival: Arrival,
    enrollment: Enrollment,
    *,
    is_proven: bool,
    now: datetime,
) -> Visit:
    session = annotation_actions.open_session(
        enrollment=enrollment,
        story_limit=campaign.stories_per_visit,
        counts_at_once=campaign.counts_at_once,
        identity_claimed=not is_proven,
        framed=campaign.platform == PlatformIdentity.Platform.MTURK,
        expires_at=now + campaign.time_allowed + GRACE,
        now=now,
    )
    visit = Visit.objects.create(
        enrollment=enrollment,
        platform=campaign.platform,
        environment=campaign.environment,
        arrived_at=now,
        campaign=campaign,
        posting=posting,
        hit_assignment=arrival.hit_assignment,
        session=session,
        submit_to=arrival.submit_to,
        receipt=secrets.token_hex(RECEIPT_BYTES),
    )
    annotation_actions.record_event(
        study=campaign.study,
        type=Event.Type.VISIT_ARRIVED,
        enrollment=enrollment,
        now=now,
        subject=f"visit {visit.pk}",
        note=f"campaign {campaign.number}",
    )
    return visit
