"""Changing answers, publishing them, leaving, being forgotten: what the actions promise."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import Annotator, Environment, PlatformIdentity
from annotation import actions, rules
from annotation.errors import CannotChange, NotTheirs, WrongState
from annotation.models import Answer, Assignment, Enrollment, Event, Story, Study, SurplusReason, Vote
from annotation.protocols.base import IncompleteForm
from annotation.rules import NoChange, Reason, Refusal
from integrity.catalogue import CHECKS, run
from publishing import queries
from publishing.actions import releases as publishing_actions
from publishing.models import Release
from tests import builders
from tests.publishing.support import verdict_counts

pytestmark = pytest.mark.django_db

BEGAN = timezone.now() - timedelta(hours=5)
SECONDS = 40
ANSWERED = BEGAN + timedelta(seconds=SECONDS)
LATER = BEGAN + timedelta(hours=2)
NO = builders.answers(q2="no", q4="no")


def answered(study: Study, submitted: dict[str, str] = builders.ALL_YES) -> tuple[Enrollment, Vote]:
    """Somebody who was given a story at BEGAN and answered it SECONDS later."""
    (person,) = builders.qualified(study, now=BEGAN)
    assignment = builders.claim(person, now=BEGAN)
    receipt = actions.record_vote(
        assignment_id=assignment.pk, enrollment=person, submitted=submitted, now=ANSWERED
    )
    person.refresh_from_db()
    return person, receipt.vote


def change(person: Enrollment, vote: Vote, submitted: dict[str, str] = NO, *, now: datetime = LATER) -> Vote:
    return actions.change_vote(
        assignment_id=vote.assignment_id, enrollment=person, submitted=submitted, now=now
    )


def given(vote: Vote) -> dict[str, str]:
    return dict(vote.answers.values_list("question", "option"))


def rows(table: str) -> list[str]:
    """Every row of a table as PostgreSQL writes it."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT t::text FROM {table} t ORDER BY id")  # noqa: S608
        return [row for (row,) in cursor.fetchall()]


@contextmanager
def nothing_stored() -> Iterator[None]:
    tables = (Vote, Answer, Event, Assignment, Enrollment, Study, Story)
    names = [model._meta.db_table for model in tables]
    before = {name: rows(name) for name in names}
    yield
    assert {name: rows(name) for name in names} == before


def everything_holds() -> bool:
    return all(outcome.holds for outcome in run(CHECKS))


def outcome(study: Study) -> tuple[int, int, dict[str, int]]:
    counts = verdict_counts(study)
    return counts.kept, counts.dropped, counts.dropped_by_question


@pytest.fixture
def study() -> Study:
    return builders.make_study(stories=3, votes_per_story=1, now=BEGAN)


# Changing


def test_a_change_is_a_new_revision_and_the_old_one_stays_byte_for_byte(study: Study) -> None:
    person, first = answered(study)
    unchanged = ("annotation_vote", "annotation_answer", "annotation_assignment", "annotation_enrollment")
    before = {table: rows(table) for table in unchanged}

    second = change(person, first)

    assert given(first) == builders.ALL_YES
    assert given(second) == NO
    assert second.answers.filter(counts_against=True).count() == 2
    assert rows("annotation_vote")[:1] == before["annotation_vote"]
    assert rows("annotation_answer")[:4] == before["annotation_answer"]
    assert rows("annotation_assignment") == before["annotation_assignment"]
    assert rows("annotation_enrollment") == before["annotation_enrollment"]
    assert everything_holds()


def test_a_revision_keeps_the_context_of_the_first_answer(study: Study) -> None:
    person, first = answered(study)

    second = change(person, first)
    second.refresh_from_db()

    assert (second.revision, second.assignment_id) == (2, first.assignment_id)
    assert second.submitted_at == LATER
    assert second.first_submitted_at == first.first_submitted_at == ANSWERED
    assert second.seconds_on_task == first.seconds_on_task == SECONDS
    for field in ("served_at", "order_position", "story_hash", "protocol_version", "environment"):
        assert getattr(second, field) == getattr(first, field)


