"""Whether a test has become easier with time: the second half of the attempts against the first. Pure.

It is looked at after 20, 40, 80 … first attempts of as many people, at those and no others until the next
look; each look may err half as often as the one before it. So for one round, over all its looks and all that
is looked at, chance alone says so in at most 1 % of rounds (Bonferroni over looks and comparisons), as long
as people do not differ with the time at which they come for another reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma

FEWEST_IN_A_HALF = 10
"""Of fewer attempts in either half nothing is said."""
MORE_BY = 0.2
"""The share has to rise by so much …"""
FASTER_BY = 2 / 3
"""… or the median time to fall to so much of what it was …"""
ALPHA = 0.01
"""… and chance alone must give as much less often than this, over all that is looked at and all looks."""


@dataclass(frozen=True, slots=True)
class Halves:
    """Hits among the earlier and the later half of the attempts."""

    early: int
    early_hits: int
    late: int
    late_hits: int

    @property
    def early_share(self) -> float:
        """In 0..1."""
        return self.early_hits / self.early if self.early else 0.0

    @property
    def late_share(self) -> float:
        """In 0..1."""
        return self.late_hits / self.late if self.late else 0.0

    @property
    def p(self) -> float:
        """How often chance alone gives the later half so many hits or more (Fisher, one-sided)."""
        return fisher_greater(
            self.late_hits, self.late, self.early_hits + self.late_hits, self.early + self.late
        )

    @property
    def are_enough(self) -> bool:
        """Whether there are attempts enough to say anything."""
        return min(self.early, self.late) >= FEWEST_IN_A_HALF


@dataclass(frozen=True, slots=True)
class Pace:
    """How long the earlier and the later half took: medians in seconds, and who was under the median of all.

    ``faster`` counts those under it, as hits of :class:`Halves` (Mood's median test). Who took just as long
    as the median is not among them in either half.
    """

    early_median: float
    late_median: float
    faster: Halves


def look_at(attempts: int) -> int:
    """How many attempts were handed in at the last look: 20, 40, 80 …; 0 before the first."""
    fewest = 2 * FEWEST_IN_A_HALF
    if attempts < fewest:
        return 0
    return fewest << ((attempts // fewest).bit_length() - 1)


def rises(halves: Halves, *, looked_at: int) -> bool:
    """Whether the later half has more hits by 20 points or more, beyond chance.

    ``looked_at`` is the number of comparisons beside one another.
    """
    if not halves.are_enough or halves.late_share - halves.early_share < MORE_BY:
        return False
    return corrected(halves, looked_at) < ALPHA


def quickens(pace: Pace, *, looked_at: int) -> bool:
    """Whether the later half took two thirds of the time of the earlier one or less, beyond chance."""
    if not pace.faster.are_enough or pace.late_median > FASTER_BY * pace.early_median:
        return False
    return corrected(pace.faster, looked_at) < ALPHA


def corrected(halves: Halves, looked_at: int) -> float:
    """The p-value for so many comparisons at once, and for this look among all there will be: at most 1.

    The k-th look spends ALPHA / 2 ** k, which is ALPHA over all of them: p is multiplied by 2 ** k.
    """
    look = ((halves.early + halves.late) // (2 * FEWEST_IN_A_HALF)).bit_length()
    return min(1.0, halves.p * looked_at * (1 << look))


def fisher_greater(hits: int, drawn: int, marked: int, total: int) -> float:
    """The probability of ``hits`` or more marked ones among ``drawn`` of ``total``, of which ``marked`` are.

    The upper tail of the hypergeometric distribution: Fisher's exact test, one-sided (Fisher 1934).
    """
    most = min(drawn, marked)
    return min(1.0, sum(_probability(at, drawn, marked, total) for at in range(hits, most + 1)))


def _probability(hits: int, drawn: int, marked: int, total: int) -> float:
    if hits < 0 or drawn - hits > total - marked:
        return 0.0
    chosen = _log_choose(marked, hits) + _log_choose(total - marked, drawn - hits)
    return exp(chosen - _log_choose(total, drawn))


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
