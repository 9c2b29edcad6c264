"""Notes on a round's figures: questions that are too hard, answers that may have leaked."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Study
from publishing.statistics.intervals import wilson
from qualification.drift import Halves, corrected, quickens, rises
from qualification.rates import FEWEST, HARD, QuestionRate, RoundRates


@dataclass(frozen=True, slots=True)
class Note:
    """A warning about a round, with its evidence."""

    kind: str
    text: str


def rows_of(study: Study, rates: RoundRates) -> list[dict[str, Any]]:
    """Return the round's questions and their figures for a table."""
    return [
        {"rate": rate, "label": _label(study, rate), "story": _("Story %(at)s") % {"at": rate.position}}
        for rate in rates.questions
    ]


def notes_of(study: Study, rates: RoundRates) -> list[Note]:
    """Return the round's notes: questions that are too hard first, then possible leaks."""
    return [*_too_hard(study, rates), *_known(study, rates)]


def alone_of(study: Study, rates: RoundRates) -> str:
    """Name the question, or tied questions, that most often failed people alone; empty if none did."""
    most = max((rate.alone for rate in rates.questions), default=0)
    if not most:
        return ""
    worst = [_named(study, rate) for rate in rates.questions if rate.alone == most]
    if len(worst) > 1:
        return ngettext(
            "%(questions)s: each of these answers alone failed %(n)s attempt.",
            "%(questions)s: each of these answers alone failed %(n)s attempts.",
            most,
        ) % {"questions": "; ".join(worst), "n": most}
    return ngettext(
        "%(question)s: this answer alone failed %(n)s attempt, more than any other.",
        "%(question)s: this answer alone failed %(n)s attempts, more than any other.",
        most,
    ) % {"question": worst[0], "n": most}


def _too_hard(study: Study, rates: RoundRates) -> Iterator[Note]:
    for rate in rates.questions:
        interval = wilson(rate.accepted, rate.attempts)
        if interval is None or rate.attempts < FEWEST or interval[1] >= HARD:
            continue
        said = _(
            "%(question)s: %(accepted)s of %(attempts)s answers were acceptable (%(share).0f %%, 95 %% "
            "interval %(low).0f–%(high).0f %%). The question is too hard, or the key too narrow: read why "
            "the key accepts what it does before you doubt the people."
        )
        yield Note(
            _("Too hard?"),
            said
            % {
                "question": _named(study, rate),
                "accepted": rate.accepted,
                "attempts": rate.attempts,
                "share": 100 * rate.share,
                "low": 100 * interval[0],
                "high": 100 * interval[1],
            },
        )


def _known(study: Study, rates: RoundRates) -> Iterator[Note]:
    looked_at = len(rates.questions) + 2  # and the pass rate and the pace
    if rates.passing and rises(rates.passing, looked_at=looked_at):
        said = _("Passed: %(numbers)s Later people may have been told the answers.")
        yield Note(_("Known?"), said % {"numbers": _numbers(rates.passing, looked_at)})
    for rate in rates.questions:
        if rises(rate.halves, looked_at=looked_at):
            said = _("%(question)s, acceptable: %(numbers)s Later people may have been told the answer.")
            numbers = {"question": _named(study, rate), "numbers": _numbers(rate.halves, looked_at)}
            yield Note(_("Known?"), said % numbers)
    if rates.pace and quickens(rates.pace, looked_at=looked_at):
        said = _(
            "The later half of the first %(attempts)s attempts took %(late).0f seconds in the median, the "
            "earlier half %(early).0f (Mood’s median test by Fisher’s exact test, one-sided, for "
            "%(looked_at)s comparisons and for looking again: p = %(p).2g). Later people may have known the "
            "stories."
        )
        pace = rates.pace
        medians = {
            "attempts": pace.faster.early + pace.faster.late,
            "late": pace.late_median,
            "early": pace.early_median,
            "looked_at": looked_at,
            "p": corrected(pace.faster, looked_at),
        }
        yield Note(_("Known?"), said % medians)


def _numbers(halves: Halves, looked_at: int) -> str:
    said = _(
        "%(late_hits)s of the later %(late)s attempts (%(late_share).0f %%), %(early_hits)s of the earlier "
        "%(early)s (%(early_share).0f %%); Fisher’s exact test, one-sided, for %(looked_at)s comparisons "
        "and for looking again (Bonferroni): p = %(p).2g."
    )
    return said % {
        "late_hits": halves.late_hits,
        "late": halves.late,
        "late_share": 100 * halves.late_share,
        "early_hits": halves.early_hits,
        "early": halves.early,
        "early_share": 100 * halves.early_share,
        "looked_at": looked_at,
        "p": corrected(halves, looked_at),
    }


def _named(study: Study, rate: QuestionRate) -> str:
    return _("Story %(at)s, “%(question)s”") % {"at": rate.position, "question": _label(study, rate)}


def _label(study: Study, rate: QuestionRate) -> str:
    title = str(study.protocol.question(rate.question).title)
    return f"{title}: {rate.row}" if rate.row else title
