"""Do the verdicts follow from the votes? One pass over votes, kept and dropped stories together.

All three files are in the order of the stories' ids (by code points), so they are walked side by side:
what is in memory are the votes on one story, whatever the size of the release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, TypeVar

from annotation.protocols.base import Choice
from publishing.facts import Tally
from publishing.files.features import Columns
from publishing.files.rows import (
    DROPPED_PATH,
    STORY_CONFIG,
    VOTES_PATH,
    CountedVote,
    ReleasedStory,
    config_path,
)
from publishing.files.sides import Sides
from publishing.filters import Outcome, Verdict
from publishing.statistics.tally import StatisticsTally
from publishing.verifying import lines, schema
from publishing.verifying.description import Description
from publishing.verifying.findings import Findings

CHECK = "decisions"
KEPT_PATH = config_path(STORY_CONFIG)
Item = TypeVar("Item", "Told", "Voted")
Answers = tuple[tuple[Choice, ...], ...]


class Told(NamedTuple):
    """A story as one of the files has it; ``reason`` is empty for a kept one."""

    story_id: str
    line: int
    story: ReleasedStory
    reason: str = ""


class Voted(NamedTuple):
    """The votes on one story, and the line on which the first of them is."""

    story_id: str
    line: int
    votes: list[CountedVote]


@dataclass(slots=True)
class Recount:
    """What the files say, counted again. Grows like the builder's own counts."""

    tally: Tally
    statistics: StatisticsTally
    columns: dict[str, Columns]
    votes: schema.VoteReader
    sides: dict[str, Sides] = field(default_factory=dict)
    incomplete: int = 0
    """Stories that have votes, but not all."""


def recount(directory: Path, description: Description, findings: Findings) -> Recount | None:
    """Walk all stories and votes. None when the rows are not sound enough to count by."""
    layout = description.layout
    found = Recount(
        Tally(),
        StatisticsTally(description.asked),
        {
            KEPT_PATH: Columns(layout.story_columns),
            DROPPED_PATH: Columns({**layout.story_columns, "reason": "string"}),
        },
        schema.VoteReader(description.asked),
        {one.config: Sides(description.salt) for one in layout.question_sets},
    )
    verdict_on = _verdicts(description)
    walk = _side_by_side(
        _in_order(votes_by_story(directory, found.votes, findings), VOTES_PATH, findings),
        _in_order(_stories(directory, KEPT_PATH, description, found, findings), KEPT_PATH, findings),
        _in_order(_stories(directory, DROPPED_PATH, description, found, findings), DROPPED_PATH, findings),
    )
    for voted, kept, dropped in walk:
        _judge(voted, kept, dropped, verdict_on, description, found, findings)
    unsound = sum(findings.of(schema.CHECK, path) for path in (VOTES_PATH, KEPT_PATH, DROPPED_PATH))
    return None if unsound else found


def votes_by_story(directory: Path, reader: schema.VoteReader, findings: Findings) -> Iterator[Voted]:
    """The votes of a release, story by story. Rows that are not sound are findings, and left out."""

    def sound() -> Iterator[tuple[str, int, CountedVote]]:
        for line in lines.read(directory, VOTES_PATH, findings):
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
                problem = f"The votes on {story_id} are not in the order of their times."
                findings.add(schema.CHECK, VOTES_PATH, problem, number)
            votes.append(vote)
        yield Voted(story_id, first, votes)


def _stories(
    directory: Path, path: str, description: Description, found: Recount, findings: Findings
) -> Iterator[Told]:
    for line in lines.read(directory, path, findings):
        story = schema.read_story(line, description.layout, dropped=path == DROPPED_PATH)
        if isinstance(story, str):
            findings.add(schema.CHECK, path, story, line.number)
            continue
        found.columns[path].see(line.row)
        if path == KEPT_PATH:
            for one in description.layout.question_sets:
                found.sides[one.config].add(one.question_id(line.row))
        yield Told(story.story_id, line.number, story, line.row.get("reason", ""))


def _in_order(items: Iterator[Item], path: str, findings: Findings) -> Iterator[Item]:
    """The items whose ids ascend. What does not is a finding and left out: an id there twice, too."""
    last = ""
    for item in items:
        if item.story_id > last:
            last = item.story_id
            yield item
        else:
            how = "is there twice" if item.story_id == last else "is not in the order of the ids"
            findings.add(schema.CHECK, path, f"The story {item.story_id} {how}.", item.line)


def _side_by_side(
    voted: Iterator[Voted], kept: Iterator[Told], dropped: Iterator[Told]
) -> Iterator[tuple[Voted | None, Told | None, Told | None]]:
    """What the three files have on each story, story by story."""
    votes, keeps, drops = next(voted, None), next(kept, None), next(dropped, None)
    while votes or keeps or drops:
        story_id = min(item.story_id for item in (votes, keeps, drops) if item)
        now = (
            votes if votes and votes.story_id == story_id else None,
            keeps if keeps and keeps.story_id == story_id else None,
            drops if drops and drops.story_id == story_id else None,
        )
        yield now
        votes = next(voted, None) if now[0] else votes
        keeps = next(kept, None) if now[1] else keeps
        drops = next(dropped, None) if now[2] else drops


def _judge(
    voted: Voted | None,
    kept: Told | None,
    dropped: Told | None,
    verdict_on: Callable[[Answers], Verdict],
    description: Description,
    found: Recount,
    findings: Findings,
) -> None:
    """One story: do its votes give what the files say of it? Counts it."""
    if kept and dropped:
        problem = f"The story {kept.story_id} is kept and dropped."
        findings.add(CHECK, DROPPED_PATH, problem, dropped.line)
    told, path = (kept, KEPT_PATH) if kept else (dropped, DROPPED_PATH)
    votes = voted.votes if voted else []
    if voted:
        _check_votes(voted, description, findings)
    if len(votes) < description.votes_per_story:
        if told:
            problem = (
                f"The story has {len(votes)} of {description.votes_per_story} votes, so it is incomplete."
            )
            findings.add(CHECK, path, problem, told.line)
        found.incomplete += 1
        verdict = Verdict(Outcome.INCOMPLETE)
        found.tally.see(_UNTOLD, votes, verdict)
        return
    if told is None:
        line = voted.line if voted else 0
        problem = (
            f"The story {voted.story_id if voted else ''} has all its votes, but is neither kept nor dropped."
        )
        findings.add(CHECK, VOTES_PATH, problem, line)
        return
    said = Verdict(Outcome.DROPPED, told.reason) if told is dropped else Verdict(Outcome.KEPT)
    verdict = said
    if description.decides_by_itself and len(votes) == description.votes_per_story:
        verdict = verdict_on(tuple(vote.answers for vote in votes))
    if verdict != said:
        findings.add(
            CHECK, path, f"The story is {_worded(said)}; by its votes it is {_worded(verdict)}.", told.line
        )
    found.tally.see(told.story, votes, verdict)
    found.statistics.see(told.story, votes, verdict)


_UNTOLD = ReleasedStory("", "", "", None, None, "", {})
"""Stands for a story that has votes and is in no file."""


def _check_votes(voted: Voted, description: Description, findings: Findings) -> None:
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


def _verdicts(description: Description) -> Callable[[Answers], Verdict]:
    against = {(question.key, option) for question in description.asked for option in question.against}

    @lru_cache(maxsize=4096)
    def verdict_on(answers: Answers) -> Verdict:
        return description.rule(
            answers,
            votes_per_story=description.votes_per_story,
            counts_against=lambda choice: (choice.question, choice.option) in against,
        )

    return verdict_on
