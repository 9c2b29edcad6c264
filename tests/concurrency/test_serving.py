"""People race for slots, in many tabs and with forms sent many times."""

from __future__ import annotations

import pytest
from django.db import IntegrityError

from annotation import actions, rules
from annotation.models import Assignment, Enrollment, Vote
from annotation.protocols.validity import ValidityProtocol
from annotation.rules import Reason, Refusal
from tests import builders
from tests.annotation.invariants import broken
from tests.concurrency.racing import errors, race, slowly, together, without_constraint, without_locks
from tests.concurrency.serving import claiming, submitting
from tests.worlds import built_once

pytestmark = pytest.mark.django_db(transaction=True)


@built_once
def six_for_the_last_slot() -> list[Enrollment]:
    one, two, *others = builders.qualified(builders.make_study(stories=1), 8)
    builders.vote(one)
    builders.vote(two)
    return others


@pytest.fixture
def last_slot(monkeypatch: pytest.MonkeyPatch) -> list[Enrollment]:
    """Six people for the last of three slots of the only story."""
    slowly(monkeypatch, rules, "lowest_free_slot")
    return six_for_the_last_slot()


def test_the_last_slot_goes_to_one_person(last_slot: list[Enrollment]) -> None:
    outcomes = race(*map(claiming, last_slot))

    given = [outcome for outcome in outcomes if isinstance(outcome, Assignment)]
    refused = [outcome for outcome in outcomes if isinstance(outcome, Refusal)]
    assert not errors(outcomes)
    assert [assignment.slot for assignment in given] == [3]
    assert [refusal.reason for refusal in refused] == [Reason.NOTHING_FREE] * 5
    assert not broken()


def test_control_without_locks_and_constraint_many_get_the_last_slot(
    last_slot: list[Enrollment], monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    together(monkeypatch, rules, "lowest_free_slot", len(last_slot))
    with without_constraint(Assignment, "one_living_assignment_per_slot"):
        race(*map(claiming, last_slot))

        assert Assignment.objects.filter(slot=3).count() > 1


def test_control_without_locks_the_constraint_refuses_the_others(
    last_slot: list[Enrollment], monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    together(monkeypatch, rules, "lowest_free_slot", len(last_slot))

    outcomes = race(*map(claiming, last_slot))

    assert any(isinstance(error, IntegrityError) for error in errors(outcomes))
    assert Assignment.objects.filter(slot=3).count() == 1


@pytest.fixture
def two_tabs(monkeypatch: pytest.MonkeyPatch) -> Enrollment:
    study = builders.make_study(stories=5)
    slowly(monkeypatch, rules, "lowest_free_slot")
    return builders.qualified(study)[0]


def test_one_person_in_many_tabs_has_one_lease(two_tabs: Enrollment) -> None:
    outcomes = race(*[claiming(two_tabs)] * 4)

    assert not errors(outcomes)
    assert {outcome.pk for outcome in outcomes if isinstance(outcome, Assignment)} == {
        Assignment.objects.get().pk
    }
    assert not broken()


def test_control_without_locks_tabs_collide(two_tabs: Enrollment, monkeypatch: pytest.MonkeyPatch) -> None:
    without_locks(monkeypatch)
    together(monkeypatch, rules, "lowest_free_slot", 4)

    outcomes = race(*[claiming(two_tabs)] * 4)

    assert any(isinstance(error, IntegrityError) for error in errors(outcomes))


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Assignment:
    """Somebody who presses the button again and again."""
    study = builders.make_study(stories=2)
    slowly(monkeypatch, ValidityProtocol, "read_form")
    return builders.claim(builders.qualified(study)[0])


def test_one_form_sent_four_times_is_one_vote_with_one_receipt(impatient: Assignment) -> None:
    outcomes = race(*[submitting(impatient, impatient.enrollment)] * 4)

    assert not errors(outcomes)
    receipts = [outcome for outcome in outcomes if isinstance(outcome, actions.Receipt)]
    assert {receipt.vote for receipt in receipts} == {Vote.objects.get()}
    assert {receipt.vote.submitted_at for receipt in receipts} == {Vote.objects.get().submitted_at}
    assert len(receipts) == 4
    assert not any(receipt.differs for receipt in receipts)
    assert Enrollment.objects.get(pk=impatient.enrollment_id).stories_submitted == 1
    assert not broken()


def test_two_different_forms_at_once_keep_one_and_say_so(impatient: Assignment) -> None:
    person = impatient.enrollment

    outcomes = race(submitting(impatient, person), submitting(impatient, person, builders.answers(q1="no")))

    assert not errors(outcomes)
    assert sorted(outcome.differs for outcome in outcomes if isinstance(outcome, actions.Receipt)) == [
        False,
        True,
    ]
    assert Vote.objects.get().answers.count() == 4


def test_control_without_locks_repeated_forms_get_no_receipt(
    impatient: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_locks(monkeypatch)
    together(monkeypatch, ValidityProtocol, "read_form", 4)

    outcomes = race(*[submitting(impatient, impatient.enrollment)] * 4)

    assert any(isinstance(error, IntegrityError) for error in errors(outcomes))
