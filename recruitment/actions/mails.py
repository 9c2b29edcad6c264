"""The addresses to which links are sent, and every mail."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.actions import AskedToBeForgotten, confirm_email, recognise, set_email
from accounts.models import Annotator, PlatformIdentity, User
from annotation import actions as annotation_actions
from annotation.errors import WrongState
from annotation.models import Enrollment, Event, Study
from recruitment import mails, queries
from recruitment.errors import MailFailed, MailRefused
from recruitment.mails import Kind
from recruitment.queue import queue_mail

MAIL_TASK = "recruitment.tasks.send_mail"
NOBODY = 0
"""The id of an identity that no row has."""


# -- addresses


@transaction.atomic
def give_address(
    *, enrollment: Enrollment, address: str, language: str, now: datetime
) -> PlatformIdentity | None:
    """Store the person's e-mail address, and mail it a request to confirm.

    A confirmed address stays until the new one is confirmed, and gets a mail about it, in case somebody else
    used the person's link. An empty address removes it. Raise :class:`WrongState`,
    ``accounts.actions.Erased``, or :class:`NotQueued` if the address is stored but no mail was queued.
    """
    if address and not settings.SENDS_MAIL:
        raise WrongState(_("This site sends no mail."))
    had = queries.address_of(enrollment)
    identity = set_email(
        annotator=enrollment.annotator,
        environment=enrollment.environment,
        address=address,
        language=language,
        now=now,
    )
    if identity and identity.confirmed_at is None:
        queue_mail(MAIL_TASK, identity.pk, enrollment.pk, Kind.CONFIRMATION)
        before = queries.confirmed_address_of(enrollment)
        if before and (had is None or had.pk != identity.pk):
            queue_mail(MAIL_TASK, before.pk, enrollment.pk, Kind.CHANGE)
    if identity is None and had:
        _record([enrollment], Event.Type.ADDRESS_FORGOTTEN, now=now)
    elif identity and (had is None or had.pk != identity.pk):
        _record([enrollment], Event.Type.ADDRESS_GIVEN, now=now)
    return identity


@transaction.atomic
def confirm_address(*, identity_id: int, now: datetime) -> PlatformIdentity:
    """Confirm an address as the person's own: links may be sent there from now on.

    Raise ``PlatformIdentity.DoesNotExist`` and ``accounts.actions.AddressTaken``.
    """
    before = PlatformIdentity.objects.get(pk=identity_id)
    identity = confirm_email(identity_id=identity_id, now=now)
    if before.confirmed_at is None:
        places = Enrollment.objects.filter(annotator=identity.annotator_id, environment=identity.environment)
        _record(places.select_related("study").order_by("pk"), Event.Type.ADDRESS_CONFIRMED, now=now)
    return identity


# -- sending links


def ask_for_links(*, address: str) -> None:
    """Mail an address its personal links. Known and unknown addresses take the same time.

    Raise :class:`NotQueued`.
    """
    owners = PlatformIdentity.objects.filter(  # one live, one in rehearsals
        platform=queries.EMAIL, person=address.strip().lower(), confirmed_at__isnull=False
    ).order_by("pk")
    for identity_id in list(owners.values_list("pk", flat=True)) or [NOBODY]:
        queue_mail(MAIL_TASK, identity_id, None, Kind.LINKS)


@transaction.atomic
def invite_by_mail(
    *, study: Study, addresses: Sequence[str], language: str = "", by: User | None, now: datetime
) -> list[Enrollment]:
    """Invite the people with these addresses, and send each their link.

    Whoever gives an address here vouches for it, so it counts as confirmed, and somebody known by it
    stays the same person. Raise :class:`InvalidAddress` and :class:`WrongState` (this site sends no mail, or
    somebody had their data deleted, left the study or declined); then nobody is invited. Raise
    :class:`NotQueued` when everybody is invited but no mail could be queued.
    """
    if not settings.SENDS_MAIL:
        raise WrongState(_("This site sends no mail: EMAIL_URL is not set."))
    given = mails.read_addresses(addresses)
    # In one order, so that two invitations of the same people do not wait for each other.
    people = {one: _known_by(one, study=study, language=language, now=now) for one in sorted(given)}
    return [_invite_by_mail(people[one], one, study=study, by=by, now=now) for one in given]


@transaction.atomic
def send_link(*, enrollment: Enrollment, by: User | None) -> None:
    """Send a person the link to this study again.

    Raise :class:`WrongState`, also when no address is confirmed.
    """
    if not settings.SENDS_MAIL:
        raise WrongState(_("This site sends no mail: EMAIL_URL is not set."))
    identity = queries.confirmed_address_of(enrollment)
    if identity is None:
        raise WrongState(_("This participant has no confirmed e-mail address."))
    queue_mail(MAIL_TASK, identity.pk, enrollment.pk, Kind.LINKS, by.pk if by else None)


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
        raise WrongState(
            _("“%(value)s” had their personal data deleted and can’t be invited again. Nobody was invited.")
            % {"value": address}
        ) from error


def _invite_by_mail(
    annotator: Annotator, address: str, *, study: Study, by: User | None, now: datetime
) -> Enrollment:
    enrollment = annotation_actions.enroll(study=study, annotator=annotator, now=now, by=by)
    if enrollment.state in (Enrollment.State.WITHDRAWN, Enrollment.State.DECLINED):
        message = _(
            "“%(value)s” declined or left this study (%(state)s), so we send no mail there. Nobody was "
            "invited."
        ) % {"value": address, "state": enrollment.get_state_display()}
        raise WrongState(message)
    identity = queries.confirmed_address_of(enrollment)
    assert identity is not None  # recognised by it, and locked
    _record([enrollment], Event.Type.ADDRESS_CONFIRMED, by=by, now=now, note="given with the invitation")
    queue_mail(MAIL_TASK, identity.pk, enrollment.pk, Kind.INVITATION, by.pk if by else None)
    return enrollment


# -- the mails themselves, called by the worker


def send_mail(
    *, kind: Kind, identity_id: int, enrollment_id: int | None, by: User | None, now: datetime
) -> bool:
    """Send a mail about one study, or about all that go on for the person; return whether one was sent.

    None is sent to an address that has been forgotten meanwhile, to ask one that was confirmed, or with
    links to one that was not.
    """
    identity = PlatformIdentity.objects.filter(pk=identity_id).first()
    if identity is None:
        return False
    is_confirmed = identity.confirmed_at is not None
    if not (is_confirmed != (kind == Kind.CONFIRMATION) or kind == Kind.INVITATION):
        return False
    enrollments = _enrollments(identity, enrollment_id)
    if enrollments:
        mails.hand_over(mails.mail_of(kind, identity, enrollments))
        if kind in (Kind.LINKS, Kind.INVITATION):
            _record(enrollments, Event.Type.LINK_MAILED, by=by, now=now)
    return bool(enrollments)


def _enrollments(identity: PlatformIdentity | None, enrollment_id: int | None) -> list[Enrollment]:
    if enrollment_id is not None:
        return [Enrollment.objects.select_related("study").get(pk=enrollment_id)]
    if identity is None:
        return []
    theirs = Enrollment.objects.filter(annotator=identity.annotator_id, environment=identity.environment)
    going_on = theirs.exclude(state=Enrollment.State.WITHDRAWN).exclude(study__state=Study.State.CLOSED)
    return list(going_on.select_related("study").order_by("pk"))


@transaction.atomic
def record_mail_failure(
    *, identity_id: int, enrollment_id: int | None, why: MailFailed | MailRefused, now: datetime
) -> None:
    """Log in the mail's studies that it will not be sent, and the server's answer."""
    identity = PlatformIdentity.objects.filter(pk=identity_id).first()
    enrollments = _enrollments(identity, enrollment_id)
    _record(enrollments, Event.Type.LINK_NOT_MAILED, now=now, note=str(why))


@transaction.atomic
def _record(
    enrollments: Iterable[Enrollment],
    type: Event.Type,
    *,
    now: datetime,
    by: User | None = None,
    note: str = "",
) -> None:
    for enrollment in enrollments:
        subject = f"link {enrollment.link_version}" if type == Event.Type.LINK_MAILED else ""
        annotation_actions.record_about(
            person=enrollment, type=type, by=by, now=now, subject=subject, note=note
        )
