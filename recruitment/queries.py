"""Who can be written to, whose code something is, and how visits end. Reads only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import F, QuerySet, Sum

from accounts.models import PlatformIdentity
from annotation.models import Enrollment, Event, Study, WorkSession
from recruitment.arriving.arrival import Arrival
from recruitment.codes import Outcome, completion_code, find_code, outcome_of
from recruitment.joining import participant_of, person_of, way_back, way_of_screened_out
from recruitment.models import Campaign, JoinLink, LinkPayment, Visit

EMAIL = PlatformIdentity.Platform.EMAIL
LINK = PlatformIdentity.Platform.LINK


@dataclass(frozen=True, slots=True)
class Completion:
    """What somebody takes back to the platform: a code, and the address there if it is known."""

    code: str
    return_url: str | None
    outcome: Outcome
    """What the code tells the platform."""


@dataclass(frozen=True, slots=True)
class WayOut:
    """How somebody without a code gets back to the platform: its address if that can be known."""

    return_url: str | None


@dataclass(frozen=True, slots=True)
class CheckedCode:
    """Whose code it is. ``still_true``: it is for what the person's part comes to now.

    ``is_theirs`` says whether it belongs to the participant who was asked about; None if none was.
    """

    enrollment: Enrollment
    outcome: Outcome
    still_true: bool
    is_theirs: bool | None


def paid_outside(study: Study, only: Iterable[int] | None = None) -> dict[int, Decimal]:
    """What people who came by no campaign were paid, by their enrollments; in the study's currency."""
    paid = LinkPayment.objects.filter(enrollment__study=study, currency=study.currency)
    if only is not None:
        paid = paid.filter(enrollment__in=only)
    return dict(paid.order_by().values_list("enrollment").annotate(sum=Sum("amount")))


def address_of(enrollment: Enrollment) -> PlatformIdentity | None:
    """The address that the person gave last, confirmed or not."""
    return _addresses_of(enrollment).order_by("-pk").first()


def confirmed_address_of(enrollment: Enrollment) -> PlatformIdentity | None:
    """The address to which the person's links are sent now."""
    return _addresses_of(enrollment).filter(confirmed_at__isnull=False).first()


def _addresses_of(enrollment: Enrollment) -> QuerySet[PlatformIdentity]:
    return PlatformIdentity.objects.filter(
        annotator=enrollment.annotator_id, platform=EMAIL, environment=enrollment.environment
    )


def came_by(link: JoinLink) -> QuerySet[Enrollment]:
    """The places in the study of people whose ids are from this link's source."""
    return Enrollment.objects.filter(
        study=link.study_id,
        annotator__identities__platform=LINK,
        annotator__identities__environment=F("environment"),
        annotator__identities__person__startswith=person_of(link.source, ""),
    )


def has_place(link: JoinLink, participant: str) -> bool:
    """Whether a platform's participant has a place in the link's study already."""
    return Enrollment.objects.filter(
        study=link.study_id,
        annotator__identities__platform=LINK,
        annotator__identities__environment=F("environment"),
        annotator__identities__person=person_of(link.source, participant),
    ).exists()


def owners_of(address: str) -> QuerySet[PlatformIdentity]:
    """The places (one in live studies, one in rehearsals) for which this address was confirmed."""
    return PlatformIdentity.objects.filter(
        platform=EMAIL, person=address.strip().lower(), confirmed_at__isnull=False
    ).order_by("pk")


def living_enrollments(identity: PlatformIdentity) -> list[Enrollment]:
    """The person's parts in studies that have not ended for them."""
    return list(
        Enrollment.objects.filter(annotator=identity.annotator_id, environment=identity.environment)
        .exclude(state=Enrollment.State.WITHDRAWN)
        .exclude(study__state=Study.State.CLOSED)
        .select_related("study")
        .order_by("pk")
    )


