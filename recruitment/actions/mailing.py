"""The addresses to which links are sent, and every mail."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.actions import AskedToBeForgotten, confirm_email, recognise, set_email
from accounts.models import Annotator, PlatformIdentity, User
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event, Study
from recruitment import mails, queries
from recruitment.addresses import read_address
from recruitment.errors import CannotInvite, MailFailed, MailRefused, NoAddress, NoMail
from recruitment.queueing import later

CONFIRMATION_TASK = "recruitment.tasks.mail_confirmation"
CHANGE_TASK = "recruitment.tasks.mail_change"
LINKS_TASK = "recruitment.tasks.mail_links"
INVITATION_TASK = "recruitment.tasks.mail_invitation"
NOBODY = 0
"""The id of an identity that no row has."""


# -- addresses


@transaction.atomic
def give_address(
    *, enrollment: Enrollment, address: str, language: str, now: datetime
) -> PlatformIdentity | None:
    """Remember where the person says their link may be sent, and ask that address by mail.

    A confirmed one stays until the new one is confirmed, and is told, in case it was somebody else who
    opened the person's place. An empty address forgets it. Raises :class:`NoMail`,
    ``accounts.actions.Erased``, and :class:`NotQueued` when the address is stored but no mail could be
    queued.
    """
    if address and not settings.SENDS_MAIL:
        raise NoMail(_("This site sends no mail."))
    had = queries.address_of(enrollment)
    identity = set_email(
        annotator=enrollment.annotator,
        environment=enrollment.environment,
        address=address,
        language=language,
        now=now,
    )
    if identity and identity.confirmed_at is None:
        later(CONFIRMATION_TASK, identity.pk, enrollment.pk)
        before = queries.confirmed_address_of(enrollment)
        if before and (had is None or had.pk != identity.pk):
            later(CHANGE_TASK, before.pk, enrollment.pk)
    if identity is None and had:
        _record(enrollment, Event.Type.ADDRESS_FORGOTTEN, now=now)
    elif identity and (had is None or had.pk != identity.pk):
        _record(enrollment, Event.Type.ADDRESS_GIVEN, now=now)
    return identity


@transaction.atomic
def confirm_address(*, identity_id: int, now: datetime) -> PlatformIdentity:
    """The address is the person's own: links may be sent there from now on.

    Raises ``PlatformIdentity.DoesNotExist`` and ``accounts.actions.AddressTaken``.
    """
    before = PlatformIdentity.objects.get(pk=identity_id)
    identity = confirm_email(identity_id=identity_id, now=now)
    if before.confirmed_at is None:
        _record_for_all(identity, Event.Type.ADDRESS_CONFIRMED, by=None, now=now)
    return identity


# -- sending links


def ask_for_links(*, address: str) -> None:
    """Somebody asks for the links of this address. What happens takes as long whether it is known or not.

    Raises :class:`NoMail` and :class:`NotQueued`.
    """
    if not settings.SENDS_MAIL:
        raise NoMail(_("This site sends no mail."))
    owners = list(queries.owners_of(address).values_list("pk", flat=True))
    for identity_id in owners or [NOBODY]:
        later(LINKS_TASK, identity_id, None, None)


@transaction.atomic
def invite_by_mail(
    *, study: Study, addresses: Sequence[str], language: str = "", by: User | None, now: datetime
) -> list[Enrollment]:
    """Invite the people with these addresses, and send each their link.

    Whoever gives an address here vouches for it, so it counts as confirmed, and somebody known by it
    stays the same person. Raises :class:`NoMail`, :class:`InvalidAddress` and :class:`CannotInvite` (somebody
    asked to be forgotten, left the study or declined); then nobody is invited. Raises :class:`NotQueued`
    when everybody is invited but no mail could be queued.
    """
    if not settings.SENDS_MAIL:
        raise NoMail(_("This site sends no mail: EMAIL_URL is not set."))
    given = list(dict.fromkeys(read_address(one) for one in addresses))
    # In one order, so that two invitations of the same people do not wait for each other.
    people = {one: _known_by(one, study=study, language=language, now=now) for one in sorted(given)}
    return [_invite_by_mail(people[one], one, study=study, by=by, now=now) for one in given]


@transaction.atomic
def send_link(*, enrollment: Enrollment, by: User | None) -> None:
    """Send a person the link to this study again.

    Raises :class:`NoMail`, and :class:`NoAddress` when no address is confirmed.
    """
    if not settings.SENDS_MAIL:
        raise NoMail(_("This site sends no mail: EMAIL_URL is not set."))
    identity = queries.confirmed_address_of(enrollment)
    if identity is None:
        raise NoAddress(_("There is no confirmed e-mail address of this person."))
    later(LINKS_TASK, identity.pk, enrollment.pk, by.pk if by else None)


def _known_by(address: str, *, study: Study, language: str, now: datetime) -> Annotator:
    try:
        return recognise(
            platform=PlatformIdentity.Platform.EMAIL,
            environment=study.environment,
            person=address,
            language=language,
            now=now,
        )
    except AskedToBeForgotten as error:
        raise CannotInvite(
            _("“%(value)s” asked to be forgotten, and cannot be invited again. Nobody was invited.")
            % {"value": address}
        ) from error


def _invite_by_mail(
    annotator: Annotator, address: str, *, study: Study, by: User | None, now: datetime
) -> Enrollment:
    enrollment = annotation_actions.enroll(study=study, annotator=annotator, now=now, by=by)
    if enrollment.state in (Enrollment.State.WITHDRAWN, Enrollment.State.DECLINED):
        raise CannotInvite(
            _("“%(value)s” has said no to this study (%(state)s), so no mail goes there. Nobody was invited.")
            % {"value": address, "state": enrollment.get_state_display()}
        )
    identity = queries.confirmed_address_of(enrollment)
    assert identity is not None  # recognised by it, and locked
    _record(enrollment, Event.Type.ADDRESS_CONFIRMED, by=by, now=now, note="given with the invitation")
    later(INVITATION_TASK, identity.pk, enrollment.pk, by.pk if by else None)
    return enrollment


# -- the mails themselves, called by the worker


def mail_confirmation(*, identity_id: int, enrollment_id: int) -> None:
    """Ask whether an address is the person's own, unless that has been settled meanwhile."""
    identity = PlatformIdentity.objects.filter(pk=identity_id, confirmed_at=None).first()
    if identity:
        mails.hand_over(mails.confirmation_mail(identity, _enrollment(enrollment_id)))


