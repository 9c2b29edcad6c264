"""The statistics that a protocol names, in :attr:`annotation.protocols.base.Protocol.statistics`. Pure."""

from collections import defaultdict
from typing import Any

from annotation.protocols import all_protocols
from publishing.files.rows import NO_DECISIONS, AnyVotes, Decisions, ReleasedStory
from publishing.statistics.accuracy import accuracy_by_kind
from publishing.statistics.answered import Answered
from publishing.statistics.mixed import MOST_ANSWERED
from publishing.statistics.reconciled import answered_rows
from publishing.statistics.tables import TABLES


class ScoredTally:
    """Collects answers for the protocol's own statistics. False if it has none. Memory grows with them."""

    def __init__(self, protocol_name: str, votes_per_story: int) -> None:
        self._protocol = all_protocols().get(protocol_name)
        self._names = self._protocol.statistics if self._protocol else ()
        self._votes_per_story = votes_per_story
        self._answered: list[Answered] = []

    def __bool__(self) -> bool:
        return bool(self._names)

    def add(self, story: ReleasedStory, votes: AnyVotes, decisions: Decisions = NO_DECISIONS) -> None:
        """Add a complete item. Raise ``ValueError`` if its protocol cannot read it."""
        assert self._protocol
        self._protocol.parse(story.content)
        if self._protocol.resolution == "reconciled":
            self._answered += answered_rows(self._protocol, story, votes, decisions)
        if self._names == ("contrasts",) and len(self._answered) > MOST_ANSWERED:
            return  # there will be none: hold no more
        chosen: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        for vote in votes:
            for choice in vote.answers:
                chosen[choice.question, choice.row][vote.annotator] = choice.option
        self._answered += [
            Answered(
                story.core_id,
                row,
                chosen[row.question or self._protocol.scored, row.row],
                story.story_id,
                story.scenario_name,
            )
            for row in self._protocol.scored_rows(story.content)
        ]

    def document(self) -> dict[str, Any]:
        """Return the entries in statistics.json by their keys."""
        found: dict[str, Any] = {}
        for name in self._names:
            if name in TABLES:
                entry = TABLES[name].compute(self._answered)
                if entry:
                    found[name] = entry
            else:
                found[name] = accuracy_by_kind(self._answered, self._votes_per_story)
        return found
