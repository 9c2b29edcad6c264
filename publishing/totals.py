"""Counts over the stories and votes of a release, in one pass. Pure."""

import re
from collections import Counter
from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import ceil
from typing import Any

from annotation.protocols.questions import Choice
from publishing.facts import NOT_STATED, ReleaseFacts
from publishing.files import rows
from publishing.files.features import Columns, Type
from publishing.files.rows import CACHE_SIZE, Answers, AnyVotes, Decisions, Layout, ReleasedStory, Row
from publishing.filters import REVISED, Outcome, Verdict, objections_in
from publishing.results import per_item
from publishing.statistics.distinct import FirstOfEach
from publishing.statistics.tally import StatisticsTally

_HUMAN = re.compile(r"(hand|human|people)([-_ ]?(written|authored|made))?", re.IGNORECASE)
MAX_SECONDS = 3600
"""Cap on seconds per vote: longer pauses say nothing about the work."""
COUNTED = ("annotator", "submitted_at", "seconds_on_task", "language", "instructions")
"""The columns of votes that :meth:`Tally.add_votes` counts."""


@dataclass(slots=True)
class Tally:
    """Counts over the stories of a release, added one at a time. Memory grows with people, not stories."""

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    votes: int = 0
    first_vote: str = ""
    """The moment of the first vote, as releases write it."""
    last_vote: str = ""
    forms: Counter[tuple[int, str]] = field(default_factory=Counter)
    """Votes by version of the study's own instructions and by language."""
    seconds: Counter[int] = field(default_factory=Counter)
    """Votes by seconds on task, rounded up and capped at :data:`MAX_SECONDS`."""
    milliseconds: int = 0
    """Milliseconds on task of all votes together, each capped likewise."""
    annotators: Counter[str] = field(default_factory=Counter)
    """Votes by annotator."""
    reasons: Counter[str] = field(default_factory=Counter)
    by_expert: Counter[Outcome] = field(default_factory=Counter)
    """Stories that experts decided, because the votes split."""
    generators: Counter[str] = field(default_factory=Counter)
    """Stories by generator."""
    drafts_revised: int = 0
    """Stories that were revised, however often: those whose first version is an old one."""

    def add(self, story: ReleasedStory, verdict: Verdict) -> None:
        if verdict.reason == REVISED:  # an old version: its new version counts
            self.reasons[REVISED] += 1
            return
        self.outcomes[verdict.outcome] += 1
        self.generators[story.story_generator_model or NOT_STATED] += 1
        if verdict.by_expert:
            self.by_expert[verdict.outcome] += 1
        if verdict.outcome is Outcome.DROPPED:
            self.reasons[verdict.reason] += 1

    def add_votes(
        self,
        annotators: Sequence[str],
        moments: Sequence[str],
        seconds: Sequence[float],
        languages: Sequence[str],
        instructions: Sequence[int],
    ) -> None:
        """Add counted votes of any stories, given in the columns that :data:`COUNTED` names."""
        if annotators:
            self.votes += len(annotators)
            self.annotators.update(annotators)
            self.forms.update(zip(instructions, languages, strict=True))
            self.seconds.update([min(ceil(one), MAX_SECONDS) for one in seconds])
            self.milliseconds += sum([round(1000 * min(one, MAX_SECONDS)) for one in seconds])
            self.first_vote = min(self.first_vote or moments[0], *moments)
            self.last_vote = max(self.last_vote, *moments)

    @property
    def complete(self) -> int:
        """The number of stories with all their votes."""
        return self.outcomes[Outcome.KEPT] + self.outcomes[Outcome.DROPPED]

    @property
    def person_hours(self) -> float:
        """The hours that all counted votes took together, each capped, rounded to a tenth."""
        return round(self.milliseconds / 3_600_000, 1)

    def authors(self) -> tuple[list[str], int, int]:
        """Return the generator models, and the numbers of stories by people and by unnamed authors."""
        people = {name for name in self.generators if _HUMAN.fullmatch(name)}
        by_people = sum(self.generators[name] for name in people)
        return sorted(self.generators.keys() - people - {NOT_STATED}), by_people, self.generators[NOT_STATED]

    def dropped_by_question(self) -> dict[str, int]:
        """Count the stories dropped by each question. A story dropped by two questions counts for both."""
        found: Counter[str] = Counter()
        for reason, stories in self.reasons.items():
            for question in reason.split(","):
                found[question] += stories
        return dict(sorted(found.items()))

    def counts(self) -> dict[str, Any]:
        """Return the counts for ``release.json``. ``revised``: old versions, which are in no other number."""
        revised = self.reasons[REVISED]
        return {
            "stories": self.outcomes.total(),
            "kept": self.outcomes[Outcome.KEPT],
            "dropped": self.outcomes[Outcome.DROPPED],
            "incomplete": self.outcomes[Outcome.INCOMPLETE],
            **({"revised": revised} if revised else {}),
            "votes": self.votes,
            "annotators": len(self.annotators),
            "dropped_by_question": self.dropped_by_question(),
            "dropped_by_reason": dict(sorted(self.reasons.items())),
        }


