"""The rules of studies, people and slots, as functions of plain values."""

from __future__ import annotations

import hashlib
import itertools
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from annotation import opening, rules, working_time
from annotation.models import Enrollment, Study
from annotation.refusals import refusal_page
from annotation.rules import Reason, Refusal
from annotation.views.work import PAGE_OF_REASON

SERVED: dict[str, Any] = {
    "study_state": "open",
    "study_environment": "live",
    "study_consent_version": 2,
    "protocol_installed": True,
    "story_cap": 10,
    "enrollment_state": "qualified",
    "environment": "live",
    "consent_version": 2,
    "stories_submitted": 9,
}


def expected(facts: SimpleNamespace) -> Reason | None:
    """The truth table, written as one question after the other."""
    by_person = {
        "invited": Reason.INVITED,
        "declined": Reason.DECLINED,
        "consented": Reason.NOT_QUALIFIED_YET,
        "failed": Reason.FAILED,
        "suspended": Reason.SUSPENDED,
        "withdrawn": Reason.WITHDRAWN,
    }
    by_study = {"draft": Reason.STUDY_NOT_OPEN, "paused": Reason.STUDY_PAUSED, "closed": Reason.STUDY_CLOSED}
    door = by_study.get(facts.study_state)
    return (
        (Reason.WRONG_ENVIRONMENT if facts.environment != facts.study_environment else None)
        or (door if facts.enrollment_state in ("invited", "declined", "consented") else None)
        or by_person.get(facts.enrollment_state)
        or door
        or (None if facts.protocol_installed else Reason.PROTOCOL_CHANGED)
        or (Reason.CONSENT_CHANGED if facts.consent_version != facts.study_consent_version else None)
        or (Reason.CAP_REACHED if facts.stories_submitted >= facts.story_cap else None)
    )


@pytest.mark.parametrize("enrollment_state", Enrollment.State.values)
def test_the_gate_knows_every_standing(enrollment_state: str) -> None:
    for study_state, environment, consent, installed, submitted in itertools.product(
        Study.State.values, ("live", "rehearsal"), (1, 2), (True, False), (0, 9, 10, 11)
    ):
        facts = SimpleNamespace(
            study_state=study_state,
            study_environment="live",
            study_consent_version=2,
            protocol_installed=installed,
            story_cap=10,
            enrollment_state=enrollment_state,
            environment=environment,
            consent_version=consent,
            stories_submitted=submitted,
        )
        assert rules.serving_refusal(**vars(facts)) == expected(facts)


def test_exactly_one_kind_of_standing_is_served() -> None:
    assert rules.serving_refusal(**SERVED) is None
    served = [
        (study, person)
        for study in Study.State.values
        for person in Enrollment.State.values
        if rules.serving_refusal(**SERVED | {"study_state": study, "enrollment_state": person}) is None
    ]
    assert served == [("open", "qualified")]


def test_every_refusal_has_one_page() -> None:
    """Either a page of its own with words, or the page of a step the person has still to take."""
    for reason in PAGE_OF_REASON:
        with pytest.raises(KeyError):
            refusal_page(Refusal(reason))
    for reason in set(Reason) - {*PAGE_OF_REASON}:
        page = refusal_page(Refusal(reason))
        assert str(page.title)
        assert str(page.text).endswith(".")


@settings(max_examples=25)
@given(st.sets(st.integers(1, 12)), st.integers(1, 12))
def test_the_lowest_free_slot_is_free_lowest_and_exists_when_any_is(taken: set[int], slots: int) -> None:
    """Also where slots beyond those are taken, of a story that wants fewer votes than before."""
    free = set(range(1, slots + 1)) - taken
    assert rules.lowest_free_slot(taken, slots) == (min(free) if len(taken) < slots else None)


@settings(max_examples=25)
@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.text(min_size=1, max_size=20), unique=True, max_size=30),
    st.lists(st.text(min_size=1, max_size=20), unique=True, max_size=30),
)
def test_stories_added_later_leave_the_order_of_the_others_alone(
    seed: int, first: list[str], later: list[str]
) -> None:
    before = sorted(first, key=lambda story: rules.order_key(seed, story))
    after = sorted({*first, *later}, key=lambda story: rules.order_key(seed, story))
    assert [story for story in after if story in set(first)] == before


