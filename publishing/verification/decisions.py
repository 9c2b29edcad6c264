"""Recompute the verdicts from the votes, in one pass over votes and stories.

All files are in the order of the stories' ids (by code points), so they are read side by side: only the
votes on one story are in memory.
"""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TypeVar

from annotation.protocols import all_protocols
from annotation.reconciling import table_of
from publishing.facts import COUNTED, Tally
from publishing.files.features import Columns
from publishing.files.rows import (
    ADJUDICATIONS_PATH,
    INCOMPLETE_PATH,
    NO_DECISIONS,
    STORY_PATHS,
    VOTES_PATH,
    Answers,
    CountedVote,
    Decisions,
    ReleasedStory,
    story_paths,
)
from publishing.files.sides import Sides
from publishing.filters import DUPLICATE, Outcome, Verdict
from publishing.results import PerItem, per_item
from publishing.statistics.distinct import FirstOfEach
from publishing.statistics.scored import ScoredTally
from publishing.statistics.tally import StatisticsTally
from publishing.verification import jsonl, schema
from publishing.verification.description import Description
from publishing.verification.findings import Findings

CHECK = "decisions"
KEPT_PATH = STORY_PATHS[Outcome.KEPT]
Item = TypeVar("Item", "StatedStory", "StoryVotes")


class StatedStory(NamedTuple):
    """A story from one of the files, with the verdict that the file gives it."""

    story_id: str
    line: int
    story: ReleasedStory
    verdict: Verdict


class StoryVotes(NamedTuple):
    """The votes on one story, and the line of the first."""

    story_id: str
    line: int
    votes: list[CountedVote]


@dataclass(slots=True)
class Recomputed:
    """Totals recomputed from the files. Grows like the builder's own totals."""

    tally: Tally
    statistics: StatisticsTally
    columns: dict[str, Columns]
    votes: schema.VoteReader
    first_of_each: FirstOfEach
    sides: dict[str, Sides] = field(default_factory=dict)
    per_item: PerItem | None = None
    per_item_lines: Iterator[jsonl.Line] = field(default_factory=lambda: iter(()))
    """The lines of that file that are still to be compared."""


def recompute(directory: Path, description: Description, findings: Findings) -> Recomputed | None:
    """Recompute everything in one pass. Return None if rows are too unsound to count."""
    layout, paths = description.layout, story_paths(description.rule)
    results = per_item(description.document["protocol"]["name"], description.asked)
    found = Recomputed(
        Tally(),
        StatisticsTally(
            description.asked,
            scored=ScoredTally(description.document["protocol"]["name"], description.votes_per_story),
        ),
        {path: Columns(layout.columns_of(outcome)) for outcome, path in paths.items()},
        schema.VoteReader(description.asked),
        FirstOfEach(description.rule),
        {
            one.config: Sides(description.salt, description.medians.get(one.config))
            for one in layout.question_sets
        },
        results,
        jsonl.read(directory, results.path, findings) if results else iter(()),
    )
    verdict_on = _verdicts(description)
    of_labels = results is not None and "labelled" in results.decisions
    decisions = schema.read_decisions(directory, findings, of_labels=of_labels)
    walk: Iterator[StatedStory | StoryVotes] = heapq.merge(
        _in_order(votes_by_story(directory, found.votes, findings), VOTES_PATH, findings),
        *(
            _in_order(_stories(directory, outcome, description, found, findings), path, findings)
            for outcome, path in paths.items()
        ),
        key=lambda item: item.story_id,
    )
    for story_id, items in groupby(walk, key=lambda item: item.story_id):
        made = decisions.pop(story_id, NO_DECISIONS)
        _judge(story_id, list(items), made, verdict_on, description, found, findings)
    for line in found.per_item_lines:
        assert results
        findings.add(CHECK, results.path, "The row is of no complete story.", line.number)
    for story_id in decisions:
        findings.add(CHECK, ADJUDICATIONS_PATH, f"The story {story_id} is in no file of stories.")
    unsound = sum(findings.of(schema.CHECK, path) for path in (VOTES_PATH, *paths.values()))
    return None if unsound else found