def completion_of(enrollment: Enrollment) -> Completion | None:
    """The person's code and way back now; None in a study without a join link, and for nothing done."""
    link = JoinLink.objects.filter(study=enrollment.study_id).first()
    if link is None or not _has_worked(enrollment):
        return None
    outcome = outcome_of(enrollment.stories_submitted)
    code = completion_code(enrollment.study.pseudonym_key, enrollment.pk, outcome)
    address = link.return_url
    if outcome is Outcome.SCREENED_OUT:
        address = way_of_screened_out(link.return_url, link.screen_out_url)
    participant = _participant(enrollment, link.source)
    back = way_back(address, link.return_hosts, code=code, participant=participant)
    return Completion(code, back, outcome)


def way_out_of(enrollment: Enrollment) -> WayOut | None:
    """The way back to the platform without a code; None in a study without a join link."""
    link = JoinLink.objects.filter(study=enrollment.study_id).first()
    return way_out_by(link, participant=_participant(enrollment, link.source)) if link else None


def way_out_by(link: JoinLink, *, participant: str | None) -> WayOut:
    """The same for somebody who came by this link, with the id they came with if there was one."""
    return WayOut(way_back(link.leave_url, link.return_hosts, code="", participant=participant))


def _has_worked(enrollment: Enrollment) -> bool:
    """Whether the person has answered a story, or done a whole test."""
    tested = enrollment.state == Enrollment.State.FAILED or (
        enrollment.state == Enrollment.State.QUALIFIED and enrollment.study.gate != Study.Gate.NOT_REQUIRED
    )
    return tested or enrollment.stories_submitted > 0


def check_code(study: Study, text: str, *, participant: str = "") -> CheckedCode | None:
    """Whose code this is in the study, or None. ``participant`` is the platform's id of who handed it in."""
    ids = Enrollment.objects.filter(study=study).order_by("pk").values_list("pk", flat=True)
    found = find_code(study.pseudonym_key, ids.iterator(), text)
    if found is None:
        return None
    enrollment = Enrollment.objects.select_related("study").get(pk=found[0])
    return CheckedCode(
        enrollment=enrollment,
        outcome=found[1],
        still_true=found[1] == outcome_of(enrollment.stories_submitted),
        is_theirs=participant.strip() in _participants(enrollment) if participant.strip() else None,
    )


def _participants(enrollment: Enrollment) -> list[str]:
    persons = PlatformIdentity.objects.filter(
        annotator=enrollment.annotator_id, platform=LINK, environment=enrollment.environment
    ).values_list("person", flat=True)
    return [participant_of(person) for person in persons]


def _participant(enrollment: Enrollment, source: str) -> str | None:
    """The person's id in this source, if they came from there."""
    identity = PlatformIdentity.objects.filter(
        annotator=enrollment.annotator_id,
        platform=LINK,
        environment=enrollment.environment,
        person__startswith=f"{source}/",
    ).first()
    return participant_of(identity.person) if identity else None


def is_known_visit(campaign: Campaign, arrival: Arrival) -> bool:
    """Whether the same id has come for this piece of work before."""
    identities = PlatformIdentity.objects.filter(
        platform=campaign.platform, environment=campaign.environment, person=arrival.person
    )
    return Visit.objects.filter(
        platform=campaign.platform,
        environment=campaign.environment,
        hit_assignment=arrival.hit_assignment,
        enrollment__annotator__in=identities.values("annotator"),
    ).exists()


def was_taken_before(visit: Visit) -> bool:
    """Whether the test was handed in before a visit that only says whose it is: perhaps by another."""
    session = visit.session
    if session is None or session.story_limit or not session.identity_claimed:
        return False
    last = visit.enrollment.events.filter(type=Event.Type.ATTEMPT_SUBMITTED).order_by("-pk").first()
    return last is not None and last.at < visit.arrived_at


def visit_of(session: WorkSession) -> Visit | None:
    """The visit whose work session this is, with all that its pages need."""
    needed = ("campaign__study", "session", "enrollment__study", "enrollment__consent", "submission")
    return Visit.objects.select_related(*needed).filter(session=session).first()
