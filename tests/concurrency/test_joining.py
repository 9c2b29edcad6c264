"""One participant who arrives several times at once, beside what happens without the guard."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import timezone

from accounts.actions import AskedToBeForgotten
from accounts.models import Annotator, PlatformIdentity
from annotation.actions import forget
from annotation.models import Enrollment, Event
from recruitment import actions
from recruitment.errors import CannotJoin
from recruitment.models import JoinLink
from tests import builders
from tests.annotation.invariants import broken
from tests.concurrency.racing import ROUNDS, errors, race, together, without_constraint

pytestmark = pytest.mark.django_db(transaction=True)
ARRIVALS = 4


@pytest.fixture
def link() -> JoinLink:
    return actions.set_join_link(study=builders.make_study(), by=None, now=timezone.now())


def coming(link: JoinLink, participant: str = "5f3a9c0de1") -> Callable[[], Enrollment]:
    """As each request does it: with a join link of its own, read from the database."""
    return lambda: actions.join(
        link=JoinLink.objects.select_related("study").get(pk=link.pk),
        participant=participant,
        now=timezone.now(),
    )


def test_one_participant_who_arrives_in_many_tabs_is_one_person(
    link: JoinLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    together(monkeypatch, Annotator.objects, "create", ARRIVALS)

    outcomes = race(*[coming(link)] * ARRIVALS)

    assert not errors(outcomes)
    assert {outcome.pk for outcome in outcomes if isinstance(outcome, Enrollment)} == {
        Enrollment.objects.get().pk
    }
    assert Annotator.objects.count() == PlatformIdentity.objects.count() == 1
    assert Event.objects.filter(type=Event.Type.ANNOTATOR_INVITED).count() == 1
    assert not broken("people")


def test_control_without_the_constraint_one_participant_is_many_people(
    link: JoinLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    with without_constraint(PlatformIdentity, "one_annotator_per_platform_person"):
        with monkeypatch.context() as patch:
            together(patch, Annotator.objects, "create", ARRIVALS)
            outcomes = race(*[coming(link)] * ARRIVALS)
        assert not errors(outcomes)
        assert Annotator.objects.count() == Enrollment.objects.count() == ARRIVALS
        assert "one_person_per_confirmed_identity" in broken("people")


@pytest.mark.parametrize("round", ROUNDS)
def test_arriving_while_being_forgotten_leaves_no_identity_behind(link: JoinLink, round: int) -> None:
    person = coming(link)()

    outcomes = race(
        coming(link), lambda: forget(annotator=person.annotator, now=timezone.now()), coming(link)
    )

    assert all(isinstance(error, AskedToBeForgotten) for error in errors(outcomes))
    assert not broken("people")
    assert Annotator.objects.get() == person.annotator, "nobody gets a second place meanwhile"
    assert not PlatformIdentity.objects.exists()


def test_no_more_people_come_in_than_the_link_may_let_in(
    link: JoinLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    actions.set_join_link(study=link.study, by=None, now=timezone.now(), most_people=2)
    together(monkeypatch, Annotator.objects, "create", ARRIVALS)

    outcomes = race(*[coming(link, f"participant-{number}") for number in range(ARRIVALS)])

    assert {type(error) for error in errors(outcomes)} == {CannotJoin}
    assert Enrollment.objects.count() == Annotator.objects.count() == 2
