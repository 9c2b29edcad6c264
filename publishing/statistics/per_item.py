"""The file with one line per question and item: what several people's answers come to. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from annotation.protocols import all_protocols
from publishing.facts import AskedQuestion, scales_of
from publishing.files.features import Type
from publishing.files.rows import LABELS_PATH, RATINGS_PATH, CountedVote, ReleasedStory, Row
from publishing.statistics import labels, ratings


class PerItem(NamedTuple):
    """The file's path and columns, and the function that returns the lines of a complete item."""

    path: str
    columns: Mapping[str, Type]
    lines: Callable[[ReleasedStory, Sequence[CountedVote]], Iterable[Row]]


def per_item(protocol_name: str, asked: Iterable[AskedQuestion]) -> PerItem | None:
    """Return the file that a protocol's resolution asks for: ratings, labels, or none."""
    protocol, scales = all_protocols().get(protocol_name), scales_of(asked)
    if protocol and protocol.resolution == "majority":

        def labelled(story: ReleasedStory, votes: Sequence[CountedVote]) -> Iterable[Row]:
            suggested = protocol.suggested(protocol.parse(story.content))
            return labels.label_rows(story.story_id, votes, suggested)

        return PerItem(LABELS_PATH, labels.COLUMNS, labelled)
    if scales:
        return PerItem(
            RATINGS_PATH,
            ratings.COLUMNS,
            lambda story, votes: ratings.rating_rows(story.story_id, votes, scales),
        )
    return None
