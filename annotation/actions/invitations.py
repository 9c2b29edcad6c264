"""Invite colleagues into a study by e-mail, and accept invitations."""

import secrets
from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.actions import create_member_account
from accounts.models import User
from annotation.actions.members import lock_members, record_invitation, revoke_invitation, set_role
from annotation.errors import AlreadyMember, InvalidInvitation, InvitationClosed
from annotation.models import Event, Invitation, Membership, Study
from annotation.rights import invitation_status

INVITATION_LIFE = timedelta(days=14)
"""The time in which an invitation can be accepted."""


@transaction.atomic
def invite_member(*, study: Study, address: str, role: str, by: User, now: datetime) -> Invitation:
    """Offer a role in a study to an e-mail address. This revokes an earlier offer to the same address.

    Raise :class:`InvalidInvitation` for an invalid address, :class:`AlreadyMember` if a member's account
    has it, and ``ValueError`` for an unknown role.
    """
    role, address = Membership.Role(role), address.strip().lower()
    try:
        validate_email(address)
    except ValidationError as error:
        raise InvalidInvitation(_("“%(value)s” is not an e-mail address."), value=address) from error
    lock_members(study)
    known = Membership.objects.filter(study=study, user__email__iexact=address).select_related("user").first()
    if known:
        _refuse(known)
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
    known = Membership.objects.filter(study=invitation.study_id, user=user).first()
    if known:
        _refuse(known)
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
    lock_members(invitation.study)
    invitation.refresh_from_db()
    status = invitation_status(invitation, now)
    if status is not Invitation.Status.OPEN:
        raise InvitationClosed(status)


def _accept(invitation: Invitation, user: User, now: datetime) -> Membership:
    """Give the role in the inviter's name, and record the acceptance by the new member."""
    membership = set_role(
        study=invitation.study, user=user, role=invitation.role, by=invitation.invited_by, now=now
    )
    invitation.accepted_at, invitation.accepted_by = now, user
    invitation.save(update_fields=["accepted_at", "accepted_by"])
    record_invitation(invitation=invitation, type=Event.Type.INVITATION_ACCEPTED, by=user, now=now)
    return membership


def _refuse(member: Membership) -> None:
    raise AlreadyMember(
        _("%(user)s is already a member of this study, as %(role)s."),
        user=member.user.get_username(),
        role=member.get_role_display(),
    )
