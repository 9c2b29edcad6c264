"""Change the members of a study and their roles."""

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.rows import locked
from annotation.actions.events import record_event
from annotation.errors import LastOwner
from annotation.models import Event, Invitation, Membership, Study


@transaction.atomic
def set_role(*, study: Study, user: User, role: str, by: User | None, now: datetime) -> Membership:
    """Give a researcher a role in a study, replacing the one they had.

    Do nothing if they have it already. Raise :class:`LastOwner` if this would leave no owner, and
    ``ValueError`` for an unknown role.
    """
    role = Membership.Role(role)
    lock_members(study)
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
    invitation lets anybody in. Raise :class:`LastOwner` for the only owner.
    """
    lock_members(study)
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
    lock_members(invitation.study)
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


def lock_members(study: Study) -> None:
    """Lock the study against every other change of its members and invitations.

    Otherwise two owners who remove each other at once would leave none, and two researchers could accept
    one invitation.
    """
    locked(study)


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
        raise LastOwner(
            _("%(user)s is the only owner of this study. Make somebody else an owner first."),
            user=membership.user.get_username(),
        )
