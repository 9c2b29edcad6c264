"""Are the charts those that the figures give? They are drawn again and compared byte by byte."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from publishing.card.figures import figures
from publishing.verifying.figures import MACHINE_JSON
from publishing.verifying.findings import Findings

CHECK = "figures"
OTHER_SHAPES = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""What comes of reading ``machine_validation.json`` of another shape, where it has not been recomputed."""


def check(
    directory: Path,
    listed: Collection[str],
    statistics: Mapping[str, Any],
    machine_validation: Mapping[str, Any],
    findings: Findings,
) -> None:
    """Compare the charts with those drawn from these documents; ``statistics`` must be sound."""
    try:
        drawn = figures(statistics, machine_validation)
    except OTHER_SHAPES as error:
        findings.add(CHECK, MACHINE_JSON, f"No chart can be drawn from it: {error!r:.200}.")
        return
    for path in sorted(path for path in listed if path.startswith("figures/") and path not in drawn):
        findings.add(CHECK, path, "This release has no such chart.")
    for path, chart in drawn.items():
        if path not in listed or not (directory / path).is_file():
            findings.add(CHECK, path, "The chart is missing.")
        elif (directory / path).read_bytes() != chart:
            findings.add(CHECK, path, "The chart is not the one that the figures give.")
