"""A protocol with every kind of answer, which studies of the tests may use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from annotation.importing.rows import Problem, SourceRow, StoryRow
from annotation.protocols import _check, all_protocols
from annotation.protocols.base import Instructions, Part, Protocol, Section
from annotation.protocols.questions import Option, Question, Scale, SeveralOf, Text

YES_NO = (Option("yes", "Yes"), Option("no", "No", counts_against=True))


class Dialogues(Protocol):
    """Plain, dependent, several-of, scale, optional and written questions about a dialogue."""

    name, version, title = "dialogues", "1", "Dialogues"
    questions = (
        Question("fits", "Fits", "Does the last reply fit?", YES_NO, shows=("story",)),
        Text(
            "why", "Why", "Why does it not fit?", shows=("story",), longest=20, only_after=("fits", ("no",))
        ),
        SeveralOf(
            "seen",
            "Speaker",
            "What is true of the speaker?",
            shows=("story",),
            choices=(Option("angry", "angry"), Option("polite", "polite")),
        ),
        Scale("natural", "Natural", "How natural is it?", shows=("story",), lowest="not", highest="very"),
        Question("mood", "Mood", "Is it sad?", (Option("sad", "Sad"), Option("glad", "Glad")), optional=True),
        Text("note", "Note", "Anything else?", optional=True),
    )
    instructions = Instructions((Section("Why we ask", ("We want to know.",)),), ())

    def parse(self, content: Mapping[str, Any]) -> Mapping[str, Any]:
        return content

    def parts(self, item: Mapping[str, Any]) -> tuple[Part, ...]:
        return (Part("story", "Dialogue", item["story"]),)

    def read(self, rows: Iterable[SourceRow]) -> Iterator[StoryRow | Problem]:
        for row in rows:
            name, content = row.data["story_id"], {"story": row.data["story"]}
            yield StoryRow(row.file, row.line, name, name, "all", content)


DIALOGUES = Dialogues()
STORIES = [{"story_id": f"d-{n}", "story": f"Is the shop {n} open? Until eight, I think."} for n in range(2)]


@pytest.fixture
def dialogues() -> Iterator[Protocol]:
    """Install the protocol with every kind of answer for a test."""
    _check(DIALOGUES)
    all_protocols()[DIALOGUES.name] = DIALOGUES
    yield DIALOGUES
    del all_protocols()[DIALOGUES.name]
