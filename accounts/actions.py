"""All writes to accounts, annotators and their identities."""

from datetime import datetime

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db import IntegrityError, transaction
from django.db.models import Q

from accounts.models import Annotator, ForgottenIdentity, PlatformIdentity, User, locked
from tomannot.keyed import MARK_LENGTH, key_marks, keyed_hashes

EMAIL = PlatformIdentity.Platform.EMAIL
CLAIMED = ~Q(platform=EMAIL) | Q(confirmed_at__isnull=False)
"""Identities that are known to belong to the annotator."""
RECOGNISE_ATTEMPTS = 5


class AddressTaken(Exception):
    """The e-mail address belongs to another annotator."""


class NameTaken(Exception):
    """Another account has this name (ignoring case)."""


class Erased(Exception):
    """The annotator's personal data were deleted, so nothing new is stored about them."""


class AskedToBeForgotten(Exception):
    """The id belongs to an erased annotator. They get no second enrollment, so nobody votes twice."""


@transaction.atomic
def ensure_researcher(*, username: str, password: str) -> User:
    """Create or update a researcher's account with this password and all back-office rights."""
    user, _ = User.objects.get_or_create(username=username)
    user.is_staff = user.is_superuser = user.is_active = True
    user.set_password(password)
    user.save()
    return user


@transaction.atomic
def create_member_account(*, username: str, password: str, email: str, now: datetime) -> User:
    """Create an account without any rights, not even to the back office. Raise :class:`NameTaken`."""
    if User.objects.filter(username__iexact=username).exists():
        raise NameTaken
    try:
        with transaction.atomic():
            return User.objects.create_user(username, email, password, date_joined=now)
    except IntegrityError as error:
        raise NameTaken from error


@transaction.atomic
def forget_ended_sessions(*, now: datetime) -> None:
    """Delete sessions that have expired, and the browser and network address of sessions that are over."""
    Session.objects.filter(expire_date__lt=now).delete()
    UserSession.objects.exclude(session_key__in=Session.objects.values("session_key")).delete()


@transaction.atomic
def recognise(
    *, platform: PlatformIdentity.Platform, environment: str, person: str, now: datetime, language: str = ""
) -> Annotator:
    """Return the annotator with this platform id, created if there is none.

    For ``Platform.EMAIL`` the address counts as confirmed, so the caller must vouch for it. Concurrent
    calls give one annotator: the unique constraint refuses the second row. Raise
    :class:`AskedToBeForgotten` for the id of an erased annotator.
    """
    for _attempt in range(RECOGNISE_ATTEMPTS):
        known = PlatformIdentity.objects.filter(
            CLAIMED, platform=platform, environment=environment, person=person
        ).first()
        if known is None:
            try:
                with transaction.atomic():
                    annotator = Annotator.objects.create(created_at=now)
                    PlatformIdentity.objects.create(
                        annotator=annotator,
                        platform=platform,
                        environment=environment,
                        person=person,
                        language=language,
                        created_at=now,
                        confirmed_at=now if platform == EMAIL else None,
                    )
                    # Checked after the insert: a concurrent erasure of this id cannot go unnoticed.
                    if is_forgotten(platform=platform, environment=environment, person=person):
                        raise AskedToBeForgotten("The annotator with this id was erased.")
                    return annotator
            except IntegrityError:
                continue  # a concurrent call was first; read its row
        annotator = locked(known.annotator)
        if PlatformIdentity.objects.filter(pk=known.pk).exists():
            return annotator  # locked, so nobody erases them before we are done
    raise RuntimeError(f"The identity appeared and disappeared in each of {RECOGNISE_ATTEMPTS} attempts.")


@transaction.atomic
def set_email(
    *, annotator: Annotator, environment: str, address: str, now: datetime, language: str = ""
) -> PlatformIdentity | None:
    """Store the e-mail address to which an annotator wants their link sent; an empty one removes it.

    The address is only a claim until :func:`confirm_email`, since it may be mistyped or somebody else's; a
    confirmed address stays until then. Repeating the stored address drops another pending claim. Return the
    stored identity, if any. Raise :class:`Erased`.
    """
    address = address.strip().lower()
    if locked(annotator).erased_at:
        raise Erased("This annotator was erased; no address can be stored for them.")
    stored = PlatformIdentity.objects.filter(annotator=annotator, platform=EMAIL, environment=environment)
    if not address:
        stored.delete()
        return None
    stored.filter(confirmed_at=None).exclude(person=address).delete()
    stored.filter(person=address).update(language=language)
    same = stored.filter(person=address).first()
    if same:
        return same
    return PlatformIdentity.objects.create(
        annotator=annotator,
        platform=EMAIL,
        environment=environment,
        person=address,
        language=language,
        created_at=now,
    )


@transaction.atomic
def set_mail_language(*, annotator_id: int, environment: str, language: str) -> None:
    """Write mails to the annotator's addresses in this language from now on."""
    theirs = PlatformIdentity.objects.filter(annotator=annotator_id, platform=EMAIL, environment=environment)
    theirs.update(language=language)


@transaction.atomic
def confirm_email(*, identity_id: int, now: datetime) -> PlatformIdentity:
    """Confirm a claimed address. It replaces the annotator's previous one.

    Raise ``PlatformIdentity.DoesNotExist`` if the address was replaced or removed, and
    :class:`AddressTaken` if another annotator has confirmed it.
    """
    identity = PlatformIdentity.objects.get(pk=identity_id, platform=EMAIL)
    locked(identity.annotator)
    identity.refresh_from_db()
    if identity.confirmed_at is None:
        identity.confirmed_at = now
        try:
            with transaction.atomic():
                theirs = PlatformIdentity.objects.filter(annotator=identity.annotator_id, platform=EMAIL)
                theirs.filter(environment=identity.environment, confirmed_at__isnull=False).delete()
                identity.save(update_fields=["confirmed_at"])
        except IntegrityError as error:
            raise AddressTaken("This address already belongs to another annotator.") from error
    return identity


@transaction.atomic
def erase_identities(*, annotator: Annotator, now: datetime) -> None:
    """Delete every row that identifies the annotator, and record the erasure.

    A keyed hash of each id known to be theirs stays (:class:`accounts.models.ForgottenIdentity`). Nothing
    stays of an unconfirmed address, since it may be somebody else's.
    """
    annotator = locked(annotator)
    identities = PlatformIdentity.objects.filter(annotator=annotator)
    forgotten = [
        ForgottenIdentity(digest=_digests(one.platform, one.environment, one.person)[0], day=now.date())
        for one in identities.filter(CLAIMED)
    ]
    ForgottenIdentity.objects.bulk_create(forgotten, ignore_conflicts=True)
    identities.delete()
    Annotator.objects.filter(pk=annotator.pk, erased_at=None).update(erased_at=now)


def is_forgotten(*, platform: str, environment: str, person: str) -> bool:
    """Return True if this id belongs to an erased annotator."""
    return ForgottenIdentity.objects.filter(pk__in=_digests(platform, environment, person)).exists()


def _digests(platform: str, environment: str, person: str) -> list[str]:
    """Return the id's marks under the key and each former one; a mark begins with its key's name."""
    digests = keyed_hashes("tomannot.forgotten", f"{platform}:{environment}:{person}")
    return [f"{key}{digest[MARK_LENGTH:]}" for key, digest in zip(key_marks(), digests, strict=True)]
