"""Experts decide the labels on which the participants' answers have no majority; a release follows them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.html import escape

from accounts.models import User
from annotation import actions
from annotation.errors import WrongState
from annotation.models import Adjudication, Event, Membership, Story, Study, Vote
from annotation.protocols.questions import field_name
from publishing.comparison.changes import REASONS
from publishing.verification import check_release
from tests import builders
from tests.crowd.test_label_tables import rows, tampered
from tests.dashboard.worlds import split_over_labels
from tests.publishing.support import published
from tests.publishing.test_reimport import broken_promises, imported

pytestmark = pytest.mark.django_db(transaction=True)

SPLIT, OTHER = "content.b1", "order.b1"


@pytest.fixture
def study(settings: Any, tmp_path: Path) -> Study:
    """Three people answer everything as suggested, but each another content for the first belief."""
    settings.RELEASES_ROOT = tmp_path / "releases"
    return split_over_labels("labels", SPLIT)


@pytest.fixture
def expert(client: Client, study: Study) -> Client:
    user = User.objects.create_user("rosa", password=None)
    actions.set_role(study=study, user=user, role=Membership.Role.REVIEWER, by=None, now=timezone.now())
    client.force_login(user)
    return client


def decided(client: Client, study: Study, story: Story, **form: str) -> str:
    here = f"/studies/{study.slug}/quality/decisions/of/{story.story_id}/"
    newest = Adjudication.objects.filter(story=story).order_by("pk").last()
    shown = {"seen": str(newest.pk if newest else 0), "reason": "The story names the place."}
    return client.post(here, shown | form, follow=True).content.decode()


def labels(place: Path) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["story_id"], row["labelled"]): row for row in rows(place, "annotations/labels.jsonl")}


def test_an_expert_decides_undecided_labels_and_releases_follow(
    expert: Client, study: Study, tmp_path: Path
) -> None:
    before = published(study).directory
    first, second, *_ = Story.objects.filter(study=study, role=Story.Role.MAIN).order_by("story_id")

    queue = f"/studies/{study.slug}/quality/decisions/next/?queue=undecided"
    page = expert.get(queue, follow=True).content.decode()
    assert f'name="{SPLIT}"' in page
    assert f'name="{OTHER}"' not in page, "more than half agree on it"
    assert page.count("(1 vote)") == 3
    said = decided(expert, study, first, **{SPLIT: "location"})
    assert "Saved beside the votes" in said
    assert f"/of/{second.story_id}/" in expert.get(queue).headers["Location"], "the first is done"
    listed = expert.get(f"/studies/{study.slug}/quality/decisions/").content.decode()
    assert "The story names the place." in listed
    assert (
        expert.get(f"/studies/{study.slug}/quality/decisions.csv").getvalue().decode().splitlines()[1]
        == f"{first.story_id},{SPLIT},location,1,3,location,The story names the place.,rosa,"
        + Adjudication.objects.get().at.isoformat()
    )
    event = Event.objects.get(type=Event.Type.STORY_ADJUDICATED)
    assert event.note == f"{SPLIT}: location, {first.story_id}. The story names the place."

    after = published(study).directory
    report = check_release(after)
    assert report.is_sound, report.shown
    was, now = labels(before), labels(after)
    changed = {where for where in now if was[where] != now[where]}
    assert changed == {(first.story_id, SPLIT)}
    row = now[first.story_id, SPLIT]
    assert (row["label"], row["decided_by"], row["agreeing"]) == ("location", "expert", 1)
    assert now[second.story_id, SPLIT]["label"] is None
    assert now[second.story_id, SPLIT]["decided_by"] is None
    assert now[first.story_id, OTHER]["decided_by"] == "votes"
    (told,) = rows(after, "annotations/adjudications.jsonl")
    assert (told["labelled"], told["option"]) == (SPLIT, "location")
    (change,) = rows(after, "changes.jsonl")
    assert (change["story_id"], change["because"]) == (first.story_id, ["expert"])
    assert "expert" in REASONS

    copy, _ = imported(after, "copy", "--with-votes")
    again = Adjudication.objects.get(story__study=copy)
    assert (again.story.story_id, again.verdict) == (first.story_id, "location")
    assert broken_promises() == []


def test_the_newest_decision_stands_and_one_that_saw_less_is_refused(expert: Client, study: Study) -> None:
    story = Story.objects.filter(study=study, role=Story.Role.MAIN).order_by("story_id")[0]
    decided(expert, study, story, **{SPLIT: "location"})
    late = decided(expert, study, story, seen="0", **{SPLIT: "state"})
    assert "Somebody else decided" in late
    decided(expert, study, story, **{SPLIT: "state"})
    assert [one.verdict for one in Adjudication.objects.order_by("pk")] == ["location", "state"]
    shown = expert.get(f"/studies/{study.slug}/stories/{story.story_id}/").content.decode()
    assert "<strong>Contents or state</strong>" in shown


def test_what_cannot_be_decided_says_why_and_keeps_what_was_chosen(expert: Client, study: Study) -> None:
    story = Story.objects.filter(study=study, role=Story.Role.MAIN)[0]
    for form, told, kept in (
        ({}, "Choose an answer for at least one label.", 'value="The story names the place."'),
        ({SPLIT: "nowhere"}, "is not one of the answers", 'value="The story names the place."'),
        ({SPLIT: "state", "reason": " "}, "Give a reason", '<option value="state" selected>'),
    ):
        page = decided(expert, study, story, **form)
        assert told in page
        assert kept in page
    assert not Adjudication.objects.exists()


def test_votes_that_agree_later_decide_themselves(expert: Client, study: Study) -> None:
    """An expert's word fills what the votes leave open. It never overrules more than half of them."""
    story = Story.objects.filter(study=study, role=Story.Role.MAIN).order_by("story_id")[0]
    decided(expert, study, story, **{SPLIT: "trait"})
    votes = Vote.objects.filter(assignment__story=story).order_by("pk")[:2]
    first, second = ({field_name(a.question, a.row): a.option for a in vote.answers.all()} for vote in votes)
    actions.change_vote(
        assignment_id=votes[1].assignment_id,
        enrollment=votes[1].assignment.enrollment,
        submitted=second | {SPLIT: first[SPLIT]},
        now=timezone.now(),
    )
    place = published(study).directory
    row = labels(place)[story.story_id, SPLIT]
    assert (row["label"], row["decided_by"]) == (first[SPLIT], "votes")
    page = expert.get(f"/studies/{study.slug}/quality/decisions/").content.decode()
    assert "the votes decide now" in page
    assert check_release(place).is_sound


