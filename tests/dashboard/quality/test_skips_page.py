"""Skipped stories as researchers see them: under Quality, on the story's page, as a file."""

from __future__ import annotations

import csv
import io

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import User
from annotation import actions
from annotation.models import Membership, Study
from dashboard.overview.queries import noticed
from tests import builders


@pytest.mark.django_db
@pytest.mark.usefixtures("client")
def test_skips_are_shown_by_story_and_reason_and_those_of_many_need_attention() -> None:
    now = timezone.now()
    study = builders.make_study("main", stories=2, votes_per_story=2)
    reader = User.objects.create_user("reader", password=None)
    actions.set_role(study=study, user=reader, role=Membership.Role.OWNER, by=None, now=now)
    desk = Client()
    desk.force_login(reader)
    assert "Nobody has skipped a story." in desk.get("/studies/main/quality/skips/").content.decode()

    anna, bela = builders.qualified(study, 2)
    for person, reason in ((anna, "broken"), (bela, "known")):
        held = builders.claim(person)
        actions.skip_story(
            assignment_id=held.pk, enrollment=person, reason=reason, words="=See <b>end</b>", now=now
        )
    story = held.story.story_id
    page = desk.get("/studies/main/quality/skips/")
    assert [
        (row["skips"], row["often"], [number for _reason, number in row["by_reason"]])
        for row in page.context["rows"]
    ] == [(2, True, [0, 1, 0, 1])]
    shown = desk.get(f"/studies/main/stories/{story}/").content.decode()
    assert shown.count("=See &lt;b&gt;end&lt;/b&gt;") == 2
    assert "I know it already" in shown
    file = desk.get("/studies/main/quality/skips.csv")
    rows = list(csv.DictReader(io.StringIO(b"".join(file).decode())))
    assert [(row["story_id"], row["reason"], row["words"]) for row in rows] == [
        (story, "broken", "'=See <b>end</b>"),
        (story, "known", "'=See <b>end</b>"),
    ]
    assert noticed(Study.objects.get(), [])["skipped_often"] == 1
