"""Who belongs to a study, and in which role."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation.actions.events import record_event
from annotation.errors import LastOwner
from annotation.models import Event, Membership, Study


@transaction.atomic
def set_role(*, study: Study, user: User, role: str, by: User | None, now: datetime) -> Membership:
    """Give somebody a role in a study, in place of the one they had.

    Does nothing when they have it. Raises :class:`LastOwner` for taking the role from the only owner,
    and ``ValueError`` for a role that does not exist.
    """
    role = Membership.Role(role)
    _lock(study)
    found = Membership.objects.filter(study=study, user=user).first()
    if found and found.role == role:
        return found
    if found:
        _leave_an_owner(found)
        found.role = role
        found.save(update_fields=["role"])
    else:
        found = Membership.objects.create(study=study, user=user, role=role, added_by=by, added_at=now)
    record_event(
        study=study, type=Event.Type.ROLE_GIVEN, by=by, now=now, subject=user.get_username(), note=role.value
    )
    return found


@transaction.atomic
def remove_member(*, study: Study, user: User, by: User | None, now: datetime) -> None:
    """Take somebody out of a study; what they did stays. Does nothing for who is not in it.

    Raises :class:`LastOwner` for the only owner.
    """
    _lock(study)
    found = Membership.objects.filter(study=study, user=user).first()
    if found is None:
        return
    _leave_an_owner(found)
    note = found.role
    found.delete()
    record_event(
        study=study, type=Event.Type.ROLE_TAKEN, by=by, now=now, subject=user.get_username(), note=note
    )


def _lock(study: Study) -> None:
    """Two owners who remove each other at once would leave nobody."""
    Study.objects.select_for_update(of=("self",), no_key=True).get(pk=study.pk)


def _leave_an_owner(membership: Membership) -> None:
    owners = Membership.objects.filter(study=membership.study_id, role=Membership.Role.OWNER)
    if membership.role == Membership.Role.OWNER and owners.count() == 1:
        raise LastOwner(
            _("%(user)s is the only owner of this study. Make somebody else an owner first.")
            % {"user": membership.user.get_username()}
        )