def test_experts_decide_about_labels_or_about_stories_never_both(expert: Client, study: Study) -> None:
    """A decision of the other kind would stand in the files of every later release."""
    story = Story.objects.filter(study=study, role=Story.Role.MAIN).order_by("story_id")[0]
    form = {"story": story.story_id, f"seen-{story.story_id}": "0", "decision": "valid", "reason": "Good."}
    expert.post(f"/studies/{study.slug}/stories/", form)
    with pytest.raises(WrongState, match="rows of these stories"):
        actions.adjudicate(
            story=story, verdict=Adjudication.Verdict.VALID, reason="Good.", by=None, now=timezone.now()
        )
    other = builders.make_study("validity").stories.main()[0]
    with pytest.raises(WrongState, match="whole stories"):
        actions.adjudicate_labels(
            story=other, chosen={"q1": "yes"}, reason="Good.", by=None, now=timezone.now()
        )
    assert not Adjudication.objects.exists()
    with pytest.raises(IntegrityError, match="adjudication_is_of_a_story_or_a_label"), transaction.atomic():
        Adjudication.objects.create(story=story, verdict="location", reason="x", at=timezone.now())
    queue = expert.get(f"/studies/{study.slug}/quality/decisions/next/?queue=split")
    assert queue.headers["Location"] == f"/studies/{study.slug}/quality/decisions/"


def test_labels_of_a_story_that_lacks_votes_are_open(expert: Client, study: Study) -> None:
    story = Story.objects.filter(study=study, role=Story.Role.MAIN).order_by("story_id")[0]
    here = f"/studies/{study.slug}/stories/{story.story_id}/"
    decided(expert, study, story, **{SPLIT: "location"})
    before = expert.get(here).content.decode()
    assert "<strong>Location</strong>" in before
    assert "by an expert" in before
    belief = study.protocol.parse(story.content).rows[0].label
    assert before.count(escape(belief)) == 1, "one heading for its seven labels"
    taken = Vote.objects.filter(assignment__story=story)[0].assignment
    actions.exclude_vote(assignment=taken, reason="careless", by=None, now=timezone.now())
    page = decided(expert, study, story, **{SPLIT: "location"})
    assert page.count("This story lacks votes, which may still decide its labels.") == 2
    assert Adjudication.objects.count() == 1
    assert "<strong>Location</strong>" not in expert.get(here).content.decode()


def test_pages_of_decisions_ask_no_more_with_more_decisions(expert: Client, study: Study) -> None:
    first, second = Story.objects.filter(study=study, role=Story.Role.MAIN).order_by("story_id")
    pages = [f"/studies/{study.slug}/quality/decisions/{end}" for end in ("", f"of/{first.story_id}/")]
    decided(expert, study, first, **{SPLIT: "state"})
    counted = []
    for _ in range(2):
        with CaptureQueriesContext(connection) as queries:
            for page in pages:
                assert expert.get(page).status_code == 200
        counted.append(len(queries))
        decided(expert, study, second, **{SPLIT: "location"})
    assert counted[0] == counted[1]


def test_a_decision_that_was_changed_in_a_release_is_found(study: Study) -> None:
    story = Story.objects.filter(study=study, role=Story.Role.MAIN).order_by("story_id")[0]
    actions.adjudicate_labels(story=story, chosen={SPLIT: "state"}, reason="So.", by=None, now=timezone.now())
    place = published(study).directory
    for was, now, said in (
        (b'"content.b1"', b'"content.b9"', "is no answer to content.b"),
        (b'"option":"state"', b'"option":"elsewhere"', "is no answer to content.b"),
        (b'"option":"state"', b'"option":"location"', "does not follow from its votes and experts"),
    ):
        told = tampered(place, "annotations/adjudications.jsonl", was, now)
        assert any(said in one for one in told), told
        tampered(place, "annotations/adjudications.jsonl", now, was)
