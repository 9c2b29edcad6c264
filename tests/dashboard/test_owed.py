"""Who is owed what: a table to pay by that names nobody."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation import actions
from recruitment import actions as recruitment_actions
from recruitment.queries import completion_of
from tests import builders

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]


def test_each_code_is_owed_what_its_owner_was_told() -> None:
    study = builders.make_study(stories=4, pay_rate=Decimal("15.00"))
    link = recruitment_actions.set_join_link(study=study, by=None, now=timezone.now())
    person = builders.consent(
        recruitment_actions.join(link=link, participant="participant-4711", now=timezone.now())
    )
    begun = timezone.now()
    for number, seconds in enumerate((40, 60, 80)):
        at = begun + timedelta(minutes=5 * number)
        assignment = builders.claim(person, now=at)
        actions.record_vote(
            assignment_id=assignment.pk,
            enrollment=person,
            submitted=builders.ALL_YES,
            now=at + timedelta(seconds=seconds),
        )
    builders.qualified(study)  # has agreed, and answered nothing: is owed nothing, and not listed as work
    person.refresh_from_db()
    code = completion_of(person)
    assert code is not None

    client = Client()
    client.force_login(ensure_researcher(username="researcher", password="unguessable-1"))
    response: Any = client.get(reverse("dashboard:owed_file", args=[study.slug]))
    text = b"".join(response.streaming_content).decode()
    rows = [row for row in csv.DictReader(io.StringIO(text)) if row["stories"] != "0"]
    assert [(row["completion_code"], row["stories"], row["median_seconds"]) for row in rows] == [
        (code.code, "3", "60.0")
    ]
    assert rows[0]["owed_for_stories"] == "0.75"  # three minutes at 15 an hour
    assert "participant-4711" not in text
