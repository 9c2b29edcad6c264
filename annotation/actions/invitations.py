"""Inviting colleagues into a study by e-mail, and what becomes of an invitation."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.actions import create_member_account
from accounts.models import User
from annotation.actions.events import record_event
from annotation.actions.members import lock_people, revoke_invitation, set_role
from annotation.errors import AlreadyMember, InvalidInvitation, InvitationClosed
from annotation.models import Event, Invitation, Membership, Study
from annotation.rights import standing_of

INVITATION_LIFE = timedelta(days=14)
"""How long an invitation can be accepted."""


@transaction.atomic
def invite_member(*, study: Study, address: str, role: str, by: User, now: datetime) -> Invitation:
    """Offer a role in a study to whoever reads the mail of an address. An earlier offer to it is taken back.

    Raises :class:`InvalidInvitation` for what is no address, :class:`AlreadyMember` when a member's account
    has it, and ``ValueError`` for a role that does not exist.
    """
    role, address = Membership.Role(role), address.strip().lower()
    try:
        validate_email(address)
    except ValidationError as error:
        raise InvalidInvitation(_("“%(value)s” is not an e-mail address.") % {"value": address}) from error
    lock_people(study)
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
    _record(invitation, Event.Type.MEMBER_INVITED, by=by, now=now)
    return invitation


@transaction.atomic
def accept_invitation(*, invitation: Invitation, user: User, now: datetime) -> Membership:
    """Take the role that was offered. Of several who try at once one is let in.

    Raises :class:`InvitationClosed`, and :class:`AlreadyMember` for who belongs to the study; then the
    invitation stays open for whom it was meant.
    """
    _lock_open(invitation, now)
    known = Membership.objects.filter(study=invitation.study_id, user=user).first()
    if known:
        _refuse(known)
    return _accept(invitation, user, now)


@transaction.atomic
def accept_as_newcomer(*, invitation: Invitation, username: str, password: str, now: datetime) -> Membership:
    """Make an account for somebody who has none, and give it the role that was offered.

    The account has no rights but those of its memberships. Raises :class:`InvitationClosed`, and
    ``accounts.actions.NameTaken``; then there is no account, and the invitation stays open.
    """
    _lock_open(invitation, now)
    user = create_member_account(username=username, password=password, email=invitation.address, now=now)
    return _accept(invitation, user, now)


@transaction.atomic
def record_mailed(*, invitation: Invitation, now: datetime) -> None:
    """The mail server took the mail with the invitation's link."""
    Invitation.objects.filter(pk=invitation.pk).update(mailed_at=now)


def _lock_open(invitation: Invitation, now: datetime) -> None:
    lock_people(invitation.study)
    invitation.refresh_from_db()
    standing = standing_of(invitation, now)
    if standing is not Invitation.Standing.OPEN:
        raise InvitationClosed(standing)


def _accept(invitation: Invitation, user: User, now: datetime) -> Membership:
    """The role is given by who offered it: an event of theirs, and one of who accepts."""
    membership = set_role(
        study=invitation.study, user=user, role=invitation.role, by=invitation.invited_by, now=now
    )
    invitation.accepted_at, invitation.accepted_by = now, user
    invitation.save(update_fields=["accepted_at", "accepted_by"])
    _record(invitation, Event.Type.INVITATION_ACCEPTED, by=user, now=now)
    return membership


def _refuse(member: Membership) -> None:
    raise AlreadyMember(
        _("%(user)s belongs to this study already, as %(role)s.")
        % {"user": member.user.get_username(), "role": member.get_role_display()}
    )


def _record(invitation: Invitation, type: Event.Type, *, by: User, now: datetime) -> None:
    """The log has the invitation's number, not the address, which stands in its row alone."""
    record_event(
        study=invitation.study,
        type=type,
        by=by,
        now=now,
        subject=f"invitation {invitation.pk}",
        note=invitation.role,
    )
