"""Changing a study's settings: what can change when, and what the audit log says."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from annotation import actions
from annotation.actions.studies import SETTINGS
from annotation.errors import InvalidStudy
from annotation.fixed_settings import fixed_settings, noted, noted_changes, pay_problem
from annotation.models import Event, Study
from tests import builders

pytestmark = pytest.mark.django_db


def change(study: Study, by: User | None = None, **changes: Any) -> Study:
    return actions.change_study(study=study, changes=changes, by=by, now=timezone.now())


def notes(study: Study) -> list[str]:
    return list(
        Event.objects.filter(study=study, type=Event.Type.STUDY_CHANGED)
        .order_by("pk")
        .values_list("note", flat=True)
    )


@pytest.fixture
def draft() -> Study:
    return builders.make_study("draft", stories=0, opened=False)


def test_a_draft_is_free_and_the_log_says_what_changed(draft: Study) -> None:
    someone = User.objects.create_user("someone", password=None)
    changed = change(
        draft, by=someone, title="Better", votes_per_story=5, pay_rate=Decimal("12.50"), contact=draft.contact
    )
    assert (changed.title, changed.votes_per_story) == ("Better", 5)
    assert notes(draft) == [
        "title: “A study for tests” → “Better”\nvotes_per_story: 3 → 5\npay_rate: none → 12.50"
    ]
    assert Event.objects.get(type=Event.Type.STUDY_CHANGED).actor == someone


def test_no_text_of_a_setting_can_look_like_another_setting(draft: Study) -> None:
    forged = "A study.\npay_rate: 1.00 → 99.00\u2028story_cap: 1 → 2"
    change(draft, description=forged, lease_minutes=45, pay_rate=Decimal("12.00"))
    (note,) = notes(draft)
    assert noted_changes(note) == {"lease_minutes": ("30", "45"), "pay_rate": ("none", "12.00")}
    assert "pay_rate: 1.00 → 99.00" in note


def test_nothing_changed_is_no_event(draft: Study) -> None:
    change(draft, title=draft.title, story_cap=draft.story_cap)
    assert notes(draft) == []


def test_the_protocol_changes_with_its_version(draft: Study) -> None:
    changed = change(draft, protocol="multiple-choice")
    assert changed.protocol.name == "multiple-choice"
    with pytest.raises(InvalidStudy) as caught:
        change(draft, protocol="nothing")
    assert caught.value.problems.keys() == {"protocol"}


def test_stories_fix_the_protocol_and_the_seed() -> None:
    study = builders.make_study("filled", stories=1, opened=False)
    with pytest.raises(InvalidStudy) as caught:
        change(study, protocol="multiple-choice", serving_seed=9, votes_per_story=2)
    assert caught.value.problems.keys() == {"protocol", "serving_seed"}
    assert notes(study) == []
    assert change(study, votes_per_story=2).votes_per_story == 2


def test_once_opened_what_people_know_it_by_stays() -> None:
    study = builders.make_study("opened", pay_rate=Decimal("10.00"))
    with pytest.raises(InvalidStudy) as caught:
        change(
            study, votes_per_story=1, license="CC0-1.0", currency="EUR", pay_rate=Decimal("9.00"), title="T"
        )
    assert caught.value.problems.keys() == {"votes_per_story", "license", "currency", "pay_rate"}
    study.refresh_from_db()
    assert study.title == "A study for tests"
    changed = change(study, pay_rate=Decimal("11.00"), lease_minutes=45, story_cap=9, change_hours=0)
    assert (changed.pay_rate, changed.lease_minutes, changed.story_cap) == (Decimal("11.00"), 45, 9)


WRONG: list[dict[str, Any]] = [
    {"votes_per_story": 0},
    {"votes_per_story": 100},
    {"contact": "nobody"},
    {"title": "x" * 201},
]


def test_what_cannot_be_is_named_by_field(subtests: pytest.Subtests, draft: Study) -> None:
    for changes in WRONG:
        with subtests.test(str(changes)):
            with pytest.raises(InvalidStudy) as caught:
                change(draft, **changes)
            assert caught.value.problems, "a constraint of the table may be to blame"
            assert notes(draft) == []


def test_the_rules() -> None:
    assert fixed_settings(state="draft", has_stories=False) == {}
    for state in ("open", "paused", "closed"):
        fixed = fixed_settings(state=state, has_stories=True)
        assert fixed.keys() < set(SETTINGS)
        assert "votes_per_story" in fixed
    ten, nine = Decimal(10), Decimal(9)
    assert pay_problem(state="open", before=ten, after=None)
    assert pay_problem(state="open", before=ten, after=nine)
    assert not pay_problem(state="draft", before=ten, after=nine)
    assert not pay_problem(state="open", before=None, after=nine)
    assert not pay_problem(state="open", before=nine, after=ten)


def test_the_log_tells_settings_with_parts_in_words() -> None:
    design = {"by": "scenario_name", "load": {"sealed": 3, "open\npay_rate: 1 → 9": 2}}
    note = noted({"design": None}, {"design": design}, ["design"])
    assert note == "design: none → by “scenario_name”, load sealed 3, open pay_rate: 1 → 9 2"
    assert not noted_changes(note)
