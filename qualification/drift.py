"""Detect whether a test has become easier over time: compare the later half of attempts with the earlier.

Looks are taken after 20, 40, 80 … first attempts of different annotators, and use just these until the next
look. Each look may err half as often as the one before. So over all looks and comparisons of a round, chance
alone raises a false alarm in at most 1 % of rounds (Bonferroni over looks and comparisons), provided that
annotators do not change over time for another reason. Pure functions.
"""

from dataclasses import dataclass

FEWEST_IN_A_HALF = 10
"""Attempts needed in each half."""
MORE_BY = 0.2
"""The least rise of a share that raises an alarm."""
FASTER_BY = 2 / 3
"""The largest fraction of the earlier median time that raises an alarm."""
ALPHA = 0.01
"""The probability of a false alarm by chance alone, over all comparisons and looks."""


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
        """The probability that chance alone gives the later half as many hits (Fisher, one-sided)."""
        from scipy.stats import hypergeom  # loaded here: it takes a second, and few processes need it

        attempts, hits = self.early + self.late, self.early_hits + self.late_hits
        return float(hypergeom.sf(self.late_hits - 1, attempts, hits, self.late)) if attempts else 1.0

    @property
    def are_enough(self) -> bool:
        """Return True if both halves have enough attempts to compare."""
        return min(self.early, self.late) >= FEWEST_IN_A_HALF


@dataclass(frozen=True, slots=True)
class Pace:
    """Duration of the earlier and the later half: medians in seconds, and attempts faster than the median.

    ``faster`` counts attempts below the overall median as hits (Mood's median test). Attempts equal to the
    median are not hits.
    """

    early_median: float
    late_median: float
    faster: Halves


def look_at(attempts: int) -> int:
    """Return the number of submitted attempts at the last look: 20, 40, 80 …; 0 before the first."""
    fewest = 2 * FEWEST_IN_A_HALF
    if attempts < fewest:
        return 0
    return fewest << ((attempts // fewest).bit_length() - 1)


def rises(halves: Halves, *, looked_at: int) -> bool:
    """Return True if the later half's share of hits is higher by 20 points or more, beyond chance.

    ``looked_at`` is the number of simultaneous comparisons.
    """
    if not halves.are_enough or halves.late_share - halves.early_share < MORE_BY:
        return False
    return corrected(halves, looked_at) < ALPHA


def quickens(pace: Pace, *, looked_at: int) -> bool:
    """Return True if the later half took at most two thirds of the earlier half's time, beyond chance."""
    if not pace.faster.are_enough or pace.late_median > FASTER_BY * pace.early_median:
        return False
    return corrected(pace.faster, looked_at) < ALPHA


def corrected(halves: Halves, looked_at: int) -> float:
    """Return the p-value corrected for this many comparisons, and for repeated looks; at most 1.

    The k-th look spends ALPHA / 2 ** k, which sums up to ALPHA: p is multiplied by 2 ** k.
    """
    look = ((halves.early + halves.late) // (2 * FEWEST_IN_A_HALF)).bit_length()
    return min(1.0, halves.p * looked_at * (1 << look))
