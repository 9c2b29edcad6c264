"""Inviting colleagues: the offer, its link, what becomes of it, and whom it lets in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.actions import NameTaken
from accounts.models import User
from annotation import actions
from annotation.errors import AlreadyMember, InvalidInput, InvitationClosed
from annotation.models import Event, Invitation, Membership, Study
from annotation.rights import RIGHTS, rights_in
from tests import builders

pytestmark = pytest.mark.django_db

Role = Membership.Role
ADDRESS = "bob@example.org"


@pytest.fixture
def study() -> Study:
    return builders.make_study("main", opened=False)


@pytest.fixture
def owner(study: Study) -> User:
    owner = User.objects.create_user("olga", "olga@example.org", None)
    actions.set_role(study=study, user=owner, role=Role.OWNER, by=None, now=timezone.now())
    return owner


def offer(study: Study, owner: User, role: str = Role.REVIEWER, address: str = ADDRESS) -> Invitation:
    return actions.invite_member(study=study, address=address, role=role, by=owner, now=timezone.now())


def told(study: Study) -> list[tuple[str, str, str]]:
    events = Event.objects.filter(study=study).exclude(subject="olga").order_by("pk")
    assert not any(ADDRESS in event.subject + event.note for event in events), "no address stands in the log"
    return [
        (event.type, event.actor.get_username() if event.actor else "", event.note)
        for event in events.select_related("actor")
        if event.type in ("member_invited", "invitation_accepted", "invitation_revoked", "role_given")
    ]


def test_who_accepts_has_the_role_that_was_offered(study: Study, owner: User) -> None:
    bob = User.objects.create_user("bob", password=None)
    actions.revoke_invitation(invitation=offer(study, owner), by=owner, now=timezone.now())
    invitation = offer(study, owner)
    assert rights_in(bob, study) == frozenset()
    actions.accept_invitation(invitation=invitation, user=bob, now=timezone.now())
    assert rights_in(bob, study) == RIGHTS[Role.REVIEWER]
    assert told(study) == [
        ("member_invited", "olga", "reviewer"),
        ("invitation_revoked", "olga", "reviewer"),
        ("member_invited", "olga", "reviewer"),
        ("role_given", "olga", "reviewer"),
        ("invitation_accepted", "bob", "reviewer"),
    ]


def test_a_newcomer_has_no_right_but_that_of_their_role(study: Study, owner: User) -> None:
    actions.accept_as_newcomer(
        invitation=offer(study, owner), username="bob", password="seven wet otters", now=timezone.now()
    )
    bob = User.objects.get(username="bob")
    assert bob.check_password("seven wet otters")
    assert (bob.is_staff, bob.is_superuser, bob.email) == (False, False, ADDRESS)
    assert not bob.get_all_permissions()
    assert rights_in(bob, study) == RIGHTS[Role.REVIEWER]
    assert rights_in(bob, builders.make_study("other", opened=False)) == frozenset()


def test_a_name_that_is_taken_leaves_the_invitation_open(study: Study, owner: User) -> None:
    User.objects.create_user("BOB", password=None)
    invitation = offer(study, owner)
    with pytest.raises(NameTaken):
        actions.accept_as_newcomer(invitation=invitation, username="bob", password="x", now=timezone.now())
    invitation.refresh_from_db()
    assert invitation.status(timezone.now()) is Invitation.Status.OPEN
    assert User.objects.count() == 2


def accepted(invitation: Invitation, owner: User) -> None:
    first = User.objects.create_user("first", password=None)
    actions.accept_invitation(invitation=invitation, user=first, now=timezone.now())


def revoked(invitation: Invitation, owner: User) -> None:
    actions.revoke_invitation(invitation=invitation, by=owner, now=timezone.now())


def replaced(invitation: Invitation, owner: User) -> None:
    offer(invitation.study, owner, Role.AUDITOR, " BOB@example.org ")


def inviter_removed(invitation: Invitation, owner: User) -> None:
    other = User.objects.create_user("other", password=None)
    actions.set_role(study=invitation.study, user=other, role=Role.OWNER, by=owner, now=timezone.now())
    actions.remove_member(study=invitation.study, user=owner, by=other, now=timezone.now())


def inviter_demoted(invitation: Invitation, owner: User) -> None:
    other = User.objects.create_user("other", password=None)
    actions.set_role(study=invitation.study, user=other, role=Role.OWNER, by=owner, now=timezone.now())
    actions.set_role(study=invitation.study, user=owner, role=Role.AUDITOR, by=other, now=timezone.now())


def inviter_switched_off(invitation: Invitation, owner: User) -> None:
    owner.is_active = False
    owner.save()  # as the back office does


ENDS: tuple[tuple[Callable[[Invitation, User], None], Invitation.Status], ...] = (
    (accepted, Invitation.Status.ACCEPTED),
    (revoked, Invitation.Status.REVOKED),
    (replaced, Invitation.Status.REVOKED),
    (inviter_removed, Invitation.Status.REVOKED),
    (inviter_demoted, Invitation.Status.REVOKED),
    (inviter_switched_off, Invitation.Status.REVOKED),
)


@pytest.mark.parametrize(("end", "status"), ENDS, ids=[end.__name__ for end, _standing in ENDS])
def test_an_invitation_that_has_ended_lets_nobody_in(
    study: Study, owner: User, end: Callable[[Invitation, User], None], status: Invitation.Status
) -> None:
    invitation = offer(study, owner)
    end(invitation, owner)
    bob = User.objects.create_user("bob", password=None)
    with pytest.raises(InvitationClosed) as refusal:
        actions.accept_invitation(invitation=invitation, user=bob, now=timezone.now())
    assert refusal.value.status is status
    with pytest.raises(InvitationClosed):
        actions.accept_as_newcomer(invitation=invitation, username="b", password="x", now=timezone.now())
    assert rights_in(bob, study) == frozenset()
    assert not User.objects.filter(username="b").exists()


def test_after_fourteen_days_it_is_too_late(study: Study, owner: User) -> None:
    invitation, bob = offer(study, owner), User.objects.create_user("bob", password=None)
    end = invitation.invited_at + timedelta(days=14)
    with pytest.raises(InvitationClosed) as refusal:
        actions.accept_invitation(invitation=invitation, user=bob, now=end)
    assert refusal.value.status is Invitation.Status.EXPIRED
    actions.accept_invitation(invitation=invitation, user=bob, now=end - timedelta(seconds=1))
    assert rights_in(bob, study) == RIGHTS[Role.REVIEWER]


def test_an_owner_who_opens_an_offer_keeps_their_role_and_the_offer_stays(study: Study, owner: User) -> None:
    invitation = offer(study, owner, Role.AUDITOR)
    with pytest.raises(AlreadyMember, match="as owner"):
        actions.accept_invitation(invitation=invitation, user=owner, now=timezone.now())
    assert rights_in(owner, study) == RIGHTS[Role.OWNER]
    invitation.refresh_from_db()
    assert invitation.status(timezone.now()) is Invitation.Status.OPEN


def test_who_belongs_to_the_study_is_not_invited(study: Study, owner: User) -> None:
    with pytest.raises(AlreadyMember, match="olga is already a member of this study"):
        offer(study, owner, address="Olga@Example.org")
    with pytest.raises(InvalidInput, match="not an e-mail address"):
        offer(study, owner, address="bob at home")
    with pytest.raises(ValueError, match="king"):
        offer(study, owner, role="king")
    assert not Invitation.objects.exists()


def test_the_database_refuses_what_the_actions_never_write(study: Study, owner: User) -> None:
    invitation, now = offer(study, owner), timezone.now()
    row = Invitation.objects.filter(pk=invitation.pk)
    broken: dict[str, dict[str, object]] = {
        "invitation_has_a_known_role": {"role": "king"},
        "invitation_has_an_address_and_a_nonce": {"nonce": ""},
        "invitation_expires_after_it_is_made": {"expires_at": invitation.invited_at},
        "accepted_invitation_says_by_whom": {"accepted_at": now},
        "invitation_is_not_accepted_and_revoked": {
            "accepted_at": now,
            "accepted_by": owner,
            "revoked_at": now,
        },
    }
    for name, values in broken.items():
        with pytest.raises(IntegrityError, match=name), transaction.atomic():
            row.update(**values)
    with (
        pytest.raises(IntegrityError, match="one_open_invitation_per_address_and_study"),
        transaction.atomic(),
    ):
        Invitation.objects.create(
            study=study,
            address=ADDRESS,
            role=Role.OWNER,
            nonce="0",
            invited_by=owner,
            invited_at=now,
            expires_at=now + timedelta(days=1),
        )
