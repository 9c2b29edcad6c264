"""The multiple-choice protocol: which of an item's own choices is the right answer?

With it people answer the question sets of a release, so that their accuracy can be compared with a model's
(the human baseline of SimpleToM, Gu et al.). The right answer is stored with an item and never shown:
:class:`MultipleChoiceItem` leaves it out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from annotation.importing.rows import Problem, SourceRow, StoryRow
from annotation.protocols.base import DUPLICATES, Finding, Part, Protocol, Scored, Words, part, read_text
from annotation.protocols.fields import MAX_NAME, MAX_SENTENCE, MAX_STORY, Fields, read_each
from annotation.protocols.instructions import in_template
from annotation.protocols.questions import Option, Question, _
from annotation.protocols.words import is_uneven

NAME = "multiple-choice"
QUESTION = "answer"
"""The key of the only question."""
LABEL = re.compile(r"[A-Za-z0-9]{1,8}")
MOST_CHOICES = 9
"""One for each digit key."""
FIELDS = frozenset(
    (
        "id", "story", "question", "scenario_name", "choices", "answerKey", "config", "core_id",
        "severity_original", "story_generator_model",
    )
)  # fmt: skip
CONFIG_OF_ENDING = {"_aware": "mental-state-qa", "_action": "behavior-qa", "_judge": "judgment-qa"}
"""The question sets of a release by the endings of their ids."""
MAX_ASKED = 2 * MAX_SENTENCE
"""Room for a question that quotes the key information, or both actions."""
_CONFIG = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_LEVEL = re.compile(r"_sev[1-3]$")
_CHOICES = 'Write choices as {"text": ["…", "…"], "label": ["A", "B"]}, and the label of the right one.'
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


@dataclass(frozen=True, slots=True)
class MultipleChoiceItem:
    """A question as annotators see it.

    ``config`` names the question set (``behavior-qa``). The right choice is deliberately not here, so that
    no page can show it. Use :func:`right_key` to compare answers.
    """

    config: str
    story: str
    question: str
    choices: tuple[Option, ...]


class ChoiceQuestion(Question):
    """The one question of the form; its options are the item's choices. None counts against an item."""

    def options_for(self, item: MultipleChoiceItem) -> tuple[Option, ...]:
        return item.choices


class MultipleChoiceProtocol(Protocol):
    """One question with the item's own choices. Every item with all its votes is kept."""

    name = NAME
    version = "1"
    title = _("Multiple-choice questions")
    questions = (
        ChoiceQuestion(
            key=QUESTION,
            title=_("Your answer"),
            text=_("Which answer fits best? Go by what is likely, from the story alone."),
            options=(),
            shows=("story", "question"),
            option_order="free",
        ),
    )
    instructions = in_template("annotation/protocols/multiple_choice.txt")
    finding_labels: ClassVar[Mapping[str, str]] = {
        "choice_in_story": _("some choices occur word for word in the story"),
        "uneven_choices": _("one choice is much longer than another"),
        **DUPLICATES,
    }
    words = Words(_("question"), _("short stories, each with a question"))
    scored = QUESTION

    def parse(self, content: Mapping[str, Any]) -> MultipleChoiceItem:
        texts = {name: read_text(content, name) for name in ("config", "story", "question")}
        choices = read_choices(content.get("choices"))
        if content.get("answerKey") not in content["choices"]["label"]:
            raise ValueError("answerKey: must be the label of one of the choices.")
        return MultipleChoiceItem(choices=choices, **texts)

    def parts(self, item: MultipleChoiceItem) -> tuple[Part, ...]:
        return (part("story", item.story), part("question", item.question))

    def read(self, rows: Iterable[SourceRow]) -> Iterator[StoryRow | Problem]:
        """Yield the items of a question set, as in a release's ``test.jsonl``, or the problems of its rows.

        A row is ``{"id", "story", "question", "scenario_name", "choices": {"text", "label"}, "answerKey"}``.
        ``config`` names the question set; it may be left out where the id's ending says it. ``core_id``,
        ``severity_original`` and ``story_generator_model`` may be given; a sample drawn from a release has
        them.
        """
        return read_each(rows, FIELDS, self._read)

    def _read(self, fields: Fields) -> StoryRow | None:
        item_id = fields.identifier("id")
        content = {
            "config": _config(fields, item_id),
            "story": fields.text("story", MAX_STORY),
            "question": fields.text("question", MAX_ASKED),
            "choices": fields.structure("choices"),
            "answerKey": fields.text("answerKey", MAX_NAME),
        }
        row = StoryRow(
            fields.row.file,
            fields.row.line,
            story_id=item_id,
            core_id=fields.optional_text("core_id", MAX_NAME) or core_of(item_id),
            scenario_name=fields.text("scenario_name", MAX_NAME),
            content=content,
            severity_original=fields.severity("severity_original"),
            story_generator_model=fields.optional_text("story_generator_model", MAX_NAME),
        )
        return row if not fields.failed and fields.check_content(self.parse, content, _CHOICES) else None

    def scored_rows(self, content: Mapping[str, Any]) -> tuple[Scored, ...]:
        """Return the only row, of the kind that the question set names."""
        choices = content["choices"]["label"]
        return (Scored("", right_key(content), len(choices), content["config"]),)

    def source_row(self, story: StoryRow) -> dict[str, Any]:
        row = {
            "id": story.story_id,
            "core_id": story.core_id,
            "scenario_name": story.scenario_name,
            "severity_original": story.severity_original,
            "story_generator_model": story.story_generator_model or None,
            **story.content,
        }
        return {name: value for name, value in row.items() if value is not None}

    def lint(self, story: StoryRow) -> list[Finding]:
        """Return warnings about cues. Choices of one word are not searched for in the story."""
        item = self.parse(story.content)
        read = f" {' '.join(_words(item.story))} "
        words = {choice.label: _words(choice.label) for choice in item.choices}
        quoted = [text for text, said in words.items() if len(said) > 1 and f" {' '.join(said)} " in read]
        findings = []
        if quoted and len(quoted) < len(item.choices):
            message = f"The story says “{quoted[0]}” word for word."
            findings.append(Finding("choice_in_story", "choices", message))
        least, *_others, most = sorted(map(len, words.values()))
        if is_uneven(most, least):
            message = f"The choices have {least} to {most} words; length may give the answer away."
            findings.append(Finding("uneven_choices", "choices", message))
        return findings

    def text_for_duplicates(self, story: StoryRow) -> str:
        """Return the story in lower case without punctuation. Questions about one story share a core and are
        not compared.
        """
        return " ".join(_words(str(story.content["story"])))


