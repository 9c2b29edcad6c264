"""The file of a release with what people's answers to each item come to. Pure."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from annotation.protocols import all_protocols
from publishing.facts import AskedQuestion, scales_of
from publishing.files import rows
from publishing.files.features import Type
from publishing.files.rows import AnyVotes, Decisions, ReleasedStory, Row
from publishing.statistics import labels, ratings, reconciled


class PerItem(NamedTuple):
    """The file's path and columns, the function that returns the lines of a complete item, and the columns
    of the file of experts' decisions."""

    path: str
    columns: Mapping[str, Type]
    lines: Callable[[ReleasedStory, AnyVotes, Decisions], Iterable[Row]]
    decisions: Mapping[str, Type] = rows.DECISION_COLUMNS

    @property
    def config(self) -> str:
        """The name by which ``datasets`` loads the file."""
        return self.path.rpartition("/")[2].removesuffix(".jsonl")

    @property
    def types(self) -> dict[str, Mapping[str, Type]]:
        """The columns by path."""
        return {self.path: self.columns, rows.ADJUDICATIONS_PATH: self.decisions}


def per_item(protocol_name: str, asked: Iterable[AskedQuestion]) -> PerItem | None:
    """Return the file that a protocol's resolution asks for: ratings, labels, reconciled tables, or none."""
    protocol, scales = all_protocols().get(protocol_name), scales_of(asked)
    if protocol and protocol.resolution == "majority":

        def labelled(story: ReleasedStory, votes: AnyVotes, decisions: Decisions) -> Iterable[Row]:
            suggested = protocol.suggested(protocol.parse(story.content))
            return labels.label_rows(story.story_id, votes, decisions, suggested)

        return PerItem(rows.LABELS_PATH, labels.COLUMNS, labelled, rows.LABEL_DECISION_COLUMNS)
    if protocol and protocol.resolution == "reconciled":
        columns, lines = reconciled.columns(protocol), partial(reconciled.rows, protocol)
        return PerItem(rows.RECONCILED_PATH, columns, lines, rows.LABEL_DECISION_COLUMNS)
    if scales:
        return PerItem(
            rows.RATINGS_PATH,
            ratings.COLUMNS,
            lambda story, votes, _decisions: ratings.rating_rows(story.story_id, votes, scales),
        )
    return None
