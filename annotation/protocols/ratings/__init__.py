"""The ratings protocol: how good is a test item, a story with a question and two answers, on three scales?

The three statements follow the quality ratings of BigToM (Gandhi et al., experiment 1); the wording and the
examples are our own. Ratings are summed up, and nothing is dropped because of them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from annotation.importing.rows import Problem, SourceRow, StoryRow
from annotation.protocols.base import Part, Procedure, Protocol, Scored, Words, part, read_text
from annotation.protocols.fields import MAX_ACTION, MAX_NAME, MAX_QUESTION, MAX_STORY, Fields, read_each
from annotation.protocols.human_performance import BIGTOM
from annotation.protocols.instructions import in_template
from annotation.protocols.questions import Scale, _

LIMITS = {"story": MAX_STORY, "question": MAX_QUESTION, "answer_a": MAX_ACTION, "answer_b": MAX_ACTION}
FIELDS = frozenset(("story_id", "core_id", "condition", "source", *LIMITS))
"""Columns of a file: ``condition`` is the kind of item, ``source`` who wrote it (“human” for people)."""
ALL = tuple(LIMITS)


class RatingsProtocol(Protocol):
    """Three statements about an item, each answered from 1 to 5."""

    name = "ratings"
    version = "1"
    title = _("Quality ratings of items")
    columns: ClassVar[Mapping[str, str]] = {"condition": "scenario_name", "source": "story_generator_model"}
    resolution = "mean"
    statistics = ("contrasts",)
    words = Words(_("item"), _("short stories, each with a question and two answers"))
    follows = Procedure(BIGTOM, votes=20)
    questions = tuple(
        Scale(key, title, text, shows=shows, lowest=_("Strongly disagree"), highest=_("Strongly agree"))
        for key, title, text, shows in (
            ("understandable", _("Understandable"), _("The story is easy to understand."), ("story",)),
            ("coherent", _("Coherent"), _("The question and both answers fit the story."), ALL),
            ("unambiguous", _("Unambiguous"), _("Exactly one answer is right, without doubt."), ALL),
        )
    )
    instructions = in_template("annotation/protocols/ratings.txt")

    def parse(self, content: Mapping[str, Any]) -> Mapping[str, str]:
        """Return the texts by name. Raise ``ValueError`` naming the wrong one."""
        return {name: read_text(content, name) for name in LIMITS}

    def parts(self, item: Mapping[str, str]) -> tuple[Part, ...]:
        return tuple(part(name, item[name]) for name in LIMITS)

    def scored_rows(self, content: Mapping[str, Any]) -> tuple[Scored, ...]:
        """Return the scales, of which contrasts take the mean."""
        return tuple(Scored("", "", len(one.options), one.key, one.key) for one in self.questions)

    def read(self, rows: Iterable[SourceRow]) -> Iterator[StoryRow | Problem]:
        """Yield an item for each row with :data:`FIELDS`; only ``core_id`` and ``source`` may be missing."""
        return read_each(rows, FIELDS, _read)


def _read(fields: Fields) -> StoryRow:
    story_id = fields.identifier("story_id")
    return StoryRow(
        fields.row.file,
        fields.row.line,
        story_id,
        fields.optional_text("core_id", MAX_NAME) or story_id,
        fields.text("condition", MAX_NAME),
        content={name: fields.text(name, limit) for name, limit in LIMITS.items()},
        story_generator_model=fields.optional_text("source", MAX_NAME),
    )


PROTOCOL = RatingsProtocol()
