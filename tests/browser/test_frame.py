"""The frame of Mechanical Turk as it was: another site around our page, sandboxed, every cookie blocked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone
from playwright.sync_api import TimeoutError, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Study, Vote
from recruitment import actions
from recruitment.actions import CampaignSettings
from recruitment.models import Campaign, Visit
from tests import builders
from tests.browser.checks import LOAD_AXE, assert_accessible_in_both_schemes
from tests.browser.windows import DESKTOP, PHONE
from tests.doubles.mturk.server import STRICT_SANDBOX, MTurkDouble
from tests.recruitment.platform_visits import SETTINGS, allow_frames, marketplace

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Frame, FrameLocator, Locator, Page, Request

pytestmark = pytest.mark.browser
PRESSES = 4
SPY = {"name": "spy", "value": "1", "domain": "localhost", "path": "/", "sameSite": "None", "secure": True}
"""A cookie of ours that a browser without blocking would send along from the frame."""


@pytest.fixture
def double() -> Iterator[MTurkDouble]:
    """On 127.0.0.1, while the site under test is on localhost: for a browser these are two sites."""
    with MTurkDouble() as double:
        yield double


@pytest.fixture
def blocking(browser: Browser) -> Iterator[BrowserContext]:
    """A profile of a Chromium that blocks the cookies of third parties."""
    chrome = browser.browser_type.launch(
        executable_path=_executable(), args=["--disable-gpu", "--test-third-party-cookie-phaseout"]
    )
    context = chrome.new_context(viewport=DESKTOP)
    context.add_init_script(LOAD_AXE)
    context.set_default_timeout(15_000)
    context.add_cookies([SPY])  # type: ignore[list-item]
    yield context
    chrome.close()


def _executable() -> str | None:
    from tests.conftest import chromium

    return chromium()


@pytest.mark.parametrize(
    "sandbox",
    [
        pytest.param(STRICT_SANDBOX, id="no origin"),
        pytest.param(f"{STRICT_SANDBOX} allow-same-origin", id="own origin", marks=pytest.mark.torture),
    ],
)
def test_a_worker_answers_in_the_frame_and_in_a_window_and_hands_in(
    blocking: BrowserContext, double: MTurkDouble, live_server: LiveServer, settings: Any, sandbox: str
) -> None:
    settings.PUBLIC_URL = live_server.url
    allow_frames(settings, double.url)
    double.sandbox = sandbox
    study = builders.make_study("framed", stories=3, votes_per_story=1)
    worker = double.crowd.hire().worker_id
    page = blocking.new_page()
    sent: list[Request] = []
    page.on("request", lambda request: sent.append(request))
    policy: list[str] = []
    page.on("console", lambda said: policy.append(said.text) if "Content Security" in said.text else None)

    campaign = _publish(double, study)
    hit = campaign.postings.get(number=1).remote_id
    page.goto(f"{double.url}/projects/{hit}/tasks?workerId={worker}")
    frame = page.frame_locator("iframe")
    expect(_heading(frame)).to_have_text("Read short stories")
    _assert_accessible(page)
    assert not Visit.objects.exists()
    page.get_by_role("button", name="Accept").click()
    expect(_heading(frame)).to_have_text("Do you agree to take part?")
    _press(frame.get_by_role("button", name="I agree", exact=True))
    _press(frame.get_by_role("link", name="Continue"))
    expect(_heading(frame)).to_have_text("Story 1 of 2")
    _answer(frame)
    expect(_heading(frame)).to_have_text("Story 2 of 2")

    # The worker goes on in a window of its own half-way.
    window = blocking.new_page()
    window.on("request", lambda request: sent.append(request))
    window.goto(_inner(page).url)
    for question, option in builders.ALL_YES.items():
        window.locator(f"label[for='{question}-{option}']").click()
    window.get_by_role("button", name="Save and continue").click()
    expect(window.get_by_role("heading", level=1)).to_have_text("One last step: hand it in")
    page.reload()  # opened again after all was done: nothing but the button
    expect(_heading(frame)).to_have_text("One last step: hand it in")
    _assert_accessible(page)
    _hand_in(page, frame)

    assert _receipts(double) == {Visit.objects.get().receipt}
    assert not Vote.objects.counted().exists()
    platform = marketplace(double, study.environment)
    actions.reconcile(campaign=campaign, marketplace=platform, now=timezone.now())
    assert Vote.objects.counted().count() == 2
    ours = [request for request in sent if request.url.startswith(live_server.url)]
    framed = [request for request in ours if request.frame.parent_frame]
    assert len(framed) > 10
    assert not [request.url for request in framed if "cookie" in request.all_headers()]
    assert any("cookie" in request.all_headers() for request in ours if request not in framed)
    origins = {request.all_headers().get("origin") for request in framed if request.method == "POST"}
    assert origins == {"null" if sandbox == STRICT_SANDBOX else live_server.url}
    assert policy == [] or all("frame-ancestors" not in said for said in policy), policy


def _publish(double: MTurkDouble, study: Study) -> Campaign:
    now = timezone.now()
    chosen = CampaignSettings(**SETTINGS, purpose="stories", stories_per_visit=2)
    platform = marketplace(double, study.environment)
    campaign = actions.create_campaign(study=study, settings=chosen, by=None, now=now)
    campaign = actions.start_campaign(campaign=campaign, marketplace=platform, by=None, now=now)
    return actions.carry_out(campaign=campaign, marketplace=platform, now=now)


def _heading(frame: FrameLocator) -> Any:
    return frame.get_by_role("heading", level=1)


def _press(target: Locator) -> None:
    """Press it until it is gone: Chromium drops what is clicked in a frame that it has not painted yet."""
    for _ in range(PRESSES):
        target.click()
        try:
            target.wait_for(state="detached", timeout=5_000)
        except TimeoutError:
            continue
        return
    raise AssertionError(f"{target} leads nowhere.")


def _answer(frame: FrameLocator) -> None:
    for question, option in builders.ALL_YES.items():
        label = frame.locator(f"label[for='{question}-{option}']")
        label.click()
        if not frame.locator(f"#{question}-{option}").is_checked():
            label.click()
    heading = _heading(frame).text_content()
    frame.get_by_role("button", name="Save and continue").click()
    expect(_heading(frame)).not_to_have_text(heading or "")


def _hand_in(page: Page, frame: FrameLocator) -> None:
    """Press the button, and wait until the platform's own page has seen it."""
    _press(frame.get_by_role("button", name="Hand in on Mechanical Turk"))
    expect(page.get_by_role("heading", name="This HIT is no longer in your queue")).to_be_visible()


def _receipts(double: MTurkDouble) -> set[str]:
    rows = [row for row in double.world.assignments.values() if row.state == "Submitted"]
    return {row.answer.partition("receipt</QuestionIdentifier><FreeText>")[2][:24] for row in rows}


def _inner(page: Page) -> Frame:
    (inner,) = [frame for frame in page.frames if frame.parent_frame]
    return inner


def _assert_accessible(page: Page) -> None:
    """axe-core finds nothing in the framed page, and it fits on a phone and on a desk."""
    inner = _inner(page)
    assert_accessible_in_both_schemes(page, inner)
    for size in (PHONE, DESKTOP):
        page.set_viewport_size(size)
        assert inner.evaluate("document.scrollingElement.scrollWidth <= innerWidth + 1"), inner.url
