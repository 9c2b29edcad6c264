"""Drawing answers for review, judging them, and an expert's decision beside the votes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import IntegrityError, ProgrammingError, transaction
from django.utils import timezone

from annotation import actions, review_sampling
from annotation.errors import ChangedMeanwhile, ReasonMissing, WrongState
from annotation.models import (
    Adjudication,
    Assignment,
    Enrollment,
    ReviewItem,
    ReviewSample,
    SpotCheck,
    Story,
    Study,
    Vote,
)
from annotation.review_sampling import Candidate
from tests import builders
from tests.worlds import built_once

pytestmark = pytest.mark.django_db

Decision = SpotCheck.Decision
Kind = ReviewSample.Kind


@pytest.fixture
@built_once
def people() -> list[Enrollment]:
    """Three people who have filled six stories, each in no time."""
    people = builders.qualified(builders.make_study(stories=6, votes_per_story=3), 3)
    now = timezone.now()
    for person in people:
        for _ in range(6):
            builders.vote(person, now=now)
    return people


def draw(study: Study, kind: Kind = Kind.RANDOM, *, people: int = 3, seed: int | None = 7) -> ReviewSample:
    return actions.draw_sample(
        study=study, kind=kind, people=people, per_person=2, by=None, now=timezone.now(), seed=seed
    )


def decide(vote: Vote, decision: Decision, reason: str = "", seen: int | None = None) -> SpotCheck:
    return actions.spot_check(
        vote=vote, decision=decision, reason=reason, by=None, now=timezone.now(), seen=seen
    )


def votes_in(sample: ReviewSample) -> list[int]:
    return list(sample.items.order_by("position").values_list("vote", flat=True))


def state_of(vote: Vote) -> str:
    return Assignment.objects.values_list("state", flat=True).get(pk=vote.assignment_id)


def test_a_seed_draws_the_same_answers_of_each_person_again(people: list[Enrollment]) -> None:
    study = people[0].study
    first, again, other = (drawn_and_forgotten(study, seed) for seed in (7, 7, 8))
    assert first == again
    assert set(first) != set(other)
    drawn = Vote.objects.filter(pk__in=first).select_related("assignment")
    by_person = [vote.assignment.enrollment_id for vote in drawn]
    assert sorted(map(by_person.count, {person.pk for person in people})) == [2, 2, 2]
    assert draw(study, people=1).items.count() == 2


def drawn_and_forgotten(study: Study, seed: int) -> list[int]:
    with transaction.atomic():
        votes = votes_in(draw(study, seed=seed))
        transaction.set_rollback(True)
    return votes


def test_what_waits_in_a_sample_is_not_drawn_into_another(people: list[Enrollment]) -> None:
    study = people[0].study
    first, second, third = draw(study), draw(study, seed=8), draw(study)
    everything = [vote for sample in (first, second, third) for vote in votes_in(sample)]
    assert len(everything) == len(set(everything)) == 18
    with pytest.raises(WrongState, match="drawn"):
        draw(study)


def test_an_answer_waits_until_it_is_judged_in_whichever_way(people: list[Enrollment]) -> None:
    sample = draw(people[0].study)
    first, *others = sample.items.all()
    decide(first.vote, Decision.ACCEPT)
    assert list(sample.items.waiting()) == others


def test_answers_that_were_judged_or_do_not_count_are_not_drawn_again(people: list[Enrollment]) -> None:
    study = people[0].study
    for vote in Vote.objects.filter(assignment__enrollment=people[0]):
        decide(vote, Decision.ACCEPT)
    actions.exclude_annotator(
        enrollment=people[1], reason="random", shown_reason="Thank you.", by=None, now=timezone.now()
    )
    drawn = {item.vote.assignment.enrollment_id for item in draw(study).items.all()}
    assert drawn == {people[2].pk}
    for vote in Vote.objects.counted():
        decide(vote, Decision.ACCEPT)
    with pytest.raises(WrongState, match="have been drawn"):
        draw(study)


def test_a_sample_can_be_of_some_people_or_of_one(people: list[Enrollment]) -> None:
    study, among = people[0].study, ReviewSample.Among
    some = actions.draw_sample(
        study=study, kind=Kind.RANDOM, people=3, per_person=2, by=None, now=timezone.now(),
        among=among.FLAGGED, of=[people[1].pk, people[2].pk],
    )  # fmt: skip
    assert {item.vote.assignment.enrollment_id for item in some.items.all()} == {people[1].pk, people[2].pk}
    assert not some.stands_for_all
    assert draw(study).stands_for_all
    assert not ReviewSample(kind=Kind.FLAGGED, among=among.EVERYBODY).stands_for_all
    with pytest.raises(ValueError, match="Name the people"):
        actions.draw_sample(
            study=study, kind=Kind.RANDOM, people=3, per_person=2, by=None, now=timezone.now(), of=[1]
        )
    with pytest.raises(IntegrityError, match="samples_of_one_person_are_of_one"), transaction.atomic():
        actions.draw_sample(
            study=study, kind=Kind.RANDOM, people=2, per_person=2, by=None, now=timezone.now(),
            among=among.PERSON, of=[people[1].pk],
        )  # fmt: skip


def test_flagged_answers_are_the_quick_and_the_lonely(people: list[Enrollment]) -> None:
    study, now = people[0].study, timezone.now()
    with pytest.raises(WrongState, match="have been drawn"):
        draw(study, Kind.FLAGGED)
    builders.import_rows(study, [builders.story_row(number) for number in (20, 21)])
    for person in people:
        for number in range(2):
            held = builders.claim(person, now=now)
            alone = number == 1 and person == people[0]
            seconds = 1 if person == people[1] else 60
            actions.record_vote(
                assignment_id=held.pk,
                enrollment=person,
                submitted=builders.answers(q3="no") if alone else builders.ALL_YES,
                now=now + timedelta(seconds=seconds),
            )
    sample = draw(study, Kind.FLAGGED)
    flags = {(item.vote.assignment.enrollment_id, item.flag) for item in sample.items.all()}
    assert (people[0].pk, ReviewItem.Flag.ALONE) in flags
    assert {flag for person, flag in flags if person == people[2].pk} == set()


def test_quick_is_measured_by_ones_own_pace() -> None:
    slow = [Candidate(number, person=1, seconds=60) for number in range(5)]
    few = [Candidate(20, person=2, seconds=60), Candidate(21, person=2, seconds=1)]
    drawn = review_sampling.draw(
        [*slow, Candidate(9, person=1, seconds=19), *few], seed=1, per_person=3, flagged=True
    )
    assert drawn == {9: "quick"}


@pytest.mark.parametrize("out", [Decision.UNCOUNTED, Decision.REJECT])
def test_a_vote_taken_out_frees_its_slot_and_a_later_decision_takes_it_back(
    people: list[Enrollment], out: Decision
) -> None:
    vote = Vote.objects.filter(assignment__enrollment=people[0])[0]
    with pytest.raises(ReasonMissing):
        decide(vote, out)
    decide(vote, out, "careless")
    assert state_of(vote) == Assignment.State.EXCLUDED
    assert Story.objects.get(pk=vote.assignment.story_id).has_free_slot
    people[0].refresh_from_db()
    assert people[0].stories_submitted == 6, "it stays credited"
    assert people[0].state == Enrollment.State.QUALIFIED

    decide(vote, Decision.ACCEPT)
    assert state_of(vote) == Assignment.State.SUBMITTED
    assert list(SpotCheck.objects.values_list("decision", "reason")) == [(out, "careless"), ("accept", "")]


def test_a_vote_taken_back_too_late_is_surplus(people: list[Enrollment]) -> None:
    vote = Vote.objects.filter(assignment__enrollment=people[0])[0]
    decide(vote, Decision.REJECT, "careless")
    builders.vote(builders.qualified(people[0].study)[0])
    decide(vote, Decision.ACCEPT, "fine after all")
    assert state_of(vote) == Assignment.State.DISPLACED


def test_who_has_not_seen_the_newest_decision_does_not_overrule_it(people: list[Enrollment]) -> None:
    vote = Vote.objects.filter(assignment__enrollment=people[0])[0]
    first = decide(vote, Decision.ACCEPT, seen=0)
    with pytest.raises(ChangedMeanwhile):
        decide(vote, Decision.REJECT, "careless", seen=0)
    decide(vote, Decision.REJECT, "careless", seen=first.pk)


def test_decisions_and_samples_are_final(people: list[Enrollment]) -> None:
    item = draw(people[0].study).items.all()[0]
    decide(item.vote, Decision.REJECT, "careless")
    actions.adjudicate(
        story=item.vote.assignment.story,
        verdict=Adjudication.Verdict.VALID,
        reason="clear",
        by=None,
        now=timezone.now(),
    )
    for rows, change in (
        (ReviewItem.objects.all(), {"flag": "quick"}),
        (ReviewSample.objects.all(), {"seed": 1}),
        (SpotCheck.objects.all(), {"reason": "another"}),
        (Adjudication.objects.all(), {"reason": "another"}),
    ):
        with pytest.raises(ProgrammingError, match="pgtrigger"), transaction.atomic():
            rows.update(**change)
        with pytest.raises(ProgrammingError, match="pgtrigger"), transaction.atomic():
            rows._raw_delete("default")
    with pytest.raises(IntegrityError, match="votes_are_taken_out_for_a_reason"), transaction.atomic():
        SpotCheck.objects.create(vote=item.vote, decision=Decision.REJECT, at=timezone.now())
    with pytest.raises(IntegrityError, match="stories_are_adjudicated_for_a_reason"), transaction.atomic():
        Adjudication.objects.create(
            story=item.vote.assignment.story, verdict="valid", reason="", at=timezone.now()
        )


def test_an_adjudication_stands_beside_the_votes_and_changes_none(people: list[Enrollment]) -> None:
    story = Story.objects.all()[0]
    before = list(Assignment.objects.order_by("pk").values())
    for verdict in (Adjudication.Verdict.INVALID, Adjudication.Verdict.VALID):
        actions.adjudicate(story=story, verdict=verdict, reason="clear", by=None, now=timezone.now())
    assert [row.verdict for row in story.adjudications.all()] == ["invalid", "valid"]
    assert list(Assignment.objects.order_by("pk").values()) == before
    with pytest.raises(ReasonMissing):
        actions.adjudicate(
            story=story, verdict=Adjudication.Verdict.VALID, reason=" ", by=None, now=timezone.now()
        )
    tested = builders.make_study("tested", qualification=1).stories.get(role=Story.Role.QUALIFICATION)
    with pytest.raises(WrongState):
        actions.adjudicate(
            story=tested, verdict=Adjudication.Verdict.VALID, reason="x", by=None, now=timezone.now()
        )
