"""Make one table of the lists that several people wrote (:mod:`annotation.reconciling`)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import queries
from annotation.actions.reviews import lock_to_decide, store_decision
from annotation.errors import ChangedMeanwhile, InvalidInput, WrongState
from annotation.identifiers import without_identifiers
from annotation.models import Story
from annotation.protocols.base import Protocol
from annotation.protocols.questions import Question, Text, field_name
from annotation.reasons import LONGEST_STATEMENT
from annotation.reconciling import (
    KEPT,
    LEFT_OUT,
    Change,
    ReconciledRow,
    fingerprint,
    listed_rows,
    new_key,
    reconciled_rows,
    table_of,
)

REMARK = Text(key="remark", title="", text="", longest=LONGEST_STATEMENT)
"""Says why a row is changed, added or left out."""


@dataclass(frozen=True, slots=True)
class EditedRow:
    """A row as experts want it: its words in the order of the questions, or left out, and why.

    ``key`` is empty for a row that they add.
    """

    key: str
    words: tuple[str, ...]
    left_out: bool = False
    remark: str = ""


@transaction.atomic
def reconcile(
    *,
    story: Story,
    rows: Sequence[EditedRow],
    reason: str,
    by: User | None,
    now: datetime,
    seen: int | None = None,
) -> None:
    """Store the table that experts made of people's lists of a story; they may do so again.

    Only what differs from the table so far is stored, and every revised, added or left-out row with its
    remark. ``reason`` says how it was done, for example by how many; ``seen`` is the id of the newest
    decision that was shown (0: none; None: not checked). Platform ids and addresses are taken out, since
    releases publish it all. Raise :class:`ChangedMeanwhile` unless the rows are those of the table so far,
    :class:`ReasonMissing`, :class:`WrongState` for a story that lacks votes or is no table, and
    :class:`InvalidInput` for a row without words or remark.
    """
    protocol = story.study.protocol
    if protocol.resolution != "reconciled":
        raise WrongState(_("In this study, nobody lists anything that could be reconciled."))
    if not queries.has_all_votes(story):
        raise WrongState(_("This story lacks votes, which may still add to its lists."))
    reason = without_identifiers(lock_to_decide(story=story, reason=reason, seen=seen))
    listed = listed_rows(protocol, queries.lists_of([story.pk]).get(story.pk, {}))
    decided = {one.field: one for one in story.adjudications.standing()}
    so_far = {row.key: row for row in reconciled_rows(protocol, listed, decided)}
    if sorted(row.key for row in rows if row.key) != sorted(so_far):
        raise ChangedMeanwhile(_("The lists of this story changed in the meantime. Look at it again."))
    shared: dict[str, Any] = {"story": story, "by": by, "at": now, "now": now}
    taken, problems = set(so_far), []
    for number, row in enumerate(rows, start=1):
        if row.left_out and not row.key:
            continue
        key = row.key or new_key(taken)
        taken.add(key)
        try:
            wanted = _tidied(protocol, row, so_far.get(key), number)
        except InvalidInput as error:
            problems.append(str(error))
            continue
        for field, verdict in _decisions(protocol, key, so_far.get(key), wanted):
            store_decision(field=field, verdict=verdict, reason=wanted.remark or reason, **shared)
    if problems:
        raise InvalidInput(" ".join(problems))
    store_decision(field=table_of(protocol), verdict=fingerprint(listed), reason=reason, **shared)


def _tidied(protocol: Protocol, row: EditedRow, so_far: ReconciledRow | None, number: int) -> EditedRow:
    """Return a row as it is stored. Raise ``InvalidInput`` for one that cannot stand."""
    words = row.words if so_far is None else so_far.words
    if (not row.left_out and row.words != words) or so_far is None:
        words = tuple(map(partial(_read, number), protocol.questions, row.words))
    listed = so_far.listed.words if so_far and so_far.listed else None
    if words == listed and not row.left_out:
        if row.remark.strip():
            text = _("Row %(number)s has a remark, but no change. Change the row, or empty its remark.")
            raise InvalidInput(text, number=number)
        return replace(row, words=words, remark="")
    return replace(row, words=words, remark=_read(number, REMARK, row.remark))


def _read(number: int, question: Question, value: str) -> str:
    try:
        words = without_identifiers(question.read(value, ()))
    except ValueError as error:
        text = _("Row %(number)s: %(problem)s")
        raise InvalidInput(text, number=number, problem=error) from error
    if words:
        return words
    text = _("Row %(number)s has no answer to “%(question)s”. Fill it in, or leave the row out.")
    if question is REMARK:
        text = _("Row %(number)s: write a remark that says why it is changed, added or left out.")
    raise InvalidInput(text, number=number, question=question.title)


def _decisions(
    protocol: Protocol, key: str, so_far: ReconciledRow | None, row: EditedRow
) -> Iterator[tuple[str, str]]:
    """Yield what is newly decided about a row, by field."""
    was_left_out = so_far is not None and so_far.change is Change.LEFT_OUT
    if so_far and (row.left_out, row.words, row.remark) == (was_left_out, so_far.words, so_far.remark):
        return
    if row.left_out or was_left_out:
        yield field_name(table_of(protocol), key), LEFT_OUT if row.left_out else KEPT
    if not row.left_out:
        for question, answer in zip(protocol.questions, row.words, strict=True):
            yield field_name(question.key, key), answer


@transaction.atomic
def adopt_decisions(
    *, story: Story, decided: Mapping[str, tuple[str, str, datetime]], by: User | None, now: datetime
) -> None:
    """Store decisions of another study about the same lists: by field the verdict, reason and time."""
    for field, (verdict, reason, at) in decided.items():
        store_decision(story=story, field=field, verdict=verdict, reason=reason, by=by, at=at, now=now)
