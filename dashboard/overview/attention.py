"""Counts of what needs a researcher's attention in a study, each with its page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import ngettext_lazy

from annotation.models import ReviewItem, Skip, Study
from annotation.rules import is_skipped_often
from dashboard.people.listing import ANY, UNDECIDED, undecided_people
from dashboard.qualification.round_notes import notes_of
from dashboard.quality.hidden_checks import checks_of
from dashboard.recruitment.queries.campaigns import open_mismatches
from qualification.models import Round
from qualification.rates import rates_of


@dataclass(frozen=True, slots=True)
class Waiting:
    """One kind of thing that needs attention: its label, its count, and its page."""

    text: str
    url: str


def noticed(study: Study, people: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Count what is too slow to count for a page; the worker stores the result with the figures.

    ``flagged``: participants with a flag among ``people``. ``doubted_checks``: hidden checks that most
    participants fail. ``skipped_often``: main stories. ``test_notes``: notes on active rounds.
    """
    taken = [rates for rates in rates_of(study) if rates.round.state == Round.State.ACTIVE]
    return {
        "flagged": sum(bool(person["flags"]) for person in people),
        "skipped_often": sum(
            is_skipped_often(skips=row["skips"], votes_per_story=study.votes_per_story)
            for row in Skip.objects.by_story(study)
        ),
        "doubted_checks": sum(check.looks_wrong for check in checks_of(study)),
        "test_notes": sum(len(notes_of(study, rates)) for rates in taken),
    }


_TEXTS = {
    "flagged": ngettext_lazy("%(n)s participant has a flag", "%(n)s participants have a flag", "n"),
    "suspended": ngettext_lazy(
        "%(n)s suspended participant whose votes still count",
        "%(n)s suspended participants whose votes still count",
        "n",
    ),
    "unjudged": ngettext_lazy(
        "%(n)s drawn answer waits for review", "%(n)s drawn answers wait for review", "n"
    ),
    "skipped_often": ngettext_lazy(
        "%(n)s story was skipped by as many participants as would decide it",
        "%(n)s stories were skipped by as many participants as would decide them",
        "n",
    ),
    "doubted_checks": ngettext_lazy(
        "%(n)s hidden check is failed by most participants",
        "%(n)s hidden checks are failed by most participants",
        "n",
    ),
    "test_notes": ngettext_lazy(
        "%(n)s sign that the test is too hard or known", "%(n)s signs that the test is too hard or known", "n"
    ),
    "mismatches": ngettext_lazy(
        "%(n)s mismatch with a platform is open", "%(n)s mismatches with a platform are open", "n"
    ),
}


def waiting(study: Study, document: Mapping[str, Any] | None) -> list[Waiting]:
    """Return what needs attention now, from the figures' ``document`` and three queries."""
    counts = (document["noticed"] if document else {}) | {
        "suspended": undecided_people(study).count(),
        "unjudged": ReviewItem.objects.filter(sample__study=study).waiting().count(),
        "mismatches": open_mismatches(study).count(),
    }
    pages = {
        "flagged": ("people", f"?flag={ANY}"),
        "suspended": ("people", f"?state={UNDECIDED}"),
        "unjudged": ("review", ""),
        "skipped_often": ("skips", ""),
        "doubted_checks": ("hidden_checks", ""),
        "test_notes": ("qualification", ""),
        "mismatches": ("mismatches", ""),
    }
    return [
        Waiting(_TEXTS[kind] % {"n": counts[kind]}, reverse(f"dashboard:{page}", args=[study.slug]) + place)
        for kind, (page, place) in pages.items()
        if counts.get(kind)
    ]
