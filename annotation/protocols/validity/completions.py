"""Read raw completions of the generation prompt: one response has one story in three severities.

The prompt (SimpleToM, story generation) ends with the header ``KEY INFORMATION:``, so a model may go
on without writing it; some repeat it, after a word of introduction or in bold type.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace

from annotation.importing.problems import Problem, quote
from annotation.importing.rows import SourceRow, StoryRow
from annotation.protocols.validity.fields import (
    MAX_ACTION,
    MAX_NAME,
    MAX_QUESTION,
    MAX_SENTENCE,
    Fields,
    Told,
)
from annotation.protocols.validity.item import join_story
from annotation.protocols.validity.responses import Completion, read_response
from annotation.protocols.validity.stories import (
    Asked,
    Provenance,
    Sentences,
    check_actions_differ,
    make_story,
    read_entities,
)
from annotation.protocols.validity.wordlists import SCENARIOS

FIELDS = frozenset(("output", "scenario", "story_example", "entities"))

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


def read_completion(row: SourceRow, told: Told) -> Iterator[StoryRow | Problem]:
    """Yield the three stories of each completion in the row, mild first, or its problems.

    Their core is ``gen-`` and 12 hex digits of the SHA-256 of the completion's id; the stories are
    that with ``_sev1`` (mild), ``_sev2`` (the main one) and ``_sev3`` (high).
    """
    fields = Fields(row, told)
    fields.check_names(FIELDS)
    scenario = fields.one_of("scenario", SCENARIOS)
    example = fields.optional_text("story_example", MAX_NAME)
    entities = read_entities(fields)
    origin = Provenance(scenario, example, None, "")
    stories: list[StoryRow] = []
    for completion in read_response(fields):
        stories += _read_text(fields, completion, origin, entities)
    yield from fields.problems
    if not fields.failed:
        yield from stories


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
    fields: Fields, completion: Completion, origin: Provenance, entities: dict[str, str]
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
    stories = []
    for level, prefix in _LEVELS:
        key_information, sentence = texts[prefix + KEY_INFORMATION], texts[SENTENCE]
        asked = Asked(texts[QUESTION], texts[CORRECT], texts[prefix + COUNTERFACTUAL])
        check_actions_differ(fields, asked, f"output: {prefix}{COUNTERFACTUAL}")
        provenance = replace(origin, severity_original=level, story_generator_model=completion.model)
        sentences = Sentences(key_information, sentence, join_story(key_information, sentence))
        stories.append(make_story(fields, f"{core}_sev{level}", core, provenance, entities, sentences, asked))
    return stories
