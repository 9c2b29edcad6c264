"""People's standing in a study, walked through by actions."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.db import DatabaseError, IntegrityError, transaction
from django.utils import timezone

from accounts.models import Annotator
from annotation import actions, rules
from annotation.errors import WrongState
from annotation.models import ConsentText, Enrollment, Event, Study
from tests import builders

pytestmark = pytest.mark.django_db

State = Enrollment.State


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Study:
    return builders.make_study(qualification={"rows": 1, "attempts_allowed": 2})


@pytest.fixture
def study(built: Study) -> Study:
    """The study as the database has it; what a test does to it is rolled back."""
    return Study.objects.get(pk=built.pk)


def decline(person: Enrollment) -> Enrollment:
    return actions.decline_consent(enrollment=person, now=timezone.now())


def suspend(person: Enrollment) -> Enrollment:
    return actions.suspend(enrollment=person, by=None, now=timezone.now(), reason="too fast")


def reinstate(person: Enrollment) -> Enrollment:
    return actions.reinstate(enrollment=person, by=None, now=timezone.now(), reason="a mistake")


def passes(person: Enrollment) -> Enrollment:
    return actions.set_qualified(enrollment=person, passed=True, now=timezone.now())


def fails(person: Enrollment) -> Enrollment:
    return actions.set_qualified(enrollment=person, passed=False, now=timezone.now())


def test_the_pseudonym_is_stored_and_outlives_the_person(study: Study) -> None:
    person = builders.invite(study)[0]
    given = rules.pseudonym(study.pseudonym_key, person.annotator_id)
    assert person.pseudonym == given
    actions.forget(annotator=person.annotator, now=timezone.now())
    assert Enrollment.objects.get(pk=person.pk).pseudonym == given


def test_a_pseudonym_is_final(study: Study) -> None:
    person = builders.invite(study)[0]
    with pytest.raises(DatabaseError, match="Cannot update"), transaction.atomic():
        Enrollment.objects.filter(pk=person.pk).update(pseudonym="annotator-0123456789abcdef")
    Enrollment.objects.filter(pk=person.pk).update(pseudonym=person.pseudonym)


@pytest.mark.parametrize("name", ["", "annotator-Mary"])
def test_a_pseudonym_is_no_name(study: Study, name: str) -> None:
    annotator = Annotator.objects.create(created_at=timezone.now())
    with pytest.raises(IntegrityError, match="pseudonym_is_annotator"), transaction.atomic():
        Enrollment.objects.create(
            study=study,
            annotator=annotator,
            pseudonym=name,
            environment=study.environment,
            created_at=timezone.now(),
            state_changed_at=timezone.now(),
        )


STEPS: dict[str, Callable[[Enrollment], Enrollment]] = {
    "consent": builders.consent,
    "decline": decline,
    "pass": passes,
    "fail": fails,
    "suspend": suspend,
    "reinstate": reinstate,
}
LEADS = {
    State.INVITED: {"consent": State.CONSENTED, "decline": State.DECLINED},
    State.DECLINED: {"consent": State.CONSENTED, "decline": State.DECLINED},
    State.CONSENTED: {
        "consent": State.CONSENTED,
        "pass": State.QUALIFIED,
        "fail": State.FAILED,
        "suspend": State.SUSPENDED,
    },
    State.QUALIFIED: {"consent": State.QUALIFIED, "suspend": State.SUSPENDED},
    State.FAILED: {"consent": State.FAILED, "pass": State.QUALIFIED},
    State.SUSPENDED: {"consent": State.SUSPENDED, "reinstate": State.QUALIFIED},
}
"""Where each step leads from each state; any other step is refused."""
WAYS = {
    State.INVITED: [],
    State.DECLINED: ["decline"],
    State.CONSENTED: ["consent"],
    State.QUALIFIED: ["consent", "pass"],
    State.FAILED: ["consent", "fail"],
    State.SUSPENDED: ["consent", "pass", "suspend"],
}


@pytest.mark.parametrize("start", LEADS)
def test_every_step_from_every_state(study: Study, start: Enrollment.State) -> None:
    (person,) = builders.invite(study)
    for taken in WAYS[start]:
        person = STEPS[taken](person)
    events = study.events.count()

    for step in STEPS.keys() - LEADS[start].keys():
        with pytest.raises(WrongState):
            STEPS[step](person)
    person.refresh_from_db()
    assert (person.state, study.events.count()) == (start, events)
    for step, state in LEADS[start].items():
        with transaction.atomic():
            STEPS[step](person)
            assert Enrollment.objects.get(pk=person.pk).state == state
            transaction.set_rollback(True)


def test_consent_is_recorded_with_its_version_and_time(study: Study) -> None:
    (person,) = builders.invite(study)
    now = timezone.now()

    builders.consent(person, now=now)
    person.refresh_from_db()

    assert person.consent == study.consent_texts.get()
    assert person.consented_at == now
    assert Event.objects.filter(
        enrollment=person, type=Event.Type.CONSENT_GIVEN, subject="consent 1"
    ).exists()


def test_agreeing_twice_is_agreeing_once(study: Study) -> None:
    (person,) = builders.invite(study)
    first = builders.consent(person).consented_at

    assert builders.consent(person).consented_at == first
    assert Event.objects.filter(enrollment=person, type=Event.Type.CONSENT_GIVEN).count() == 1


def test_only_the_newest_text_of_ones_own_study_can_be_agreed_to(study: Study) -> None:
    (person,) = builders.invite(study)
    old = study.consent_texts.get()
    actions.add_consent_text(study=study, text="Newer.", by=None, now=timezone.now())
    of_another = ConsentText.objects.get(study=builders.make_study("other"))

    for text in (old, of_another):
        with pytest.raises(WrongState, match="read it again"):
            actions.give_consent(enrollment=person, consent=text, now=timezone.now())
    person.refresh_from_db()
    assert person.state == State.INVITED


def test_where_no_test_is_asked_consent_qualifies_and_the_log_says_so() -> None:
    study = builders.make_study("without-a-test")

    (person,) = builders.qualified(study)

    assert person.state == State.QUALIFIED
    event = Event.objects.get(enrollment=person, type=Event.Type.ENROLLMENT_QUALIFIED)
    assert event.note == "no qualification asked"


def test_a_suspension_before_the_test_does_not_stand_in_for_passing_it(study: Study) -> None:
    (person,) = builders.invite(study)
    suspend(builders.consent(person))

    assert reinstate(person).state == State.CONSENTED


def test_passing_does_not_lift_a_suspension(study: Study) -> None:
    (person,) = builders.invite(study)
    suspend(builders.consent(person))

    for outcome in (passes, fails):
        with pytest.raises(WrongState, match="Reinstate them first"):
            outcome(person)
    person.refresh_from_db()
    assert person.state == State.SUSPENDED


def test_the_suspension_says_who_and_why(study: Study) -> None:
    (person,) = builders.qualified(study)

    suspend(person)
    reinstate(person)

    notes = Event.objects.filter(enrollment=person).order_by("pk").values_list("type", "note")
    assert list(notes)[-2:] == [
        (Event.Type.ENROLLMENT_SUSPENDED, "too fast"),
        (Event.Type.ENROLLMENT_REINSTATED, "a mistake"),
    ]


def test_a_person_is_enrolled_once(study: Study) -> None:
    annotator = Annotator.objects.create(created_at=timezone.now())

    one = actions.enroll(study=study, annotator=annotator, now=timezone.now())
    two = actions.enroll(study=study, annotator=annotator, now=timezone.now())

    assert one == two
    assert study.events.filter(type=Event.Type.ANNOTATOR_INVITED).count() == 1


@pytest.mark.parametrize("count", [0, 10_001])
def test_invitations_have_a_sensible_number(study: Study, count: int) -> None:
    with pytest.raises(ValueError, match="between 1 and 10,000"):
        actions.invite(study=study, count=count, by=None, now=timezone.now())
