"""Questions of a comprehension quiz: about the instructions, with a text of their own above them or none.

They are asked in qualification rounds of studies with any protocol. A row is ``{"id", "question", "choices",
"answerKey"}``, with ``story`` for the text above the question.
"""

from collections.abc import Iterable, Iterator

from annotation.importing.rows import Problem, SourceRow, StoryRow
from annotation.protocols import multiple_choice
from annotation.protocols.base import Part, Words, part
from annotation.protocols.questions import _


class Quiz(multiple_choice.MultipleChoiceProtocol):
    """One question with its own options."""

    name = "quiz"
    title = _("Comprehension quiz")
    questions = (
        multiple_choice.ChoiceQuestion(
            key=multiple_choice.QUESTION,
            title=_("Your answer"),
            text=_("Which answer is right?"),
            options=(),
            shows=("question",),
            option_order="free",
        ),
    )
    words = Words(_("question"), _("questions about the instructions"))

    def read(self, rows: Iterable[SourceRow]) -> Iterator[StoryRow | Problem]:
        for row in rows:
            usual = {"config": "quiz", "scenario_name": "quiz", "story": row.data.get("question")}
            yield from super().read([SourceRow(row.file, row.line, usual | dict(row.data))])

    def parts(self, item: multiple_choice.MultipleChoiceItem) -> tuple[Part, ...]:
        """Return the question, after the text above it if it has one."""
        above = "" if item.story == item.question else f"{item.story}\n\n"
        return (part("question", above + item.question),)


QUIZ = Quiz()
