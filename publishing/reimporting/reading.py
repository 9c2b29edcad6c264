"""What of a checked release becomes rows of a study. Reads the files only.

Votes name no place in anybody's order; it follows from the times at which the stories were served.
Memory: 8 bytes per vote for these times, besides the people.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from annotation.actions.past import PastStory, PastVote
from annotation.protocols import multiple_choice
from annotation.protocols.base import field_name
from publishing.errors import NotImportable
from publishing.files import jsonl
from publishing.files.rows import CountedVote, Row
from publishing.verifying import decisions, lines
from publishing.verifying.description import Description
from publishing.verifying.findings import Findings
from publishing.verifying.schema import VoteReader

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(slots=True)
class Crowd:
    """Who voted on the complete stories, and when each of them was served what.

    ``left_out`` are the votes on incomplete stories, which no file of a release has.
    """

    served: dict[str, array[int]] = field(default_factory=dict)
    votes: int = 0
    left_out: int = 0
    left_out_stories: int = 0
    _given: Counter[tuple[str, int]] = field(default_factory=Counter)

    @property
    def most_stories(self) -> int:
        """How many stories the busiest person voted on."""
        return max(map(len, self.served.values()), default=0)

    def first_served(self) -> dict[str, datetime]:
        """Everybody, in the order of their names, with the moment of their first story."""
        return {person: _EPOCH + times[0] * _MICROSECOND for person, times in sorted(self.served.items())}

    def position(self, person: str, served_at: datetime) -> int:
        """The how-manieth story this was for the person. Stories served at one moment take turns."""
        times, moment = self.served[person], _microseconds(served_at)
        place = bisect_left(times, moment)
        if place + 1 < len(times) and times[place + 1] == moment:
            self._given[person, moment] += 1
            return place + self._given[person, moment]
        return place + 1


def read_crowd(directory: Path, description: Description) -> Crowd:
    """One pass over the votes of a release that has been checked."""
    crowd = Crowd()
    for voted in _votes(directory, description):
        if len(voted.votes) < description.votes_per_story:
            crowd.left_out += len(voted.votes)
            crowd.left_out_stories += 1
            continue
        for vote in voted.votes:
            crowd.served.setdefault(vote.annotator, array("q")).append(_microseconds(_served_at(vote)))
            crowd.votes += 1
    for person, times in crowd.served.items():
        crowd.served[person] = array("q", sorted(times))
    return crowd


def past_stories(directory: Path, description: Description, crowd: Crowd) -> Iterator[PastStory]:
    """Every complete story with its votes, as a stream."""
    for voted in _votes(directory, description):
        if len(voted.votes) == description.votes_per_story:
            yield PastStory(voted.story_id, [_past(vote, crowd) for vote in voted.votes])


def _votes(directory: Path, description: Description) -> Iterator[decisions.Voted]:
    """The votes of a directory that has just been checked. Raises if it has changed since."""
    findings = Findings()
    yield from decisions.votes_by_story(directory, VoteReader(description.asked), findings)
    if findings.total:
        raise NotImportable(f"{directory} has changed since it was checked: {findings.shown[0]}")


def _past(vote: CountedVote, crowd: Crowd) -> PastVote:
    served_at = _served_at(vote)
    return PastVote(
        person=vote.annotator,
        form={field_name(choice.question, choice.row): choice.option for choice in vote.answers},
        served_at=served_at,
        submitted_at=vote.submitted_at,
        position=crowd.position(vote.annotator, served_at),
    )


def _served_at(vote: CountedVote) -> datetime:
    return vote.submitted_at - timedelta(milliseconds=round(vote.seconds_on_task * 1000))


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


@contextmanager
def story_file(directory: Path, path: str, description: Description) -> Iterator[Path]:
    """The stories of a file of the release as a file that their protocol can import.

    Story-data rows are that already. Items are written out as the question set they were read from.
    Raises :class:`NotImportable` for items of a protocol whose files look otherwise.
    """
    if description.layout.question_sets:
        yield directory / path
        return
    protocol = description.document["protocol"]["name"]
    if protocol != multiple_choice.NAME:
        raise NotImportable(f"Nobody has said how the items of the protocol “{protocol}” are imported again.")
    with NamedTemporaryFile(prefix="tomannot-items-", suffix=".jsonl") as file:
        for line in lines.read(directory, path, Findings()):
            file.write(jsonl.line(_question_row(line.row)))
        file.flush()
        yield Path(file.name)


def _question_row(row: Row) -> dict[str, Any]:
    names = ("core_id", "scenario_name", "severity_original", "story_generator_model")
    return {"id": row["story_id"], **row["item"], **{name: row[name] for name in names}}
