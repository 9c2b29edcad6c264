"""One invitation that several people accept at the same moment, beside what happens without the lock."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import timezone

from accounts.models import User
from annotation import actions
from annotation.actions import members
from annotation.errors import InvitationClosed
from annotation.models import Event, Invitation, Membership
from tests import builders
from tests.concurrency.racing import errors, race, slowly

pytestmark = pytest.mark.django_db(transaction=True)
COMERS = 4


@pytest.fixture
def invitation() -> Invitation:
    study, owner = builders.make_study(opened=False), User.objects.create_user("olga", password=None)
    actions.set_role(study=study, user=owner, role="owner", by=None, now=timezone.now())
    return actions.invite_member(
        study=study, address="bob@example.org", role="reviewer", by=owner, now=timezone.now()
    )


def coming(invitation: Invitation, name: str) -> Callable[[], Membership]:
    """As each request does it: with a row of its own, read from the database."""
    return lambda: actions.accept_as_newcomer(
        invitation=Invitation.objects.select_related("study").get(pk=invitation.pk),
        username=name,
        password="seven wet otters",
        now=timezone.now(),
    )


@pytest.mark.parametrize("names", [["bob"] * COMERS, [f"bob{n}" for n in range(COMERS)]])
def test_of_several_who_accept_at_once_one_is_let_in(
    invitation: Invitation, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly(monkeypatch, members, "create_member_account")

    outcomes = race(*[coming(invitation, name) for name in names])

    refused = errors(outcomes)
    assert len(refused) == COMERS - 1
    assert all(isinstance(error, InvitationClosed) for error in refused)
    assert Membership.objects.filter(role="reviewer").count() == 1
    assert User.objects.exclude(username="olga").count() == 1
    assert Event.objects.filter(type=Event.Type.INVITATION_ACCEPTED).count() == 1


def test_control_without_the_lock_all_come_in(
    invitation: Invitation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "locked", lambda study: None)
    slowly(monkeypatch, members, "create_member_account")

    outcomes = race(*[coming(invitation, f"bob{n}") for n in range(COMERS)])

    assert not errors(outcomes)
    assert Membership.objects.filter(role="reviewer").count() == COMERS