def votes_by_story(directory: Path, reader: schema.VoteReader, findings: Findings) -> Iterator[StoryVotes]:
    """Yield the votes of a release by story. Unsound rows become findings and are left out."""

    def sound() -> Iterator[tuple[str, int, CountedVote]]:
        for line in jsonl.read(directory, VOTES_PATH, findings):
            vote = reader.read(line.row)
            if isinstance(vote, str):
                findings.add(schema.CHECK, VOTES_PATH, vote, line.number)
            else:
                yield line.row["story_id"], line.number, vote

    for story_id, group in groupby(sound(), key=lambda item: item[0]):
        first = 0
        votes: list[CountedVote] = []
        for _, number, vote in group:
            first = first or number
            if votes and (vote.submitted_at, vote.annotator) < (votes[-1].submitted_at, votes[-1].annotator):
                problem = f"The votes on {story_id} are not in order of time."
                findings.add(schema.CHECK, VOTES_PATH, problem, number)
            votes.append(vote)
        yield StoryVotes(story_id, first, votes)


def _stories(
    directory: Path, outcome: Outcome, description: Description, found: Recomputed, findings: Findings
) -> Iterator[StatedStory]:
    path = STORY_PATHS[outcome]
    for line in jsonl.read(directory, path, findings):
        story = schema.read_story(line, description.layout, outcome)
        if isinstance(story, str):
            findings.add(schema.CHECK, path, story, line.number)
            continue
        found.columns[path].add(line.row)
        if outcome is Outcome.KEPT:
            for one in description.layout.question_sets:
                found.sides[one.config].add(one.question_id(line.row))
        yield StatedStory(story.story_id, line.number, story, Verdict(outcome, line.row.get("reason", "")))


def _in_order(items: Iterator[Item], path: str, findings: Findings) -> Iterator[Item]:
    """Yield the items whose ids ascend. Repeated or misplaced ids become findings and are left out."""
    last = ""
    for item in items:
        if item.story_id > last:
            last = item.story_id
            yield item
        else:
            how = "occurs twice" if item.story_id == last else "is not in order of id"
            findings.add(schema.CHECK, path, f"The story {item.story_id} {how}.", item.line)


def _judge(
    story_id: str,
    found_items: list[StatedStory | StoryVotes],
    decisions: Decisions,
    verdict_on: Callable[[Answers, str], Verdict],
    description: Description,
    found: Recomputed,
    findings: Findings,
) -> None:
    """Check one story, given its rows and votes, and add it to the totals."""
    voted = next((item for item in found_items if isinstance(item, StoryVotes)), None)
    if voted:
        _check_votes(voted, description, findings)
        _check_labels_decided(story_id, voted.votes, decisions, description, findings)
    rows = [item for item in found_items if isinstance(item, StatedStory)]
    if not rows:
        problem = f"There are votes on the story {story_id}, but it is in no file of stories."
        findings.add(CHECK, VOTES_PATH, problem, voted.line if voted else 0)
        return
    row, votes = rows[0], voted.votes if voted else []
    for other in rows[1:]:
        problem = f"The story {story_id} is both {row.verdict.outcome} and {other.verdict.outcome}."
        findings.add(CHECK, STORY_PATHS[other.verdict.outcome], problem, other.line)
    verdict = row.verdict
    lacking = len(votes) < description.votes_per_story
    if lacking or (description.decides_by_itself and len(votes) == description.votes_per_story):
        by_expert = decisions[""].verdict if "" in decisions else ""
        verdict = verdict_on(tuple(vote.answers for vote in votes), by_expert)
    elif verdict.outcome is Outcome.INCOMPLETE:
        findings.add(CHECK, INCOMPLETE_PATH, "The story has all its votes.", row.line)
    elif verdict.reason == DUPLICATE:  # which is so if an earlier kept story has the text
        verdict = Verdict(Outcome.KEPT)
    verdict = found.first_of_each(verdict, row.story)
    if verdict != row.verdict:
        problem = f"The story is {_worded(row.verdict)}; by its votes it is {_worded(verdict)}."
        findings.add(CHECK, STORY_PATHS[row.verdict.outcome], problem, row.line)
    found.tally.add(row.story, verdict)
    found.tally.add_votes(*([getattr(vote, name) for vote in votes] for name in COUNTED))
    try:
        if verdict.outcome is not Outcome.INCOMPLETE:
            _check_per_item(row.story, votes, decisions, found, findings)
        found.statistics.add(row.story, votes, verdict, decisions)
    except ValueError as error:
        problem = f"The item cannot be read: {str(error)[:200]}"
        findings.add(schema.CHECK, STORY_PATHS[row.verdict.outcome], problem, row.line)