def key_of(label: str) -> str:
    return label.lower()


def right_key(content: Mapping[str, Any]) -> str:
    """Return the option key of the right answer. Never show it to annotators."""
    return key_of(str(content["answerKey"]))


def read_choices(value: Any) -> tuple[Option, ...]:
    """Read the choices of ``{"text": […], "label": […]}``. Raise ``ValueError`` with the problem."""
    if not isinstance(value, Mapping) or set(value) != {"text", "label"}:
        raise ValueError('choices: must be {"text": ["…", "…"], "label": ["A", "B"]}.')
    texts, labels = value["text"], value["label"]
    if not isinstance(texts, list) or not isinstance(labels, list) or len(texts) != len(labels):
        raise ValueError("choices: “text” and “label” must be two lists of the same length.")
    if not 2 <= len(texts) <= MOST_CHOICES:
        raise ValueError(f"choices: there are {len(texts)}; 2 to {MOST_CHOICES} can be offered.")
    if not all(isinstance(text, str) and text.strip() for text in texts):
        raise ValueError("choices: every text must be a text that is not empty.")
    if not all(isinstance(label, str) and LABEL.fullmatch(label) for label in labels):
        raise ValueError("choices: a label is 1 to 8 letters (A-Z, a-z) and digits.")
    if len({text.strip().casefold() for text in texts}) < len(texts):
        raise ValueError("choices: two of them say the same.")
    if len({key_of(label) for label in labels}) < len(labels):
        raise ValueError("choices: two of them have the same label.")
    return tuple(Option(key_of(label), text) for label, text in zip(labels, texts, strict=True))


def core_of(item_id: str) -> str:
    """Return the id without its two endings, which all questions about a story's versions share."""
    ending = next((ending for ending in CONFIG_OF_ENDING if item_id.endswith(ending)), "")
    return _LEVEL.sub("", item_id.removesuffix(ending))


def _config(fields: Fields, item_id: str) -> str:
    if fields.data.get("config") in (None, ""):
        for ending, config in CONFIG_OF_ENDING.items():
            if item_id.endswith(ending):
                return config
        message = "Nothing says which question set the row belongs to."
        fields.refuse("config", message, "Add “config”, such as “behavior-qa”.")
        return ""
    config = fields.text("config", MAX_NAME)
    if config and not _CONFIG.fullmatch(config):
        remedy = "Use 1 to 40 lower-case letters, digits, “_” and “-”."
        fields.refuse("config", f"“{config}” is not the name of a question set.", remedy)
    return config


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


PROTOCOL = MultipleChoiceProtocol()
