"""The inspection protocol: is a narrative with its questions fit for a test?

It follows the inspection of OpenToM (Xu et al.): three criteria, and what fails one is revised. The wording
and the examples are our own.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from annotation.importing.rows import StoryRow
from annotation.protocols.base import DUPLICATES, Finding, Procedure, Words, part
from annotation.protocols.instructions import in_template
from annotation.protocols.narrative_validation import OPENTOM, NarrativeProtocol
from annotation.protocols.questions import Option, Question, Text, _
from annotation.protocols.tables import Table
from annotation.protocols.words import EMPTY_WORDS, listed, stem, words_of

OVERLAP = "question_overlap"
LEAST_SHARED, SHARED = 3, 0.75
"""A question overlaps with its narrative if it and its choices share at least so many words with it, and at
least this share of all their words, not counting names and function words."""
_ANSWERS = (Option("yes", _("Yes")), Option("no", _("No"), counts_against=True))
_SHOWN = ("story", "questions")


def _criterion(key: str, title: str, text: str, help: str) -> tuple[Question, Text]:
    change = _("What should change, and how?")
    return (
        Question(key=key, title=title, text=text, options=_ANSWERS, shows=_SHOWN, help=help),
        Text(
            key=f"{key}-change",
            title=_("Change"),
            text=change,
            shows=_SHOWN,
            longest=500,
            only_after=(key, ("no",)),
        ),
    )


class Inspection(NarrativeProtocol):
    """Three criteria, and what should change after a “no”. Import files are those of narrative-validation."""

    name = "inspection"
    version = "1"
    title = _("Inspection of narratives")
    questions = (
        *_criterion(
            "open",
            _("Answers stay open"),
            _("Does the story leave its readers to work the answers out?"),
            _("Answer No if the text states an answer, or has a phrase that points to one."),
        ),
        *_criterion(
            "sense",
            _("Common sense"),
            _("Do things and people behave as they would in real life?"),
            _("Answer No if something could not happen, or if nobody would act like this without a reason."),
        ),
        *_criterion(
            "apart",
            _("Own words"),
            _("Are the questions in other words than the story?"),
            _(
                "Names and the things that are asked about may be the same. Answer No if one can find an "
                "answer by looking for the words of the question."
            ),
        ),
    )
    instructions = in_template("annotation/protocols/inspection.txt")
    finding_labels: ClassVar[Mapping[str, str]] = {
        OVERLAP: _("a question in the words of the story"),
        **DUPLICATES,
    }
    revisable = ("narrative",)
    words = Words(_("story"), _("stories with questions, which are to be inspected"))
    follows = Procedure(OPENTOM, votes=2)

    def parse(self, content: Mapping[str, Any]) -> Table:
        item = super().parse(content)
        asked = [
            f"{number}. {row.label} {' / '.join(option.label for option in row.options)}"
            for number, row in enumerate(item.rows, start=1)
        ]
        return replace(item, parts=(*item.parts, part("questions", "\n".join(asked))))

    def lint(self, story: StoryRow) -> list[Finding]:
        """Return a warning for each question that overlaps with its narrative (:data:`SHARED`)."""
        said = story.content["narrative"]
        found: list[Finding] = []
        names, told = names_in(said), {stem(word) for word in words_of(said)}
        for asked in story.content["questions"]:
            words = telling(" ".join((asked["question"], *asked["choices"]["text"])), names)
            shared = [word for word in words if stem(word) in told]
            if len(shared) >= LEAST_SHARED and len(shared) >= SHARED * len(words):
                message = f"The question “{asked['id']}” shares with the story: {listed(shared)}."
                found.append(Finding(OVERLAP, "questions", message))
        return found


def names_in(text: str) -> frozenset[str]:
    """Return the words that the text writes with a capital letter only, in lower case."""
    words = [word for line in text.split() for word in line.split("-")]
    small = {found for word in words if not word.strip("“‘\"'(")[:1].isupper() for found in words_of(word)}
    return frozenset(words_of(" ".join(words))) - small


def telling(text: str, names: Collection[str]) -> list[str]:
    """Return the different words of a text, without names and function words, one of each stem."""
    words = (word for word in words_of(text) if word not in EMPTY_WORDS and word not in names)
    return list({stem(word): word for word in words}.values())


PROTOCOL = Inspection()
