"""What of a study waits for somebody to look at it: counts, and where it is looked at. Reads only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import ngettext

from annotation.models import ReviewItem, Study
from dashboard.checks import checks_of
from dashboard.enrolled import ANY, UNDECIDED, undecided_people
from dashboard.recruiting.figures import open_differences
from dashboard.rounds import notes_of
from qualification.models import Round
from qualification.rates import rates_of


@dataclass(frozen=True, slots=True)
class Waiting:
    """One line: what waits, with how much of it there is, and where."""

    text: str
    url: str


def noticed(study: Study, people: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """What takes too long to count beside a page; the worker that makes the figures keeps it with them.

    ``flagged``: of the figures of ``people``, those with a flag. ``doubted_checks``: hidden checks that most
    people fail. ``test_notes``: what stands out in the rounds that people take.
    """
    taken = [rates for rates in rates_of(study) if rates.round.state == Round.State.ACTIVE]
    return {
        "flagged": sum(bool(person["flags"]) for person in people),
        "doubted_checks": sum(check.looks_wrong for check in checks_of(study)),
        "test_notes": sum(len(notes_of(study, rates)) for rates in taken),
    }


def waiting(study: Study, document: Mapping[str, Any] | None) -> list[Waiting]:
    """What there is to look at now; ``document`` is that of the figures. Three queries, none by story."""
    seen = document["noticed"] if document else {}
    found = [
        (_flagged, seen.get("flagged", 0), "people", f"?flag={ANY}"),
        (_suspended, undecided_people(study).count(), "people", f"?state={UNDECIDED}"),
        (_unjudged, _answers_to_judge(study), "review", ""),
        (_doubted, seen.get("doubted_checks", 0), "checks", ""),
        (_notes, seen.get("test_notes", 0), "qualification", ""),
        (_differences, open_differences(study).count(), "differences", ""),
    ]
    return [
        Waiting(text(count), reverse(f"dashboard:{page}", args=[study.slug]) + place)
        for text, count, page, place in found
        if count
    ]


def _answers_to_judge(study: Study) -> int:
    """Of those that were drawn, and no more are drawn than somebody means to read."""
    return ReviewItem.objects.filter(sample__study=study).waiting().count()


def _flagged(count: int) -> str:
    return ngettext("%(n)s person has a flag", "%(n)s people have a flag", count) % {"n": count}


def _suspended(count: int) -> str:
    said = ngettext(
        "%(n)s person is suspended, and their votes count",
        "%(n)s people are suspended, and their votes count",
        count,
    )
    return said % {"n": count}


def _unjudged(count: int) -> str:
    said = ngettext(
        "%(n)s answer drawn for review is not judged yet",
        "%(n)s answers drawn for review are not judged yet",
        count,
    )
    return said % {"n": count}


def _doubted(count: int) -> str:
    said = ngettext("%(n)s hidden check fails most people", "%(n)s hidden checks fail most people", count)
    return said % {"n": count}


def _notes(count: int) -> str:
    said = ngettext(
        "%(n)s sign that the test is too hard or known",
        "%(n)s signs that the test is too hard or known",
        count,
    )
    return said % {"n": count}


def _differences(count: int) -> str:
    said = ngettext(
        "%(n)s difference with a platform is open", "%(n)s differences with a platform are open", count
    )
    return said % {"n": count}
