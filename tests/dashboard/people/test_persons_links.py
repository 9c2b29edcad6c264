"""For whom a new personal link is made, and for whom not."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actions import confirm_email, set_email
from accounts.models import User
from annotation import actions, rules
from annotation.errors import WrongState
from annotation.models import Enrollment, Membership, Study
from recruitment.links import personal_link
from tests import builders
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.handed_in import Desk

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


@pytest.fixture
def study() -> Study:
    return builders.make_study("main", stories=4)


@pytest.fixture
def researcher(client: Client, study: Study) -> Client:
    user = User.objects.create_user("rosa", password=None)
    actions.set_role(study=study, user=user, role=Membership.Role.RESEARCHER, by=None, now=timezone.now())
    client.force_login(user)
    return client


def address(person: Enrollment, name: str) -> str:
    pseudonym = rules.pseudonym(person.study.pseudonym_key, person.annotator_id)
    return reverse(f"dashboard:{name}", args=["main", pseudonym])


def is_refused(researcher: Client, person: Enrollment) -> bool:
    """Whether no new link is made; then the one they have stays what it is."""
    version = Enrollment.objects.get(pk=person.pk).link_version
    page = researcher.post(address(person, "persons_link"), {"do": "renew"}, follow=True).content.decode()
    refused = "get no personal link" in page
    assert (Enrollment.objects.get(pk=person.pk).link_version == version) == refused
    return refused


def test_the_page_of_who_works_on_a_platform_is_not_closed_under_them(
    researcher: Client, study: Study, settings: Any
) -> None:
    settings.SENDS_MAIL = True
    with MTurkDouble() as double:
        worker = Desk(double, study).come().enrollment
    now = timezone.now()
    given = set_email(
        annotator=worker.annotator, environment=worker.environment, address="ada@example.org", now=now
    )
    assert given
    confirm_email(identity_id=given.pk, now=now)
    page = researcher.get(address(worker, "person")).content.decode()
    assert "Send the link again" in page
    assert "Make a new link" not in page
    assert is_refused(researcher, worker)


def test_the_place_of_who_was_forgotten_is_not_opened_again(researcher: Client, study: Study) -> None:
    """They were told so; who has only left needs the link, to be forgotten."""
    forgotten, left = builders.invite(study, 2)
    old = personal_link(forgotten)
    actions.forget(annotator=forgotten.annotator, now=timezone.now())
    actions.withdraw(enrollment=left, now=timezone.now())
    forgotten.refresh_from_db()
    assert "Make a new link" not in researcher.get(address(forgotten, "person")).content.decode()
    assert is_refused(researcher, forgotten)
    with pytest.raises(WrongState, match="personal data was deleted"):
        actions.revoke_link(enrollment=forgotten, by=None, now=timezone.now())
    for link in (old, personal_link(forgotten)):
        assert "Your personal data has been deleted" in researcher.get(link).content.decode()
    assert "Make a new link" in researcher.get(address(left, "person")).content.decode()
    assert not is_refused(researcher, left)
