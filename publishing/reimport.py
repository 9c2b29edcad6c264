"""The rows of a study that a checked release provides. Reads only the files."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import orjson

from annotation.actions.imported_votes import ImportedSkip, ImportedStory, ImportedVote
from annotation.importing.rows import PROVENANCE, StoryRow
from annotation.protocols import get_protocol
from publishing.errors import NotImportable
from publishing.files import jsonl
from publishing.files.rows import CONTEXT_KEYS, INSTRUMENT_PATH, PREDICTED, CountedVote
from publishing.instrument import WRITTEN
from publishing.verification import decisions, jsonl as lines
from publishing.verification.description import Description
from publishing.verification.findings import Findings
from publishing.verification.schema import VoteReader, sound_skips


@dataclass(slots=True)
class Crowd:
    """The people who voted, or skipped a story, and when each was first served."""

    first: dict[str, datetime] = field(default_factory=dict)
    last_position: int = 0
    votes: int = 0

    def add(self, person: str, served_at: datetime, position: int) -> None:
        """Add a story that a person was served."""
        self.first[person] = min(served_at, self.first.get(person, served_at))
        self.last_position = max(position, self.last_position)


def read_crowd(directory: Path, description: Description) -> Crowd:
    """Read the votes and skips of a checked release in one pass."""
    crowd = Crowd()
    for voted in _votes(directory, description):
        for vote in voted.votes:
            crowd.add(vote.annotator, _served_at(vote), vote.position)
            crowd.votes += 1
    for skip in past_skips(directory):
        crowd.add(skip.person, skip.served_at, skip.position)
    crowd.first = dict(sorted(crowd.first.items()))
    return crowd


def past_skips(directory: Path) -> Iterator[ImportedSkip]:
    """Yield every skip of a directory that was just checked."""
    for row in sound_skips(directory, Findings()):
        skipped_at = datetime.fromisoformat(row["skipped_at"])
        yield ImportedSkip(
            person=row["annotator"],
            story_id=row["story_id"],
            reason=row["reason"],
            words=row["words"],
            served_at=skipped_at - timedelta(milliseconds=round(row["seconds_on_task"] * 1000)),
            skipped_at=skipped_at,
            position=row["position"],
        )


def past_instructions(directory: Path) -> dict[int, dict[str, Any]]:
    """Return the study's own instructions by version, with the fields of an ``InstructionText``."""
    forms = orjson.loads((directory / INSTRUMENT_PATH).read_bytes())["forms"]
    return {form["version"]: {name: form[name] for name in WRITTEN} for form in forms if form["version"]}


def past_stories(directory: Path, description: Description) -> Iterator[ImportedStory]:
    """Yield every story that has votes, with them."""
    for voted in _votes(directory, description):
        yield ImportedStory(voted.story_id, [_past(vote) for vote in voted.votes])


def _votes(directory: Path, description: Description) -> Iterator[decisions.StoryVotes]:
    """Yield the votes of a directory that was just checked. Raise if it has changed since."""
    findings = Findings()
    yield from decisions.votes_by_story(directory, VoteReader(description.asked), findings)
    if findings.total:
        raise NotImportable(f"{directory} has changed since it was checked: {findings.shown[0]}")


def _past(vote: CountedVote) -> ImportedVote:
    return ImportedVote(
        person=vote.annotator,
        form={choice.field: choice.option for choice in vote.answers},
        served_at=_served_at(vote),
        submitted_at=datetime.fromisoformat(vote.submitted_at),
        **{name: getattr(vote, name) for name in CONTEXT_KEYS[2:]},  # after the times
    )


def _served_at(vote: CountedVote) -> datetime:
    submitted_at = datetime.fromisoformat(vote.submitted_at)
    return submitted_at - timedelta(milliseconds=round(vote.seconds_on_task * 1000))


@contextmanager
def story_file(directory: Path, path: str, description: Description) -> Iterator[Path]:
    """Provide the stories of a file in a form that their protocol imports.

    Story-data rows already have it. Items are written as the rows from which their protocol reads them.
    """
    if description.layout.question_sets:
        yield directory / path
        return
    protocol = get_protocol(description.document["protocol"]["name"])
    with NamedTemporaryFile(prefix="tomannot-items-", suffix=".jsonl") as file:
        for line in lines.read(directory, path, Findings()):
            facts = {name: line.row[name] for name in (*PROVENANCE, *PREDICTED)}
            story = StoryRow("", 0, content=line.row["item"], **facts)
            file.write(jsonl.line(protocol.source_row(story)))
        file.flush()
        yield Path(file.name)
