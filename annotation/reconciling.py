"""Tables that several people filled, and the one that experts make of them. Pure.

It follows the first stage of OmniToM: two people list beliefs independently, then both lists become one, and
a remark says why a row was added, revised or left out. The share of rows without a remark is their overlap.

Experts' decisions are by form field: ``belief.<row>`` has the words of a cell, ``beliefs.<row>`` says whether
the row stays, and ``beliefs``, the table's heading, that the lists were reconciled.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol as Interface

from annotation.identifiers import without_identifiers
from annotation.protocols.base import Protocol
from annotation.protocols.questions import Choice, field_name

KEPT, LEFT_OUT, RECONCILED = "kept", "left out", "reconciled"
"""Verdicts about rows and, followed by a hash of the lists (:func:`fingerprint`), about tables."""
ADDED = "added-"
"""Begins the key of a row that nobody listed."""
_ROW = re.compile(rf"[0-9a-f]{{12}}|{ADDED}[0-9]{{2,3}}")
_DONE = re.compile(rf"{RECONCILED}-[0-9a-f]{{12}}")


class Change(StrEnum):
    """The fate of a row when experts reconcile the lists."""

    KEPT = "kept"
    REVISED = "revised"
    ADDED = "added"
    LEFT_OUT = "left out"


class Decided(Interface):
    """An expert's decision about a field, with the reason."""

    @property
    def verdict(self) -> str: ...

    @property
    def reason(self) -> str: ...


@dataclass(frozen=True, slots=True)
class ListedRow:
    """A row that people listed, in the words of one of them, and everybody who did."""

    key: str
    words: tuple[str, ...]
    """In the order of the questions."""
    people: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReconciledRow:
    """A row after the experts' decisions: its words now, and as people listed it (none if they did not)."""

    key: str
    words: tuple[str, ...]
    listed: ListedRow | None
    change: Change
    remark: str


def listed_rows(protocol: Protocol, lists: Mapping[str, Iterable[Choice]]) -> list[ListedRow]:
    """Return the rows of several people's tables, each once, those with the same first cell together.

    Releases publish the words, so what looks like a platform's id or an address is taken out. Rows are the
    same if their words are, but for case, spaces and a full stop. The key of a row follows from its words, so
    it stays when other rows come and go. Neither order nor words depend on who is who.
    """
    found: dict[str, list[tuple[str, tuple[str, ...], str]]] = {}
    for person, choices in lists.items():
        given = {(choice.row, choice.question): without_identifiers(choice.option) for choice in choices}
        for row in {row for row, _question in given}:
            words = tuple(given.get((row, question.key), "") for question in protocol.questions)
            text = "\n".join(" ".join(word.casefold().rstrip(". ").split()) for word in words)
            key = hashlib.sha256(text.encode()).hexdigest()[:12]
            found.setdefault(key, []).append((row, words, person))
    in_order = sorted((min(row for row, _, _ in same), key) for key, same in found.items())
    rows = []
    for _, key in in_order:
        words = min(words for _, words, _ in found[key])
        rows.append(ListedRow(key, words, tuple(sorted({person for *_, person in found[key]}))))
    first = [row.words[0].casefold() for row in rows]
    return sorted(rows, key=lambda row: first.index(row.words[0].casefold()))


def fingerprint(listed: Iterable[ListedRow]) -> str:
    """Return the verdict that marks exactly these lists as reconciled."""
    keys = " ".join(sorted(row.key for row in listed))
    return f"{RECONCILED}-{hashlib.sha256(keys.encode()).hexdigest()[:12]}"


def is_reconciled(protocol: Protocol, listed: Sequence[ListedRow], decisions: Mapping[str, Decided]) -> bool:
    """Return True if experts reconciled these very lists, and not earlier ones."""
    decided = decisions.get(table_of(protocol))
    return decided is not None and decided.verdict == fingerprint(listed)


def reconciled_rows(
    protocol: Protocol, listed: Sequence[ListedRow], decisions: Mapping[str, Decided]
) -> list[ReconciledRow]:
    """Return the table as the decisions leave it, first what people listed, then what experts added."""
    rows = [_decided(protocol, row.key, row, decisions) for row in listed]
    asked = protocol.questions[0].key
    added = sorted(field.partition(".")[2] for field in decisions if field.startswith(f"{asked}.{ADDED}"))
    return rows + [_decided(protocol, key, None, decisions) for key in added]


def can_stand(protocol: Protocol, field: str, verdict: str) -> bool:
    """Return True if experts can have decided this about a field; the row may be listed no more."""
    question, _dot, row = field.partition(".")
    if question != table_of(protocol):
        is_cell = question in protocol.written and _ROW.fullmatch(row) is not None
        return is_cell and protocol.question(question).read(verdict, ()) == verdict != ""
    if row:
        return verdict in (KEPT, LEFT_OUT) and _ROW.fullmatch(row) is not None
    return _DONE.fullmatch(verdict) is not None


def table_of(protocol: Protocol) -> str:
    """Return the key of the table, under which decisions about whole rows are stored."""
    assert protocol.by_row
    return protocol.by_row.key


def new_key(taken: Collection[str]) -> str:
    """Return the key of one more row that experts add."""
    return f"{ADDED}{sum(key.startswith(ADDED) for key in taken) + 1:02}"


def _decided(
    protocol: Protocol, key: str, listed: ListedRow | None, decisions: Mapping[str, Decided]
) -> ReconciledRow:
    as_listed = listed.words if listed else ("",) * len(protocol.questions)
    fields = [field_name(question.key, key) for question in protocol.questions]
    cells = [decisions.get(field) for field in fields]
    words = tuple(cell.verdict if cell else word for cell, word in zip(cells, as_listed, strict=True))
    row = decisions.get(field_name(table_of(protocol), key))
    if row and row.verdict == LEFT_OUT:
        change, remark = Change.LEFT_OUT, row.reason
    elif listed is None:
        change, remark = Change.ADDED, _reason(cells)
    elif words != as_listed:
        change, remark = Change.REVISED, _reason(cells)
    else:
        change, remark = Change.KEPT, ""
    return ReconciledRow(key, words, listed, change, remark)


def _reason(cells: Iterable[Decided | None]) -> str:
    return next((cell.reason for cell in reversed([*cells]) if cell), "")
