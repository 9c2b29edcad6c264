"""The form in which the accepted answers of several hidden checks are set at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import Any

from annotation.actions import ProposedKey
from annotation.models import CheckKey, Study
from dashboard.acceptable import Acceptable, AcceptableForm, Cell
from dashboard.checks import ShownCheck, accepted_by, checks_of

MOST_ROWS = 25
"""Checks on the page."""
MOST_COLUMNS = 5
"""Questions beside each other; where the protocol asks more, they stand below each other."""


class CheckRow(AcceptableForm):
    """What is accepted about one check of several. One that is left as it was is not looked at."""

    def __init__(self, check: ShownCheck, accepted: Acceptable, data: Any = None) -> None:
        story = check.story
        self.check, self.parts = check, story.study.protocol.parts(story.item)
        super().__init__(story.study.protocol, story.item, data, initial=accepted, prefix=f"check-{story.pk}")
        self.empty_permitted, self.use_required_attribute = True, False
        self.version = check.key.version if check.key else 0
        self.after_name = self.add_prefix("after")
        self.refused = ""

    @property
    def columns(self) -> Iterator[list[Cell]]:
        """What is asked about the story, by question."""
        for _number, cells in groupby(self.cells, key=lambda cell: cell.number):
            yield list(cells)

    def proposed(self) -> ProposedKey:
        """What a valid form that was changed asks for."""
        after = self.data.get(self.after_name, "")
        return ProposedKey(self.check.story, self.acceptable(), int(after) if after.isdecimal() else 0)


class CheckTable:
    """The checks whose accepted answers can be set: those that nobody has answered, without any first.

    Of what was sent, those that it speaks of. Checks whose texts are ``closed`` to the reader are left out.
    """

    def __init__(self, study: Study, *, closed: Collection[str], data: Any = None) -> None:
        shown = [check for check in checks_of(study, **_asked_for(data)) if _can_be_set(check, data)]
        open_ones = [check for check in shown if check.story.text_hash not in closed]
        open_ones.sort(key=lambda check: check.key is not None)
        self.closed, self.total = len(shown) - len(open_ones), len(open_ones)
        chosen = open_ones[:MOST_ROWS]
        accepted = accepted_by(*(check.key for check in chosen if check.key))
        self.rows: Sequence[CheckRow] = [
            CheckRow(check, accepted[check.key.pk] if check.key else {}, data) for check in chosen
        ]
        self.in_columns = len(study.protocol.questions) <= MOST_COLUMNS

    def is_valid(self) -> bool:
        """Whether every row is; all are looked at, so that all mistakes are named at once."""
        valid = [row.is_valid() for row in self.rows]
        return all(valid)

    def proposed(self) -> list[ProposedKey]:
        """What was changed on a valid page."""
        return [row.proposed() for row in self.rows if row.has_changed()]

    def refuse(self, problems: dict[int, str]) -> None:
        """Keep what is wrong with rows, by the story's row."""
        for row in self.rows:
            row.refused = problems.get(row.check.story.pk, "")

    @property
    def problems(self) -> list[dict[str, str]]:
        """Everything that is wrong, with the id of where it is mended."""
        found = []
        for row in self.rows:
            where = row.check.story.story_id
            if row.refused:
                found.append({"id": row.prefix or "", "where": where, "text": row.refused})
            found += [
                {
                    "id": cell.field.auto_id,
                    "where": f"{where}, {cell.field.label}",
                    "text": str(cell.field.errors[0]),
                }
                for cell in row.cells
                if cell.field.errors
            ]
        return found


def _asked_for(data: Any) -> dict[str, Any]:
    if data is None:
        return {}
    return {"pk__in": [int(number) for number in data.getlist("check") if number.isdecimal()][:MOST_ROWS]}


def _can_be_set(check: ShownCheck, data: Any) -> bool:
    """What was sent is said to be too late by the action, not by being ignored."""
    if data is not None:
        return True
    return check.key is None or (check.key.state == CheckKey.State.IN_USE and not check.answered)
