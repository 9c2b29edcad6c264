"""Revising a story: a new version is served, the old one to nobody, and votes stay where they were given."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from annotation import actions
from annotation.errors import InvalidInput, ReasonMissing, WrongState
from annotation.models import Assignment, Enrollment, Event, LintFinding, Story, StoryRevision, Study, Vote
from annotation.protocols import get_protocol
from integrity.catalogue import CHECKS, run
from tests import builders

pytestmark = pytest.mark.django_db

ROWS = [json.loads(line) for line in get_protocol("inspection").example.splitlines()]
FINE = {"open": "yes", "sense": "yes", "apart": "yes"}
TEXT = "Lina leaves her umbrella by the entrance. Otto hangs it behind the curtain while she pays."
State = Assignment.State


def inspected(**settings: Any) -> Study:
    return builders.make_study(protocol="inspection", stories=ROWS, **({"votes_per_story": 2} | settings))


def revise(story: Story, text: str = TEXT, reason: str = "It told too much.") -> Story:
    return actions.revise_story(
        story=story, texts={"narrative": text}, reason=reason, by=None, now=timezone.now()
    )


def first(study: Study) -> Story:
    return Story.objects.get(study=study, story_id="narrative-1")


def vote(held: Assignment) -> Vote:
    return actions.record_vote(
        assignment_id=held.pk, enrollment=held.enrollment, submitted=FINE, now=timezone.now()
    ).vote


def holding(person: Enrollment, story: Story) -> Assignment:
    """The person's lease on this story; others that come first are answered."""
    while (held := builders.claim(person)).story_id != story.pk:
        vote(held)
    return held


def served(person: Enrollment) -> set[str]:
    """The stories that the person still gets; each is answered."""
    found = set()
    while isinstance(held := actions.assign_next_story(enrollment=person, now=timezone.now()), Assignment):
        vote(held)
        found.add(held.story.story_id)
    return found


def broken() -> set[str]:
    return {outcome.check.name for outcome in run(CHECKS) if not outcome.holds}


def test_a_new_version_is_served_in_place_of_the_old_one() -> None:
    study = inspected()
    one, other = builders.qualified(study, 2)
    old = first(study)
    given = vote(holding(one, old))
    new = revise(old)
    old.refresh_from_db()
    assert (new.story_id, new.core_id, new.content["narrative"]) == ("narrative-1.r2", old.core_id, TEXT)
    assert new.content["questions"] == old.content["questions"]
    assert (new.role, new.has_free_slot, old.role, old.has_free_slot) == ("main", True, "revised", False)
    assert new.content_hash != old.content_hash
    made = StoryRevision.objects.get()
    assert (made.before, made.after, made.reason) == (old, new, "It told too much.")
    event = Event.objects.get(type="story_revised")
    assert (event.subject, event.note) == ("narrative-1.r2", "narrative-1: It told too much.")
    assert given.assignment.story_id == old.pk
    assert served(one) | {"narrative-2"} == {"narrative-2", "narrative-1.r2"}
    assert served(other) == {"narrative-2", "narrative-1.r2"}
    assert Vote.objects.of_study(study).counted().count() == 4
    assert broken() == set()


def test_whoever_holds_the_old_version_gets_another_story_and_their_answer_is_stored() -> None:
    study = inspected()
    (person,) = builders.qualified(study, 1)
    held = holding(person, first(study))
    revise(held.story)
    again = actions.assign_next_story(enrollment=person, now=timezone.now())
    assert isinstance(again, Assignment)
    assert again.story_id != held.story_id
    late = vote(held)
    held.refresh_from_db()
    assert (held.state, late.surplus_reason, late.assignment.story_id) == ("submitted", "", held.story_id)
    assert late not in Vote.objects.of_study(study)
    assert late in Vote.objects.of_study(study, with_old_versions=True)
    assert broken() == set()


@pytest.mark.parametrize("end", ["expires", "given back", "skipped", "excluded"])
def test_a_slot_that_becomes_free_does_not_serve_the_old_version_again(end: str) -> None:
    study = inspected(lease_minutes=5)
    person, other = builders.qualified(study, 2)
    held = holding(person, first(study))
    if end == "excluded":
        vote(held)
    revise(held.story)
    now = timezone.now()
    if end == "expires":
        actions.release_expired_leases(now=now + study.lease * 2)
    elif end == "given back":
        actions.give_back_story(enrollment=person, assignment_id=held.pk)
    elif end == "skipped":
        actions.skip_story(assignment_id=held.pk, enrollment=person, reason="unclear", now=now)
    else:
        actions.exclude_annotator(enrollment=person, reason="random", told="Thanks.", by=None, now=now)
    held.story.refresh_from_db()
    assert (held.story.role, held.story.has_free_slot) == ("revised", False)
    assert "narrative-1" not in served(other)
    assert broken() == set()


