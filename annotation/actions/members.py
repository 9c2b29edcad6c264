"""Members of a study with their roles, invitations by e-mail, and API tokens that act for members.

Every change of members or invitations locks the study first. Otherwise two owners who remove each other at
once would leave none, and two researchers could accept one invitation.
"""

import secrets
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from accounts.actions import create_member_account
from accounts.models import User, locked
from annotation import api_secrets
from annotation.actions.events import record_event
from annotation.errors import AlreadyMember, InvalidInput, InvitationClosed, WrongState
from annotation.models import ApiToken, Event, Invitation, Membership, Study
from annotation.rights import invitation_status, token_studies


@transaction.atomic
def set_role(*, study: Study, user: User, role: str, by: User | None, now: datetime) -> Membership:
    """Give a researcher a role in a study, replacing the one they had.

    Do nothing if they have it already. Raise :class:`WrongState` if this would leave no owner, and
    ``ValueError`` for an unknown role.
    """
    role = Membership.Role(role)
    locked(study)
    found = Membership.objects.filter(study=study, user=user).first()
    if found and found.role == role:
        return found
    if found:
        _leave_an_owner(found)
        _revoke_what_they_offered(found, by=by, now=now)
        found.role = role
        found.save(update_fields=["role"])
    else:
        found = Membership.objects.create(study=study, user=user, role=role, added_by=by, added_at=now)
    _record(Event.Type.ROLE_GIVEN, study, user, role.value, by=by, now=now)
    return found


@transaction.atomic
def remove_member(*, study: Study, user: User, by: User | None, now: datetime) -> None:
    """Remove a member from a study, if they are one; what they did stays.

    This revokes their open invitations, as does giving an owner another role: only a current owner's
    invitation lets anybody in. Raise :class:`WrongState` for the only owner.
    """
    locked(study)
    found = Membership.objects.filter(study=study, user=user).first()
    if found is None:
        return
    _leave_an_owner(found)
    _revoke_what_they_offered(found, by=by, now=now)
    note = found.role
    found.delete()
    _record(Event.Type.ROLE_TAKEN, study, user, note, by=by, now=now)


@transaction.atomic
def revoke_invitation(*, invitation: Invitation, by: User | None, now: datetime) -> None:
    """Revoke an invitation, unless it was accepted or revoked already."""
    locked(invitation.study)
    invitation.refresh_from_db()
    if invitation.status(now) in (Invitation.Status.ACCEPTED, Invitation.Status.REVOKED):
        return
    invitation.revoked_at = now
    invitation.save(update_fields=["revoked_at"])
    record_invitation(invitation=invitation, type=Event.Type.INVITATION_REVOKED, by=by, now=now)


def record_invitation(*, invitation: Invitation, type: Event.Type, by: User | None, now: datetime) -> None:
    """Record an event by the invitation's id; its address appears only in its row."""
    study, subject, note = invitation.study, f"invitation {invitation.pk}", invitation.role
    record_event(study=study, type=type, by=by, now=now, subject=subject, note=note)


def _revoke_what_they_offered(membership: Membership, *, by: User | None, now: datetime) -> None:
    if membership.role == Membership.Role.OWNER:
        offered = Invitation.objects.open().filter(study=membership.study_id, invited_by=membership.user_id)
        for invitation in offered.select_related("study"):
            revoke_invitation(invitation=invitation, by=by, now=now)


def _record(type: Event.Type, study: Study, user: User, role: str, *, by: User | None, now: datetime) -> None:
    subject = user.get_username()
    record_event(study=study, type=type, by=by, now=now, member=user, subject=subject, note=role)


def _leave_an_owner(membership: Membership) -> None:
    owners = Membership.objects.filter(study=membership.study_id, role=Membership.Role.OWNER)
    if membership.role == Membership.Role.OWNER and owners.count() == 1:
        raise WrongState(
            _("%(user)s is the only owner of this study. Make somebody else an owner first."),
            user=membership.user.get_username(),
        )


INVITATION_LIFE = timedelta(days=14)
"""The time in which an invitation can be accepted."""


@transaction.atomic
def invite_member(*, study: Study, address: str, role: str, by: User, now: datetime) -> Invitation:
    """Offer a role in a study to an e-mail address. This revokes an earlier offer to the same address.

    Raise :class:`InvalidInput` for an invalid address, :class:`AlreadyMember` if a member's account
    has it, and ``ValueError`` for an unknown role.
    """
    role, address = Membership.Role(role), address.strip().lower()
    try:
        validate_email(address)
    except ValidationError as error:
        raise InvalidInput(_("“%(value)s” is not an e-mail address."), value=address) from error
    locked(study)
    _refuse_member(study, user__email__iexact=address)
    for earlier in Invitation.objects.open().filter(study=study, address=address).select_related("study"):
        revoke_invitation(invitation=earlier, by=by, now=now)
    invitation = Invitation.objects.create(
        study=study,
        address=address,
        role=role,
        nonce=secrets.token_hex(16),
        invited_by=by,
        invited_at=now,
        expires_at=now + INVITATION_LIFE,
    )
    record_invitation(invitation=invitation, type=Event.Type.MEMBER_INVITED, by=by, now=now)
    return invitation


@transaction.atomic
def accept_invitation(*, invitation: Invitation, user: User, now: datetime) -> Membership:
    """Accept the offered role. If several try at once, one of them gets it.

    Raise :class:`InvitationClosed`, and :class:`AlreadyMember` for a member of the study; then the
    invitation stays open for the intended reader.
    """
    _lock_open(invitation, now)
    _refuse_member(invitation.study, user=user)
    return _accept(invitation, user, now)


