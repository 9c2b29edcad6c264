"""Signs of human work with votes: counts and times; forged ones are cut or ignored, never in the way."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation import actions, signs
from annotation.models import Enrollment, Vote
from tests import builders
from tests.annotation.pages import HTMX, token_of

REPORTED = "12 3 q1:2.5 q3:0.4"
UNKNOWN = signs.Signs()


def test_values_are_cut_and_other_texts_ignored(subtests: pytest.Subtests) -> None:
    for text, expected in [
        (REPORTED, (12, 3, {"q1": 2.5, "q3": 0.4})),
        ("0 0", (0, 0, {})),
        ("5 0 labels.belief-3:61.0", (5, 0, {"labels.belief-3": 61.0})),
        ("999999999 99999 q1:99999999.9", (10_000, 10_000, {"q1": 3600})),
        ("9999999999 0", UNKNOWN),
        ("-1 0", UNKNOWN),
        ("1", UNKNOWN),
        ("1 2 q1:NaN", UNKNOWN),
        ("1 2 q1:1e9", UNKNOWN),
        ("١ ٢", UNKNOWN),
        ("1 2 q1:1.0\0", UNKNOWN),
        ("<script>", UNKNOWN),
        ("", UNKNOWN),
    ]:
        with subtests.test(text):
            assert signs.read(text) == expected


def stored(vote: Vote) -> tuple[int | None, int | None, dict[str, float | None]]:
    answers = vote.answers.order_by("question").values_list("question", "seconds")
    return vote.trusted_events, vote.untrusted_events, dict(answers)


def send(client: Client, person: Enrollment, reported: str | None, **headers: Any) -> Vote:
    """The person's vote on their next story, sent with (or without) what a browser reports."""
    form = builders.ALL_YES | {"assignment": str(builders.claim(person).pk)}
    form |= {} if reported is None else {signs.FIELD: reported}
    answered = client.post(f"/work/{token_of(person)}/stories/", form, headers=headers)
    assert answered.status_code in (200, 302)
    return Vote.objects.latest("pk")


@pytest.mark.django_db
def test_a_vote_has_them_and_one_without_javascript_is_not_known(client: Client) -> None:
    (person,) = builders.qualified(builders.make_study(stories=3))
    unknown = dict.fromkeys(builders.ALL_YES)
    assert stored(send(client, person, REPORTED, **HTMX)) == (12, 3, unknown | {"q1": 2.5, "q3": 0.4})
    assert stored(send(client, person, None)) == (None, None, unknown)
    assert stored(send(client, person, "1; DROP TABLE", **HTMX)) == (None, None, unknown)
    person.refresh_from_db()
    assert person.stories_submitted == 3, "all are credited alike"
    assert Vote.objects.counted().count() == 3


@pytest.mark.django_db
def test_a_changed_answer_has_its_own() -> None:
    (person,) = builders.qualified(builders.make_study())
    first = builders.vote(person, builders.ALL_YES | {signs.FIELD: "9 0 q1:1.0"}).vote
    changed = actions.change_vote(
        assignment_id=first.assignment_id,
        enrollment=person,
        submitted=builders.answers(q1="no") | {signs.FIELD: "0 4 q1:7.0"},
        now=timezone.now(),
    )
    assert stored(changed)[:2] == (0, 4)
    assert stored(first)[:2] == (9, 0)
    assert [vote.lacks_trusted_input for vote in (first, changed)] == [False, True]


@pytest.mark.django_db
def test_they_cost_no_statement(client: Client) -> None:
    (person,) = builders.qualified(builders.make_study(stories=4))
    send(client, person, None, **HTMX)  # fills caches
    spent = []
    for reported in (None, REPORTED):
        form = builders.ALL_YES | {"assignment": str(builders.claim(person).pk), signs.FIELD: reported or ""}
        with CaptureQueriesContext(connection) as queries:
            client.post(f"/work/{token_of(person)}/stories/", form, headers=HTMX)
        spent.append(len(queries))
    assert spent[0] == spent[1]


@pytest.mark.django_db
def test_the_database_knows_the_bounds_of_events_and_times() -> None:
    (person,) = builders.qualified(builders.make_study())
    vote = builders.vote(person).vote
    answer = vote.answers.all()[0]
    for seconds in (-0.1, 3600.5, float("nan"), float("inf")):
        answer.pk, answer.row, answer.seconds = None, "again", seconds
        with pytest.raises(IntegrityError), transaction.atomic():
            answer.save(force_insert=True)
    for events in ((10_001, 0), (0, 10_001), (1, None), (None, 1), (-1, 0)):
        vote.pk, vote.revision, (vote.trusted_events, vote.untrusted_events) = None, 2, events
        with pytest.raises(IntegrityError), transaction.atomic():
            vote.save(force_insert=True)


@pytest.mark.django_db
def test_people_read_what_is_recorded_before_they_agree(client: Client) -> None:
    (person,) = builders.invite(builders.make_study())
    page = client.get(f"/work/{token_of(person)}/consent/").content.decode()
    assert "What is recorded with your answers" in page
    assert "you are not paid less, slowed down or excluded" in page