class ReleaseTotals:
    """Verdicts, counts, statistics, sides and columns of a release. A build and its verification share them.

    Show it every story, in order of id. Memory grows by 8 bytes per kept story and question set, and as that
    of :class:`~publishing.statistics.tally.StatisticsTally`.
    """

    def __init__(self, facts: ReleaseFacts, layout: Layout) -> None:
        protocol, rule, least = facts.protocol_name, facts.rule, facts.votes_per_story
        self.tally = Tally()
        self.statistics = StatisticsTally(
            facts.asked, protocol, least, facts.most_votes, flagged=facts.flagged
        )
        self.sides = {one.config: facts.sides(one.config) for one in layout.question_sets}
        self.per_item = per_item(protocol, facts.asked)
        self.paths = rows.story_paths(rule)
        """The files of stories by outcome."""
        self._columns = {outcome: Columns(layout.columns_of(outcome)) for outcome in self.paths}
        self._layout, self._first_of_each = layout, FirstOfEach(rule)

        @lru_cache(maxsize=CACHE_SIZE)
        def by_votes(answers: Answers, against: Container[Choice], decision: str) -> Verdict:
            objections = objections_in(answers, against)
            return rule.decide(objections, votes_per_story=least, decision=decision)

        self.by_votes = by_votes
        """Returns the verdict of the filter on these answers, those against the story, and a decision."""

    def verdict(self, story: ReleasedStory, by_votes: Verdict) -> Verdict:
        """Return the verdict on a story: old versions and repeated texts are dropped whatever their votes."""
        return self._first_of_each(by_votes.for_version(is_old=story.is_old_version), story)

    def add(self, story: ReleasedStory, votes: AnyVotes, verdict: Verdict, decisions: Decisions) -> None:
        """Count a story. Raise ``ValueError`` if its protocol cannot read it."""
        self.tally.add(story, verdict)
        self.statistics.add(story, votes, verdict, decisions)

    def add_row(self, outcome: Outcome, row: Row, open_columns: Collection[str] = ()) -> None:
        """Note the columns of a story's row, and the sides of its questions if it is kept."""
        self._columns[outcome].add(row, open_columns)
        if outcome is Outcome.KEPT:
            for question_set in self._layout.question_sets:
                self.sides[question_set.config].add(question_set.question_id(row))

    def columns(self, votes: Mapping[str, Type], *, revised: bool) -> dict[str, Mapping[str, Type]]:
        """Return the columns of every file of rows by path, given those of votes.

        ``revised``: whether the release has the file of revisions.
        """
        layout = self._layout
        columns = {rows.config_path(config): layout.columns(config) for config in layout.configs}
        columns |= {path: self._columns[outcome].types for outcome, path in self.paths.items()}
        columns |= {
            rows.VOTES_PATH: votes,
            rows.SKIPS_PATH: rows.SKIP_COLUMNS,
            rows.ADJUDICATIONS_PATH: rows.DECISION_COLUMNS,
            rows.HARD_PATH: rows.HARD_COLUMNS,
        }
        columns |= {rows.REVISIONS_PATH: rows.REVISION_COLUMNS} if revised else {}
        return columns | (self.per_item.types if self.per_item else {})
