"""Every write of this room."""

from __future__ import annotations

from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils.crypto import salted_hmac

from accounts.models import Annotator, ForgottenIdentity, PlatformIdentity, User

EMAIL = PlatformIdentity.Platform.EMAIL
CLAIMED = ~Q(platform=EMAIL) | Q(confirmed_at__isnull=False)
"""Identities that are known to be the person's own."""
RECOGNISE_ATTEMPTS = 5


class AddressTaken(Exception):
    """The e-mail address is known for another annotator."""


class NameTaken(Exception):
    """Another account has this name, whichever its letters' case."""


class Erased(Exception):
    """The annotator asked to be forgotten, so nothing about them is remembered any more."""


class AskedToBeForgotten(Exception):
    """Somebody comes back who asked to be forgotten. They get no second place, so nobody votes twice."""


@transaction.atomic
def ensure_researcher(*, username: str, password: str) -> User:
    """A researcher's account with full rights in the back office and this password, made if missing."""
    user, _ = User.objects.get_or_create(username=username)
    user.is_staff = user.is_superuser = user.is_active = True
    user.set_password(password)
    user.save()
    return user


@transaction.atomic
def create_member_account(*, username: str, password: str, email: str, now: datetime) -> User:
    """An account without any right of its own, not even to the back office. Raises :class:`NameTaken`."""
    if User.objects.filter(username__iexact=username).exists():
        raise NameTaken
    try:
        with transaction.atomic():
            return User.objects.create_user(username, email, password, date_joined=now)
    except IntegrityError as error:
        raise NameTaken from error


@transaction.atomic
def recognise(
    *, platform: PlatformIdentity.Platform, environment: str, person: str, now: datetime, language: str = ""
) -> Annotator:
    """The annotator whom a platform knows by this id, made if there is none: same id, same person.

    For ``Platform.EMAIL`` the address counts as confirmed, so only whoever vouches for it may call this.
    Two calls at once give one annotator: the unique constraint refuses the second row. Raises
    :class:`AskedToBeForgotten` for an id that was somebody's who has been forgotten.
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
                    # Looked at after the row was made: from here on nobody erases this id unseen.
                    if is_forgotten(platform=platform, environment=environment, person=person):
                        raise AskedToBeForgotten("Somebody with this id asked to be forgotten.")
                    return annotator
            except IntegrityError:
                continue  # somebody else was first; read theirs
        annotator = _lock(known.annotator)
        if PlatformIdentity.objects.filter(pk=known.pk).exists():
            return annotator  # locked, so nobody forgets them before we are done
    raise RuntimeError("An identity came and went at every look.")


@transaction.atomic
def set_email(
    *, annotator: Annotator, environment: str, address: str, now: datetime, language: str = ""
) -> PlatformIdentity | None:
    """Remember where a person says their link may be sent; an empty address forgets it.

    The address is a claim until :func:`confirm_email`, so it may be somebody else's, or mistyped: one that
    was confirmed before stays until then. Giving the one that is stored changes nothing, but takes back
    another claim. Returns what is stored of this address now. Raises :class:`Erased`.
    """
    address = address.strip().lower()
    if _lock(annotator).erased_at:
        raise Erased("This person has been forgotten; no address can be kept for them.")
    stored = PlatformIdentity.objects.filter(annotator=annotator, platform=EMAIL, environment=environment)
    if not address:
        stored.delete()
        return None
    stored.filter(confirmed_at=None).exclude(person=address).delete()
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
def confirm_email(*, identity_id: int, now: datetime) -> PlatformIdentity:
    """Somebody who reads the mail of this address said that it is theirs. It replaces the one before.

    Raises ``PlatformIdentity.DoesNotExist`` when the address has been replaced or forgotten, and
    :class:`AddressTaken` when it has been confirmed for another annotator.
    """
    identity = PlatformIdentity.objects.get(pk=identity_id, platform=EMAIL)
    _lock(identity.annotator)
    identity.refresh_from_db()
    if identity.confirmed_at is None:
        identity.confirmed_at = now
        try:
            with transaction.atomic():
                PlatformIdentity.objects.filter(
                    annotator=identity.annotator_id,
                    platform=EMAIL,
                    environment=identity.environment,
                    confirmed_at__isnull=False,
                ).delete()
                identity.save(update_fields=["confirmed_at"])
        except IntegrityError as error:
            raise AddressTaken("This address belongs to another place already.") from error
    return identity


@transaction.atomic
def erase_identities(*, annotator: Annotator, now: datetime) -> None:
    """Remove every row that says who the annotator is, and remember that they asked for it.

    Of each id that was known to be theirs a keyed hash stays (:class:`accounts.models.ForgottenIdentity`);
    of an address that was only claimed nothing does, since it may be somebody else's.
    """
    annotator = _lock(annotator)
    identities = PlatformIdentity.objects.filter(annotator=annotator)
    ForgottenIdentity.objects.bulk_create(
        (
            ForgottenIdentity(digest=_digest(one.platform, one.environment, one.person), day=now.date())
            for one in identities.filter(CLAIMED)
        ),
        ignore_conflicts=True,
    )
    identities.delete()
    Annotator.objects.filter(pk=annotator.pk, erased_at=None).update(erased_at=now)


def is_forgotten(*, platform: str, environment: str, person: str) -> bool:
    """Whether somebody with this id asked to be forgotten."""
    return ForgottenIdentity.objects.filter(pk=_digest(platform, environment, person)).exists()


def _digest(platform: str, environment: str, person: str) -> str:
    value = f"{platform}:{environment}:{person}"
    return salted_hmac("tomannot.forgotten", value, algorithm="sha256").hexdigest()


def _lock(annotator: Annotator) -> Annotator:
    """The row locked against every other action on the same person's identities, fresh."""
    return Annotator.objects.select_for_update(of=("self",), no_key=True).get(pk=annotator.pk)
