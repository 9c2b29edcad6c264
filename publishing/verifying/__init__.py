"""Checking a release directory by itself: no database, no network, nothing but its files.

Memory: 8 bytes per kept story and question set (the sides of the right answers), 8 per different entity,
one entry per annotator; machine validation works on its sample. Nothing else grows with the release.
"""

from __future__ import annotations

from publishing.verifying.check import CHECKS, Report, check_release
from publishing.verifying.findings import Finding

__all__ = ["CHECKS", "Finding", "Report", "check_release"]
