"""Coefficients of one table of counts."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from publishing.statistics.agreement import ESTIMATES, Votes, why_undefined


class Coefficient(NamedTuple):
    value: float | None
    undefined: str = ""


def _of_table(name: str, counts: ArrayLike, frequencies: ArrayLike | None = None) -> Coefficient:
    table = np.asarray(counts, np.int64)
    often = np.ones(len(table), np.int64) if frequencies is None else np.asarray(frequencies, np.int64)
    votes = Votes(table, often)
    reason = why_undefined(name, votes)
    return Coefficient(None, reason) if reason else Coefficient(float(ESTIMATES[name](votes)))


percent_agreement = partial(_of_table, "percent")
fleiss_kappa = partial(_of_table, "fleiss_kappa")
krippendorff_alpha = partial(_of_table, "krippendorff_alpha")
gwet_ac1 = partial(_of_table, "gwet_ac1")
