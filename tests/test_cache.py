"""What people meet while Redis does not answer: pages without figures, votes as ever, nothing limited."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client
from django.utils import timezone

from accounts import download_slots, rate_limits
from accounts.actions import ensure_researcher
from publishing import progress
from publishing.actions import releases as publishing
from publishing.models import Release
from tests import builders
from tests.annotation.pages import at
from tests.builders import ALL_YES
from tests.publishing.support import judged_study
from tomannot import cache

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("client")]
PAGES = (
    "", "stories/", "people/", "recruitment/", "recruitment/mismatches/", "recruitment/payments/",
    "recruitment/join-link/", "qualification/", "quality/", "quality/hidden-checks/", "quality/review/",
    "quality/decisions/", "quality/filters/", "releases/", "settings/", "settings/members/", "settings/log/",
)  # fmt: skip
"""Below the address of a study."""


@pytest.fixture
def without_redis(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shared cache at an address where nobody listens."""
    monkeypatch.setattr(cache, "QUIET_SECONDS", 600.0)
    monkeypatch.setattr(cache, "_quiet_until", 0.0)
    away = {**settings.CACHES["shared"], "LOCATION": "redis://127.0.0.1:1"}
    settings.CACHES = {**settings.CACHES, "shared": away, "default": away}


@pytest.mark.usefixtures("without_redis")
def test_no_page_fails(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    study = builders.make_study(stories=2, qualification=1)
    client.force_login(ensure_researcher(username="researcher", password="horse battery staple"))
    for page in PAGES:
        response = client.get(f"/studies/{study.slug}/{page}")
        assert response.status_code == 200, page
    assert client.get("/studies/").status_code == 200
    assert caplog.text.count("Redis does not answer, so the cache is empty for now") == 1, "not once a look"


@pytest.mark.usefixtures("without_redis")
def test_the_next_story_asks_redis_nothing(caplog: pytest.LogCaptureFixture) -> None:
    (person,) = builders.qualified(builders.make_study(stories=2))
    browser = at(person, "stories/")
    browser.press("Save", q1="yes", q2="yes", q3="yes", q4="yes")
    assert "Saved at" in browser.page.content.decode()
    assert "Redis" not in caplog.text


@pytest.mark.usefixtures("without_redis")
def test_nothing_is_limited() -> None:
    once = rate_limits.Limit("once", 1, timedelta(hours=1))
    assert [rate_limits.retry_at(once, "somebody", now=timezone.now()) for _ in range(3)] == [None] * 3
    held = [download_slots.take(download_slots.slots("one", 1)) for _ in range(2)]
    assert None not in held
    for one in held:
        if one:
            one.release()


@pytest.mark.usefixtures("without_redis")
def test_a_release_is_built(tmp_path: Path, settings: Any) -> None:
    settings.RELEASES_ROOT = tmp_path
    study = judged_study("small", {"a": (ALL_YES,)}, votes_per_story=1)
    release = publishing.request_release(study=study, by=None, now=timezone.now())
    publishing.build_release(release_id=release.pk, now=timezone.now())
    release.refresh_from_db()
    assert (release.state, progress.latest(release)) == (Release.State.PUBLISHED, None)


@pytest.mark.usefixtures("without_redis")
def test_every_operation_of_the_cache_says_what_an_empty_one_says() -> None:
    cache = caches["shared"]
    cache.set("a", 1)
    assert (cache.get("a"), cache.get("a", 2), cache.get_many(["a"])) == (None, 2, {})
    assert (cache.add("a", 1), cache.delete("a"), cache.touch("a")) == (True, False, False)
    assert cache.set_many({"a": 1}) == ["a"]
    with pytest.raises(ValueError, match="no number under 'a'"):
        cache.incr("a")
