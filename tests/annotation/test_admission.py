"""Whom a study is for: people qualified in another one, and nobody who is excluded."""

from __future__ import annotations

import pytest
from django.db import ProgrammingError, transaction
from django.utils import timezone

from accounts.models import Annotator
from annotation import actions, queries
from annotation.errors import NotAdmitted, WrongState
from annotation.models import Enrollment, Event, Exclusion, Study
from annotation.rules import Reason, joining_refusal
from tests import builders
from tests.annotation.pages import arrive
from tests.worlds import built_once

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


@built_once
def two_studies() -> tuple[Study, Study]:
    source = builders.make_study("source", qualification=1)
    draft = builders.make_study("study", opened=False)
    draft = actions.admit_through(study=draft, source=source, by=None, now=timezone.now())
    return source, actions.open_study(study=draft, by=None, now=timezone.now())


@pytest.fixture
def study() -> Study:
    """A study for people who qualified in the source."""
    return two_studies()[1]


@pytest.fixture
def source(study: Study) -> Study:
    assert study.qualified_through
    return study.qualified_through


def there(study: Study, annotator: Annotator) -> Enrollment:
    return actions.enroll(study=study, annotator=annotator, now=timezone.now())


def test_the_rule(subtests: pytest.Subtests) -> None:
    for state, asks, qualified, excluded, reason in [
        ("invited", False, False, False, None),
        ("invited", True, True, False, None),
        ("invited", True, False, False, Reason.NOT_QUALIFIED_THERE),
        ("declined", True, False, False, Reason.NOT_QUALIFIED_THERE),
        ("invited", False, False, True, Reason.EXCLUDED),
        ("invited", True, False, True, Reason.EXCLUDED),
        ("qualified", True, False, True, None),
        ("suspended", True, False, False, None),
    ]:
        with subtests.test(str(state)):
            found = joining_refusal(
                enrollment_state=state, asks_elsewhere=asks, qualified_there=qualified, excluded=excluded
            )
            assert found == reason


def test_somebody_qualified_there_is_let_in_and_given_stories(source: Study, study: Study) -> None:
    person = there(study, builders.qualified(source)[0].annotator)
    person = builders.consent(person)
    assert person.state == Enrollment.State.QUALIFIED
    assert builders.claim(person).story.study == study
    event = Event.objects.get(enrollment=person, type=Event.Type.ENROLLMENT_QUALIFIED)
    assert event.note == "qualified in source"


def test_nobody_else_is_and_the_page_says_why(source: Study, study: Study) -> None:
    failed = builders.take_test(builders.consent(builders.invite(source)[0]), builders.answers(q3="no"))
    suspended = builders.qualified(source)[0]
    actions.suspend(enrollment=suspended, by=None, now=timezone.now(), reason="test")
    strangers = builders.invite(study)
    for person in (there(study, failed.annotator), there(study, suspended.annotator), *strangers):
        with pytest.raises(NotAdmitted) as refused:
            builders.consent(person)
        assert refused.value.reason == Reason.NOT_QUALIFIED_THERE
        browser = arrive(person)
        assert browser.heading == "This study is for people from an earlier one"
        assert browser.page.status_code == 403
        assert not browser.document.xpath("//main//form")
    assert not Enrollment.objects.filter(study=study).exclude(state=Enrollment.State.INVITED).exists()


def test_agreeing_by_hand_is_refused_with_the_same_page(study: Study) -> None:
    browser = arrive(builders.invite(study)[0])
    response = browser.open(browser.url, {"decision": "agree", "version": "1"})
    assert response.status_code == 403
    assert browser.heading == "This study is for people from an earlier one"


def test_the_database_holds_it_too(source: Study, study: Study) -> None:
    stranger = builders.invite(study)[0]
    consent = study.consent_texts.get()
    with pytest.raises(ProgrammingError, match="not qualified in the study"), transaction.atomic():
        Enrollment.objects.filter(pk=stranger.pk).update(
            state="qualified", consent=consent, consented_at=timezone.now()
        )
    with pytest.raises(ProgrammingError, match="not qualified in the study"), transaction.atomic():
        Enrollment.objects.create(
            study=study,
            annotator=Annotator.objects.create(created_at=timezone.now()),
            environment=study.environment,
            state="consented",
            consent=consent,
            consented_at=timezone.now(),
            created_at=timezone.now(),
            state_changed_at=timezone.now(),
        )


def test_whoever_is_in_stays_whatever_happens_there(source: Study, study: Study) -> None:
    before = builders.qualified(source)[0]
    person = builders.consent(there(study, before.annotator))
    actions.suspend(enrollment=before, by=None, now=timezone.now(), reason="test")
    builders.vote(person)
    actions.suspend(enrollment=person, by=None, now=timezone.now(), reason="test")
    person = actions.reinstate(enrollment=person, by=None, now=timezone.now(), reason="test")
    builders.vote(person)


