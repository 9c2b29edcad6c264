"""Revising a story: a new version is served, the old one to nobody, and votes stay where they were given."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from annotation import actions
from annotation.actions.alerts import note_progress
from annotation.actions.given_items import GivenRow
from annotation.errors import InvalidInput, ReasonMissing, WrongState
from annotation.models import (
    Adjudication,
    Assignment,
    Enrollment,
    Event,
    LintFinding,
    ReviewSample,
    Story,
    StoryRevision,
    Study,
    Vote,
)
from annotation.protocols import get_protocol
from annotation.rules import Reason, Refusal
from recruitment.places import places_of
from recruitment.reconciliation.queries import done_with_stories
from tests import builders
from tests.annotation.invariants import broken

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


def test_a_new_version_is_served_in_place_of_the_old_one() -> None:
    study = inspected()
    one, other = builders.qualified(study, 2)
    old = first(study)
    given = vote(holding(one, old))
    new = revise(old)
    old.refresh_from_db()
    assert (new.story_id, new.core_id, new.content["narrative"]) == ("narrative-1.r2", old.core_id, TEXT)
    assert new.content["questions"] == old.content["questions"]
    assert (new.role, new.is_old_version, new.has_free_slot) == ("main", False, True)
    assert (old.role, old.is_old_version, old.has_free_slot) == ("main", True, False)
    assert new.content_hash != old.content_hash
    made = StoryRevision.objects.get()
    assert (made.before, made.after, made.reason) == (old, new, "It told too much.")
    event = Event.objects.get(type="story_revised")
    assert (event.subject, event.note) == ("narrative-1.r2", "narrative-1: It told too much.")
    assert given.assignment.story_id == old.pk
    assert served(one) | {"narrative-2"} == {"narrative-2", "narrative-1.r2"}
    assert served(other) == {"narrative-2", "narrative-1.r2"}
    assert Vote.objects.of_study(study).counted().count() == 5
    assert not broken("slots", "votes", "reviews")


def test_whoever_holds_the_old_version_may_finish_it() -> None:
    study = inspected()
    person, other = builders.qualified(study, 2)
    held = holding(person, first(study))
    new = revise(held.story)
    again = actions.assign_next_story(enrollment=person, now=timezone.now())
    assert isinstance(again, Assignment)
    assert again.pk == held.pk
    given = vote(held)
    held.refresh_from_db()
    assert (held.state, given.surplus_reason, given.assignment.story_id) == ("submitted", "", held.story_id)
    assert given in Vote.objects.of_study(study).counted()
    assert new.story_id in served(person)
    assert served(other) == {"narrative-2", "narrative-1.r2"}
    assert not broken("slots", "votes", "reviews")


def test_nobody_waits_for_a_lease_on_an_old_version() -> None:
    study = inspected()
    person, other, holder = builders.qualified(study, 3)
    held = holding(holder, first(study))
    revise(held.story)
    served(person)
    served(other)
    refusal = actions.assign_next_story(enrollment=other, now=timezone.now())
    assert isinstance(refusal, Refusal)
    assert (refusal.reason, refusal.retry_at) == (Reason.ALL_DONE, None)


def test_an_old_version_wants_no_votes() -> None:
    study = inspected()
    person, *_others = builders.qualified(study, 2)
    vote(holding(person, first(study)))
    given = Vote.objects.of_study(study).count()
    before = places_of(study)
    revise(first(study))
    after = places_of(study)
    assert (before.wanted, after.wanted) == (4, 4)
    assert (before.given, after.given) == (given, given - 1)
    assert list(study.stories.wanted().values_list("story_id", flat=True).order_by("story_id")) == [
        "narrative-1.r2",
        "narrative-2",
    ]


def test_whoever_had_every_newest_version_is_done() -> None:
    study = inspected()
    old_hand, newcomer = builders.qualified(study, 2)
    assert served(old_hand) == {"narrative-1", "narrative-2"}
    revise(first(study))
    assert served(old_hand) == {"narrative-1.r2"}
    assert served(newcomer) == {"narrative-1.r2", "narrative-2"}
    assert set(done_with_stories(study)) == {old_hand, newcomer}


def test_a_study_is_complete_when_the_newest_versions_are() -> None:
    study = inspected(votes_per_story=1)
    person, holder = builders.qualified(study, 2)
    held = holding(holder, first(study))
    revise(held.story)
    served(person)
    event = note_progress(study=study, now=timezone.now())
    assert event
    assert event.type == "study_completed"


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
        actions.exclude_annotator(
            enrollment=person, reason="random", shown_reason="Thanks.", by=None, now=now
        )
    held.story.refresh_from_db()
    assert (held.story.is_old_version, held.story.has_free_slot) == (True, False)
    assert "narrative-1" not in served(other)
    assert not broken("slots", "votes", "reviews")


def test_an_objection_that_led_to_a_revision_is_not_conspicuous() -> None:
    study = inspected()
    (person,) = builders.qualified(study, 1)
    held = holding(person, first(study))
    objected = FINE | {"open": "no", "open-change": "Leave the entrance out."}
    now = held.served_at + timedelta(minutes=1)
    actions.record_vote(assignment_id=held.pk, enrollment=person, submitted=objected, now=now)
    revise(held.story)
    sizes: dict[str, Any] = {"people": 1, "per_person": 9, "seed": 1, "by": None, "now": now}
    with pytest.raises(WrongState, match="No more answers match"):
        actions.draw_sample(study=study, kind=ReviewSample.Kind.FLAGGED, **sizes)


def test_a_study_with_a_design_keeps_its_stories() -> None:
    study = builders.make_study(protocol="inspection", stories=ROWS, votes_per_story=1, opened=False)
    actions.set_design(study=study, by_column="group", load={"shop": 2}, by=None, now=timezone.now())
    study = actions.open_study(study=study, by=None, now=timezone.now())
    with pytest.raises(WrongState, match="has a design"):
        revise(first(study))


def test_a_story_given_by_name_is_taken_back_before_it_is_revised() -> None:
    study = inspected()
    (person,) = builders.qualified(study, 1)
    row = GivenRow(1, "narrative-1", person.pseudonym)
    actions.give_items(study=study, rows=[row], by=None, now=timezone.now())
    with pytest.raises(WrongState, match="by name"):
        revise(first(study))
    actions.take_items_back(enrollment=person, by=None, now=timezone.now())
    revise(first(study))
    with pytest.raises(InvalidInput, match=r"was revised\. Give “narrative-1\.r2”"):
        actions.give_items(study=study, rows=[row], by=None, now=timezone.now())


def test_versions_are_numbered_and_only_the_newest_is_revised() -> None:
    study = inspected()
    second = revise(first(study))
    third = revise(second, TEXT + " Then it rains.")
    assert third.story_id == "narrative-1.r3"
    with pytest.raises(WrongState, match="newest version"):
        revise(first(study), "Another text.")
    assert study.stories.wanted().count() == 2


def test_the_same_revision_again_is_the_same_version() -> None:
    study = inspected()
    new = revise(first(study))
    assert revise(first(study)) == new
    assert StoryRevision.objects.count() == 1


def test_a_new_version_is_linted_like_an_import() -> None:
    study = inspected()
    asks = "Lina will turn to the entrance when it rains, and it is the entrance by the curtain."
    new = revise(first(study), asks)
    assert {found.code for found in LintFinding.objects.filter(story=new)} == {"question_overlap"}


def test_texts_that_do_not_fit_are_refused() -> None:
    story = first(inspected())
    for text, told in (
        (ROWS[0]["narrative"], "the same as the old one"),
        ("  " + ROWS[0]["narrative"].replace(" ", "  ", 1) + " \n", "the same as the old one"),
        ("", "empty"),
        ("A <b>story</b>.", "<b>"),
        ("a" * 10_001, "10,000"),
    ):
        with pytest.raises(InvalidInput, match=told):
            revise(story, text)
    assert not StoryRevision.objects.exists()


def test_a_text_that_the_study_has_already_is_refused() -> None:
    rows = [ROWS[0], {**ROWS[0], "story_id": "other", "narrative": TEXT}]
    study = builders.make_study(protocol="inspection", stories=rows)
    with pytest.raises(InvalidInput, match="already"):
        revise(first(study))


def test_a_reason_is_needed() -> None:
    story = first(inspected())
    for reason in ("  ", "x" * 1001):
        with pytest.raises(ReasonMissing):
            revise(story, reason=reason)


def test_what_is_closed_or_of_another_kind_is_refused() -> None:
    study = inspected()
    actions.close_study(study=study, by=None, now=timezone.now())
    with pytest.raises(WrongState, match="open or paused"):
        revise(first(study))
    other = builders.make_study("other")
    with pytest.raises(WrongState, match="cannot be revised"):
        revise(other.stories.first(), "Any text.")  # type: ignore[arg-type]


def test_the_database_keeps_the_old_version_out_of_serving_for_good() -> None:
    old = first(inspected())
    revise(old)
    for change in ({"has_free_slot": True}, {"is_old_version": False}, {"role": "check"}):
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


def test_nobody_decides_about_an_old_version() -> None:
    study = inspected()
    old = first(study)
    new = revise(old)
    told: dict[str, Any] = {"verdict": Adjudication.Verdict.VALID, "reason": "Fine.", "by": None}
    with pytest.raises(WrongState, match="newest version"):
        actions.adjudicate(story=old, now=timezone.now(), **told)
    assert actions.adjudicate(story=new, now=timezone.now(), **told).story == new
