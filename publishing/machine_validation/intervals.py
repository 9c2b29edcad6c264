"""How sure an accuracy is: a bootstrap over cores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from publishing.statistics.bootstrap import Bootstrap, interval

DESIGN = Bootstrap()
DECIMALS = 4


class CoreBootstrap:
    """Percentile intervals for accuracies over the same questions, with cores as the unit.

    The stories of one core are much alike, so they are drawn together: each resample draws as many
    cores as there are, with replacement (the cluster bootstrap, Davison and Hinkley 1997, 3.8). The
    interval is about the questions; a learner is not trained anew for each resample. Holds 8 bytes per
    core and resample.
    """

    def __init__(self, cores: Sequence[str]) -> None:
        names: dict[str, int] = {}
        self._core_of = np.array([names.setdefault(core, len(names)) for core in cores], dtype=np.intp)
        self._cores = len(names)
        if self._cores > 1:
            random = np.random.RandomState(DESIGN.seed)  # a frozen stream, as for the agreement figures
            self._drawn = np.empty((DESIGN.resamples, self._cores))
            for resample in self._drawn:
                chosen = random.randint(self._cores, size=self._cores)
                resample[:] = np.bincount(chosen, minlength=self._cores)
            self._questions = self._drawn @ np.bincount(self._core_of)

    def interval(self, correct: NDArray[np.float64]) -> list[float] | None:
        """The interval of the mean of ``correct``, which has one number per question.

        None with less than two cores, and when all resamples are the same: that would read as
        certainty, and means only that a bootstrap cannot see what it has not seen.
        """
        if self._cores < 2:
            return None
        right = self._drawn @ np.bincount(self._core_of, weights=correct)
        bounds = interval(right / self._questions, DESIGN).bounds
        return None if bounds is None else [round(bound, DECIMALS) for bound in bounds]
