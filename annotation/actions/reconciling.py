"""Make one table of the lists that several people wrote (:mod:`annotation.reconciling`)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import queries
from annotation.actions.reviews import lock_to_decide, store_decision
from annotation.errors import InvalidInput, WrongState
from annotation.models import Story
from annotation.protocols.base import Protocol
from annotation.protocols.questions import field_name
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
    remark. ``reason`` says how it was done, for example by whom; ``seen`` is the id of the newest decision
    that was shown (0: none; None: not checked). Raise :class:`ReasonMissing`, :class:`WrongState` for a
    story that lacks votes or is no table, :class:`ChangedMeanwhile`, and :class:`InvalidInput` for a row
    without words or remark, or that nobody listed.
    """
    protocol = story.study.protocol
    if protocol.resolution != "reconciled":
        raise WrongState(_("In this study, nobody lists anything that could be reconciled."))
    if not queries.has_all_votes(story):
        raise WrongState(_("This story lacks votes, which may still add to its lists."))
    reason = lock_to_decide(story=story, reason=reason, seen=seen)
    listed = listed_rows(protocol, queries.lists_of([story.pk]).get(story.pk, {}))
    so_far = {row.key: row for row in reconciled_rows(protocol, listed, queries.standing_of(story))}
    taken = set(so_far)
    shared: dict[str, Any] = {"story": story, "by": by, "at": now, "now": now}
    for number, row in enumerate(rows, start=1):
        if row.left_out and not row.key:
            continue
        key = row.key or new_key(taken)
        taken.add(key)
        if row.key and key not in so_far:
            raise InvalidInput(_("Row %(number)s is not in these lists any more.") % {"number": number})
        for field, verdict in _decisions(protocol, key, so_far.get(key), row, number):
            store_decision(field=field, verdict=verdict, reason=row.remark or reason, **shared)
    store_decision(field=table_of(protocol), verdict=fingerprint(listed), reason=reason, **shared)


def _decisions(
    protocol: Protocol, key: str, so_far: ReconciledRow | None, row: EditedRow, number: int
) -> Iterator[tuple[str, str]]:
    """Yield what is newly decided about a row, by field. Raise ``InvalidInput`` for one that cannot stand."""
    was_left_out = so_far is not None and so_far.change is Change.LEFT_OUT
    listed = so_far.listed.words if so_far and so_far.listed else None
    words = so_far.words if so_far and row.left_out else _read(protocol, row, number)
    if (row.left_out or words != listed) and not row.remark:
        told = _("Row %(number)s: write a remark that says why it is changed, added or left out.")
        raise InvalidInput(told % {"number": number})
    if so_far and (row.left_out, words, row.remark) == (was_left_out, so_far.words, so_far.remark):
        return
    if row.left_out or was_left_out:
        yield field_name(table_of(protocol), key), LEFT_OUT if row.left_out else KEPT
    if not row.left_out:
        for question, said in zip(protocol.questions, words, strict=True):
            yield field_name(question.key, key), said


def _read(protocol: Protocol, row: EditedRow, number: int) -> tuple[str, ...]:
    found = []
    for question, value in zip(protocol.questions, row.words, strict=True):
        try:
            words = question.read(value, ())
        except ValueError as error:
            told = _("Row %(number)s: %(problem)s")
            raise InvalidInput(told % {"number": number, "problem": error}) from error
        if not words:
            told = _("Row %(number)s has no answer to “%(question)s”. Fill it in, or leave the row out.")
            raise InvalidInput(told % {"number": number, "question": question.title})
        found.append(words)
    return tuple(found)


@transaction.atomic
def adopt_decisions(
    *, story: Story, decided: Mapping[str, tuple[str, str, datetime]], by: User | None, now: datetime
) -> None:
    """Store decisions of another study about the same lists: by field the verdict, reason and time."""
    for field, (verdict, reason, at) in decided.items():
        store_decision(story=story, field=field, verdict=verdict, reason=reason, by=by, at=at, now=now)