def test_a_change_is_in_the_log_and_credits_nothing(study: Study) -> None:
    person, first = answered(study)

    second = change(person, first)

    event = Event.objects.get(type=Event.Type.VOTE_CHANGED)
    assert (event.study, event.enrollment, event.at) == (study, person, LATER)
    assert (event.subject, event.note) == (f"vote {second.pk}", f"instead of vote {first.pk}")
    person.refresh_from_db()
    assert (person.stories_submitted, person.last_submitted_at) == (1, ANSWERED)


def test_the_newest_revision_decides_about_the_story(study: Study) -> None:
    person, first = answered(study)
    assert outcome(study) == (1, 0, {})

    second = change(person, first)
    assert outcome(study) == (0, 1, {"q2": 1, "q4": 1})
    assert list(Vote.objects.counted()) == [second]

    third = change(person, first, builders.ALL_YES)
    assert (third.revision, outcome(study)) == (3, (1, 0, {}))
    assert list(Vote.objects.counted()) == [third]
    assert [vote.revision for vote in Vote.objects.order_by("pk")] == [1, 2, 3]
    assert everything_holds()


def test_sending_the_same_answers_stores_nothing(study: Study) -> None:
    person, first = answered(study)
    second = change(person, first)

    with nothing_stored():
        assert change(person, first, NO | {"unasked": "yes"}) == second


def test_an_incomplete_form_stores_nothing(study: Study) -> None:
    person, first = answered(study)

    with nothing_stored(), pytest.raises(IncompleteForm) as error:
        change(person, first, {"q1": "no", "q2": "perhaps", "q3": "no"})

    assert set(error.value.errors) == {"q2", "q4"}


def test_a_late_vote_stays_surplus_when_it_is_changed(study: Study) -> None:
    leaver, *others = builders.qualified(study, 2, now=BEGAN)
    assignment = builders.claim(leaver, now=BEGAN)
    while Vote.objects.filter(assignment__story=assignment.story).count() == 0:
        builders.vote(others[0], now=LATER)
    receipt = actions.record_vote(
        assignment_id=assignment.pk, enrollment=leaver, submitted=builders.ALL_YES, now=LATER
    )
    assert receipt.vote.surplus_reason == SurplusReason.LATE
    before = outcome(study)

    second = change(leaver, receipt.vote)

    assert (second.revision, second.surplus_reason) == (2, SurplusReason.LATE)
    assert outcome(study) == before
    assert everything_holds()


def test_a_vote_given_while_suspended_stays_surplus_after_the_suspension(study: Study) -> None:
    (person,) = builders.qualified(study, now=BEGAN)
    assignment = builders.claim(person, now=BEGAN)
    actions.suspend(enrollment=person, by=None, now=BEGAN, reason="too fast")
    receipt = actions.record_vote(
        assignment_id=assignment.pk, enrollment=person, submitted=builders.ALL_YES, now=ANSWERED
    )
    actions.reinstate(enrollment=person, by=None, now=ANSWERED, reason="a mistake")

    assert change(person, receipt.vote).surplus_reason == SurplusReason.NOT_QUALIFIED
    assert outcome(study) == (0, 0, {})


def test_a_clock_that_was_set_back_loses_no_change(study: Study) -> None:
    person, first = answered(study)

    second = change(person, first, now=BEGAN - timedelta(minutes=1))

    assert second.submitted_at == first.submitted_at
    assert list(Vote.objects.counted()) == [second]


def test_answers_may_change_while_the_study_is_paused_or_closed(study: Study) -> None:
    person, first = answered(study)
    actions.pause_study(study=study, by=None, now=LATER)
    change(person, first)
    actions.close_study(study=study, by=None, now=LATER)
    change(person, first, builders.ALL_YES)
    assert outcome(study) == (1, 0, {})


# Refusals


def _suspended(person: Enrollment) -> None:
    actions.suspend(enrollment=person, by=None, now=LATER, reason="too fast")


def _withdrawn(person: Enrollment) -> None:
    actions.withdraw(enrollment=person, now=LATER)


def _frozen(person: Enrollment) -> None:
    actions.freeze_answers(study=person.study, now=ANSWERED)


def _never(person: Enrollment) -> None:
    Study.objects.filter(pk=person.study_id).update(change_hours=0)


