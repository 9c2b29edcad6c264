"""Registry of protocols: every module in this package that defines ``PROTOCOL``.

Protocols are code, not data. They are discovered by import, so that a new protocol is a new file and no
change elsewhere.
"""

import importlib
import pkgutil
import re
from functools import cache

from annotation.protocols.base import Protocol
from annotation.protocols.questions import KEY_PATTERN, Question, SeveralOf, Text


class UnknownProtocol(LookupError):
    """This installation does not have the protocol, or its version, that a study names."""


@cache
def all_protocols() -> dict[str, Protocol]:
    """Return all installed protocols by name."""
    found: dict[str, Protocol] = {}
    for module_info in pkgutil.iter_modules(__path__):
        protocol = getattr(importlib.import_module(f"{__name__}.{module_info.name}"), "PROTOCOL", None)
        if protocol is not None:
            _check(protocol)
            found[protocol.name] = protocol
    return found


RESERVED = frozenset(
    {"assignment", "story_id", "annotator", "submitted_at", "seconds_on_task"}
    | {"position", "order_seed", "option_seed", "language", "comment"}
    | {"instructions", "attempt", "saved", "revision"}
)
"""Names that the form and the published votes use for something else."""


def _check(protocol: Protocol) -> None:
    earlier: dict[str, Question] = {}
    for question in protocol.questions:
        rows = question.choices if isinstance(question, SeveralOf) else ()
        keys = [question.key, *(option.key for option in (*question.options, *rows))]
        if wrong := [key for key in keys if not re.match(KEY_PATTERN, key)]:
            raise ValueError(f"Protocol “{protocol.name}”: {wrong} cannot be keys ({KEY_PATTERN}).")
        if question.key in RESERVED:
            others = ", ".join(sorted(RESERVED - {question.key}))
            raise ValueError(f"Protocol “{protocol.name}”: {question.key!r} is reserved, like {others}.")
        if any(option.counts_against for option in rows):
            raise ValueError(f"Protocol “{protocol.name}”: no choice of {question.key!r} can count against.")
        if question.only_after and not _can_depend(question, earlier.get(question.only_after[0])):
            message = "depends on a question that is not an earlier one with these options, or has rows."
            raise ValueError(f"Protocol “{protocol.name}”: {question.key!r} {message}")
        earlier[question.key] = question
    if protocol.revisable and protocol.resolution != "filter":
        raise ValueError(f"Protocol “{protocol.name}”: only a filter can drop old versions of a story.")
    in_words = all(isinstance(question, Text) and not question.optional for question in protocol.questions)
    if protocol.resolution == "reconciled" and not (protocol.open_table and in_words):
        raise ValueError(f"Protocol “{protocol.name}”: only an open table of words can be reconciled.")
    if protocol.open_table and protocol.by_row is None:
        raise ValueError(f"Protocol “{protocol.name}”: an open table needs by_row, its heading.")
    if protocol.resolution == "majority" and protocol.written:
        raise ValueError(f"Protocol “{protocol.name}”: words have no majority.")


def _can_depend(question: Question, earlier: Question | None) -> bool:
    if earlier is None or question.only_after is None:
        return False
    are_plain = all(type(one).rows_for is Question.rows_for for one in (question, earlier))
    return are_plain and {*question.only_after[1]} <= {option.key for option in earlier.options}


def get_protocol(name: str, version: str = "") -> Protocol:
    """Return the installed protocol with this name (and version, if given).

    Raise :class:`UnknownProtocol`: one version never reads votes given under another.
    """
    protocol = all_protocols().get(name)
    if protocol is None:
        known = ", ".join(sorted(all_protocols()))
        raise UnknownProtocol(f"There is no protocol “{name}”. Installed: {known}.")
    if version and protocol.version != version:
        raise UnknownProtocol(
            f"The protocol “{name}” is installed in version {protocol.version}, not {version}."
        )
    return protocol


def stated_by(name: str) -> type[Protocol]:
    """Return the class of the protocol with this name, for what it states about all its versions' releases.

    Return the base class, with the defaults, if no such protocol is installed.
    """
    protocol = all_protocols().get(name)
    return Protocol if protocol is None else type(protocol)


def is_installed(name: str, version: str) -> bool:
    """Return True if this version of the protocol is installed."""
    protocol = all_protocols().get(name)
    return protocol is not None and protocol.version == version
