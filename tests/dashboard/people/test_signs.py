"""Signs of human work on researchers' pages: a fact, and a flag to look at; nothing comes of it by itself."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from annotation import actions
from annotation.models import Enrollment, Event, Membership, Study, Vote
from annotation.signs import FIELD
from dashboard.figures import compute, flags, store
from tests import builders
from tests.worlds import built_once

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
BY_SCRIPT, BY_HAND = "0 9 q1:1.5 q2:22.0", "9 0 q1:1.5"


@built_once
def voted() -> Study:
    """Five stories; the first person's votes come by script, the second's partly, the third says nothing."""
    study = builders.make_study("main", stories=5)
    people = builders.qualified(study, 3)
    for story in range(5):
        sent = (BY_SCRIPT, BY_SCRIPT if story < 2 else BY_HAND, "")
        for person, reported in zip(people, sent, strict=True):
            builders.vote(person, builders.ALL_YES | {FIELD: reported})
    return study


@pytest.fixture
def study() -> Study:
    return voted()


def people_of(study: Study) -> list[Enrollment]:
    return list(study.enrollments.order_by("pk"))


def page(study: Study, name: str, *args: str) -> str:
    user, _ = User.objects.get_or_create(username=f"reader-{name}")
    actions.set_role(study=study, user=user, role=Membership.Role.RESEARCHER, by=None, now=timezone.now())
    client = Client()
    client.force_login(user)
    return client.get(reverse(f"dashboard:{name}", args=[study.slug, *args])).content.decode()


@pytest.mark.django_db(transaction=True)
def test_the_flag_is_raised_from_half_of_the_votes_on_and_nothing_else_happens(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges = ((19, 1.0), (20, 0.49), (20, 0.5))
    raised = [flags.is_untrusted({"signs": {"known": known, "share": share}}) for known, share in edges]
    assert raised == [False, False, True]
    monkeypatch.setattr(flags, "FEWEST_VOTES", 5)
    people = people_of(study)
    compute.make(study.pk, now=timezone.now())
    script, half, silent = (store.person(study, person.pseudonym) for person in people)
    assert script is not None
    assert half is not None
    assert silent is not None
    assert script["signs"] == {"known": 5, "without": 5, "share": 1.0}
    assert half["signs"] == {"known": 5, "without": 2, "share": 0.4}
    assert silent["signs"] == {"known": 0, "without": 0, "share": None}
    assert [flags.UNTRUSTED in one["flags"] for one in (script, half, silent)] == [True, False, False]
    assert len(script["evidence"][flags.UNTRUSTED]) == 5
    told = Event.objects.get(type=Event.Type.ANNOTATOR_FLAGGED)
    assert (told.enrollment_id, told.subject) == (people[0].pk, flags.UNTRUSTED)
    assert Vote.objects.counted().count() == 15
    assert {person.state for person in people_of(study)} == {Enrollment.State.QUALIFIED}
    shown = page(study, "person", people[0].pseudonym)
    assert "In 5 of 5 votes (100 %) the browser reported no click or key of a person." in shown


def test_a_persons_answers_have_their_times_and_the_mark_where_it_is_known(study: Study) -> None:
    script, _half, silent = people_of(study)
    shown = page(study, "person", script.pseudonym)
    assert "22.0 s" in shown
    assert shown.count("<summary>no trusted input</summary>") == 5
    assert "Screen readers, voice control, switch devices and other assistive technology" in shown
    unknown = page(study, "person", silent.pseudonym)
    assert "no trusted input" not in unknown
    assert "22.0 s" not in unknown


def test_a_storys_votes_show_them(study: Study) -> None:
    story = study.stories.order_by("pk")[0]
    shown = page(study, "story", story.story_id)
    assert "clicks and keys: 0 trusted, 9 not" in shown
    assert "22.0 s" in shown
    assert "Nothing follows from it unless you decide so." in shown
