"""People who come from Mechanical Turk: shown, let in, sent back; and everything that is turned away."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Annotator, PlatformIdentity
from annotation import actions as annotation_actions
from annotation.models import Assignment, Enrollment, Event, Study, Vote, WorkSession
from recruitment.links import personal_link, visit_path
from recruitment.models import Campaign, Visit
from recruitment.reconciliation.queries import local_visit
from tests import builders
from tests.annotation.pages import Browser
from tests.recruitment.campaigns import make_campaign
from tests.recruitment.platform_visits import (
    ASSIGNMENT,
    SUBMIT_TO,
    WORKER,
    address,
    answer,
    come,
    hit_of,
    newest_visit,
    publish_campaign,
    qualified_worker,
    qualifying_study,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
MTURK = "https://worker.mturk.com https://www.mturk.com https://workersandbox.mturk.com"


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Study:
    return qualifying_study("stories", "test")


@pytest.fixture
def study(built: Study) -> Study:
    """Four stories for those who pass a test of one, and a campaign for each: visits of two stories."""
    return Study.objects.get(pk=built.pk)


@pytest.fixture
def campaign(study: Study) -> Campaign:
    return study.campaigns.select_related("study").get(purpose="stories")


@pytest.fixture
def trial(study: Study) -> Campaign:
    return study.campaigns.select_related("study").get(purpose="test")


def forms(browser: Browser) -> list[tuple[str, dict[str, str]]]:
    """The forms on the page: where they lead and what they send."""
    return [(form.get("action"), dict(form.form_values())) for form in browser.forms]


def said(browser: Browser) -> str:
    return " ".join(browser.document.text_content().split())


def everything() -> list[list[Any]]:
    """What must not change when somebody is turned away."""
    models = (Annotator, PlatformIdentity, Enrollment, Visit, WorkSession, Assignment, Vote)
    return [list(model.objects.order_by("pk").values()) for model in models]


def refusals() -> list[str]:
    return list(Event.objects.filter(type=Event.Type.VISIT_REFUSED).values_list("note", flat=True))


# -- what is shown, and to whom


def test_a_preview_says_everything_and_keeps_nothing(campaign: Campaign) -> None:
    before = everything()
    browser = come(
        campaign, assignmentId="ASSIGNMENT_ID_NOT_AVAILABLE", workerId=None, turkSubmitTo="https://evil.test"
    )

    text = said(browser)
    for expected in (
        "Read short stories",
        "0.50 USD for this assignment",
        "15.00 USD",
        "2 minutes",
        "20 minutes",
        "You read 2 two-sentence stories",
        "People who have passed this study’s test",
        "We store your answers.",
        "study@example.org",
    ):
        assert expected in text
    questions = campaign.study.protocol.questions
    assert all(str(question.text) in text for question in questions)
    assert forms(browser) == []
    assert not any(story.content["key_information"] in text for story in campaign.study.stories.all())
    assert (everything(), refusals()) == (before, [])


def test_a_draft_is_shown_to_nobody(study: Study) -> None:
    draft, browser = make_campaign(study), Browser()
    for accepted in ("ASSIGNMENT_ID_NOT_AVAILABLE", ASSIGNMENT):
        browser.open(f"/join/study/{draft.number}/?assignmentId={accepted}")
        assert (browser.page.status_code, browser.heading) == (403, "Nobody new can join right now")
        assert draft.title not in said(browser)


def test_only_pages_of_a_framed_visit_may_be_framed(campaign: Campaign) -> None:
    qualified_worker(campaign.study)
    browser = come(campaign)

    for response in (browser.pages[-1], come(campaign, assignmentId="ASSIGNMENT_ID_NOT_AVAILABLE").page):
        assert "X-Frame-Options" not in response.headers
        assert f"frame-ancestors {MTURK};" in response.headers["Content-Security-Policy"] + ";"
        assert response.headers["Referrer-Policy"] == "strict-origin-when-cross-origin"
        assert "no-store" in response.headers["Cache-Control"]
        assert "form-action 'self';" in response.headers["Content-Security-Policy"] + ";"
    by_link = Browser()
    by_link.open(personal_link(Enrollment.objects.latest("pk")))
    by_link.press()
    for response in by_link.pages:
        if response.status_code == 200:
            assert response.headers["X-Frame-Options"] == "DENY"
            assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]
    assert not any(response.cookies for response in (*browser.pages, *by_link.pages))


@pytest.mark.parametrize("end", ["too old", "forgotten"])
def test_in_a_frame_a_dead_link_says_what_to_do_with_the_hit(
    campaign: Campaign, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, now = qualified_worker(campaign.study), timezone.now()
    browser = come(campaign)
    if end == "forgotten":
        annotation_actions.forget(annotator=worker.annotator, now=now)
    else:
        monkeypatch.setattr("django.core.signing.time.time", (now + timedelta(days=400)).timestamp)

    for method in ("get", "post"):
        response = getattr(browser.client, method)(browser.url, {"assignment": "1"})

        assert response.status_code == 410
        assert "X-Frame-Options" not in response.headers
        assert f"frame-ancestors {MTURK};" in response.headers["Content-Security-Policy"] + ";"
        said = response.content.decode()
        assert "To return the assignment, click “Return” beside this page" in said
        assert ("open the assignment again on the site that sent you" in said) is (end != "forgotten")
        assert ("What you just sent was not saved" in said) is (method == "post")


def test_a_head_or_a_prefetch_does_not_come_in(campaign: Campaign) -> None:
    qualified_worker(campaign.study)
    assert Client().head(address(campaign)).status_code == 405
    assert Client().get(address(campaign), headers={"Sec-Purpose": "prefetch"}).status_code == 503
    assert not Visit.objects.exists()


# -- the way of a worker


def test_the_way_from_the_test_to_the_last_story(study: Study, trial: Campaign) -> None:
    browser = come(trial)
    assert browser.heading == "Do you agree to take part?"
    browser.press("I agree")
    browser.open(browser.document.xpath("//a[contains(@class, 'button')]/@href")[0])
    assert "the site that sent you offers you the stories" in said(browser)
    browser.press("Start the test")
    browser.press("Save and continue", **builders.ALL_YES)
    browser.press("Hand in")
    assert browser.heading == "You passed"
    assert personal_link(Enrollment.objects.get()) not in browser.document.text_content()
    browser.open(browser.document.xpath("//a[contains(@class, 'button')]/@href")[0])
    test_visit = newest_visit()
    (form,) = forms(browser)
    assert form == (
        f"{SUBMIT_TO}/mturk/externalSubmit",
        {"assignmentId": ASSIGNMENT, "receipt": test_visit.receipt},
    )

    annotation_actions.set_instructions(
        study=study, page="Read.", examples={}, thanks="See you soon.", by=None, now=timezone.now()
    )
    campaign = publish_campaign(study)
    browser = come(campaign, assignmentId="3OTHER", hitId=hit_of(campaign))
    assert browser.heading == "Story 1 of 2"
    answer(browser)
    assert browser.heading == "Story 2 of 2"
    assert "1 of 2 saved in this assignment" in said(browser)
    assert newest_visit().handed_in_at is None
    answer(browser)

    visit = newest_visit()
    assert browser.heading == "One last step: hand it in"
    assert "You’ve finished 2 stories, and they are saved. To be paid" in said(browser)
    assert "See you soon." in said(browser)
    assert forms(browser) == [
        (f"{SUBMIT_TO}/mturk/externalSubmit", {"assignmentId": "3OTHER", "receipt": visit.receipt})
    ]
    policy = browser.page.headers["Content-Security-Policy"]
    assert f"form-action 'self' {SUBMIT_TO} " in policy
    assert visit.handed_in_at is not None
    assert visit.receipt != test_visit.receipt
    assert set(Assignment.objects.values_list("state", flat=True)) == {Assignment.State.PENDING}
    again = come(campaign, assignmentId="3OTHER")
    assert (again.heading, forms(again)) == (browser.heading, forms(browser))
    assert newest_visit().pk == visit.pk


def test_whoever_fails_the_test_hands_it_in_all_the_same(trial: Campaign) -> None:
    browser = come(trial)
    builders.take_test(builders.consent(newest_visit().enrollment), builders.answers(q1="no"))
    browser.open(visit_path(newest_visit()))
    assert browser.heading == "Thank you for trying"
    browser.open(browser.document.xpath("//a[contains(@class, 'button')]/@href")[0])
    assert browser.heading == "One last step: hand it in"
    assert come(trial, assignmentId="3SECOND").heading == "Thank you for trying", "it can be handed in there"


def test_whoever_declines_is_told_to_return_the_hit(trial: Campaign) -> None:
    browser = come(trial)
    browser.press("I do not agree")
    assert browser.heading == "No problem"
    assert "“Return”" in said(browser)
    assert personal_link(Enrollment.objects.get()) not in said(browser)
    assert not [action for action, _fields in forms(browser) if "mturk.com" in action]


FINISH = "//a[@class='button'][normalize-space()='Finish and hand in']/@href"


def test_work_that_was_not_begun_is_returned(campaign: Campaign) -> None:
    qualified_worker(campaign.study)
    other = come(campaign)
    annotation_actions.pause_study(study=campaign.study, by=None, now=timezone.now())
    Assignment.objects.filter(state="leased").update(state="expired")
    other.open(visit_path(newest_visit()).removesuffix("/") + "/hand-in/")
    assert (other.heading, newest_visit().handed_in_at) == ("Nothing to hand in", None)
    assert "“Return”" in said(other)


def test_who_finds_no_work_hands_in_and_a_researcher_decides(campaign: Campaign) -> None:
    qualified_worker(campaign.study)
    annotation_actions.pause_study(study=campaign.study, by=None, now=timezone.now())
    other = come(campaign)
    assert other.heading == "The study is paused"
    assert "there was nothing for you to do. Hand it in, and a researcher decides the pay." in said(other)
    other.open(other.document.xpath(FINISH)[0])
    assert other.heading == "One last step: hand it in"
    assert forms(other)[0][0] == f"{SUBMIT_TO}/mturk/externalSubmit"
    visit = newest_visit()
    assert visit.handed_in_at is not None
    facts = local_visit(visit)
    assert (facts.may_hand_in, facts.is_partial, facts.answers) == (True, True, 0)


def test_nothing_is_handed_in_without_work_once_the_time_is_over(campaign: Campaign) -> None:
    qualified_worker(campaign.study)
    annotation_actions.pause_study(study=campaign.study, by=None, now=timezone.now())
    other, long_ago = come(campaign), timezone.now() - timedelta(hours=1)
    WorkSession.objects.update(opened_at=long_ago, expires_at=long_ago)
    other.open(visit_path(newest_visit()))
    assert not other.document.xpath(FINISH)
    assert "Nothing to hand in" in said(other)


@pytest.mark.parametrize("end", ["is suspended", "waits until time is over"])
def test_less_than_the_whole_work_is_handed_in_to_a_researcher(campaign: Campaign, end: str) -> None:
    person, now = qualified_worker(campaign.study), timezone.now()
    browser = come(campaign)
    answer(browser)
    Assignment.objects.filter(state="leased").update(state="expired")  # what is held may be finished
    if end == "is suspended":
        annotation_actions.suspend(enrollment=person, by=None, now=now, reason="too fast")
    else:
        long_ago = now - timedelta(hours=1)
        WorkSession.objects.update(opened_at=long_ago, expires_at=long_ago)
    path = visit_path(newest_visit())
    browser.open(path)
    assert "You’ve finished 1 of 2 stories, and they are saved" in said(browser)
    assert len(browser.document.xpath(FINISH)) == 1
    assert personal_link(person) not in said(browser)
    browser.open(f"{path}hand-in/")
    assert "a researcher decides the pay" in said(browser)
    assert "To be paid, hand in" not in said(browser)
    assert forms(browser)[0][0] == f"{SUBMIT_TO}/mturk/externalSubmit"
    session = newest_visit().session
    assert session is not None
    assert not session.is_whole


def test_work_that_can_go_on_is_handed_in_unfinished_only_by_asking_for_it(campaign: Campaign) -> None:
    qualified_worker(campaign.study)
    browser = come(campaign)
    answer(browser)
    path = visit_path(newest_visit())
    browser.open(f"{path}hand-in/")
    assert browser.heading == "Story 2 of 2"
    (above_the_story,) = browser.document.xpath(FINISH)
    browser.open(f"{path}done/")
    assert "You’ve finished 1 of 2 stories" in said(browser)
    assert browser.document.xpath(FINISH) == [above_the_story]
    assert newest_visit().handed_in_at is None

    browser.open(above_the_story)
    assert browser.heading == "One last step: hand it in"
    assert "a researcher decides the pay" in said(browser)
    assert newest_visit().handed_in_at is not None
    browser.open(browser.document.xpath("//a[normalize-space()='Continue']/@href")[0])
    assert browser.heading == "Story 2 of 2", "whoever changes their mind goes on"
    answer(browser)
    assert browser.heading == "One last step: hand it in"
    assert "decides the pay" not in said(browser)


def test_before_the_first_answer_nothing_is_handed_in(campaign: Campaign) -> None:
    qualified_worker(campaign.study)
    browser = come(campaign)
    assert not browser.document.xpath(FINISH)
    browser.open(f"{visit_path(newest_visit())}hand-in/?unfinished")
    assert (browser.heading, newest_visit().handed_in_at) == ("Story 1 of 2", None)


# -- identity


def test_a_claimed_identity_opens_nothing_but_its_own_work(campaign: Campaign) -> None:
    """Whoever types a worker's id gets no link, no address, no answers of that worker's."""
    person = qualified_worker(campaign.study)
    builders.vote(person)
    came = come(campaign)
    first, path = said(came), came.url.removesuffix("stories/")
    for page in ("you/", "withdraw/", "forget/", "you/email/"):
        browser = Browser()
        browser.open(path + page)
        assert (browser.page.status_code, browser.heading) == (403, "Not available from this link"), page
        browser.open(path + page, {"email": "thief@example.org"})
        assert browser.page.status_code in (403, 405), page
    pages = [first]
    for page in ("answers/", "done/", "stories/"):
        browser = Browser()
        browser.open(path + page)
        pages.append(said(browser))
    assert not any(personal_link(person) in text for text in pages)
    assert "You haven’t answered any stories yet." in pages[1]
    assert Enrollment.objects.get(pk=person.pk).state == Enrollment.State.QUALIFIED

    session = newest_visit().session
    assert session is not None
    answer(came)
    annotation_actions.confirm_identity(session=session)
    annotation_actions.confirm_session(session=session, by=None, now=timezone.now())
    typed = come(campaign).url.split("/")[2]  # the platform said whose work it is, not who typed its ids
    for token in (path.split("/")[2], typed):
        browser = Browser()
        for page in ("you/", "forget/", "answers/", f"answers/{Vote.objects.latest('pk').assignment_id}/"):
            browser.open(f"/work/{token}/{page}")
            assert (browser.page.status_code, browser.heading) == (403, "Not available from this link"), page
    browser = Browser()
    browser.open(f"{visit_path(newest_visit())}you/")  # who is proven at the arrival
    assert browser.heading == "Your account in this study"
    assert personal_link(person) not in said(browser)


def test_an_assignment_id_that_goes_to_the_next_worker_mixes_nobody(campaign: Campaign) -> None:
    for worker in (WORKER, "A2"):
        qualified_worker(campaign.study, worker)
    answer(come(campaign))
    first = newest_visit()

    browser = come(campaign, workerId="A2")

    second = newest_visit()
    assert browser.heading == "Story 1 of 2"
    assert (second.remote_id, second.pk != first.pk) == (first.remote_id, True)
    assert second.enrollment_id != first.enrollment_id
    assert second.receipt != first.receipt
    browser.open(f"/work/{browser.url.split('/')[2]}/answers/")
    assert "You haven’t answered any stories yet." in said(browser)
