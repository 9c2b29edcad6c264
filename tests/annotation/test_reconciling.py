"""Lists of several people made one: the rules, and what the action stores and refuses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given, settings, strategies as st

from annotation import actions
from annotation.actions.reconciling import EditedRow
from annotation.errors import ChangedMeanwhile, InvalidInput, ReasonMissing, WrongState
from annotation.models import Adjudication, Answer, Story
from annotation.protocols import get_protocol
from annotation.protocols.base import Scored
from annotation.protocols.questions import Choice
from annotation.queries import lists_of
from annotation.reconciling import Change, fingerprint, is_reconciled, listed_rows, reconciled_rows
from publishing.statistics.answered import Answered
from publishing.statistics.reconciled import extraction
from tests import builders
from tests.annotation.invariants import broken
from tests.worlds import built_once

LISTS = get_protocol("belief-extraction")
KEY = "86c1a29562ee"
Lists = dict[str, list[tuple[str, str]]]


def choices(rows: list[tuple[str, str]]) -> list[Choice]:
    return [
        Choice(question, f"{number:02}", words)
        for number, row in enumerate(rows, start=1)
        for question, words in zip(("actor", "belief"), row, strict=True)
    ]


def listed(lists: Lists) -> Any:
    return listed_rows(LISTS, {person: choices(rows) for person, rows in lists.items()})


def test_rows_in_the_same_words_are_one() -> None:
    rows = listed(
        {
            "one": [("Mira", "The kite is gone."), ("World", "It rains.")],
            "two": [("world", "it  rains"), ("Mira", "It rains."), ("mira", "the kite is gone")],
        }
    )
    assert [(row.words, row.people) for row in rows] == [
        (("Mira", "The kite is gone."), ("one", "two")),
        (("Mira", "It rains."), ("two",)),
        (("World", "It rains."), ("one", "two")),
    ]


def test_identifiers_are_taken_out_of_the_words() -> None:
    (row,) = listed({"one": [("Bo", "Write to bo@example.org now.")]})
    assert row.words == ("Bo", "Write to [removed] now.")


WORDS = st.text("abc .", min_size=1).filter(str.strip)
LIST = st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5)
SOME = st.dictionaries(st.sampled_from("xyz"), LIST, min_size=1)


@settings(max_examples=25)
@given(SOME)
def test_neither_order_nor_others_change_a_row(lists: Lists) -> None:
    there = {row.key for row in listed(lists)}
    back = {person: rows[::-1] for person, rows in reversed(lists.items())}
    assert {row.key for row in listed(back)} == there
    assert fingerprint(listed(back)) == fingerprint(listed(lists))
    for person, rows in lists.items():
        assert {row.key for row in listed({person: rows})} <= there


def test_decisions_about_other_lists_reconcile_nothing() -> None:
    before, now = listed({"one": [("Bo", "a")]}), listed({"one": [("Bo", "a"), ("Bo", "b")]})
    done: Any = {"beliefs": SimpleNamespace(verdict=fingerprint(before), reason="x")}
    assert is_reconciled(LISTS, before, done)
    assert not is_reconciled(LISTS, now, done)


def test_overlap_is_the_share_of_rows_without_a_remark() -> None:
    """OmniToM: 360 of 430 reviewed beliefs, 83.72 %."""
    fates = [Change.KEPT] * 360 + [Change.REVISED] * 30 + [Change.ADDED] * 25 + [Change.LEFT_OUT] * 15
    rows = [
        Answered(f"s{number % 21}", Scored(str(number), fate, 2, "stories"), {"a": "x"}, f"s{number % 21}")
        for number, fate in enumerate(fates)
    ]
    found = extraction(rows)["all"]
    assert (found["rows"], found["stories"]) == (430, 21)
    assert round(100 * found["share"], 2) == 83.72


@pytest.fixture
def story(db: None) -> Story:
    """A story with the lists of two people, who have two rows each and one in common."""
    return listed_twice()


@built_once
def listed_twice() -> Story:
    stories = [{"story_id": "s", "story": "Bo sees it."}, {"story_id": "t", "story": "Bo hears it."}]
    study = builders.make_study("lists", protocol="belief-extraction", stories=stories, votes_per_story=2)
    for place, person in enumerate(builders.qualified(study, 2)):
        held = builders.claim(person)
        form = {"actor.01": "Bo", "belief.01": "It is here", "actor.02": "World", "belief.02": f"Row {place}"}
        actions.record_vote(assignment_id=held.pk, enrollment=person, submitted=form, now=timezone.now())
    found = Story.objects.get(study=study, has_free_slot=False)
    return Story.objects.select_related("study").get(pk=found.pk)


def table(story: Story) -> list[Any]:
    rows = listed_rows(LISTS, lists_of([story.pk])[story.pk])
    decided = {one.field: one for one in story.adjudications.standing()}
    return reconciled_rows(LISTS, rows, decided)


def reconcile(
    story: Story, changed: dict[int, EditedRow] | None = None, *more: EditedRow, **given: Any
) -> None:
    rows = [EditedRow(row.key, row.words, row.change is Change.LEFT_OUT, row.remark) for row in table(story)]
    for place, row in (changed or {}).items():
        rows[place] = EditedRow(rows[place].key, row.words or rows[place].words, row.left_out, row.remark)
    settings: dict[str, Any] = {"reason": "Together.", "by": None, "now": timezone.now(), **given}
    actions.reconcile(story=story, rows=[*rows, *more], **settings)


def test_words_are_stored_as_words(story: Story) -> None:
    answers = Answer.objects.filter(vote__assignment__story=story)
    assert {(answer.option, bool(answer.words)) for answer in answers} == {("", True)}
    assert not broken("votes")


def test_a_table_is_reconciled_again_and_back(story: Story) -> None:
    reconcile(
        story, {1: EditedRow("", (), True, "No reason.")}, EditedRow("", ("Bo", "New."), remark="Missing.")
    )
    assert [row.change for row in table(story)] == ["kept", "left out", "kept", "added"]
    stored = Adjudication.objects.count()
    reconcile(story)
    assert Adjudication.objects.count() == stored + 1  # that it was done again
    reconcile(story, {1: EditedRow("", (), False, ""), 3: EditedRow("", (), True, "After all.")})
    assert [row.change for row in table(story)] == ["kept", "kept", "kept", "left out"]
    better = EditedRow("", ("Bo", "It is there"), remark="Better.")
    reconcile(story, {0: better}, EditedRow("", ("Bo", "Two."), remark="More."))
    first = table(story)[0]
    assert (first.change, first.remark, first.words) == ("revised", "Better.", better.words)
    assert table(story)[-1].words == ("Bo", "Two.")


def test_what_cannot_stand_is_refused_and_nothing_is_stored(subtests: pytest.Subtests, story: Story) -> None:
    for row, told in [
        (EditedRow("", ("Bo", "Other words")), "write a remark"),
        (EditedRow("", (), True), "write a remark"),
        (EditedRow("", (), remark="Fine."), "has a remark, but no change"),
        (EditedRow("", ("Bo", " "), remark="x"), "no answer to “Belief”"),
        (EditedRow("", ("Bo", "x" * 301), remark="x"), "shorten"),
    ]:
        with subtests.test(str(row)):
            with pytest.raises(InvalidInput, match=told):
                reconcile(story, {1: row})
            assert not Adjudication.objects.exists()


def test_who_decides_says_how_and_has_seen_the_newest(story: Story) -> None:
    with pytest.raises(ReasonMissing):
        reconcile(story, reason=" ")
    with pytest.raises(ChangedMeanwhile, match="lists of this story changed"):
        reconcile(story, None, EditedRow("0123456789ab", ("Bo", "x"), remark="x"))
    with pytest.raises(ChangedMeanwhile):
        actions.reconcile(story=story, rows=[], reason="x", by=None, now=timezone.now())
    reconcile(story, seen=0)
    with pytest.raises(ChangedMeanwhile):
        reconcile(story, seen=0)


def test_a_story_with_a_vote_to_come_is_not_reconciled(story: Story) -> None:
    """Somebody holds its last slot: no slot is free, but a vote is missing."""
    study = story.study
    other = Story.objects.exclude(pk=story.pk).select_related("study").get()
    first, second = builders.qualified(study, 2)
    held = builders.claim(first)
    form = {"actor.01": "Bo", "belief.01": "It is here"}
    actions.record_vote(assignment_id=held.pk, enrollment=first, submitted=form, now=timezone.now())
    builders.claim(second)
    other.refresh_from_db()
    assert not other.has_free_slot
    with pytest.raises(WrongState, match="lacks votes"):
        actions.reconcile(story=other, rows=[], reason="x", by=None, now=timezone.now())


def test_the_keys_of_rows_stay_what_they_are() -> None:
    """They are in releases, and stored decisions name them."""
    (row,) = listed({"one": [("Mira", "The kite  leans against the shed.")]})
    assert row.key == KEY
    assert listed({"one": [("MIRA", "the kite leans against the shed .")]})[0].key == KEY
    assert listed({"one": [("Zoe\u0301", "x")]})[0].key != listed({"one": [("Zoe", "x")]})[0].key


def test_unchanged_words_are_not_read_again(story: Story) -> None:
    """An address that is taken out may leave other words than were written."""
    reconcile(story)
    before = [row.words for row in table(story)]
    reconcile(story, {0: EditedRow("", ("Bo", "Ask bo@example.org"), remark="See al@example.org\x00")})
    assert table(story)[0].words == ("Bo", "Ask [removed]")
    assert table(story)[0].remark == "See [removed]"
    assert [row.words for row in table(story)][1:] == before[1:]
