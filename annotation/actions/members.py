"""Who belongs to a study, and in which role."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.actions.events import record_event
from annotation.errors import LastOwner
from annotation.models import Event, Invitation, Membership, Study


@transaction.atomic
def set_role(*, study: Study, user: User, role: str, by: User | None, now: datetime) -> Membership:
    """Give somebody a role in a study, in place of the one they had.

    Does nothing when they have it. Raises :class:`LastOwner` for taking the role from the only owner,
    and ``ValueError`` for a role that does not exist.
    """
    role = Membership.Role(role)
    lock_people(study)
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
    """Take somebody out of a study; what they did stays. Does nothing for who is not in it.

    The invitations they made and nobody has accepted are taken back, also when an owner gets another
    role: nobody comes in by the word of somebody who has no say any more. Raises :class:`LastOwner` for
    the only owner.
    """
    lock_people(study)
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
    """Make the link of an invitation worthless. Does nothing for one that was accepted or taken back."""
    lock_people(invitation.study)
    invitation.refresh_from_db()
    if invitation.standing(now) in (Invitation.Standing.ACCEPTED, Invitation.Standing.REVOKED):
        return
    invitation.revoked_at = now
    invitation.save(update_fields=["revoked_at"])
    record_event(
        study=invitation.study,
        type=Event.Type.INVITATION_REVOKED,
        by=by,
        now=now,
        subject=f"invitation {invitation.pk}",
        note=invitation.role,
    )


def lock_people(study: Study) -> None:
    """Hold the study against every other change of its members and invitations.

    Two owners who remove each other at once would leave nobody; two who accept one invitation would
    both come in.
    """
    Study.objects.select_for_update(of=("self",), no_key=True).get(pk=study.pk)


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
            _("%(user)s is the only owner of this study. Make somebody else an owner first.")
            % {"user": membership.user.get_username()}
        )
