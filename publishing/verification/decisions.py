"""Recompute the verdicts from the votes, in one pass over votes and stories.

All files are in the order of the stories' ids (by code points), so they are read side by side: only the
votes on one story are in memory.
"""

import heapq
from collections.abc import Container, Iterable, Iterator
from itertools import groupby
from typing import NamedTuple, TypeVar

from annotation.protocols import all_protocols
from annotation.protocols.questions import Choice
from annotation.reconciling import can_stand
from publishing.facts import AskedQuestion
from publishing.files import rows
from publishing.files.rows import CountedVote, Decisions, ReleasedStory
from publishing.filters import DUPLICATE, REVISED, Outcome, Verdict
from publishing.totals import COUNTED, ReleaseTotals
from publishing.verification import schema
from publishing.verification.release import CheckedRelease, Description, Line
from publishing.verification.revisions import Revisions

CHECK = "decisions"
KEPT_PATH = rows.STORY_PATHS[Outcome.KEPT]
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


class _AgainstEveryStory(Container[object]):
    """The choices that count against every story: by question and option, whatever the row of the form."""

    def __init__(self, asked: Iterable[AskedQuestion]) -> None:
        self._options = {(one.key, option) for one in asked for option in one.against}

    def __contains__(self, choice: object) -> bool:
        return isinstance(choice, Choice) and (choice.question, choice.option) in self._options


class Recomputation:
    """Totals recomputed from the files of a release. Grows like the builder's own totals."""

    def __init__(self, release: CheckedRelease, description: Description) -> None:
        self.release, self.description = release, description
        facts = description.facts
        self.most = facts.most_votes or facts.votes_per_story
        self.totals = ReleaseTotals(facts, description.layout)
        self.tally, self.per_item = self.totals.tally, self.totals.per_item
        self.votes = schema.VoteReader(facts.asked)
        self._per_item_lines: Iterator[Line] = (
            release.lines(self.per_item.path) if self.per_item else iter(())
        )
        """Lines of the per-item file that were not compared yet."""
        self.revisions = Revisions(release)
        self._against = _AgainstEveryStory(facts.asked)

    def run(self) -> bool:
        """Recompute everything in one pass. Return False if rows are too unsound to count."""
        release = self.release
        of_labels = self.per_item is not None and "labelled" in self.per_item.decisions
        decisions = schema.read_decisions(release, of_labels=of_labels)
        paths = self.totals.paths
        walk: Iterator[StatedStory | StoryVotes] = heapq.merge(
            _in_order(release, rows.VOTES_PATH, votes_by_story(release, self.votes)),
            *(_in_order(release, path, self._stories(outcome)) for outcome, path in paths.items()),
            key=lambda item: item.story_id,
        )
        for story_id, items in groupby(walk, key=lambda item: item.story_id):
            self._judge(story_id, list(items), decisions.pop(story_id, rows.NO_DECISIONS))
        self.revisions.check()
        self.tally.drafts_revised = self.revisions.drafts
        for line in self._per_item_lines:
            assert self.per_item
            release.report(CHECK, self.per_item.path, "The row is of no complete story.", line.number)
        for story_id in decisions:
            release.report(CHECK, rows.ADJUDICATIONS_PATH, f"The story {story_id} is in no file of stories.")
        return not any(release.count(schema.CHECK, path) for path in (rows.VOTES_PATH, *paths.values()))

    def _stories(self, outcome: Outcome) -> Iterator[StatedStory]:
        path = rows.STORY_PATHS[outcome]
        for line in self.release.lines(path):
            story = schema.read_story(line, self.description.layout, outcome)
            if isinstance(story, str):
                self.release.report(schema.CHECK, path, story, line.number)
                continue
            story.is_old_version = self.revisions.has_old(story.story_id)
            self.totals.add_row(outcome, line.row)
            yield StatedStory(
                story.story_id, line.number, story, Verdict(outcome, line.row.get("reason", ""))
            )

    def _judge(self, story_id: str, items: list[StatedStory | StoryVotes], decisions: Decisions) -> None:
        """Check one story, given its rows and votes, and add it to the totals."""
        release = self.release
        voted = next((item for item in items if isinstance(item, StoryVotes)), None)
        if voted:
            self._check_votes(voted)
            self._check_labels_decided(voted, decisions)
        stated = [item for item in items if isinstance(item, StatedStory)]
        if not stated:
            problem = f"There are votes on the story {story_id}, but it is in no file of stories."
            release.report(CHECK, rows.VOTES_PATH, problem, voted.line if voted else 0)
            return
        row, votes = stated[0], voted.votes if voted else []
        for other in stated[1:]:
            problem = f"The story {story_id} is both {row.verdict.outcome} and {other.verdict.outcome}."
            release.report(CHECK, rows.STORY_PATHS[other.verdict.outcome], problem, other.line)
        verdict = row.verdict
        self.revisions.see(row.story)
        if len(votes) < self.most or (self.description.decides_by_itself and len(votes) == self.most):
            by_expert = decisions[""].verdict if "" in decisions else ""
            answers = tuple(vote.answers for vote in votes)
            verdict = self.totals.by_votes(answers, self._against, by_expert)
        elif verdict.outcome is Outcome.INCOMPLETE:
            release.report(CHECK, rows.INCOMPLETE_PATH, "The story has all its votes.", row.line)
        elif verdict.reason in (DUPLICATE, REVISED):  # a duplicate if an earlier kept story has the text
            verdict = Verdict(Outcome.KEPT)
        verdict = self.totals.verdict(row.story, verdict)
        if verdict != row.verdict:
            by = "revision" if row.story.is_old_version else "votes"
            problem = f"The story is {_worded(row.verdict)}; by its {by} it is {_worded(verdict)}."
            release.report(CHECK, rows.STORY_PATHS[row.verdict.outcome], problem, row.line)
        self.tally.add_votes(*([getattr(vote, name) for vote in votes] for name in COUNTED))
        try:
            if verdict.is_complete:
                self._check_per_item(row.story, votes, decisions)
            self.totals.add(row.story, votes, verdict, decisions)
        except ValueError as error:
            problem = f"The item cannot be read: {str(error)[:200]}"
            release.report(schema.CHECK, rows.STORY_PATHS[row.verdict.outcome], problem, row.line)

    def _check_votes(self, voted: StoryVotes) -> None:
        if len(voted.votes) > self.most:
            problem = f"The story {voted.story_id} has {len(voted.votes)} votes; {self.most} count."
            self.release.report(CHECK, rows.VOTES_PATH, problem, voted.line)
        if len({vote.annotator for vote in voted.votes}) < len(voted.votes):
            problem = f"Somebody voted twice on the story {voted.story_id}."
            self.release.report(CHECK, rows.VOTES_PATH, problem, voted.line)

    def _check_labels_decided(self, voted: StoryVotes, decisions: Decisions) -> None:
        """Check that experts decided about fields that people answered, by options that the form has."""
        fields = {choice.field for vote in voted.votes for choice in vote.answers}
        offered = {question.key: question.options for question in self.description.facts.asked}
        protocol = all_protocols().get(self.description.facts.protocol_name)
        if protocol and protocol.resolution == "reconciled":  # also about rows that are not listed
            fields |= {field for field, one in decisions.items() if can_stand(protocol, field, one.verdict)}
        for labelled, decision in decisions.items():
            if not labelled:
                continue
            options = offered.get(labelled.partition(".")[0], ())
            if labelled not in fields or (options and decision.verdict not in options):
                problem = f"{voted.story_id}: “{decision.verdict}” is no answer to {labelled}."
                self.release.report(CHECK, rows.ADJUDICATIONS_PATH, problem)

    def _check_per_item(self, story: ReleasedStory, votes: list[CountedVote], decisions: Decisions) -> None:
        """Compare the next lines of the file of results with those of a complete story."""
        if not self.per_item:
            return
        for expected in self.per_item.lines(story, votes, decisions):
            line = next(self._per_item_lines, None)
            if line is None or line.row != expected:
                what = expected.get("rated") or expected.get("labelled") or expected.get("row")
                by = "votes and experts" if decisions else "votes"
                problem = f"The row on {what} of {story.story_id} does not follow from its {by}."
                self.release.report(CHECK, self.per_item.path, problem, line.number if line else 0)


