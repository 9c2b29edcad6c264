"""Read what generators write: raw completions, and rows made from them.

A completion has one story in three severities. A story has two rows, ``<id>_aware`` and ``<id>_action``.

The prompt (SimpleToM, story generation) ends with the header ``KEY INFORMATION:``, so a model may go
on without writing it; some repeat it, after a word of introduction or in bold type.
"""

import hashlib
import re
import struct
from collections.abc import Iterator

from annotation.importing.rows import Problem, SourceRow, StoryRow, quote
from annotation.protocols.fields import MAX_ACTION, MAX_NAME, MAX_QUESTION, MAX_SENTENCE, Fields, Reported
from annotation.protocols.validity import stories
from annotation.protocols.validity.item import PERSON_X, join_story
from annotation.protocols.validity.lint import SCENARIOS
from annotation.protocols.validity.responses import Completion, read_response

COMPLETION_FIELDS = frozenset(("output", "scenario", "story_example", "entities"))

KEY_INFORMATION = "KEY INFORMATION"
SENTENCE = "STORY SECOND SENTENCE"
QUESTION = "QUESTION"
CORRECT = "CORRECT ANSWER"
COUNTERFACTUAL = "COUNTERFACTUAL ANSWER"
SECTIONS = (
    KEY_INFORMATION,
    SENTENCE,
    QUESTION,
    CORRECT,
    COUNTERFACTUAL,
    f"MILD SEVERITY {KEY_INFORMATION}",
    f"MILD SEVERITY {COUNTERFACTUAL}",
    f"HIGH SEVERITY {KEY_INFORMATION}",
    f"HIGH SEVERITY {COUNTERFACTUAL}",
)
_HEADER = re.compile(
    r"^[ \t]*(?:\*\*|#+[ \t]*)?((?:MILD SEVERITY |HIGH SEVERITY )?(?:KEY INFORMATION|COUNTERFACTUAL ANSWER)"
    r"|STORY SECOND SENTENCE|QUESTION|CORRECT ANSWER|SCENARIO|ENTITIES)"
    r"(?:[ \t]*\([^)\n]*\))?[ \t]*(?:\*\*)?:(?:\*\*)?",
    re.MULTILINE,
)
_TRAILING_RULE = re.compile(r"[\s-]+\Z")
_LEVELS = ((1, "MILD SEVERITY "), (2, ""), (3, "HIGH SEVERITY "))


def read_completion(row: SourceRow, reported: Reported) -> Iterator[StoryRow | Problem]:
    """Yield the three stories of each completion in the row, mild first, or its problems.

    Their core is ``gen-`` and 12 hex digits of the SHA-256 of the completion's id; the stories are
    that with ``_sev1`` (mild), ``_sev2`` (the main one) and ``_sev3`` (high).
    """
    fields = Fields(row, reported, COMPLETION_FIELDS)
    scenario = fields.one_of("scenario", SCENARIOS)
    example = fields.optional_text("story_example", MAX_NAME)
    entities = stories.read_entities(fields)
    origin = stories.Provenance(scenario, example, None, "")
    made: list[StoryRow] = []
    for completion in read_response(fields):
        made += _read_text(fields, completion, origin, entities)
    yield from fields.problems
    if not fields.failed:
        yield from made


def split_sections(text: str) -> tuple[dict[str, str], list[str]]:
    """Split a completion into sections by header; also return repeated headers."""
    headers = [match for match in _HEADER.finditer(text) if match[1] not in ("SCENARIO", "ENTITIES")]
    sections: dict[str, str] = {}
    twice: list[str] = []
    if not any(match[1] == KEY_INFORMATION for match in headers):
        first = _HEADER.search(text)
        sections[KEY_INFORMATION] = _clean(text[: first.start() if first else len(text)])
    ends = [match.start() for match in _HEADER.finditer(text)] + [len(text)]
    for match in headers:
        if match[1] in sections:
            twice.append(match[1])
        end = next(position for position in ends if position >= match.end())
        sections[match[1]] = _clean(text[match.end() : end])
    return sections, twice


def _clean(text: str) -> str:
    return _TRAILING_RULE.sub("", text.strip().strip("*").strip())


def _read_text(
    fields: Fields, completion: Completion, origin: stories.Provenance, entities: dict[str, str]
) -> list[StoryRow]:
    sections, twice = split_sections(completion.text)
    if completion.cut_off:
        last = next((name for name in reversed(SECTIONS) if name in sections), KEY_INFORMATION)
        missing = [name for name in SECTIONS if not sections.get(name)]
        lost = f", and {', '.join(missing)} never came" if missing else ""
        message = f"The completion was cut off in this section ({completion.cut_off}){lost}."
        fields.refuse(f"output: {last}", message, "Generate it again with a higher limit of output tokens.")
        return []
    for name in twice:
        message = "The section stands in the completion twice."
        fields.refuse(f"output: {name}", message, "Keep one of the two.")
    if not any(name in sections for name in SECTIONS[1:]):
        shown = quote(completion.text.strip())
        fields.refuse("output", f"The completion is not in the template: {shown}.", "Remove the row.")
        return []
    texts: dict[str, str] = {}
    for name in SECTIONS:
        field = f"output: {name}"
        if not sections.get(name):
            what = "empty" if name in sections else "missing"
            fields.refuse(field, f"The section is {what}.", "Generate the story again, or add the section.")
            continue
        limit = MAX_SENTENCE if name.endswith((KEY_INFORMATION, SENTENCE)) else MAX_ACTION
        texts[name] = fields.check(field, sections[name], MAX_QUESTION if name == QUESTION else limit)
    if fields.failed:
        return []
    core = f"gen-{hashlib.sha256(completion.id.encode()).hexdigest()[:12]}"
    made = []
    for level, prefix in _LEVELS:
        key_information, sentence = texts[prefix + KEY_INFORMATION], texts[SENTENCE]
        asked = stories.NextAction(texts[QUESTION], texts[CORRECT], texts[prefix + COUNTERFACTUAL])
        stories.check_actions_differ(fields, asked, f"output: {prefix}{COUNTERFACTUAL}")
        provenance = origin._replace(severity_original=level, story_generator_model=completion.model)
        sentences = stories.Sentences(key_information, sentence, join_story(key_information, sentence))
        made.append(
            stories.make_story(fields, f"{core}_sev{level}", core, provenance, entities, sentences, asked)
        )
    return made


