"""Who belongs to a study, in which role, and what the log tells of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from annotation import actions
from annotation.errors import WrongState
from annotation.models import Event, Membership, Study
from annotation.rights import Right, rights_in, studies_of
from tests import builders
from tests.dashboard.test_roles import Role, client_of, member, user

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


@pytest.fixture
def study() -> Study:
    return builders.make_study("main", stories=0, opened=False)


def test_a_person_sees_the_studies_they_belong_to(study: Study) -> None:
    builders.make_study("other")
    someone = member(study, Role.AUDITOR)
    assert list(studies_of(someone)) == [study]
    page = client_of(someone).get(reverse("dashboard:studies")).content.decode()
    assert "/studies/main/" in page
    assert "/studies/other/" not in page


def test_who_makes_a_study_owns_it() -> None:
    maker = user("maker")
    study = actions.create_study(
        slug="mine", settings={"title": "Mine", "contact": "me@example.org"}, by=maker, now=timezone.now()
    )
    assert rights_in(maker, study) == frozenset(Right)


def test_an_account_that_was_switched_off_has_no_rights(study: Study) -> None:
    someone = member(study, Role.OWNER)
    someone.is_active = False
    assert rights_in(someone, study) == frozenset()


def test_a_role_is_given_once_changed_and_taken_each_time_with_an_event(study: Study) -> None:
    owner, someone = member(study, Role.OWNER), user("someone")
    now = timezone.now()
    for role in (Role.REVIEWER, Role.REVIEWER, Role.RESEARCHER):
        actions.set_role(study=study, user=someone, role=role, by=owner, now=now)
    actions.remove_member(study=study, user=someone, by=owner, now=now)
    actions.remove_member(study=study, user=someone, by=owner, now=now)
    told = (
        Event.objects.filter(study=study, subject="someone")
        .order_by("pk")
        .values_list("type", "note", "actor")
    )
    assert list(told) == [
        ("role_given", "reviewer", owner.pk),
        ("role_given", "researcher", owner.pk),
        ("role_taken", "researcher", owner.pk),
    ]
    assert rights_in(someone, study) == frozenset()


def test_the_only_owner_stays(study: Study) -> None:
    owner = member(study, Role.OWNER)
    ways: tuple[Callable[[], object], ...] = (
        lambda: actions.remove_member(study=study, user=owner, by=owner, now=timezone.now()),
        lambda: actions.set_role(study=study, user=owner, role="auditor", by=owner, now=timezone.now()),
    )
    for leave in ways:
        with pytest.raises(WrongState, match="only owner"):
            leave()
    second = user("second")
    actions.set_role(study=study, user=second, role=Role.OWNER, by=owner, now=timezone.now())
    actions.remove_member(study=study, user=owner, by=second, now=timezone.now())
    assert rights_in(owner, study) == frozenset()


def test_the_database_knows_the_roles_and_one_per_person(study: Study) -> None:
    someone = member(study, Role.AUDITOR)
    with pytest.raises(IntegrityError, match="one_role_per_person_and_study"), transaction.atomic():
        Membership.objects.create(study=study, user=someone, role="owner", added_at=timezone.now())
    with pytest.raises(IntegrityError, match="membership_has_a_known_role"), transaction.atomic():
        Membership.objects.filter(user=someone).update(role="king")
