"""Studies: making one, what it needs to open, and its states."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.utils import timezone

from accounts.models import Environment, User
from annotation import actions, rules
from annotation.errors import InvalidStudy, StudyExists, StudyNotReady, WrongState
from annotation.models import Enrollment, Event, Study
from annotation.rules import Reason
from tests import builders

pytestmark = pytest.mark.django_db

MOVES: dict[str, Callable[..., Study]] = {
    "open": actions.open_study,
    "paused": actions.pause_study,
    "closed": actions.close_study,
}
EVENTS = {"open": "study_opened", "paused": "study_paused", "closed": "study_closed"}
WAYS = {"draft": [], "open": ["open"], "paused": ["open", "paused"], "closed": ["open", "closed"]}
"""How a study gets into each state."""


def settings(**changes: object) -> dict[str, object]:
    return {"title": "Title", "contact": "study@example.org"} | changes


def create(slug: str = "study", /, **changes: object) -> Study:
    return actions.create_study(slug=slug, settings=settings(**changes), by=None, now=timezone.now())


def study_in(state: str) -> Study:
    study = builders.make_study(opened=False)
    for step in WAYS[state]:
        study = MOVES[step](study=study, by=None, now=timezone.now())
    return study


def test_a_new_study_is_a_draft_with_the_published_procedure() -> None:
    study = create()

    assert study.state == Study.State.DRAFT
    assert (study.votes_per_story, study.story_cap, study.protocol_name) == (3, 500, "validity")
    assert study.gate == Study.Gate.MISSING
    assert len(study.pseudonym_key) == 64
    assert [event.type for event in study.events.all()] == [Event.Type.STUDY_CREATED]


def test_a_slug_that_somebody_takes_meanwhile_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    check = Study.full_clean

    def let_somebody_in(study: Study, **how: Any) -> None:
        check(study, **how)
        monkeypatch.undo()
        create("tea")

    monkeypatch.setattr(Study, "full_clean", let_somebody_in)
    with pytest.raises(StudyExists):
        create("tea")


def test_two_studies_have_keys_and_orders_of_their_own() -> None:
    one, two = create("one"), create("two")

    assert one.pseudonym_key != two.pseudonym_key
    assert one.serving_seed != two.serving_seed


def test_a_slug_is_used_once() -> None:
    create()

    with pytest.raises(StudyExists, match="“study” already"):
        create()


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"votes_per_story": 0}, "votes_per_story"),
    ({"votes_per_story": 100}, "votes_per_story"),
    ({"story_cap": 0}, "story_cap"),
    ({"lease_minutes": 0}, "lease_minutes"),
    ({"story_language": "not a tag"}, "story_language"),
    ({"intake_questions": ["nonsense"]}, "intake_questions"),
    ({"intake_group": 1}, "intake_group"),
    ({"contact": "nobody"}, "contact"),
    ({"title": ""}, "title"),
    ({"pay_rate": Decimal("1234567.00")}, "pay_rate"),
    ({"protocol": "nonsense"}, "no protocol “nonsense”. Installed: "),
]


def test_values_that_cannot_be_are_refused_by_name(subtests: pytest.Subtests) -> None:
    for changes, field in WRONG:
        with subtests.test(str(changes)):
            with pytest.raises(InvalidStudy, match=field):
                create(**changes)
            assert not Study.objects.exists()


def test_a_study_says_everything_it_lacks() -> None:
    with pytest.raises(StudyNotReady) as refusal:
        actions.open_study(study=create(), by=None, now=timezone.now())
    assert len(refusal.value.blockers) == 3


def test_qualification_stories_alone_do_not_open_a_study() -> None:
    study = builders.make_study(stories=0, qualification=1, opened=False)

    with pytest.raises(StudyNotReady, match="no stories"):
        actions.open_study(study=study, by=None, now=timezone.now())


@pytest.mark.parametrize("start", Study.State.values)
def test_a_study_goes_only_where_the_rules_say(start: str) -> None:
    study, researcher = study_in(start), User.objects.create_user("researcher")

    for target in MOVES.keys() - rules.STUDY_TRANSITIONS[start]:
        with pytest.raises(WrongState, match="can’t become"):
            MOVES[target](study=study, by=researcher, now=timezone.now())
    study.refresh_from_db()
    assert study.state == start
    for target in MOVES.keys() & rules.STUDY_TRANSITIONS[start]:
        with transaction.atomic():
            moved = MOVES[target](study=study, by=researcher, now=timezone.now())
            assert (moved.state, moved.closed_at is not None) == (target, target == "closed")
            event = study.events.latest("pk")
            assert (event.type, event.actor) == (EVENTS[target], researcher)
            transaction.set_rollback(True)


def test_reopening_keeps_the_first_opening() -> None:
    study = study_in("closed")
    first = study.opened_at

    assert actions.open_study(study=study, by=None, now=timezone.now()).opened_at == first


def test_an_open_studys_gate_stays_as_it_is() -> None:
    study = builders.make_study()

    with pytest.raises(WrongState, match="Pause the study first"):
        actions.set_gate(study=study, gate=Study.Gate.READY, by=None, now=timezone.now())


def test_a_new_consent_text_asks_everybody_again() -> None:
    study = builders.make_study()
    (person,) = builders.qualified(study)

    actions.add_consent_text(study=study, text="We store more.", by=None, now=timezone.now())
    refused = actions.assign_next_story(enrollment=person, now=timezone.now())
    assert getattr(refused, "reason", None) == Reason.CONSENT_CHANGED

    agreed = builders.consent(person)
    assert agreed.state == Enrollment.State.QUALIFIED
    assert builders.claim(agreed)


def test_an_empty_consent_text_is_refused() -> None:
    with pytest.raises(InvalidStudy, match="consent"):
        actions.add_consent_text(study=create(), text=" \n", by=None, now=timezone.now())


def test_a_study_becomes_a_rehearsal_with_everybody_invited() -> None:
    study = builders.make_study()
    (invited,) = builders.invite(study)

    rehearsal = actions.make_rehearsal(study=study, by=None, now=timezone.now())
    invited.refresh_from_db()

    assert rehearsal.environment == invited.environment == Environment.REHEARSAL
    assert builders.claim(builders.consent(invited))


def test_a_study_that_people_have_begun_never_becomes_a_rehearsal() -> None:
    study = builders.make_study()
    builders.qualified(study)

    with pytest.raises(WrongState, match="cannot become a test run"):
        actions.make_rehearsal(study=study, by=None, now=timezone.now())


def test_the_command_opens_says_why_not_and_stays(capsys: pytest.CaptureFixture[str]) -> None:
    create("empty")
    builders.make_study("ready", opened=False, contact="lab@university.example")

    with pytest.raises(CommandError, match=r"no stories.*no consent text") as refusal:
        call_command("open_study", "empty")
    assert refusal.value.returncode == 1
    with pytest.raises(CommandError, match=r"--accept mail pay$"):
        call_command("open_study", "ready", accept=["mail"])
    call_command("open_study", "ready", accept=["pay", "mail"])
    call_command("open_study", "ready")
    assert capsys.readouterr().out == "“ready” is open.\n“ready” is open already.\n"
    with pytest.raises(CommandError, match="Studies here: empty, ready"):
        call_command("open_study", "redy")