def mail_change(*, identity_id: int, enrollment_id: int) -> None:
    """Tell a confirmed address that another one was given, unless it has been replaced meanwhile."""
    identity = PlatformIdentity.objects.filter(pk=identity_id, confirmed_at__isnull=False).first()
    if identity:
        mails.hand_over(mails.change_mail(identity, _enrollment(enrollment_id)))


def mail_links(*, identity_id: int, enrollment_id: int | None, by: User | None, now: datetime) -> int:
    """Send the person their link to one study, or to all that go on for them; returns how many links.

    Nothing is sent to an address that is not confirmed or has been forgotten meanwhile.
    """
    identity = PlatformIdentity.objects.filter(pk=identity_id, confirmed_at__isnull=False).first()
    if identity is None:
        return 0
    enrollments = [_enrollment(enrollment_id)] if enrollment_id else queries.living_enrollments(identity)
    if enrollments:
        mails.hand_over(mails.links_mail(identity, enrollments))
        _record_sent(enrollments, by=by, now=now)
    return len(enrollments)


def mail_invitation(*, identity_id: int, enrollment_id: int, by: User | None, now: datetime) -> None:
    """Send an invitation with the person's link."""
    identity = PlatformIdentity.objects.filter(pk=identity_id).first()
    if identity:
        enrollment = _enrollment(enrollment_id)
        mails.hand_over(mails.invitation_mail(identity, enrollment))
        _record_sent([enrollment], by=by, now=now)


def _enrollment(enrollment_id: int) -> Enrollment:
    return Enrollment.objects.select_related("study").get(pk=enrollment_id)


@transaction.atomic
def note_not_mailed(
    *, identity_id: int, enrollment_id: int | None, why: MailFailed | MailRefused, now: datetime
) -> None:
    """Say in the log of the studies concerned that a mail will not be sent, and what the server said."""
    identity = PlatformIdentity.objects.filter(pk=identity_id).first()
    if enrollment_id is not None:
        enrollments = [_enrollment(enrollment_id)]
    else:
        enrollments = queries.living_enrollments(identity) if identity else []
    for enrollment in enrollments:
        _record(enrollment, Event.Type.LINK_NOT_MAILED, now=now, note=str(why))


@transaction.atomic
def _record_sent(enrollments: Sequence[Enrollment], *, by: User | None, now: datetime) -> None:
    for enrollment in enrollments:
        _record(enrollment, Event.Type.LINK_MAILED, by=by, now=now)


def _record_for_all(identity: PlatformIdentity, type: Event.Type, *, by: User | None, now: datetime) -> None:
    """Say it in the log of each study in which the person has a place."""
    places = Enrollment.objects.filter(annotator=identity.annotator_id, environment=identity.environment)
    for enrollment in places.select_related("study").order_by("pk"):
        _record(enrollment, type, by=by, now=now)


def _record(
    enrollment: Enrollment, type: Event.Type, *, now: datetime, by: User | None = None, note: str = ""
) -> None:
    annotation_actions.record_event(
        study=enrollment.study,
        type=type,
        by=by,
        enrollment=enrollment,
        now=now,
        subject=f"link {enrollment.link_version}" if type == Event.Type.LINK_MAILED else "",
        note=note,
    )
