"""Releases, what is stated about them, and where they have been brought. Fields, constraints and queries.

Writes happen in the ``actions`` modules of this room.
"""

from publishing.models.deposits import Deposit
from publishing.models.releases import UNFINISHED, DroppedReason, Release, ReleaseFile, Withdrawal
from publishing.models.statements import BaselineSample, DataStatement

__all__ = [
    "UNFINISHED",
    "BaselineSample",
    "DataStatement",
    "Deposit",
    "DroppedReason",
    "Release",
    "ReleaseFile",
    "Withdrawal",
]