_SHARED = (
    "scenario_name", "story_prompt_example", "severity", "generator_model", "entities",
    "key_information", "story_sentence", "story",
)  # fmt: skip
"""Fields that must be equal in the two rows of a pair."""
_OWN = ("question", "answer_correct", "answer_incorrect")
_MARKS = struct.Struct(f"{len(_SHARED) + len(_OWN)}q")
PAIR_FIELDS = frozenset(("id", *_SHARED, *_OWN))

Waiting = tuple[str, int, str, bytes]
"""A row without its mate: file, line, half (``aware`` or ``action``), hashes of its values (or ``b""``)."""


class Pairs:
    """Matches the two rows of each story, wherever they are in the file.

    The ``_action`` row makes the story as soon as it is read. Only eleven hashes of the ``_aware`` row are
    kept, so that a file with all rows of one kind first needs little memory.
    """

    def __init__(self, reported: Reported) -> None:
        self._reported = reported
        self._waiting: dict[str, Waiting] = {}

    def read(self, row: SourceRow) -> Iterator[StoryRow | Problem]:
        """Yield the story of an ``_action`` row, or the problems of either row and of the pair."""
        fields = Fields(row, self._reported, PAIR_FIELDS)
        row_id = fields.identifier("id")
        base, _, half = row_id.rpartition("_")
        if row_id and (half not in _MATE or not base):
            message = f"The id {quote(row_id)} ends neither in “_aware” nor in “_action”."
            remedy = "Give each story two rows, <id>_aware and <id>_action, or one with a “story_id”."
            fields.refuse("id", message, remedy)
            half = ""
        story, values = _read_half(fields, base, half)
        if half:
            self._match(fields, base, half, values)
        yield from fields.problems
        if story is not None and not fields.failed:
            yield story

    def unmatched(self) -> Iterator[Problem]:
        """Yield problems for rows without a mate, by line. Call it after the last row."""
        for base, (file, line, half, _) in self._waiting.items():
            mine, other = quote(f"{base}_{half}"), quote(f"{base}_{_MATE[half]}")
            message = f"The row {mine} has no row {other} beside it."
            yield Problem(file, line, "id", message, "Add the other row, or remove this one.")

    def _match(self, fields: Fields, base: str, half: str, values: tuple[object, ...]) -> None:
        marks = b"" if fields.failed else _MARKS.pack(*map(hash, values))
        waiting = self._waiting.get(base)
        if waiting is None:
            self._waiting[base] = (fields.row.file, fields.row.line, half, marks)
            return
        file, line, other, other_marks = waiting
        if other != half:
            del self._waiting[base]
        if not marks or not other_marks:
            return
        place = f"line {line}" if file == fields.row.file else f"{file}, line {line}"
        names: tuple[str, ...]
        if other == half:
            names, message = _SHARED + _OWN, "The same id stands at {} with another {}."
            remedy = "Give each row an id of its own."
        else:
            names, message = _SHARED, "The two rows of the story do not agree: {} has another {}."
            remedy = "Make it the same in both rows."
        for name, ours, theirs in zip(names, _MARKS.unpack(marks), _MARKS.unpack(other_marks), strict=False):
            if ours != theirs:
                fields.refuse(name, message.format(place, name), remedy)


_MATE = {"aware": "action", "action": "aware"}


def _read_half(fields: Fields, story_id: str, half: str) -> tuple[StoryRow | None, tuple[object, ...]]:
    """Return the story (of an ``_action`` row without problems), and the values to compare with its mate."""
    provenance = stories.read_provenance(fields, severity="severity", model="generator_model")
    stories.check_level(fields, story_id, provenance.severity_original, "severity")
    entities = stories.read_entities(fields)
    sentences = stories.read_sentences(fields)
    limit = MAX_SENTENCE * 2 if half == "aware" else MAX_ACTION
    question = fields.text("question", limit)
    correct, incorrect = (fields.text(name, MAX_ACTION) for name in ("answer_correct", "answer_incorrect"))
    story = None
    if half == "aware":
        texts = (question, correct, incorrect)
        stories.check_aware_question(
            fields, "question", texts, entities.get(PERSON_X, ""), sentences.key_information
        )
    elif half == "action":
        asked = stories.NextAction(question, correct, incorrect)
        stories.check_actions_differ(fields, asked, "answer_incorrect")
        if not fields.failed:
            core_id = stories.core_of(story_id)
            story = stories.make_story(fields, story_id, core_id, provenance, entities, sentences, asked)
    names = tuple(sorted(entities.items()))
    return story, (*provenance, names, *sentences, question, correct, incorrect)
