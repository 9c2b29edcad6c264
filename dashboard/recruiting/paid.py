"""Who was paid what, as a form says, or the table of who is owed what with its column ``paid`` filled in."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _

from annotation.models import Study
from annotation.rules import pseudonym
from dashboard.recruiting.owed import who_worked
from recruitment.codes import Outcome, completion_code, normal_form
from recruitment.errors import CannotPay

LARGEST = 4 * 1024 * 1024
MOST_PROBLEMS = 5
_AMOUNT = re.compile(r"-?[0-9]{1,6}([.,][0-9]{1,2})?")


@dataclass(slots=True)
class Paid:
    """By enrollment: what was paid now, and what had been paid before as the table said, if it did."""

    amounts: dict[int, Decimal] = field(default_factory=dict)
    seen: dict[int, Decimal] = field(default_factory=dict)


def paid_in_form(study: Study, who: str, amount: str) -> Paid:
    """One person by any of their codes or their pseudonym. Raises :class:`CannotPay`."""
    return _read(
        study, [(1, {"completion_code": who, "annotator": who.strip(), "paid": amount})], lines=False
    )


def paid_in_table(study: Study, file: UploadedFile[bytes]) -> Paid:
    """The rows of a CSV file in which ``paid`` is filled in.

    Raises :class:`CannotPay`, with the first lines that are wrong, and then nothing of it is to be noted.
    """
    if (file.size or 0) > LARGEST:
        raise CannotPay(_("This file is larger than a table of who is owed what can be."))
    try:
        text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CannotPay(_("This file is not UTF-8. Save the table as “CSV UTF-8”.")) from error
    separator = ";" if ";" in text.partition("\n")[0] else ","
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator)
    columns = set(reader.fieldnames or ())
    if "paid" not in columns or not columns & {"annotator", "completion_code"}:
        raise CannotPay(_("The table needs the column “paid”, beside “annotator” or “completion_code”."))
    return _read(study, ((reader.line_num, row) for row in reader))


def _read(study: Study, rows: Iterable[tuple[int, Mapping[str, str | None]]], *, lines: bool = True) -> Paid:
    people, found = _by_name(study), Paid()
    problems: list[str] = []
    for line, row in rows:
        said = (row.get("paid") or "").strip()
        if not said:
            continue
        before = (row.get("paid_so_far") or "").strip()
        by_pseudonym = people.get((row.get("annotator") or "").strip())
        by_code = people.get(normal_form(row.get("completion_code") or ""))
        named = {person for person in (by_pseudonym, by_code) if person is not None}
        problem = _problem(named, said, before, found)
        if problem:
            problems.append(
                _("Line %(line)s: %(problem)s.") % {"line": line, "problem": problem} if lines else problem
            )
            continue
        (person,) = named
        found.amounts[person] = _amount(said)
        if before:
            found.seen[person] = _amount(before)
    if problems:
        raise CannotPay(" ".join([*problems[:MOST_PROBLEMS], _("Nothing was noted.")]))
    if not found.amounts:
        raise CannotPay(_("Nothing is filled in under “paid”. Nothing was noted."))
    return found


def _problem(named: set[int], said: str, before: str, found: Paid) -> str:
    """What is wrong with a row that names these people; empty if nothing is."""
    if not named:
        return _("nobody in the table has this code or pseudonym")
    if len(named) > 1:  # one column was sorted without the other
        return _("the code and the pseudonym are of two people")
    if not _AMOUNT.fullmatch(said):
        return _("“%(said)s” is no amount") % {"said": said[:20]}
    if before and not _AMOUNT.fullmatch(before):
        return _("“%(said)s” under “paid_so_far” is no amount") % {"said": before[:20]}
    return _("this person is in it twice") if named & found.amounts.keys() else ""


def _amount(said: str) -> Decimal:
    return Decimal(said.replace(",", "."))


def _by_name(study: Study) -> dict[str, int]:
    """The people of the table by their pseudonym and by every code that they can have been shown."""
    found = {}
    for pk, annotator in who_worked(study).values_list("pk", "annotator"):
        found[pseudonym(study.pseudonym_key, annotator)] = pk
        for outcome in Outcome:
            found[completion_code(study.pseudonym_key, pk, outcome)] = pk
    return found