def test_a_set_that_was_reserved_gets_the_new_version() -> None:
    rows = [
        {**row, "story_id": f"{row['story_id']}-{n}", "narrative": f"{row['narrative']} Day {n} ends."}
        for n in range(2)
        for row in ROWS
    ]
    study = builders.make_study(protocol="inspection", stories=rows, votes_per_story=1, opened=False)
    actions.set_design(study=study, by_column="group", load={"shop": 4}, by=None, now=timezone.now())
    study = actions.open_study(study=study, by=None, now=timezone.now())
    (person,) = builders.qualified(study, 1)
    held = builders.claim(person)
    waiting = Assignment.objects.filter(enrollment=person, state=State.RESERVED).first()
    assert waiting
    old = waiting.story
    revise(old)
    vote(held)
    found = served(person)
    assert f"{old.story_id}.r2" in found
    assert old.story_id not in found
    assert len(found) == 3
    assert broken() == set()


def test_versions_are_numbered_and_only_the_newest_is_revised() -> None:
    study = inspected()
    second = revise(first(study))
    third = revise(second, TEXT + " Then it rains.")
    assert third.story_id == "narrative-1.r3"
    with pytest.raises(WrongState, match="newest version"):
        revise(first(study), "Another text.")
    assert study.stories.main().count() == 2


def test_a_new_version_is_linted_like_an_import() -> None:
    study = inspected()
    asks = "Lina will turn to the entrance when it rains, and it is the entrance by the curtain."
    new = revise(first(study), asks)
    assert {found.code for found in LintFinding.objects.filter(story=new)} == {"question_overlap"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (ROWS[0]["narrative"], "the same as the old one"),
        (" \n" + ROWS[0]["narrative"] + "  ", "the same as the old one"),
        ("", "empty"),
        ("A <b>story</b>.", "<b>"),
        ("a" * 10_001, "10,000"),
    ],
)
def test_texts_that_do_not_fit_are_refused(text: str, told: str) -> None:
    study = inspected()
    with pytest.raises(InvalidInput, match=told):
        revise(first(study), text)
    assert not StoryRevision.objects.exists()


def test_a_text_that_the_study_has_already_is_refused() -> None:
    rows = [ROWS[0], {**ROWS[0], "story_id": "other", "narrative": TEXT}]
    study = builders.make_study(protocol="inspection", stories=rows)
    with pytest.raises(InvalidInput, match="already"):
        revise(first(study))


@pytest.mark.parametrize("reason", ["", "  ", "x" * 1001])
def test_a_reason_is_needed(reason: str) -> None:
    with pytest.raises(ReasonMissing):
        revise(first(inspected()), reason=reason)


def test_what_is_closed_released_or_of_another_kind_is_refused() -> None:
    study = inspected()
    (person,) = builders.qualified(study, 1)
    vote(holding(person, first(study)))
    actions.freeze_answers(study=study, now=timezone.now())
    with pytest.raises(WrongState, match="in a release"):
        revise(first(study))
    actions.thaw_answers(study=study, until=None, now=timezone.now())
    actions.close_study(study=study, by=None, now=timezone.now())
    with pytest.raises(WrongState, match="closed"):
        revise(first(study))
    other = builders.make_study("other")
    with pytest.raises(WrongState, match="cannot be revised"):
        revise(other.stories.first(), "Any text.")  # type: ignore[arg-type]


def test_the_database_keeps_the_old_version_out_of_serving_for_good() -> None:
    old = first(inspected())
    revise(old)
    for change in ({"has_free_slot": True}, {"role": "main"}, {"role": "check"}):
        with pytest.raises(DatabaseError), transaction.atomic():
            Story.objects.filter(pk=old.pk).update(**change)
    with pytest.raises(DatabaseError), transaction.atomic():
        StoryRevision.objects.update(reason="another")
    with pytest.raises(DatabaseError), transaction.atomic():
        StoryRevision.objects.all().delete()


def test_a_file_is_imported_again_after_a_revision() -> None:
    study = inspected()
    revise(first(study))
    builders.import_rows(study, ROWS)
    assert study.stories.count() == 3
