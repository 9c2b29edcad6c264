"""Checks of a release directory from its files alone: no database, no network.

Memory: 8 bytes per kept story and question set (the sides of the right answers), 8 per distinct entity, one
entry per annotator; machine validation works on its sample. Nothing else grows with the release.
"""

from publishing.verification.release import CheckedRelease
from publishing.verification.report import CHECKS, check_release