def _check_labels_decided(
    story_id: str,
    votes: list[CountedVote],
    decisions: Decisions,
    description: Description,
    findings: Findings,
) -> None:
    """Check that experts decided about fields that people answered, by options that the form has."""
    fields = {choice.field for vote in votes for choice in vote.answers}
    offered = {question.key: question.options for question in description.asked}
    protocol = all_protocols().get(description.document["protocol"]["name"])
    if protocol and protocol.resolution == "reconciled":  # also about rows that are not listed
        known = {table_of(protocol), *offered}
        fields |= {labelled for labelled in decisions if labelled.partition(".")[0] in known}
    for labelled, decision in decisions.items():
        if not labelled:
            continue
        options = offered.get(labelled.partition(".")[0], ())
        if labelled not in fields or (options and decision.verdict not in options):
            problem = f"{story_id}: “{decision.verdict}” is no answer to {labelled}."
            findings.add(CHECK, ADJUDICATIONS_PATH, problem)


def _check_per_item(
    story: ReleasedStory,
    votes: list[CountedVote],
    decisions: Decisions,
    found: Recomputed,
    findings: Findings,
) -> None:
    """Compare the next lines of the file of results with those of a complete story."""
    if not found.per_item:
        return
    for expected in found.per_item.lines(story, votes, decisions):
        line = next(found.per_item_lines, None)
        if line is None or line.row != expected:
            what = expected.get("rated") or expected.get("labelled") or expected.get("row")
            by = "votes and experts" if decisions else "votes"
            problem = f"What is said of {story.story_id} on {what} is not what its {by} say."
            findings.add(CHECK, found.per_item.path, problem, line.number if line else 0)


def _check_votes(voted: StoryVotes, description: Description, findings: Findings) -> None:
    if len(voted.votes) > description.votes_per_story:
        problem = (
            f"The story {voted.story_id} has {len(voted.votes)} votes; {description.votes_per_story} count."
        )
        findings.add(CHECK, VOTES_PATH, problem, voted.line)
    if len({vote.annotator for vote in voted.votes}) < len(voted.votes):
        problem = f"Somebody voted twice on the story {voted.story_id}."
        findings.add(CHECK, VOTES_PATH, problem, voted.line)


def _worded(verdict: Verdict) -> str:
    return f"{verdict.outcome} ({verdict.reason})" if verdict.reason else str(verdict.outcome)


def _verdicts(description: Description) -> Callable[[Answers, str], Verdict]:
    against = {(question.key, option) for question in description.asked for option in question.against}

    @lru_cache(maxsize=4096)
    def verdict_on(answers: Answers, decision: str) -> Verdict:
        return description.rule(
            answers,
            votes_per_story=description.votes_per_story,
            counts_against=lambda choice: (choice.question, choice.option) in against,
            decision=decision,
        )

    return verdict_on