def _hour(person: Enrollment) -> None:
    Study.objects.filter(pk=person.study_id).update(change_hours=2)


@pytest.mark.parametrize(
    ("put", "at", "reason"),
    [
        pytest.param(_suspended, LATER, NoChange.NOT_QUALIFIED, id="suspended"),
        pytest.param(_withdrawn, LATER, NoChange.NOT_QUALIFIED, id="withdrawn"),
        pytest.param(_frozen, LATER, NoChange.PUBLISHED, id="frozen"),
        pytest.param(_frozen, ANSWERED, NoChange.PUBLISHED, id="frozen-at-that-moment"),
        pytest.param(_never, ANSWERED, NoChange.TOO_LATE, id="never"),
        pytest.param(_hour, ANSWERED + timedelta(hours=2), NoChange.TOO_LATE, id="time-over"),
    ],
)
def test_a_change_is_refused_with_its_reason(
    study: Study, put: Callable[[Enrollment], None], at: datetime, reason: NoChange
) -> None:
    person, first = answered(study)
    put(person)

    with nothing_stored(), pytest.raises(CannotChange) as error:
        change(person, first, now=at)
    assert error.value.reason == reason
    person = Enrollment.objects.select_related("study").get(pk=person.pk)
    assert actions.change_refusal(first, person, now=at) == reason


def test_the_time_for_changes_counts_from_the_first_answer(study: Study) -> None:
    person, first = answered(study)
    day = timedelta(hours=24)

    second = change(person, first, now=ANSWERED + day - timedelta(seconds=1))

    with pytest.raises(CannotChange) as error:
        change(person, second, builders.ALL_YES, now=ANSWERED + day)
    assert error.value.reason == NoChange.TOO_LATE


def test_only_ones_own_answered_stories_can_be_changed(study: Study) -> None:
    _, first = answered(study)
    (other,) = builders.qualified(study, now=BEGAN)
    unanswered = builders.claim(other, now=BEGAN)

    for assignment_id in (first.assignment_id, unanswered.pk, 0, 10**17):
        with nothing_stored(), pytest.raises(NotTheirs):
            actions.change_vote(assignment_id=assignment_id, enrollment=other, submitted=NO, now=LATER)
    assert given(Vote.objects.get()) == builders.ALL_YES


@pytest.mark.parametrize("hours", [0, 1, 24])
def test_the_rule_is_sharp_at_both_ends(hours: int) -> None:
    facts: dict[str, Any] = {
        "enrollment_state": "qualified",
        "first_submitted_at": BEGAN,
        "submitted_at": BEGAN,
        "change_hours": hours,
    }
    end = BEGAN + timedelta(hours=hours)
    moment = timedelta(microseconds=1)
    assert rules.may_change(**facts, frozen_at=None, now=end) == NoChange.TOO_LATE
    if hours:
        assert rules.may_change(**facts, frozen_at=None, now=end - moment) is None
        assert rules.may_change(**facts, frozen_at=BEGAN - moment, now=BEGAN) is None
        assert rules.may_change(**facts, frozen_at=BEGAN, now=BEGAN) == NoChange.PUBLISHED


# Freezing


def test_a_freeze_takes_in_answers_of_a_machine_whose_clock_is_ahead(study: Study) -> None:
    person, first = answered(study)

    frozen = actions.freeze_answers(study=study, now=ANSWERED - timedelta(seconds=3))

    assert frozen.answers_frozen_at == ANSWERED
    assert Event.objects.get(type=Event.Type.ANSWERS_FROZEN).at == ANSWERED
    with pytest.raises(CannotChange):
        change(person, first)


def test_a_freeze_never_moves_back(study: Study) -> None:
    actions.freeze_answers(study=study, now=LATER)

    assert actions.freeze_answers(study=study, now=BEGAN).answers_frozen_at == LATER


def test_a_freeze_leaves_other_studies_alone(study: Study) -> None:
    person, first = answered(study)
    other = builders.make_study("other", now=BEGAN)
    answered(other)

    actions.freeze_answers(study=other, now=LATER)

    assert change(person, first).revision == 2


