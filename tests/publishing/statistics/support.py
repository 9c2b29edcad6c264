"""Coefficients of one table of counts."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from publishing.statistics.agreement import Coefficient, coefficient, sums_of


def _of_table(name: str, counts: ArrayLike, frequencies: ArrayLike | None = None) -> Coefficient:
    often = np.ones(np.shape(counts)[:1], np.int64) if frequencies is None else frequencies
    return coefficient(name, sums_of(counts, often))


percent_agreement = partial(_of_table, "percent")
fleiss_kappa = partial(_of_table, "fleiss_kappa")
krippendorff_alpha = partial(_of_table, "krippendorff_alpha")
gwet_ac1 = partial(_of_table, "gwet_ac1")
