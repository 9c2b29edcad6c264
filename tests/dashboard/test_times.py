"""Moments are written one way: with their zone for people, and in ISO 8601 for programs."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from django.conf import settings
from django.template import Context, Template
from django.test import Client
from django.utils import translation

from accounts.actions import ensure_researcher
from tests import builders

AT = datetime(2026, 11, 22, 8, 1, tzinfo=UTC)
LANGUAGES = [language for language, _ in settings.LANGUAGES]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_moment_is_without_its_zone_in_any_language(language: str) -> None:
    page = Template("{% load dashboard %}{{ at }}|{{ at|moment }}|{{ none|moment }}")
    with translation.override(language):
        plain, marked, nothing = page.render(Context({"at": AT, "none": None})).split("|")
        elsewhere = AT.astimezone(timezone(timedelta(hours=1)))
        assert page.render(Context({"at": elsewhere})).startswith(plain)
    assert plain == "2026-11-22 08:01 UTC"
    assert marked == f'<time datetime="2026-11-22T08:01:00+00:00">{plain}</time>'
    assert nothing == ""


@pytest.mark.django_db
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_of_a_story_has_times_that_are_read_by_both(client: Client, language: str) -> None:
    study = builders.make_study("main", stories=1, votes_per_story=1, now=AT)
    builders.vote(builders.qualified(study, now=AT)[0], now=AT + timedelta(minutes=5))
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    story = study.stories.get().story_id
    page = client.get(f"/studies/main/stories/{story}/", headers={"Accept-Language": language})
    assert '<time datetime="2026-11-22T08:06:00+00:00">2026-11-22 08:06 UTC</time>' in page.content.decode()


def test_no_template_writes_a_moment_without_its_zone() -> None:
    """A moment inside a sentence is written with ``date``, and the sentence says UTC after it."""
    for template in (settings.BASE_DIR / "templates" / "dashboard").glob("*.html"):
        text = template.read_text(encoding="utf-8")
        assert not re.findall(r"\|time\b", text), template.name
        for found in re.finditer(r"""\|date:["'](Y-m-d )?H:i""", text):
            rest = text[found.end() :]
            sentence = re.split(r"{% end|</d[dt]>|</p>|</time>", rest)[0]
            heading = "(UTC)" in text and "</time>" in rest[:40]  # of the column
            assert "UTC" in sentence or heading, (template.name, found[0], sentence)
