"""The two passes over the data of a release: stories with their votes, then the questions made of them.

The questions need a pass of their own, because the sides of the right answers depend on every kept
story. They are made from the kept stories' own file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache

import orjson

from annotation.protocols.base import Choice
from publishing.facts import ReleaseFacts, Tally
from publishing.files import jsonl, rows
from publishing.files.directory import DirectoryWriter
from publishing.files.features import Columns, Type
from publishing.files.rows import CountedVote, Layout, ReleasedStory, VoteRows
from publishing.files.sides import Sides
from publishing.filters import Outcome, Verdict, get_filter
from publishing.statistics.tally import StatisticsTally
from publishing.steps import Report, Stage, reported

Against = frozenset[Choice]
Answers = tuple[tuple[Choice, ...], ...]
"""The answers of every vote on one story."""

_REMEMBERED = 4096
"""Combinations of answers whose verdict is at hand; most stories repeat one of few."""


@dataclass(frozen=True, slots=True)
class JudgedStory:
    """A story, its counted votes, and which of their choices count against it."""

    story: ReleasedStory
    votes: tuple[CountedVote, ...]
    against: Against


@dataclass(frozen=True, slots=True)
class StoryPass:
    """What the pass over the stories has found. ``columns`` are those of each file, by its path."""

    tally: Tally
    statistics: StatisticsTally
    sides: Mapping[str, Sides]
    columns: Mapping[str, Mapping[str, Type]]


def write_stories(
    writer: DirectoryWriter, facts: ReleaseFacts, layout: Layout, stories: Iterable[JudgedStory]
) -> StoryPass:
    """Everything that needs one look at each story: the votes, the kept and the dropped stories.

    Takes ``stories`` once, in order. Raises :class:`~publishing.errors.TooManyVotes`.
    """
    tally, statistics = Tally(), StatisticsTally(facts.asked)
    sides = {question_set.config: Sides(facts.salt) for question_set in layout.question_sets}
    verdict_on = _verdicts(facts)
    vote_rows = VoteRows(facts.question_keys)
    kept_path = rows.config_path(rows.STORY_CONFIG)
    kept, dropped = Columns(layout.story_columns), Columns({**layout.story_columns, "reason": "string"})
    with ExitStack() as open_files:
        votes_file, kept_file, dropped_file = (
            open_files.enter_context(writer.open(path))
            for path in (rows.VOTES_PATH, kept_path, rows.DROPPED_PATH)
        )
        for judged in stories:
            story, votes = judged.story, judged.votes
            verdict = verdict_on(tuple([vote.answers for vote in votes]), judged.against)
            tally.see(story, votes, verdict)
            statistics.see(story, votes, verdict)
            given = [vote_rows.row(story.story_id, vote) for vote in votes]
            given.sort(key=lambda row: (row["submitted_at"], row["annotator"]))
            for row in given:
                votes_file.write(jsonl.line(row))
            if verdict.outcome is Outcome.KEPT:
                row = layout.story_row(story)
                kept.see(row)
                kept_file.write(jsonl.line(row))
                for question_set in layout.question_sets:
                    sides[question_set.config].add(question_set.question_id(row))
            elif verdict.outcome is Outcome.DROPPED:
                row = rows.dropped_row(layout.story_row(story), verdict.reason)
                dropped.see(row)
                dropped_file.write(jsonl.line(row))
    columns = {
        rows.VOTES_PATH: vote_rows.columns(),
        kept_path: kept.types,
        rows.DROPPED_PATH: dropped.types,
    }
    return StoryPass(tally, statistics, sides, columns)


def _verdicts(facts: ReleaseFacts) -> Callable[[Answers, Against], Verdict]:
    """The release's filter. It is pure, so the verdicts on answers seen before are remembered."""
    verdict_of = get_filter(facts.filter_name)

    @lru_cache(maxsize=_REMEMBERED)
    def verdict_on(answers: Answers, against: Against) -> Verdict:
        return verdict_of(answers, votes_per_story=facts.votes_per_story, counts_against=against.__contains__)

    return verdict_on


def write_questions(
    writer: DirectoryWriter, layout: Layout, sides: Mapping[str, Sides], report: Report, *, stories: int
) -> None:
    """Every question set, from the kept stories; ``stories`` is how many these are."""
    kept = writer.directory / rows.config_path(rows.STORY_CONFIG)
    with open(kept, "rb", buffering=1 << 20) as story_lines, ExitStack() as open_files:
        sets = [
            (
                question_set,
                sides[question_set.config].right_answer_first,
                open_files.enter_context(writer.open(rows.config_path(question_set.config))),
            )
            for question_set in layout.question_sets
        ]
        if not sets:
            return
        for line in reported(story_lines, report, Stage.QUESTIONS, stories):
            story_row = orjson.loads(line)
            for question_set, right_answer_first, file in sets:
                first = right_answer_first(question_set.question_id(story_row))
                file.write(jsonl.line(question_set.row(story_row, right_answer_first=first)))