def published(study: Study, *, now: datetime | None = None) -> Release:
    now = now or timezone.now()
    release = publishing_actions.request_release(study=study, by=None, now=now)
    publishing_actions.build_release(release_id=release.pk, now=now)
    release.refresh_from_db()
    assert release.state == Release.State.PUBLISHED, release.failure
    return release


def votes_in(release: Release) -> list[dict[str, Any]]:
    lines = (release.directory / "annotations" / "votes.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture
def releases_root(settings: Any, tmp_path: Path) -> Path:
    settings.RELEASES_ROOT = tmp_path / "releases"
    return tmp_path / "releases"


def _killed(release: Release, report: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("releases_root")
class TestPublishing:
    def test_a_change_before_the_build_is_in_the_release(self, study: Study) -> None:
        person, first = answered(study)
        builders.vote(person)
        change(person, first)

        release = published(study)

        story_id = first.assignment.story.story_id
        assert len(votes_in(release)) == 2
        (line,) = [line for line in votes_in(release) if line["story_id"] == story_id]
        assert {question: line[question] for question in NO} == NO
        assert line["seconds_on_task"] == SECONDS
        assert (release.kept, release.dropped, release.votes) == (1, 1, 2)

    def test_a_change_after_the_build_is_refused(self, study: Study) -> None:
        person, first = answered(study)
        release = published(study)
        assert Study.objects.get().answers_frozen_at is not None
        before = (release.directory / "MANIFEST").read_bytes()

        with nothing_stored(), pytest.raises(CannotChange) as error:
            change(person, first)

        assert error.value.reason == NoChange.PUBLISHED
        assert (release.directory / "MANIFEST").read_bytes() == before
        assert everything_holds()

    def test_a_release_that_fails_fixes_nothing(self, study: Study) -> None:
        person, first = answered(study, NO)
        release = publishing_actions.request_release(study=study, by=None, now=LATER)
        publishing_actions.build_release(release_id=release.pk, now=LATER)
        release.refresh_from_db()
        assert "keeps none" in release.failure

        change(person, first, builders.ALL_YES, now=LATER)

        assert published(study).kept == 1
        assert list(study.events.filter(type__startswith="answers").values_list("type", flat=True)) == [
            "answers_frozen",
            "answers_thawed",
            "answers_frozen",
        ]
        assert everything_holds()

    def test_a_release_that_fails_leaves_fixed_what_an_earlier_one_published(self, study: Study) -> None:
        person, first = answered(study)
        earlier = published(study)
        later = builders.vote(person).vote
        asked = publishing_actions.request_release(study=study, by=None, now=timezone.now())
        earlier.directory.with_name("2").write_text("in the way", encoding="utf-8")
        publishing_actions.build_release(release_id=asked.pk, now=timezone.now())
        asked.refresh_from_db()
        assert asked.state == Release.State.FAILED

        assert change(person, later, now=timezone.now()).revision == 2
        with pytest.raises(CannotChange):
            change(person, first)
        assert everything_holds()

    def test_a_build_that_was_killed_goes_on_with_the_same_answers(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        person, first = answered(study)
        release = publishing_actions.request_release(study=study, by=None, now=LATER)
        monkeypatch.setattr("publishing.actions.releases._built", _killed)
        with pytest.raises(KeyboardInterrupt):
            publishing_actions.build_release(release_id=release.pk, now=LATER)
        monkeypatch.undo()
        later = builders.vote(person).vote
        with pytest.raises(CannotChange):
            change(person, first)

        publishing_actions.build_release(release_id=release.pk, now=timezone.now())

        release.refresh_from_db()
        assert (release.state, release.votes) == (Release.State.PUBLISHED, 1)
        assert change(person, later, now=timezone.now()).revision == 2
        assert everything_holds()

    def test_asking_for_a_release_freezes_nothing_yet(self, study: Study) -> None:
        person, first = answered(study)
        publishing_actions.request_release(study=study, by=None, now=LATER)

        assert change(person, first).revision == 2

    def test_a_study_that_goes_on_can_change_what_was_answered_later(self, study: Study) -> None:
        person, first = answered(study)
        published(study)
        after = timezone.now()
        later = builders.vote(person, now=after).vote

        second = change(person, later, now=after + timedelta(minutes=1))

        assert (second.revision, given(second)) == (2, NO)
        with pytest.raises(CannotChange):
            change(person, first)
        assert everything_holds()
        release = published(study, now=after + timedelta(minutes=2))
        assert sorted(line["q2"] for line in votes_in(release)) == ["no", "yes"]
        with pytest.raises(CannotChange):
            change(person, second, builders.ALL_YES, now=after + timedelta(minutes=3))
        assert everything_holds()

    def test_a_vote_between_the_freeze_and_the_reading_waits_for_the_next_release(
        self, study: Study, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It may still change, so it must not be in this release."""
        person, _ = answered(study)
        snapshot = queries.snapshot
        late: list[Vote] = []

        @contextmanager
        def after_a_vote() -> Iterator[None]:
            late.append(builders.vote(person).vote)
            with snapshot():
                yield

        monkeypatch.setattr("publishing.actions.releases.queries.snapshot", after_a_vote)
        release = published(study)
        monkeypatch.undo()

        assert (release.votes, release.kept, release.incomplete) == (1, 1, 2)
        assert change(person, late[0], now=timezone.now()).revision == 2
        assert everything_holds()
        assert len(votes_in(published(study))) == 2


# Leaving


def test_a_held_story_is_free_for_others_at_once(study: Study) -> None:
    leaver, other = builders.qualified(study, 2, now=BEGAN)
    held = builders.claim(leaver, now=BEGAN)

    actions.withdraw(enrollment=leaver, now=ANSWERED)

    assert builders.claim(other, now=ANSWERED).story == held.story
    refused = actions.assign_next_story(enrollment=leaver, now=ANSWERED)
    assert refused == Refusal(Reason.WITHDRAWN)
    assert everything_holds()


def test_an_answer_sent_after_leaving_is_stored_as_surplus_and_credited(study: Study) -> None:
    (leaver,) = builders.qualified(study, now=BEGAN)
    held = builders.claim(leaver, now=BEGAN)
    actions.withdraw(enrollment=leaver, now=BEGAN)

    receipt = actions.record_vote(
        assignment_id=held.pk, enrollment=leaver, submitted=builders.ALL_YES, now=ANSWERED
    )

    assert receipt.vote.surplus_reason == SurplusReason.NOT_QUALIFIED
    held.refresh_from_db()
    assert held.state == Assignment.State.SURPLUS
    assert Enrollment.objects.get(pk=leaver.pk).stories_submitted == 1
    assert not Vote.objects.counted().exists()
    assert Story.objects.get(pk=held.story_id).has_free_slot
    assert everything_holds()


def test_what_was_saved_before_leaving_still_counts(study: Study) -> None:
    person, _ = answered(study)

    actions.withdraw(enrollment=person, now=LATER)

    assert outcome(study) == (1, 0, {})
    assert everything_holds()


def test_leaving_twice_is_leaving_once(study: Study) -> None:
    person, _ = answered(study)
    actions.withdraw(enrollment=person, now=LATER)

    with nothing_stored():
        actions.withdraw(enrollment=person, now=LATER + timedelta(hours=1))


@pytest.mark.parametrize("state", list(Enrollment.State))
def test_people_can_leave_from_wherever_they_are(state: Enrollment.State) -> None:
    study = builders.make_study(stories=1, qualification=1, now=BEGAN)
    (person,) = builders.invite(study, now=BEGAN)
    if state == Enrollment.State.DECLINED:
        actions.decline_consent(enrollment=person, now=BEGAN)
    elif state != Enrollment.State.INVITED:
        builders.consent(person, now=BEGAN)
    if state == Enrollment.State.FAILED:
        builders.take_test(person, NO, now=BEGAN)
    if state in (Enrollment.State.QUALIFIED, Enrollment.State.SUSPENDED):
        builders.take_test(person, now=BEGAN)
    if state == Enrollment.State.SUSPENDED:
        actions.suspend(enrollment=person, by=None, now=BEGAN, reason="too fast")
    if state == Enrollment.State.WITHDRAWN:
        actions.withdraw(enrollment=person, now=BEGAN)
    assert Enrollment.objects.get(pk=person.pk).state == state

    left = actions.withdraw(enrollment=person, now=LATER)

    assert left.state == Enrollment.State.WITHDRAWN
    assert Event.objects.filter(type=Event.Type.ENROLLMENT_WITHDRAWN, enrollment=person).count() == 1
    with pytest.raises(WrongState):
        actions.reinstate(enrollment=person, by=None, now=LATER, reason="come back")


# Being forgotten


PLATFORM_ID = "5f3a9c0de1b2f00dcafe"
ADDRESS = "unmistakable.person@example.org"


def known(annotator: Annotator, platform: str, person: str) -> None:
    PlatformIdentity.objects.create(
        annotator=annotator, platform=platform, environment=Environment.LIVE, person=person, created_at=BEGAN
    )


def found_in(text: str) -> set[str]:
    """The columns of all tables in which the text stands, whatever their type."""
    found = set()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
        )
        for table, column in cursor.fetchall():
            cursor.execute(
                f'SELECT count(*) FROM "{table}" WHERE strpos(lower("{column}"::text), %s) > 0',  # noqa: S608
                [text.lower()],
            )
            if cursor.fetchone()[0]:
                found.add(f"{table}.{column}")
    return found


def test_nothing_that_says_who_somebody_is_outlives_being_forgotten(study: Study) -> None:
    person, vote = answered(study)
    known(person.annotator, PlatformIdentity.Platform.PROLIFIC, PLATFORM_ID)
    known(person.annotator, PlatformIdentity.Platform.EMAIL, ADDRESS)
    assert found_in(PLATFORM_ID) == found_in(ADDRESS) == {"accounts_platformidentity.person"}

    actions.forget(annotator=person.annotator, now=LATER)

    assert found_in(PLATFORM_ID) == found_in(ADDRESS) == set()
    assert Annotator.objects.get(pk=person.annotator_id).erased_at == LATER
    assert given(vote) == builders.ALL_YES
    assert outcome(study) == (1, 0, {})
    assert everything_holds()


def test_being_forgotten_ends_every_study_of_the_person_and_nobody_elses(study: Study) -> None:
    person, _ = answered(study)
    other_study = builders.make_study("other", now=BEGAN)
    second = actions.enroll(study=other_study, annotator=person.annotator, now=BEGAN)
    builders.consent(second, now=BEGAN)
    held = builders.claim(second, now=BEGAN)
    (bystander,) = builders.qualified(study, now=BEGAN)
    known(bystander.annotator, PlatformIdentity.Platform.PROLIFIC, "somebody-else")

    actions.forget(annotator=person.annotator, now=LATER)

    states = dict(Enrollment.objects.values_list("pk", "state"))
    assert states[person.pk] == states[second.pk] == Enrollment.State.WITHDRAWN
    assert states[bystander.pk] == Enrollment.State.QUALIFIED
    assert PlatformIdentity.objects.get().person == "somebody-else"
    held.refresh_from_db()
    assert held.state == Assignment.State.EXPIRED
    assert everything_holds()


def test_being_forgotten_twice_is_harmless(study: Study) -> None:
    person, _ = answered(study)
    actions.forget(annotator=person.annotator, now=LATER)

    with nothing_stored():
        actions.forget(annotator=person.annotator, now=LATER + timedelta(hours=1))

    assert Annotator.objects.get(pk=person.annotator_id).erased_at == LATER


def test_somebody_who_left_can_still_be_forgotten(study: Study) -> None:
    person, _ = answered(study)
    known(person.annotator, PlatformIdentity.Platform.EMAIL, ADDRESS)
    actions.withdraw(enrollment=person, now=LATER)

    actions.forget(annotator=person.annotator, now=LATER)

    assert found_in(ADDRESS) == set()


# Pauses and pay


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
    assert rules.working_since(at(before), at(last), served_at, submitted_at) == at(since)


@pytest.mark.parametrize(
    ("worked", "idle", "minutes"), [(44, 0, 0), (45, 0, 45), (44, 1, 45), (50, 15, 65), (50, 16, 0)]
)
def test_when_a_pause_is_suggested(worked: int, idle: int, minutes: int) -> None:
    last = BEGAN + worked * MINUTE
    assert rules.pause_minutes(BEGAN, last, last + idle * MINUTE) == minutes
    assert rules.pause_minutes(None, None, last) == 0
