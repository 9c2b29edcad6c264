"""Check what every story must satisfy, whatever its protocol, before it is stored."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from annotation.importing.rows import Problem, StoryRow, invisible, quote

MOST_SEVERE = 32_767
"""The largest severity that the column can hold."""
_HASH_BITS = 64


def check_rows(
    rows: Iterable[StoryRow], *, longest: Mapping[str, int], parse: Callable[[Mapping[str, Any]], object]
) -> Iterator[StoryRow | Problem]:
    """Yield the stories that can be stored, and a :class:`Problem` for each that cannot.

    ``longest`` limits the characters of each text besides the content; ``parse`` raises ``ValueError``
    for content that is not an item of the protocol. A story repeated with the same content is yielded
    once. Memory: the ids, and a number for each.
    """
    seen: dict[str, int] = {}
    for row in rows:
        problems = [*_facts(row, longest), *_content(row, parse)]
        if problems:
            yield from problems
            continue
        place = row.line << _HASH_BITS | int(row.content_hash[: _HASH_BITS // 4], 16)
        first = seen.setdefault(row.story_id, place)
        if first is place:
            yield row
        elif (first ^ place) % (1 << _HASH_BITS):
            message = f"The id {quote(row.story_id)} stands at line {first >> _HASH_BITS} with other content."
            yield Problem(row.file, row.line, "story_id", message, "Give each story an id of its own.")


def _facts(row: StoryRow, longest: Mapping[str, int]) -> Iterator[Problem]:
    if not row.story_id:
        yield Problem(row.file, row.line, "story_id", "The story has no id.", "Give it one.")
    for name, most in longest.items():
        text = getattr(row, name)
        if len(text) > most:
            message = f"The text has {len(text):,} characters; there is room for {most:,}."
            yield Problem(row.file, row.line, name, message, "Shorten it.")
        elif found := invisible(text):
            yield Problem(row.file, row.line, name, found, "Remove it.")
    severity = row.severity_original
    if severity is not None and not 0 <= severity <= MOST_SEVERE:
        message = f"The severity is {quote(str(severity), 20)}."
        remedy = f"Give a whole number from 0 to {MOST_SEVERE:,}, or none."
        yield Problem(row.file, row.line, "severity_original", message, remedy)


def _content(row: StoryRow, parse: Callable[[Mapping[str, Any]], object]) -> Iterator[Problem]:
    for name, value in (
        *row.content.items(),
        ("harmfulness_predicted", row.harmfulness_predicted),
        ("unethicality_predicted", row.unethicality_predicted),
    ):
        for found in filter(None, map(invisible, _texts([name, value]))):
            yield Problem(row.file, row.line, name[:60], found, "Remove it.")
    try:
        parse(row.content)
    except ValueError as error:
        message = f"The story is not one of this protocol: {error}"
        yield Problem(row.file, row.line, "", message, "Correct the row; the protocol says what it needs.")


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a structure of lists and objects, including names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _texts(name)
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
