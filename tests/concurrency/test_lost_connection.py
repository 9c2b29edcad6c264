"""The connection to the database dies while an answer is being stored."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import psycopg
import pytest
from django.db import DatabaseError, connection
from django.test import Client
from django.utils import timezone

from annotation import actions, sql
from annotation.actions import serving
from annotation.models import Assignment, Enrollment, Story, Vote
from annotation.rules import Refusal
from tests import builders
from tests.annotation.pages import HTMX, token_of

pytestmark = pytest.mark.django_db(transaction=True)


def held_while(how: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> Assignment:
    """Return a story that somebody holds; the first search for the next loses the connection."""
    (person,) = builders.qualified(builders.make_study(stories=2))
    assignment = builders.claim(person)
    find = sql.lock_next_story
    lost: list[Enrollment] = []

    def losing(enrollment: Enrollment) -> Story | None:
        if not lost:
            lost.append(enrollment)
            how()
        return find(enrollment)

    monkeypatch.setattr(serving, "lock_next_story", losing)
    return assignment


def cut() -> None:
    connection.connection.close()


def ended_by_the_server() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


def test_an_answer_that_is_lost_with_the_connection_gets_no_receipt(monkeypatch: pytest.MonkeyPatch) -> None:
    held = held_while(cut, monkeypatch)

    with pytest.raises(DatabaseError):
        actions.record_vote_and_assign_next(
            assignment_id=held.pk, enrollment=held.enrollment, submitted=builders.ALL_YES, now=timezone.now()
        )

    assert not Vote.objects.exists()


def test_an_answer_is_stored_by_a_new_connection_if_the_server_ends_the_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = held_while(ended_by_the_server, monkeypatch)

    receipt, outcome = actions.record_vote_and_assign_next(
        assignment_id=held.pk, enrollment=held.enrollment, submitted=builders.ALL_YES, now=timezone.now()
    )

    assert receipt.vote == Vote.objects.get()
    assert isinstance(outcome, Assignment)


def test_a_next_story_that_is_lost_with_the_commit_is_not_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers to it would be refused: no such assignment is in the database."""
    (person,) = builders.qualified(builders.make_study(stories=3))
    held = builders.claim(person)
    find = serving._find_story
    served: list[Assignment | Refusal] = []

    def losing(*about: Any, now: datetime) -> Assignment | Refusal:
        found = find(*about, now=now)
        if not served:
            with psycopg.connect(
                **connection.get_connection_params() | {"cursor_factory": psycopg.Cursor}
            ) as by:
                by.execute("SELECT pg_terminate_backend(%s, 5000)", [connection.connection.info.backend_pid])
        served.append(found)
        return found

    monkeypatch.setattr(serving, "_find_story", losing)
    receipt, outcome = actions.record_vote_and_assign_next(
        assignment_id=held.pk, enrollment=person, submitted=builders.ALL_YES, now=timezone.now()
    )

    assert receipt.vote == Vote.objects.get()
    assert len(served) == 2, "the first was lost"
    assert isinstance(outcome, Assignment)
    assert outcome == Assignment.objects.get(enrollment=person, state=Assignment.State.LEASED)


def test_the_page_does_not_say_saved_and_the_same_form_can_be_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a device keeps of an answer goes only when the page names the assignment as stored."""
    held = held_while(cut, monkeypatch)
    client = Client(raise_request_exception=False)
    url = f"/work/{token_of(held.enrollment)}/stories/"
    form = {"assignment": str(held.pk)} | builders.ALL_YES

    lost = client.post(url, form, headers=HTMX)
    again = client.post(url, form, headers=HTMX)

    assert lost.status_code == 503
    assert "X-Stored-Assignment" not in lost.headers
    assert again.headers["X-Stored-Assignment"] == str(held.pk)
    assert Vote.objects.get().assignment == held
