"""What the room reads from the database agrees with the pure rule."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from accounts.models import Environment
from annotation import actions
from annotation.models import Answer, Assignment, Study, Vote
from annotation.protocols import get_protocol
from annotation.protocols.questions import Choice
from publishing import queries, story_stream
from publishing.files.jsonl import timestamp
from publishing.filters import Outcome, Verdict, all_agree, objections_in
from tests import builders
from tests.publishing.support import Forms, judged_study, random_forms, verdict_of

VALIDITY = get_protocol("validity")


def verdicts(forms: Forms, votes_per_story: int) -> dict[str, Verdict]:
    return {
        story_id: verdict_of(
            all_agree,
            [[Choice(question, "", option) for question, option in form.items()] for form in given],
            votes_per_story=votes_per_story,
            counts_against=partial(VALIDITY.counts_against, None),
        )
        for story_id, given in forms.items()
    }


@pytest.mark.django_db
@pytest.mark.parametrize(("seed", "stories", "votes"), [(1, 8, 3), (4, 5, 5)])
def test_the_stream_gives_the_filter_what_people_answered(seed: int, stories: int, votes: int) -> None:
    forms = random_forms(seed, stories, votes)
    study = judged_study("agree", forms, votes_per_story=votes)
    expected = verdicts(forms, votes)
    outcomes = Counter(verdict.outcome for verdict in expected.values())
    assert queries.has_complete_story(study) == (outcomes[Outcome.INCOMPLETE] < stories)
    stream = {judged.story.story_id: judged for judged in story_stream.judged_stories(study)}
    assert list(stream) == sorted(forms)
    for story_id, judged in stream.items():
        answers = [vote.answers for vote in judged.votes]
        assert (
            all_agree.decide(objections_in(answers, judged.against), votes_per_story=votes)
            == expected[story_id]
        )


@pytest.mark.django_db
def test_stories_stream_in_byte_order_with_their_own_votes() -> None:
    forms: Forms = {
        story_id: ({**builders.ALL_YES, "q1": option},)
        for story_id, option in {
            "b": "yes",
            "B": "no",
            "A.2": "possibly",
            "a_": "yes",
            "a10": "no",
            "a9": "yes",
        }.items()
    }
    study = judged_study("order", forms, votes_per_story=1)
    stream = list(story_stream.judged_stories(study))
    assert [judged.story.story_id for judged in stream] == sorted(forms, key=str.encode)
    stored = {
        vote.assignment.story.story_id: vote for vote in Vote.objects.select_related("assignment__story")
    }
    for judged in stream:
        told, vote = judged.votes[0], stored[judged.story.story_id]
        assert told.submitted_at == timestamp(vote.submitted_at)
        assert told.seconds_on_task == (vote.first_submitted_at - vote.served_at).total_seconds()
        assert (told.position, told.order_seed) == (vote.order_position, vote.order_seed)
        chosen = {choice.question: choice.option for choice in judged.votes[0].answers}
        assert chosen == forms[judged.story.story_id][0]
        assert judged.votes[0].annotator.startswith("annotator-")


@pytest.mark.django_db
def test_late_votes_rehearsal_votes_and_test_stories_do_not_count() -> None:
    now = timezone.now()
    study = builders.make_study("surplus", stories=1, votes_per_story=1, qualification=2, now=now)
    late, timely = builders.qualified(study, 2, now=now)
    lost = builders.claim(late, now=now)
    after_lease = now + study.lease + timedelta(seconds=1)
    builders.vote(timely, builders.answers(q2="no"), now=after_lease)
    receipt = actions.record_vote(
        assignment_id=lost.pk, enrollment=late, submitted=builders.ALL_YES, now=after_lease
    )
    assert receipt.vote.surplus_reason == "late"
    (judged,) = story_stream.judged_stories(study)
    assert len(judged.votes) == 1
    assert judged.against == {Choice("q2", "", "no")}


@pytest.mark.django_db
def test_a_rehearsal_vote_never_counts_in_a_live_study() -> None:
    study = builders.make_study("live", stories=1, votes_per_story=1)
    (person,) = builders.qualified(study)
    assignment = builders.claim(person)
    # The actions cannot make such a vote: they copy the study's environment. It is written past them.
    Assignment.objects.filter(pk=assignment.pk).update(state=Assignment.State.SUBMITTED)
    vote = Vote.objects.create(
        assignment=assignment,
        protocol_version="1",
        story_hash=assignment.story.content_hash,
        order_position=1,
        served_at=assignment.served_at,
        first_submitted_at=assignment.served_at,
        submitted_at=assignment.served_at,
        environment=Environment.REHEARSAL,
    )
    Answer.objects.create(vote=vote, question="q1", option="yes", counts_against=False)
    (judged,) = story_stream.judged_stories(study)
    assert judged.votes == ()
    assert not queries.has_complete_story(study)


@pytest.mark.django_db
def test_a_study_nobody_voted_in() -> None:
    study: Study = builders.make_study("empty", stories=4)
    assert not queries.has_complete_story(study)
    assert [judged.votes for judged in story_stream.judged_stories(study)] == [()] * 4
