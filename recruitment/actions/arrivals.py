"""Arrivals by personal links, by a study's join link, and from a platform, with the way back."""

import secrets
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.actions import AskedToBeForgotten, recognise
from accounts.models import Annotator, PlatformIdentity, User, locked
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event, Study, WorkSession
from recruitment import queries
from recruitment.actions.campaign_lifecycle import record_change
from recruitment.arrival_rules import TESTED, Arrival, ArrivalProblem, CannotArrive, is_retaken, may_begin
from recruitment.errors import CannotJoin
from recruitment.join_links import SETTINGS, InvalidJoinLink, check_settings, own_source, person_of
from recruitment.models import Campaign, JoinLink, Posting, Submission, Visit
from recruitment.models.campaigns import GRACE
from recruitment.platforms import platform_of
from recruitment.visit_endings import lost_test
from tomannot.cache import local as cache


@transaction.atomic
def arrive_by_link(*, enrollment: Enrollment, now: datetime) -> Visit:
    """Record that a person came in through their personal link."""
    visit = Visit.objects.create(
        enrollment=enrollment,
        platform=PlatformIdentity.Platform.LINK,
        environment=enrollment.environment,
        arrived_at=now,
    )
    annotation_actions.record_about(
        person=enrollment, type=Event.Type.VISIT_ARRIVED, now=now, subject=f"visit {visit.pk}"
    )
    return visit


@transaction.atomic
def join(*, link: JoinLink, participant: str, now: datetime) -> Enrollment:
    """Return a platform participant's enrollment in the study; make it if they have none.

    An id from one source is always one person, also when it arrives twice at once. Raise
    :class:`CannotJoin` for a new person while the study is not open or the link is closed or full, and
    ``accounts.actions.AskedToBeForgotten`` for one whose data were deleted.
    """
    annotator = recognise(
        platform=PlatformIdentity.Platform.LINK,
        environment=link.study.environment,
        person=person_of(link.source, participant),
        now=now,
    )
    known = Enrollment.objects.select_related("study").filter(study=link.study, annotator=annotator).first()
    if known:
        return known
    if link.study.state != Study.State.OPEN:
        raise CannotJoin(_("The study is not open."))
    if link.most_people is not None:  # people are counted with the link's row locked
        link = locked(link, "study")
    is_full = link.most_people is not None and queries.came_by(link).count() >= link.most_people
    if is_full or (link.closes_at and link.closes_at <= now):
        raise CannotJoin(_("This link does not admit new participants."))
    return annotation_actions.enroll(study=link.study, annotator=annotator, now=now)


@transaction.atomic
def set_join_link(*, study: Study, by: User | None, now: datetime, **changes: Any) -> JoinLink:
    """Create or change the study's join link; settings that ``changes`` do not name stay.

    Without a source, ids are this study's own. Raise ``recruitment.join_links.InvalidJoinLink``, also for
    another source once people have come by the old one: each of them would be somebody new.
    """
    had = JoinLink.objects.select_for_update(of=("self",)).filter(study=study).first()
    own = own_source(study.pk)
    settings = {name: getattr(had or JoinLink(), name) for name in SETTINGS} | changes
    settings["source"] = settings["source"] or own
    check_settings(settings, own=own, cap=study.story_cap)
    if had and had.source != settings["source"] and queries.came_by(had).exists():
        raise InvalidJoinLink(
            "source",
            _(
                "Participants have arrived with ids of “%(old)s”. With ids of “%(new)s” they would count "
                "as new and could vote twice. Leave the source as it is."
            )
            % {"old": had.source, "new": settings["source"]},
        )
    link, _made = JoinLink.objects.update_or_create(study=study, defaults=settings | {"set_at": now})
    transaction.on_commit(lambda: cache.delete(queries.LEAST_KEY % study.pk))
    shown = {name: value for name in SETTINGS if (value := getattr(link, name))}
    if link.closes_at:
        shown["closes_at"] = f"{link.closes_at:%Y-%m-%d %H:%M} UTC"
    note = ", ".join(f"{name} {value}" for name, value in shown.items())
    subject = f"join link {link.pk}"
    annotation_actions.record_event(
        study=study, type=Event.Type.JOIN_LINK_SET, by=by, now=now, subject=subject, note=note
    )
    return link


@transaction.atomic
def remove_join_link(*, study: Study, by: User | None, now: datetime) -> bool:
    """Remove the study's join link and its codes. Return True if there was one."""
    removed, _rows = JoinLink.objects.filter(study=study).delete()
    if removed:
        transaction.on_commit(lambda: cache.delete(queries.LEAST_KEY % study.pk))
        annotation_actions.record_event(study=study, type=Event.Type.JOIN_LINK_REMOVED, by=by, now=now)
    return bool(removed)


RECEIPT_BYTES = 12
RETAKEN = "The same person took this piece of work anew."


