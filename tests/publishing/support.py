"""Studies with votes for the tests of this room."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from django.utils import timezone

from annotation import actions
from annotation.models import Answer, Assignment, Enrollment, Story, Study, Vote
from annotation.protocols.questions import Choice
from publishing import story_stream
from publishing.actions import releases as publishing_actions
from publishing.filters import Outcome, StoryFilter, Verdict, all_agree, objections_in
from publishing.models import Release
from tests import builders
from tests.builders import ALL_YES
from tests.worlds import built_once

ALL_NO = dict.fromkeys(ALL_YES, "no")
Forms = Mapping[str, tuple[Mapping[str, str], ...]]


@built_once
def judged_study(slug: str, forms: Forms, **settings: Any) -> Study:
    """An open study whose stories have exactly the counted votes given: one form per vote, by story id.

    Where a story is to have fewer votes than people, the others answer it while they are suspended: a
    surplus vote that says no to everything, and that must make no difference anywhere.
    """
    rows = [builders.story_row(number, story_id=story_id) for number, story_id in enumerate(forms)]
    study = builders.make_study(slug, stories=rows, **settings)
    people = builders.qualified(study, study.votes_per_story)
    for place, person in enumerate(people):
        while isinstance(
            assignment := actions.assign_next_story(enrollment=person, now=timezone.now()), Assignment
        ):
            given = forms[assignment.story.story_id]
            counts = place < len(given)
            if not counts:
                actions.suspend(enrollment=person, by=None, now=timezone.now(), reason="test")
            actions.record_vote(
                assignment_id=assignment.pk,
                enrollment=person,
                submitted=given[place] if counts else ALL_NO,
                now=timezone.now(),
            )
            if not counts:
                actions.reinstate(enrollment=person, by=None, now=timezone.now(), reason="test")
    return study


def random_forms(seed: int, stories: int, votes: int = 3, no: float = 0.06) -> Forms:
    """Forms for stories ``s000``, ``s001`` …; about one story in five lacks votes."""
    draw = random.Random(seed)

    def option(question: str) -> str:
        if draw.random() < no:
            return "no"
        return draw.choice(("yes", "possibly")) if question in ("q1", "q2") else "yes"

    return {
        f"s{number:03d}": tuple(
            {question: option(question) for question in ALL_YES}
            for _ in range(votes if draw.random() < 0.8 else draw.randrange(votes))
        )
        for number in range(stories)
    }


@dataclass(frozen=True, slots=True)
class VerdictCounts:
    """How the main stories of a study fare now. ``dropped_by_question`` counts stories per question."""

    kept: int
    dropped: int
    incomplete: int
    dropped_by_question: dict[str, int]

    @property
    def stories(self) -> int:
        return self.kept + self.dropped + self.incomplete


def verdict_of(
    rule: StoryFilter,
    votes: Sequence[Sequence[Choice]],
    *,
    votes_per_story: int,
    counts_against: Callable[[Choice], bool],
    decision: str = "",
) -> Verdict:
    """The filter's verdict, given the choices of every vote."""
    objections = [frozenset(choice.question for choice in vote if counts_against(choice)) for vote in votes]
    return rule.decide(objections, votes_per_story=votes_per_story, decision=decision)


def verdict_counts(study: Study) -> VerdictCounts:
    """What the default filter says of every story with the votes it has now."""
    verdicts = [
        all_agree.decide(
            objections_in([vote.answers for vote in judged.votes], judged.against),
            votes_per_story=study.votes_per_story,
        )
        for judged in story_stream.judged_stories(study)
    ]
    outcomes = Counter(verdict.outcome for verdict in verdicts)
    dropped = [verdict.reason for verdict in verdicts if verdict.outcome is Outcome.DROPPED]
    return VerdictCounts(
        outcomes[Outcome.KEPT],
        outcomes[Outcome.DROPPED],
        outcomes[Outcome.INCOMPLETE],
        dict(sorted(Counter(question for reason in dropped for question in reason.split(",")).items())),
    )


def request(study: Study) -> Release:
    return publishing_actions.request_release(study=study, by=None, now=timezone.now())


def build(release: Release) -> Release:
    """The release after a build, whatever came of it."""
    publishing_actions.build_release(release_id=release.pk, now=timezone.now())
    release.refresh_from_db()
    return release


def published(study: Study, **options: Any) -> Release:
    """A release of the study, asked for and built in this process."""
    release = publishing_actions.request_release(study=study, by=None, now=timezone.now(), **options)
    build(release)
    assert release.state == Release.State.PUBLISHED, release.failure
    return release


def bulk_votes(study: Study, people: list[Enrollment], *, dropped_every: int = 3) -> None:
    """One vote by each of ``people`` on every story, written by bulk inserts.

    The only set-up here that goes past the actions, which take about 10 ms per vote: far too long for
    the thousands of votes a kill test needs. The rows are those the actions would have written.
    """
    now = timezone.now()
    stories = list(Story.objects.filter(study=study, role=Story.Role.MAIN).order_by("pk"))
    assignments = Assignment.objects.bulk_create(
        Assignment(
            story=story,
            enrollment=person,
            state=Assignment.State.SUBMITTED,
            slot=slot,
            slots=study.votes_per_story,
            order_position=position,
            served_at=now,
            lease_expires_at=now + timedelta(minutes=30),
        )
        for slot, person in enumerate(people, 1)
        for position, story in enumerate(stories, 1)
    )
    votes = Vote.objects.bulk_create(
        Vote(
            assignment=assignment,
            protocol_version=study.protocol_version,
            story_hash=assignment.story.content_hash,
            order_position=assignment.order_position,
            served_at=now,
            first_submitted_at=now + timedelta(seconds=20),
            submitted_at=now + timedelta(seconds=20),
            environment=study.environment,
        )
        for assignment in assignments
    )
    Answer.objects.bulk_create(
        Answer(vote=vote, question=question, option=option, counts_against=option == "no")
        for vote in votes
        for question, option in _form(vote.assignment, dropped_every).items()
    )
    Story.objects.filter(study=study).update(has_free_slot=False)


def _form(assignment: Assignment, dropped_every: int) -> dict[str, str]:
    drops = assignment.slot == 2 and assignment.order_position % dropped_every == 0
    return ALL_YES | ({"q3": "no"} if drops else {})


def readable(path: Path) -> str:
    """A file of a release as text; a Parquet file's columns and rows are unpacked."""
    if path.suffix != ".parquet":
        return path.read_text(encoding="utf-8")
    table = pq.read_table(path)
    return f"{table.schema}\n{table.to_pylist()}"