def test_the_excluded_are_told_so_and_the_database_holds_it() -> None:
    draft = builders.make_study("study", opened=False)
    annotator = Annotator.objects.create(created_at=timezone.now())
    exclude = {"study": draft, "reason": "has read them", "by": None, "now": timezone.now()}
    assert actions.keep_out(annotators=[annotator.pk], **exclude) == 1  # type: ignore[arg-type]
    assert actions.keep_out(annotators=[annotator.pk], **exclude) == 0  # type: ignore[arg-type]
    study = actions.open_study(study=draft, by=None, now=timezone.now())
    person = there(study, annotator)
    assert arrive(person).heading == "You know these stories already"
    with pytest.raises(NotAdmitted):
        builders.consent(person)
    with pytest.raises(ProgrammingError, match="excluded"), transaction.atomic():
        Enrollment.objects.filter(pk=person.pk).update(
            state="consented", consent=study.consent_texts.get(), consented_at=timezone.now()
        )
    with pytest.raises(ProgrammingError), transaction.atomic():
        Exclusion.objects.all().delete()


def test_inviting_the_qualified_spares_everybody_else() -> None:
    source = builders.make_study("source")
    draft = builders.make_study("study", opened=False)
    first, second, third, fourth, gone = (person.annotator for person in builders.qualified(source, 5))
    actions.keep_out(study=draft, annotators=[first.pk], reason="test", by=None, now=timezone.now())
    study = actions.admit_through(study=draft, source=source, by=None, now=timezone.now())
    actions.forget(annotator=gone, now=timezone.now())
    builders.invite(source)
    there(study, second)
    (one,) = actions.invite_qualified(study=study, by=None, now=timezone.now(), most=1)
    (other,) = actions.invite_qualified(study=study, by=None, now=timezone.now())
    assert [one.annotator, other.annotator] == [third, fourth]
    assert actions.invite_qualified(study=study, by=None, now=timezone.now()) == []
    with pytest.raises(WrongState, match="doesn’t take"):
        actions.invite_qualified(study=source, by=None, now=timezone.now())


def test_it_is_settled_in_the_draft() -> None:
    source = builders.make_study("source")
    opened = builders.make_study("opened")
    with pytest.raises(WrongState, match="while it is a draft"):
        actions.admit_through(study=opened, source=source, by=None, now=timezone.now())
    with pytest.raises(WrongState, match="while it is a draft"):
        actions.keep_out(study=opened, annotators=[], reason="test", by=None, now=timezone.now())
    with pytest.raises(ProgrammingError), transaction.atomic():
        Study.objects.filter(pk=opened.pk).update(qualified_through=source)


def test_a_test_of_its_own_and_another_environment_are_refused() -> None:
    source = builders.make_study("source")
    own = builders.make_study("own", qualification=1, opened=False)
    with pytest.raises(WrongState, match="not for both"):
        actions.admit_through(study=own, source=source, by=None, now=timezone.now())
    rehearsal = builders.make_study("rehearsal", opened=False)
    rehearsal = actions.make_rehearsal(study=rehearsal, by=None, now=timezone.now())
    with pytest.raises(WrongState, match="they share no participants"):
        actions.admit_through(study=rehearsal, source=source, by=None, now=timezone.now())


def test_a_study_for_real_people_does_not_become_a_rehearsal(study: Study) -> None:
    with pytest.raises(WrongState, match="drawn from a test run"):
        actions.make_rehearsal(study=study, by=None, now=timezone.now())


def test_what_changed_since_it_was_looked_at_keeps_somebody_out(
    source: Study, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the person is suspended in the other study between the look and the step."""
    before = builders.qualified(source)[0]
    person = there(study, before.annotator)
    look = queries.joining_refusal
    looks: list[Enrollment] = []

    def looking(enrollment: Enrollment) -> Reason | None:
        found = look(enrollment)
        looks.append(enrollment)
        if len(looks) == 1:
            actions.suspend(enrollment=before, by=None, now=timezone.now(), reason="too fast")
        return found

    monkeypatch.setattr(queries, "joining_refusal", looking)

    with pytest.raises(NotAdmitted) as error:
        builders.consent(person)

    assert error.value.reason == Reason.NOT_QUALIFIED_THERE
    person.refresh_from_db()
    assert (person.state, person.consent) == (Enrollment.State.INVITED, None)


def test_a_study_on_which_a_real_one_depends_becomes_no_rehearsal() -> None:
    source = builders.make_study("source", opened=False)
    draft = builders.make_study("study", opened=False)
    actions.admit_through(study=draft, source=source, by=None, now=timezone.now())

    with pytest.raises(WrongState, match="“study” is for people qualified in “source”"):
        actions.make_rehearsal(study=source, by=None, now=timezone.now())

    source.refresh_from_db()
    assert source.environment == "live"