@transaction.atomic
def arrive_for_campaign(*, campaign: Campaign, arrival: Arrival, is_proven: bool, now: datetime) -> Visit:
    """Return a person's visit for a submission. Make it, with its work session, if there is none.

    Opening the same submission again, also twice at once, returns the same visit. Another person with the
    same submission id gets a new one, and so does a person who returned the submission and took it again.
    ``is_proven``: the platform confirmed who it is. Raise :class:`CannotArrive` and change nothing.
    """
    posting = campaign.postings.exclude(remote_id="").filter(remote_id=arrival.posting).first()
    if posting is None:
        raise CannotArrive(ArrivalProblem.UNKNOWN_POSTING)
    annotator = _recognise(campaign, arrival, now=now)  # locked: two arrivals of one person take turns
    known = (
        Visit.objects.select_related("enrollment__study", "enrollment__annotator", "session", "campaign")
        .filter(
            replaced_at=None,
            platform=campaign.platform,
            environment=campaign.environment,
            remote_id=arrival.remote_id,
            enrollment__annotator=annotator,
        )
        .first()
    )
    if known and not _replace_if_retaken(known, posting, now=now):
        return _open_again(known, posting, arrival, is_proven=is_proven)
    enrollment, lost = _let_in(posting, annotator, now=now)
    visit = _begin(posting, arrival, enrollment, is_proven=is_proven, now=now)
    if lost and visit.session:
        annotation_actions.carry_test(lost=lost, session=visit.session)
    return visit


@transaction.atomic
def record_refused_visit(*, campaign: Campaign, problem: ArrivalProblem, now: datetime) -> None:
    """Log that a person was not let in, and why; never who."""
    record_change(campaign=campaign, type=Event.Type.VISIT_REFUSED, by=None, now=now, note=problem.value)


@transaction.atomic
def record_hand_in(*, visit: Visit, ended_by: str = "", now: datetime) -> None:
    """Record when the person was first sent to hand the work in, and why it is less than asked for."""
    visits = Visit.objects.filter(pk=visit.pk)
    visits.filter(handed_in_at=None).update(handed_in_at=now)
    visits.exclude(ended_by=ended_by).update(ended_by=ended_by)


def _recognise(campaign: Campaign, arrival: Arrival, *, now: datetime) -> Annotator:
    try:
        return recognise(
            platform=PlatformIdentity.Platform(campaign.platform),
            environment=campaign.environment,
            person=arrival.person,
            now=now,
        )
    except AskedToBeForgotten as error:
        raise CannotArrive(ArrivalProblem.FORGOTTEN) from error


def _open_again(visit: Visit, posting: Posting, arrival: Arrival, *, is_proven: bool) -> Visit:
    if visit.posting_id != posting.pk:
        raise CannotArrive(ArrivalProblem.OTHER_WORK)
    if visit.submit_to != arrival.submit_to:
        visit.submit_to = arrival.submit_to
        visit.save(update_fields=["submit_to"])
    if is_proven and visit.session and visit.session.identity_claimed:
        annotation_actions.confirm_identity(session=visit.session)
    return visit


def _replace_if_retaken(visit: Visit, posting: Posting, *, now: datetime) -> bool:
    """End a visit that the person has returned and taken again. Return True if so.

    Keep it if they could begin nothing now, because its page says why.
    """
    assert visit.session is not None
    assert visit.campaign is not None
    is_listed = Submission.objects.filter(visit=visit).exists()
    anew = is_retaken(visit, is_listed=is_listed, now=now)
    if not anew or visit.posting_id != posting.pk or may_begin(visit.campaign, visit.enrollment):
        return False
    annotation_actions.doubt_session(session=visit.session, reason=RETAKEN, by=None, now=now)
    Visit.objects.filter(pk=visit.pk).update(replaced_at=now)
    return True


def _let_in(
    posting: Posting, annotator: Annotator, *, now: datetime
) -> tuple[Enrollment, WorkSession | None]:
    """Return the person's enrollment, made for a new person who may begin, and the test that they lost."""
    # Not the caller's copy: somebody may have paused it since.
    campaign = Campaign.objects.select_related("study").get(pk=posting.campaign_id)
    study = campaign.study
    known = Enrollment.objects.select_related("study").filter(study=study, annotator=annotator).first()
    is_tested = campaign.is_test and known is not None and known.state in TESTED
    lost = lost_test(known, posting, now=now) if known and is_tested else None
    problem = may_begin(campaign, known, has_lost_test=lost is not None)
    if problem:
        raise CannotArrive(problem)
    if known is None:
        return annotation_actions.enroll(study=study, annotator=annotator, now=now), None
    return annotation_actions.request_new_consent(enrollment=known, now=now), lost


def _begin(
    posting: Posting, arrival: Arrival, enrollment: Enrollment, *, is_proven: bool, now: datetime
) -> Visit:
    campaign = posting.campaign
    session = annotation_actions.open_session(
        enrollment=enrollment,
        story_limit=campaign.stories_per_visit,
        counts_unconfirmed=campaign.counts_unconfirmed,
        identity_claimed=not is_proven,
        framed=platform_of(campaign).is_framed,
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
        remote_id=arrival.remote_id,
        session=session,
        submit_to=arrival.submit_to,
        receipt=secrets.token_hex(RECEIPT_BYTES),
    )
    subject, note = f"visit {visit.pk}", f"campaign {campaign.number}"
    annotation_actions.record_about(
        person=enrollment, type=Event.Type.VISIT_ARRIVED, now=now, subject=subject, note=note
    )
    return visit
