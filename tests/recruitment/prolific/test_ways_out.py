"""What somebody on Prolific can bring about without doing the work, and how people get out who have none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts import rate_limits
from accounts.actions import ensure_researcher
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event, WorkSession
from recruitment import actions
from recruitment.models import Campaign, Grant, Mismatch, Visit
from recruitment.prolific import platform
from recruitment.prolific.arrivals import keys_of
from recruitment.views import visits
from tests import builders
from tests.annotation.pages import Browser
from tests.doubles.prolific import TOKEN, ProlificDouble
from tests.recruitment.prolific.test_campaign import Campaigns, hand_in, take_test
from tomannot import clock

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
STOPPED = "This assignment is over"


@pytest.fixture
def lab(settings: Any) -> Iterator[Campaigns]:
    keys_of.cache_clear()
    with ProlificDouble(seed=0) as double:
        account = {
            "token": TOKEN,
            "workspace": double.platform.workspace_id,
            "project": "",
            "api": double.url,
        }
        settings.PROLIFIC = {"live": account, "rehearsal": dict.fromkeys(account, "")}
        yield Campaigns(double)


def begin(lab: Campaigns, campaign: Campaign) -> tuple[str, Browser]:
    """Somebody new comes, agrees and is shown a story."""
    submission, browser = lab.come(lab.double.join(), campaign)
    browser.press("I agree")
    browser.open(browser.document.xpath("//a[contains(@class, 'button')]/@href")[0])
    return submission, browser


def answer(browser: Browser) -> None:
    browser.press("Save and continue", **builders.ALL_YES)


def submit_at_once(lab: Campaigns, submission: str, campaign: Campaign) -> None:
    """“I have no code”, before the work is done."""
    lab.double.complete(submission, None)
    lab.double.settle()
    lab.sweep(campaign)


def let_everybody_in(lab: Campaigns, campaign: Campaign) -> None:
    """People come faster than the number of those who may work at once is changed."""
    del lab.double.platform.studies[campaign.remote_id].fields["submissions_config"][
        "max_concurrent_submissions"
    ]


@pytest.mark.parametrize("noted", [False, True], ids=["open", "noted by a researcher"])
def test_one_story_of_five_is_paid_to_nobody_by_waiting_until_the_time_is_over(
    lab: Campaigns, monkeypatch: pytest.MonkeyPatch, noted: bool
) -> None:
    lab.study = builders.make_study("many", stories=5, pay_rate=Decimal(15), currency="GBP")
    campaign = lab.publish_campaign("stories", seats=4, stories_per_visit=5)
    submission, browser = begin(lab, campaign)
    answer(browser)
    submit_at_once(lab, submission, campaign)
    if noted:
        found = Mismatch.objects.get()
        actions.settle_mismatch(mismatch=found, how="One story of five", by=None, now=timezone.now())
        lab.sweep(campaign)
    later = timezone.now() + timedelta(minutes=campaign.minutes_allowed + 11)
    monkeypatch.setattr(clock, "now", lambda: later)
    browser.open(f"/work/{browser.url.split('/')[2]}/hand-in/")
    assert browser.heading == (STOPPED if noted else "One last step: hand it in")
    lab.sweep(campaign)
    assert lab.paid("reward") == []
    expected = WorkSession.State.DOUBTED if noted else WorkSession.State.CONFIRMED
    assert WorkSession.objects.get().state == expected


def test_one_story_of_two_is_paid_to_nobody_while_others_hold_the_rest_and_the_whole_work_is(
    lab: Campaigns,
) -> None:
    lab.study = builders.make_study("many", stories=3, votes_per_story=1, pay_rate=15, currency="GBP")
    campaign = lab.publish_campaign("stories", seats=4, stories_per_visit=2)
    let_everybody_in(lab, campaign)
    early, browser = begin(lab, campaign)
    whole, other = begin(lab, campaign)
    begin(lab, campaign)  # holds the third story
    answer(browser)
    assert browser.heading == "No story is free right now"
    hand_in(lab, early, browser)
    lab.double.settle()
    lab.sweep(campaign)
    assert (lab.paid("reward"), Mismatch.objects.get().kind) == ([], Mismatch.Kind.PARTIAL)
    browser.open(f"/work/{browser.url.split('/')[2]}/hand-in/")
    assert (browser.heading, "A researcher decides" in browser.page.content.decode()) == (STOPPED, True)

    submit_at_once(lab, whole, campaign)  # too early, which a researcher is shown
    assert lab.paid("reward") == []
    builders.import_rows(lab.study, [builders.story_row(number, prefix="more") for number in range(2)])
    for _story in range(2):
        answer(other)
    lab.sweep(campaign)
    assert lab.paid("reward") == [50], "and who then does all of it is paid"


@pytest.mark.usefixtures("one_moment")
def test_forged_addresses_of_one_client_have_prolific_asked_so_often_and_no_more(
    lab: Campaigns, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(visits, "REFUSED_VISITS", replace(rate_limits.REFUSED_VISITS, most=3))
    lab.study = builders.make_study("many", stories=1)
    campaign = lab.publish_campaign("stories", seats=4, stories_per_visit=1)
    started = lab.double.start(lab.double.join(), campaign.remote_id)
    lab.double.seen.clear()
    path = f"/join/{lab.study.slug}/{campaign.number}/"
    ids = {"PROLIFIC_PID": "a" * 24, "STUDY_ID": campaign.remote_id}
    codes = [Client().get(path, ids | {"SESSION_ID": f"{n:024x}"}).status_code for n in range(5)]
    assert (codes, len(lab.double.seen)) == ([403] * 3 + [429] * 2, 3)
    assert Event.objects.filter(type=Event.Type.VISIT_REFUSED, note="not_proven").count() == 3
    assert not Visit.objects.exists()

    with monkeypatch.context() as patch:  # as many wait for Prolific as may
        patch.setattr(platform, "_asking", type("Busy", (), {"acquire": lambda _self, blocking: False})())
        came = Client().get(started.url.replace("http://testserver", ""), REMOTE_ADDR="192.0.2.9")
    assert (came.status_code, len(lab.double.seen)) == (302, 3)
    session = WorkSession.objects.get()
    assert session.identity_claimed, "let in on their word, until Prolific can be asked"


def test_who_has_no_more_stories_leaves_the_group_and_is_given_no_code(lab: Campaigns) -> None:
    lab.study = builders.make_study("one", stories=1, votes_per_story=1, qualification=1, story_cap=5)
    test = lab.publish_campaign("test", auto_approves=False)  # so that every comparison looks at them again
    stories = lab.publish_campaign("stories", seats=4, stories_per_visit=1)
    let_everybody_in(lab, stories)
    people = [lab.double.join() for _person in range(3)]
    works, none_left, suspended = people
    for person in people:
        take_test(lab, person, test)
    lab.double.settle()
    lab.sweep(test)

    def sees() -> list[bool]:
        actions.update_groups(now=lab.platform.clock.now())
        lab.sweep(test)
        return [stories.remote_id in lab.double.sees(person) for person in people]

    enrolled = [Enrollment.objects.get(annotator__identities__person=person) for person in people]
    assert sees() == [True, True, True]
    now = timezone.now()
    annotation_actions.suspend(enrollment=enrolled[2], by=None, now=now, reason="too fast")
    assert sees() == [True, True, False]
    annotation_actions.reinstate(enrollment=enrolled[2], by=None, now=now, reason="a mistake")
    actions.set_membership(
        campaign=test,
        annotator=enrolled[2].annotator,
        kind=Grant.Kind.QUALIFIED,
        is_member=False,
        by=ensure_researcher(username="boss", password="a long enough password"),
        now=now,
    )
    assert sees() == [True, True, False], "a researcher's word stands"

    _submission, browser = lab.come(works, stories)
    answer(browser)
    assert sees() == [False, True, False], "who has had every story has no more to come"
    _submission, browser = lab.come(none_left, stories)
    browser.open(f"/work/{browser.url.split('/')[2]}/hand-in/")
    assert browser.heading == "One last step: hand it in"
    assert f"/submissions/complete?cc={stories.screen_out_code}" in browser.page.content.decode()
    assert stories.completion_code not in browser.page.content.decode()
    annotation_actions.suspend(enrollment=enrolled[2], by=None, now=now, reason="too fast")
    grant = Grant.objects.get(annotator=enrolled[2].annotator)
    lab.prolific.add_to_group(test.qualified_group, suspended)  # they came before they were taken out
    _submission, refused = lab.come(suspended, stories)
    assert refused.page.status_code == 403
    assert grant.set_manually
    assert stories.screen_out_code not in refused.page.content.decode()
    assert not [url for url in refused.document.xpath("//a/@href") if "/submissions/complete" in url]
    assert "choose “Stop without completing” on Prolific" in " ".join(refused.document.text_content().split())