@transaction.atomic
def accept_as_newcomer(*, invitation: Invitation, username: str, password: str, now: datetime) -> Membership:
    """Create an account and give it the offered role.

    The account has no rights but those of its memberships. Raise :class:`InvitationClosed` or
    ``accounts.actions.NameTaken``; then no account is created, and the invitation stays open.
    """
    _lock_open(invitation, now)
    user = create_member_account(username=username, password=password, email=invitation.address, now=now)
    return _accept(invitation, user, now)


@transaction.atomic
def record_mailed(*, invitation: Invitation, now: datetime) -> None:
    """Record that the mail server accepted the mail with the invitation's link."""
    Invitation.objects.filter(pk=invitation.pk).update(mailed_at=now)


def _lock_open(invitation: Invitation, now: datetime) -> None:
    locked(invitation.study)
    invitation.refresh_from_db()
    status = invitation_status(invitation, now)
    if status is not Invitation.Status.OPEN:
        raise InvitationClosed(status)


def _accept(invitation: Invitation, user: User, now: datetime) -> Membership:
    membership = set_role(
        study=invitation.study, user=user, role=invitation.role, by=invitation.invited_by, now=now
    )
    invitation.accepted_at, invitation.accepted_by = now, user
    invitation.save(update_fields=["accepted_at", "accepted_by"])
    record_invitation(invitation=invitation, type=Event.Type.INVITATION_ACCEPTED, by=user, now=now)
    return membership


def _refuse_member(study: Study, **who: Any) -> None:
    """Raise :class:`AlreadyMember` if the study has this member."""
    if member := Membership.objects.filter(study=study, **who).select_related("user").first():
        raise AlreadyMember(
            _("%(user)s is already a member of this study, as %(role)s."),
            user=member.user.get_username(),
            role=member.get_role_display(),
        )


LONGEST_TOKEN_LIFE = timedelta(days=366)
"""A token that lives longer would be forgotten."""
USE_NOTED_EVERY = timedelta(hours=1)


@transaction.atomic
def make_api_token(
    *,
    owner: User,
    name: str,
    scopes: Collection[str],
    expires_at: datetime,
    study: Study | None,
    by: User | None,
    now: datetime,
) -> tuple[ApiToken, str]:
    """Create a token and return it with its secret, which is never available again.

    Every study that it opens now logs it; its row is never deleted. Raise :class:`InvalidInput` for an
    invalid name, scope or lifetime.
    """
    name = name.strip()
    known = [scope.value for scope in ApiToken.Scope if scope.value in scopes]
    if not name or len(name) > 100 or "\0" in name:
        raise InvalidInput(_("Give the token a name of 1 to 100 characters."))
    if not known or len(known) != len(set(scopes)):
        raise InvalidInput(_("Choose what the token is for."))
    if not now < expires_at <= now + LONGEST_TOKEN_LIFE:
        raise InvalidInput(_("A token lasts a year at most."))
    secret = api_secrets.new_secret()
    token = ApiToken.objects.create(
        owner=owner,
        study=study,
        name=name,
        scopes=known,
        digest=api_secrets.digest(secret),
        made_at=now,
        expires_at=expires_at,
    )
    note = f"{owner.get_username()}: {' '.join(known)}, until {expires_at:%Y-%m-%d}"
    _record_token(token, Event.Type.API_TOKEN_MADE, by=by, now=now, note=note)
    return token, secret


@transaction.atomic
def revoke_api_token(*, token: ApiToken, by: User | None, now: datetime) -> ApiToken:
    """Revoke the token, if it is not revoked already.

    Every study that it opened until now logs this, and so do those that logged its creation.
    """
    token = locked(token)
    if token.revoked_at is None:
        token.revoked_at, token.revoked_by = now, by
        token.save(update_fields=["revoked_at", "revoked_by"])
        _record_token(token, Event.Type.API_TOKEN_REVOKED, by=by, now=now, note=token.owner.get_username())
    return token


@transaction.atomic
def revoke_all_api_tokens(*, owner: User, by: User | None, now: datetime) -> int:
    """Revoke all tokens of this researcher. Return how many were valid."""
    valid = list(ApiToken.objects.filter(owner=owner, revoked_at=None, expires_at__gt=now).order_by("pk"))
    for token in valid:
        revoke_api_token(token=token, by=by, now=now)
    return len(valid)


@transaction.atomic
def note_use(*, token: ApiToken, now: datetime) -> None:
    """Record that the token is in use, at most once an hour: a write per request would be expensive."""
    stale = now - USE_NOTED_EVERY
    if token.last_used_at is None or token.last_used_at <= stale:
        unnoted = Q(last_used_at=None) | Q(last_used_at__lte=stale)
        ApiToken.objects.filter(unnoted, pk=token.pk, revoked_at=None).update(last_used_at=now)


def _record_token(token: ApiToken, type: Event.Type, *, by: User | None, now: datetime, note: str) -> None:
    subject = f"API token {token.pk}"
    logged = Event.objects.filter(type=Event.Type.API_TOKEN_MADE, subject=subject).values("study")
    concerned = Study.objects.filter(Q(pk__in=token_studies(token).values("pk")) | Q(pk__in=logged))
    for study in concerned.order_by("pk"):
        record_event(study=study, type=type, by=by, now=now, subject=subject, note=note)
