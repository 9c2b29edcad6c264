"""Fixtures of this room: the site as production serves it, and windows of a real Chromium onto it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from accounts.actions import ensure_researcher
from annotation import actions
from annotation.models import Enrollment, Study
from recruitment.links import personal_link
from tests import builders
from tests.browser.profiles import Profiles
from tests.browser.windows import PHONE, Window
from tests.conftest import PAGE_MILLISECONDS
from tests.worlds import built_once

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OpenWindow = Callable[..., Window]
RESEARCHER, PASSWORD = "researcher", "a-long-password-for-tests"


@pytest.fixture(scope="session")
def live_server(collected_static: None) -> Iterator[LiveServer]:
    """The site in this process, its static files served by WhiteNoise as in production.

    pytest-django's own puts the development handler for static files in front of the application,
    which knows no hashed names and compresses nothing.
    """
    server = LiveServer("localhost", start=False)
    server.thread.static_handler = lambda application: application  # type: ignore[assignment]
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def all_profiles(browser: Browser, live_server: LiveServer) -> Iterator[Profiles]:
    profiles = Profiles(browser, live_server.url)
    yield profiles
    profiles.close()


@pytest.fixture
def profiles(all_profiles: Profiles) -> Iterator[Profiles]:
    """The browser's profiles; those that a test took are cleaned after it."""
    yield all_profiles
    all_profiles.clean_up()


@pytest.fixture
def open_window(profiles: Profiles) -> OpenWindow:
    """Open a window of its own browser profile; the arguments are those of ``Browser.new_context``."""

    def open_one(**options: Any) -> Window:
        context = profiles.take(**{"viewport": PHONE, "base_url": profiles.site} | options)
        context.set_default_timeout(PAGE_MILLISECONDS)
        return Window(context.new_page(), profiles.site)

    return open_one


@pytest.fixture
def window(open_window: OpenWindow) -> Window:
    """A window of a phone's size."""
    return open_window()


@pytest.fixture
@built_once
def sample() -> Study:
    """The sample study with its five test stories and their key, open."""
    study = builders.make_study(
        "sample", stories=0, opened=False, qualification_required=True, description="A few short stories."
    )
    builders.load_sample(study)
    return actions.open_study(study=study, by=None, now=timezone.now())


@pytest.fixture
def link(sample: Study) -> str:
    """The personal link, as a path, of somebody invited to the sample study."""
    return path_of(builders.invite(sample)[0])


@pytest.fixture
def study() -> Study:
    """Four stories for anybody who consents; one vote decides about each."""
    return builders.make_study("short", stories=4, votes_per_story=1)


@pytest.fixture
def person(study: Study) -> Enrollment:
    """Somebody who may be served the stories of ``study``."""
    return builders.qualified(study)[0]


@pytest.fixture
def researcher() -> tuple[str, str]:
    """The name and the password of a researcher."""
    ensure_researcher(username=RESEARCHER, password=PASSWORD)
    return RESEARCHER, PASSWORD


@pytest.fixture
def releases_root(tmp_path: Path, settings: Any) -> Path:
    """A place for the releases of one test."""
    settings.RELEASES_ROOT = tmp_path / "releases"
    return tmp_path / "releases"


def path_of(person: Enrollment) -> str:
    """A person's own link as a path on the site."""
    return personal_link(person).removeprefix("http://testserver")