def votes_by_story(release: CheckedRelease, reader: schema.VoteReader) -> Iterator[StoryVotes]:
    """Yield the votes of a release by story. Unsound rows become findings and are left out."""

    def sound() -> Iterator[tuple[str, int, CountedVote]]:
        for line in release.lines(rows.VOTES_PATH):
            vote = reader.read(line.row)
            if isinstance(vote, str):
                release.report(schema.CHECK, rows.VOTES_PATH, vote, line.number)
            else:
                yield line.row["story_id"], line.number, vote

    for story_id, group in groupby(sound(), key=lambda item: item[0]):
        first = 0
        votes: list[CountedVote] = []
        for _, number, vote in group:
            first = first or number
            if votes and (vote.submitted_at, vote.annotator) < (votes[-1].submitted_at, votes[-1].annotator):
                problem = f"The votes on {story_id} are not in order of time."
                release.report(schema.CHECK, rows.VOTES_PATH, problem, number)
            votes.append(vote)
        yield StoryVotes(story_id, first, votes)


def _in_order(release: CheckedRelease, path: str, items: Iterator[Item]) -> Iterator[Item]:
    """Yield the items whose ids ascend. Repeated or misplaced ids become findings and are left out."""
    last = ""
    for item in items:
        if item.story_id > last:
            last = item.story_id
            yield item
        else:
            how = "occurs twice" if item.story_id == last else "is not in order of id"
            release.report(schema.CHECK, path, f"The story {item.story_id} {how}.", item.line)


def _worded(verdict: Verdict) -> str:
    return f"{verdict.outcome} ({verdict.reason})" if verdict.reason else str(verdict.outcome)
