"""Practice before the test: what people see and send, what is kept, and that nothing depends on it."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from annotation.errors import InvalidInput
from annotation.models import Enrollment, Story, Study
from annotation.queries import work_so_far
from integrity.base import run
from integrity.catalogue import CHECKS
from qualification import actions
from qualification.errors import NotTheirTurn
from qualification.models import Attempt, PracticeAnswer, Round
from qualification.pay import time_at_test
from qualification.queries import practice_of
from tests import builders
from tests.annotation.pages import Browser, at

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
ROWS = [builders.story_row(number, prefix="practice") for number in (900, 901)]
FIRST, SECOND = (str(row["story_id"]) for row in ROWS)
WHY = "The label says so, in a place that nobody reads."


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Study:
    study = builders.make_study(qualification={"rows": 1, "attempts_allowed": 2})
    builders.add_round(study, ROWS, kind=Round.Kind.OFFERED, reasons={FIRST: {"q1": WHY}})
    return study


@pytest.fixture
def study(built: Study) -> Study:
    """The study as the database has it; what a test does to it is rolled back."""
    return Study.objects.get(pk=built.pk)


def practice_in(study: Study) -> Round:
    round = Round.objects.practice_in(study)
    assert round
    return round


def newcomer(study: Study) -> Enrollment:
    return builders.consent(builders.invite(study)[0])


def follow(browser: Browser, label: str) -> None:
    (link,) = [a for a in browser.document.xpath("//main//a") if label in a.text_content()]
    browser.open(link.get("href"))


def main_button(browser: Browser) -> str:
    (button,) = browser.document.xpath("//main//*[@class='button']")
    return str(button.text_content().strip())


def text(browser: Browser) -> str:
    return " ".join(browser.document.text_content().split())


def test_it_is_offered_and_shows_the_right_answers_with_reasons(study: Study) -> None:
    person = newcomer(study)
    browser = at(person, "qualification/")
    assert "2 practice stories show you the right answers" in text(browser)

    assert main_button(browser) == "Start practising"
    follow(browser, "Start practising")
    assert browser.path == "/qualification/practice/1/"
    browser.press("Compare answers", **builders.answers(q1="no"))

    assert browser.path == "/qualification/practice/1/answers/"
    said = text(browser)
    assert "3 of your 4 answers are correct." in said
    assert said.count("incorrect") == 1
    assert WHY in said
    follow(browser, "Next practice story")
    browser.press("Compare answers", **builders.ALL_YES)
    assert "4 of your 4 answers are correct." in text(browser)
    follow(browser, "Go to the test")
    assert main_button(browser) == "Start the test"
    assert browser.document.xpath("//main//a[contains(., 'Read the instructions')]")
    follow(browser, "Practise again")
    assert browser.path == "/qualification/practice/1/"
    browser = at(person, "qualification/")
    browser.press("Start the test")
    assert browser.path == "/qualification/1/"


def test_everybody_gets_the_test_and_nobody_the_practice_for_it(study: Study) -> None:
    for person in (newcomer(study), newcomer(study)):
        attempt = actions.start_attempt(enrollment=person, now=timezone.now())
        assert attempt.round.kind == Round.Kind.TEST


def test_nothing_depends_on_it(study: Study) -> None:
    person = newcomer(study)
    at(person, "qualification/practice/1/").press("Compare", **builders.answers(q3="no"))

    person.refresh_from_db()
    assert person.state == Enrollment.State.CONSENTED
    assert not Attempt.objects.filter(enrollment=person).exists()
    assert time_at_test(person) is None
    assert work_so_far(person).stories == 0
    assert not [result for result in run(CHECKS, study_id=study.pk) if not result.holds]
    assert builders.take_test(person).state == Enrollment.State.QUALIFIED


def test_answers_may_be_repeated_and_a_resent_form_counts_once(study: Study) -> None:
    person = newcomer(study)
    entry = practice_in(study).round_stories.get(position=1)

    def practise(after: int, **changed: str) -> None:
        actions.practise(
            enrollment=person,
            round_story=entry,
            submitted=builders.answers(**changed),
            now=timezone.now(),
            after=after,
        )

    practise(0, q1="no")
    practise(0, q1="no")  # the same form again
    assert PracticeAnswer.objects.filter(enrollment=person).count() == 4
    newest = max(PracticeAnswer.objects.filter(enrollment=person).values_list("pk", flat=True))
    practise(newest, q1="no")  # once more, on purpose
    assert set(PracticeAnswer.objects.values_list("turn", flat=True)) == {1, 2}
    mine = practice_of(person)
    assert mine
    assert mine.left == [2]


def test_an_incomplete_form_keeps_what_was_chosen_and_a_whole_one_settles_its_draft(study: Study) -> None:
    browser = at(newcomer(study), "qualification/practice/1/")
    (draft,) = browser.document.xpath("//form/@data-draft")
    action = browser.document.xpath("//form[@data-draft]/@action")[0]
    browser.press("Compare", q1="possibly")

    assert browser.page.status_code == 422
    assert browser.document.xpath("//input[@type='radio' and @checked]/@id") == ["q1-possibly"]
    assert not PracticeAnswer.objects.exists()

    sent = builders.ALL_YES | {"round": draft.split(".")[1], "saved": "0"}
    browser.open(action, sent, htmx=True)
    assert browser.page["X-Stored-Assignment"] == draft


def test_required_practice_comes_before_the_test(study: Study) -> None:
    rows = [builders.story_row(910, prefix="must")]
    builders.add_round(study, rows, kind=Round.Kind.REQUIRED)
    person = newcomer(study)
    browser = at(person, "qualification/")

    assert not browser.document.xpath("//main//form")
    with pytest.raises(NotTheirTurn, match="Practise first"):
        actions.start_attempt(enrollment=person, now=timezone.now())
    follow(browser, "Start practising")
    browser.press("Compare", **builders.answers(q3="no"))
    follow(browser, "Go to the test")
    browser.press("Start the test")
    assert browser.path == "/qualification/1/"


def test_it_is_closed_during_the_test_and_after(study: Study) -> None:
    person = newcomer(study)
    form = at(person, "qualification/practice/1/")
    at(person, "qualification/").press("Start the test")

    form.press("Compare", **builders.ALL_YES)
    assert form.page.status_code == 409
    assert form.heading == "These answers were not saved"
    browser = at(person, "qualification/practice/1/")
    assert browser.path == "/qualification/1/"
    assert not PracticeAnswer.objects.exists()


def test_answers_to_a_practice_that_was_replaced_count_for_no_story(study: Study) -> None:
    form = at(newcomer(study), "qualification/practice/1/")
    builders.add_round(study, [builders.story_row(930, prefix="other")], kind=Round.Kind.OFFERED)

    form.press("Compare", **builders.ALL_YES)
    assert form.page.status_code == 409
    assert form.heading == "These answers were not saved"
    assert not PracticeAnswer.objects.exists(), "they were about a story that is not on this page any more"


def test_one_practice_is_open_at_a_time_and_the_test_stays(study: Study) -> None:
    first = practice_in(study)
    second = builders.add_round(study, [builders.story_row(920, prefix="new")], kind=Round.Kind.OFFERED)

    assert practice_in(study) == second
    assert Round.objects.active_in(study).count() == 1
    actions.activate_round(round=first, by=None, now=timezone.now())
    assert practice_in(study) == first
    actions.retire_round(round=first, by=None, now=timezone.now())
    assert Round.objects.practice_in(study) is None
    assert at(newcomer(study), "qualification/practice/1/").path == "/qualification/"


def test_a_better_key_applies_to_later_answers(study: Study) -> None:
    person = newcomer(study)
    round = practice_in(study)
    at(person, "qualification/practice/1/").press("Compare", **builders.ALL_YES)
    narrow = builders.ACCEPTED | {"q1": ["no"]}
    actions.set_answer_key(
        round=round, acceptable={FIRST: narrow, SECOND: builders.ACCEPTED}, by=None, now=timezone.now()
    )
    at(person, "qualification/practice/1/").press("Compare", **builders.ALL_YES)

    of_q1 = PracticeAnswer.objects.filter(question="q1").order_by("turn")
    assert list(of_q1.values_list("turn", "key__version", "accepted")) == [(1, 1, True), (2, 2, False)]


@pytest.mark.parametrize(
    ("kind", "story"),
    [(Round.Kind.TEST, "practice"), (Round.Kind.REQUIRED, "test"), (Round.Kind.OFFERED, "main")],
)
def test_no_text_is_practised_and_asked_in_earnest(study: Study, kind: Round.Kind, story: str) -> None:
    number = {"practice": 900, "test": 0, "main": 1}[story]
    prefix = "tested" if story == "main" else story
    row = builders.story_row(number, prefix=prefix)
    builders.import_rows(study, [row], role=Story.Role.QUALIFICATION)
    with pytest.raises(InvalidInput, match=str(row["story_id"])):
        actions.create_round(
            study=study, story_ids=[str(row["story_id"])], kind=kind, by=None, now=timezone.now()
        )


def test_practice_does_not_open_once_its_text_is_voted_on(study: Study) -> None:
    open_now, row = practice_in(study), builders.story_row(940, prefix="voted")
    made = builders.make_round(study, [row | {"story_id": "practised"}], kind=Round.Kind.OFFERED)
    builders.import_rows(study, [row])

    with pytest.raises(InvalidInput, match="voted on or be hidden checks: practised"):
        actions.set_answer_key(
            round=made, acceptable={"practised": builders.ACCEPTED}, by=None, now=timezone.now()
        )
    assert practice_in(study) == open_now


def test_the_database_refuses_a_test_in_practice_and_practice_in_a_test(study: Study) -> None:
    person, practice = newcomer(study), practice_in(study)
    test = Round.objects.active_in(study).get()

    def attempt() -> None:
        Attempt.objects.create(
            round=practice,
            enrollment=person,
            key=practice.keys.get(),
            number=1,
            attempts_allowed=1,
            started_at=timezone.now(),
        )

    def answer() -> None:
        PracticeAnswer.objects.create(
            enrollment=person,
            key=test.keys.get(),
            round_story=test.round_stories.get(),
            turn=1,
            question="q1",
            option="yes",
            accepted=True,
            answered_at=timezone.now(),
        )

    def mixed() -> None:
        test.round_stories.update(story=practice.round_stories.get(position=1).story)

    def renamed() -> None:
        Round.objects.filter(pk=practice.pk).update(kind=Round.Kind.TEST)

    for write in (attempt, answer, mixed, renamed):
        with pytest.raises(DatabaseError, match="pgtrigger: Cannot"), transaction.atomic():
            write()


def test_answers_are_final_and_a_key_that_was_shown_does_not_grow(study: Study) -> None:
    person, round = newcomer(study), practice_in(study)
    at(person, "qualification/practice/1/").press("Compare", **builders.ALL_YES)
    key, entry = round.keys.get(), round.round_stories.get(position=1)
    for write in (
        lambda: PracticeAnswer.objects.update(accepted=False),
        lambda: PracticeAnswer.objects.all().delete(),
        lambda: key.options.create(round_story=entry, question="q4", option="no"),
    ):
        with pytest.raises(DatabaseError, match="pgtrigger: Cannot"), transaction.atomic():
            write()