def test_the_order_is_a_permutation_that_depends_on_the_seed() -> None:
    stories = [f"story_{number}" for number in range(1000)]
    one, two = ({rules.order_key(seed, story) for story in stories} for seed in (1, 2))
    assert len(one) == len(stories)
    assert not one & two
    assert all(-(2**63) <= key < 2**63 for key in one)
    # Anybody can recompute the order, so the formula stays what it is.
    assert rules.order_key(1, "story_0") == int.from_bytes(
        hashlib.sha256(b"1:story_0").digest()[:8], "big", signed=True
    )


def test_pseudonyms_cannot_be_linked_between_studies() -> None:
    name = rules.pseudonym("key of a study", 7)
    assert name == rules.pseudonym("key of a study", 7)
    assert name.startswith("annotator-")
    assert len(name) == len("annotator-") + 16
    assert name != rules.pseudonym("key of another", 7)
    assert len({rules.pseudonym("key of a study", number) for number in range(1000)}) == 1000


def test_everything_that_keeps_a_study_from_opening_is_said_at_once(subtests: pytest.Subtests) -> None:
    for stories, consent, gate, said in [
        (1, 1, "ready", []),
        (1, 1, "not_required", []),
        (0, 1, "ready", ["no stories"]),
        (1, 0, "ready", ["no consent text"]),
        (1, 1, "missing", ["no round"]),
        (0, 0, "missing", ["no stories", "no consent text", "no round"]),
    ]:
        with subtests.test(str(stories)):
            found = opening.blockers(
                main_stories=stories,
                consent_version=consent,
                gate=gate,
                lacks_checks=False,
                unserved=[],
                story_cap=0,
                stories_of_design=0,
            )
            assert len(found) == len(said)
            assert all(words in sentence for words, sentence in zip(said, found, strict=True))


def test_the_transitions_speak_of_every_state() -> None:
    assert rules.STUDY_TRANSITIONS.keys() == set(Study.State.values)
    assert rules.ENROLLMENT_TRANSITIONS.keys() == set(Enrollment.State.values)
    assert set().union(*rules.STUDY_TRANSITIONS.values()) <= set(Study.State.values)
    assert set().union(*rules.ENROLLMENT_TRANSITIONS.values()) <= set(Enrollment.State.values)


BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("before", "last", "served", "submitted", "since"),
    [
        pytest.param(None, None, 0, 1, 0, id="first-story"),
        pytest.param(0, 10, 11, 12, 0, id="goes-on"),
        pytest.param(0, 10, 25, 26, 0, id="quarter-of-an-hour-is-no-break"),
        pytest.param(0, 10, 26, 27, 26, id="after-a-break"),
        pytest.param(0, 10, 11, 30, 30, id="a-story-left-open-is-a-break"),
        pytest.param(0, 40, 0, 41, 0, id="an-old-page-of-somebody-who-is-working"),
    ],
)
def test_when_a_stretch_of_work_began(
    before: int | None, last: int | None, served: int, submitted: int, since: int
) -> None:
    def at(minutes: int | None) -> datetime | None:
        return None if minutes is None else BEGAN + minutes * MINUTE

    served_at, submitted_at = BEGAN + served * MINUTE, BEGAN + submitted * MINUTE
    assert working_time.working_since(at(before), at(last), served_at, submitted_at) == at(since)


def test_when_a_pause_is_suggested(subtests: pytest.Subtests) -> None:
    for worked, idle, minutes in [(44, 0, 0), (45, 0, 45), (44, 1, 45), (50, 15, 65), (50, 16, 0)]:
        with subtests.test(str(worked)):
            last = BEGAN + worked * MINUTE
            assert working_time.pause_minutes(BEGAN, last, last + idle * MINUTE) == minutes
            assert working_time.pause_minutes(None, None, last) == 0
