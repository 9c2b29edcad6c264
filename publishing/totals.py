"""The counts over the stories of a release, in one pass. Pure."""

from collections.abc import Collection, Container, Mapping
from functools import lru_cache

from annotation.protocols.questions import Choice
from publishing.facts import ReleaseFacts, Tally
from publishing.files import rows
from publishing.files.features import Columns, Type
from publishing.files.rows import REMEMBERED, Answers, AnyVotes, Decisions, Layout, ReleasedStory, Row
from publishing.filters import Outcome, Verdict
from publishing.results import per_item
from publishing.statistics.distinct import FirstOfEach
from publishing.statistics.tally import StatisticsTally


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

        @lru_cache(maxsize=REMEMBERED)
        def by_votes(answers: Answers, against: Container[Choice], decision: str) -> Verdict:
            counts_against = against.__contains__
            return rule(answers, votes_per_story=least, counts_against=counts_against, decision=decision)

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
