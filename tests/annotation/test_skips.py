"""Skipping stories that somebody cannot judge, and comments with votes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from django.db import ProgrammingError, transaction
from hypothesis import given, settings, strategies as st

from annotation import actions, queries, rules
from annotation.actions.skips import skip_story
from annotation.actions.votes import comment_of
from annotation.errors import NotTheirs, ReasonMissing
from annotation.models import Assignment, Comment, Enrollment, Event, Skip, Story, Study, SurplusReason, Vote
from annotation.rules import Reason, Refusal
from annotation.working_time import Pace
from tests import builders
from tests.annotation.invariants import broken

NOW = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
LATER = NOW + timedelta(hours=2)

pytestmark = pytest.mark.django_db


def skip(assignment: Assignment, reason: str = "unclear", **given: object) -> Skip | None:
    known: dict[str, object] = {"now": NOW} | given
    return skip_story(
        assignment_id=assignment.pk,
        enrollment=assignment.enrollment,
        reason=reason,
        **known,  # type: ignore[arg-type]
    )


def send(assignment: Assignment, *, now: datetime = NOW, comment: str = "") -> actions.Receipt:
    return actions.record_vote(
        assignment_id=assignment.pk,
        enrollment=assignment.enrollment,
        submitted=builders.ALL_YES,
        now=now,
        comment=comment,
    )


def fresh(person: Enrollment) -> Enrollment:
    return Enrollment.objects.select_related("study", "consent").get(pk=person.pk)


def test_a_skipped_story_goes_to_somebody_else_and_never_again_to_them() -> None:
    study = builders.make_study(stories=1, votes_per_story=1)
    anna, bela = builders.qualified(study, 2)
    held = builders.claim(anna, now=NOW)
    assert actions.assign_next_story(enrollment=bela, now=NOW) == Refusal(
        Reason.NOTHING_FREE, held.lease_expires_at
    )

    made = skip(held, "broken", words=" The end\r\nis missing. ")

    assert made is not None
    assert (made.reason, made.words) == ("broken", "The end\nis missing.")
    assert Event.objects.filter(type=Event.Type.STORY_SKIPPED, subject=f"assignment {held.pk}").count() == 1
    assert builders.claim(bela, now=NOW).story == held.story
    assert actions.assign_next_story(enrollment=anna, now=LATER) == Refusal(Reason.ALL_DONE)
    assert not broken()


def test_skips_are_paid_up_to_the_allowance_and_possible_beyond_it() -> None:
    study = builders.make_study(stories=4, skip_allowance=2, pay_rate="12.00")
    (anna,) = builders.qualified(study)
    skipped = [skip(builders.claim(anna, now=NOW), now=NOW + timedelta(seconds=30)) for _ in range(3)]

    assert [one.credited for one in skipped if one] == [True, True, False]
    anna = fresh(anna)
    assert (anna.stories_submitted, anna.stories_skipped) == (2, 3)
    work = queries.work_so_far(anna)
    assert (work.stories, work.pace, str(work.pay)) == (2, 30.0, "0.20")
    assert queries.paces_of(study)[anna.pk] == Pace(30.0, 0)
    assert not broken("votes")


def test_the_same_skip_again_is_the_first_one() -> None:
    study = builders.make_study()
    held = builders.claim(builders.qualified(study)[0], now=NOW)
    first = skip(held, "known")

    again = skip(held, "upsetting", words="other words", now=LATER)

    assert again == first
    assert again is not None
    assert again.reason == "known"
    assert Skip.objects.count() == 1
    assert fresh(held.enrollment).stories_submitted == 1


def test_a_skip_without_a_known_reason_stores_nothing() -> None:
    held = builders.claim(builders.qualified(builders.make_study())[0], now=NOW)
    for reason in ("", "boring"):
        with pytest.raises(ReasonMissing):
            skip(held, reason)
    held.refresh_from_db()
    assert (held.state, Skip.objects.count()) == ("leased", 0)


def test_nobody_skips_for_somebody_else() -> None:
    anna, bela = builders.qualified(builders.make_study(), 2)
    held = builders.claim(anna, now=NOW)
    with pytest.raises(NotTheirs):
        skip_story(assignment_id=held.pk, enrollment=bela, reason="unclear", now=NOW)


def test_a_skip_after_the_answer_changes_nothing() -> None:
    held = builders.claim(builders.qualified(builders.make_study())[0], now=NOW)
    send(held)
    assert skip(held) is None
    held.refresh_from_db()
    assert (held.state, fresh(held.enrollment).stories_submitted) == ("submitted", 1)


@pytest.mark.parametrize("allowance", [0, 5])
def test_an_answer_after_the_skip_takes_precedence_and_is_credited_once(allowance: int) -> None:
    study = builders.make_study(stories=1, skip_allowance=allowance)
    held = builders.claim(builders.qualified(study)[0], now=NOW)
    skip(held)

    receipt = send(held, now=LATER)

    held.refresh_from_db()
    assert (held.state, receipt.vote.surplus_reason) == ("submitted", "")
    person = fresh(held.enrollment)
    assert (person.stories_submitted, person.stories_skipped) == (1, 0)
    assert not Skip.objects.in_force().exists()
    assert not broken()


def test_an_answer_after_the_skip_is_surplus_when_somebody_else_has_the_slot() -> None:
    study = builders.make_study(stories=1, votes_per_story=1)
    anna, bela = builders.qualified(study, 2)
    held = builders.claim(anna, now=NOW)
    skip(held)
    builders.vote(bela, now=NOW)

    receipt = send(held, now=LATER)

    assert receipt.vote.surplus_reason == SurplusReason.LATE
    assert Vote.objects.of_study(study).counted().count() == 1
    assert not broken()


def test_a_story_can_be_skipped_after_its_lease_ran_out() -> None:
    study = builders.make_study(stories=1, votes_per_story=1)
    anna, bela = builders.qualified(study, 2)
    held = builders.claim(anna, now=NOW)
    theirs = builders.claim(bela, now=LATER)  # frees Anna's and takes its slot
    assert skip(held, now=LATER) is not None
    story = Story.objects.get(pk=held.story_id)
    assert (theirs.story, story.has_free_slot) == (held.story, False)
    assert not broken()


def test_a_skip_within_the_allowance_counts_for_the_visit() -> None:
    study = builders.make_study(stories=4, skip_allowance=1)
    (anna,) = builders.qualified(study)
    session = actions.open_session(
        enrollment=anna,
        story_limit=2,
        counts_unconfirmed=False,
        identity_claimed=False,
        framed=False,
        expires_at=LATER,
        now=NOW,
    )
    limits = []
    for _ in range(3):
        held = actions.assign_next_story(enrollment=anna, now=NOW, session_id=session.pk)
        assert isinstance(held, Assignment)
        limits.append(skip(held, session_id=session.pk))
        session.refresh_from_db()
        if session.is_whole:
            break
    assert (session.stories_submitted, session.is_whole) == (1, False)  # the second and third are not paid
    held = actions.assign_next_story(enrollment=anna, now=NOW, session_id=session.pk)
    assert isinstance(held, Assignment)
    actions.record_vote(
        assignment_id=held.pk, enrollment=anna, submitted=builders.ALL_YES, now=NOW, session_id=session.pk
    )
    after = actions.assign_next_story(enrollment=anna, now=NOW, session_id=session.pk)
    assert after == Refusal(Reason.SESSION_DONE)


def test_a_skipped_check_is_neither_passed_nor_failed_and_does_not_come_back() -> None:
    study = builders.make_study(stories=12, skip_allowance=12)
    known = builders.add_checks(study, 1, every=5, minimum=1, suspend_percent=1)
    (anna,) = builders.qualified(study)
    met = []
    for _ in range(10):
        held = builders.claim(anna, now=NOW)
        met.append(held.story)
        skip(held)
    assert met.count(known[0]) == 1
    assert len(set(met)) == 10
    assert fresh(anna).state == "qualified"
    assert not broken("votes", "hidden_checks")


def test_consequences_come_at_the_end_of_a_block_though_it_was_skipped() -> None:
    study = builders.make_study(stories=8)
    builders.add_checks(study, 2, every=5, minimum=1, suspend_percent=50)
    (anna,) = builders.qualified(study)
    builders.work_through(anna, 4, on_checks=builders.answers(q3="no"), now=NOW)
    assert fresh(anna).state == "qualified"
    skip(builders.claim(anna, now=NOW))
    assert fresh(anna).state == "suspended"


def test_excluded_people_and_other_environments_report_no_skips() -> None:
    study = builders.make_study()
    anna, bela = builders.qualified(study, 2)
    for person in (anna, bela):
        builders.vote(person, now=NOW)
        skip(builders.claim(person, now=NOW))
    actions.exclude_annotator(enrollment=anna, reason="robot", shown_reason="Why", by=None, now=NOW)
    assert [one.assignment.enrollment for one in Skip.objects.reported(study)] == [bela]


def test_a_forgotten_person_leaves_no_words() -> None:
    study = builders.make_study()
    (anna,) = builders.qualified(study)
    receipt = send(builders.claim(anna, now=NOW), comment="I am Anna")
    skip(builders.claim(anna, now=NOW), words="I wrote it")

    actions.forget(annotator=anna.annotator, now=LATER)

    assert Skip.objects.get().words == Comment.objects.get(pk=receipt.vote.pk).words == ""
    assert not broken("votes")


def test_skips_are_final() -> None:
    made = skip(builders.claim(builders.qualified(builders.make_study())[0], now=NOW), words="mine")
    assert made is not None
    for change in ({"words": "others"}, {"reason": "known"}, {"credited": False}):
        with pytest.raises(ProgrammingError), transaction.atomic():
            Skip.objects.filter(pk=made.pk).update(**change)
    with pytest.raises(ProgrammingError), transaction.atomic():
        Skip.objects.filter(pk=made.pk).delete()


def test_a_comment_is_saved_with_its_vote_and_can_be_changed_alone() -> None:
    (anna,) = builders.qualified(builders.make_study())
    held = builders.claim(anna, now=NOW)
    first = send(held, comment="  Typo in\r\nthe end. ")
    assert comment_of(first.vote) == "Typo in\nthe end."
    assert (send(held, comment="Typo in\nthe end.").differs, send(held).differs) == (False, True)

    def change(comment: str | None) -> Vote:
        return actions.change_vote(
            assignment_id=held.pk, enrollment=anna, submitted=builders.ALL_YES, now=LATER, comment=comment
        )

    assert change(None) == first.vote
    second = change("")
    assert (second.revision, comment_of(second), comment_of(first.vote)) == (2, "", "Typo in\nthe end.")


def test_a_vote_without_words_stores_no_comment() -> None:
    (anna,) = builders.qualified(builders.make_study())
    send(builders.claim(anna, now=NOW), comment=" \n ")
    assert not Comment.objects.exists()


@settings(max_examples=25)
@given(st.text())
def test_words_are_storable_and_stay_as_they_are(text: str) -> None:
    stored = rules.words(text)
    assert len(stored) <= rules.MOST_WORDS
    assert rules.words(stored) == stored
    assert "\0" not in stored
    assert "\r" not in stored


@pytest.mark.parametrize(("votes", "enough"), [(1, 2), (2, 2), (5, 5)])
def test_a_story_is_looked_at_when_as_many_skipped_it_as_would_decide_it(votes: int, enough: int) -> None:
    assert not rules.is_skipped_often(skips=enough - 1, votes_per_story=votes)
    assert rules.is_skipped_often(skips=enough, votes_per_story=votes)


def test_the_allowance_cannot_be_lost_by_a_study_that_changes_it() -> None:
    study = builders.make_study(skip_allowance=1)
    (anna,) = builders.qualified(study)
    first = skip(builders.claim(anna, now=NOW))
    actions.change_study(study=study, changes={"skip_allowance": 0}, by=None, now=NOW)
    second = skip(builders.claim(anna, now=NOW))
    assert first
    assert second
    assert (first.credited, second.credited) == (True, False)
    assert not broken("votes")


@pytest.mark.parametrize("allowance", [0, 12])
def test_the_number_left_falls_alike_after_a_skipped_story_and_a_skipped_check(allowance: int) -> None:
    study = builders.make_study(stories=15, skip_allowance=allowance)
    builders.add_checks(study, 3)
    (person,) = builders.qualified(Study.objects.get(pk=study.pk))
    left, roles = [], []
    for _ in range(6):
        first = builders.claim(person)
        if first.story.role == Story.Role.MAIN:
            builders.vote(person)
        held = builders.claim(person)  # each check is skipped, wherever it comes
        skip(held)
        roles.append(held.story.role)
        if held == first:
            builders.vote(person)
        left.append(queries.stories_and_checks_left(fresh(person), at_most=99))
    assert {"main", "check"} == set(roles)
    assert min(before - after for before, after in pairwise(left)) == 2, "one voted on, one skipped"
