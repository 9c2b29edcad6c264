"""A double of Prolific on loopback: its REST API, the participants' side, and its webhooks.

Paths, fields, states and refusals follow Prolific's published API reference (studies, submissions,
bonuses, participant groups, filters, workspaces, webhooks and well-known endpoints, read in
November 2026) and its help pages. Where the reference is silent, the double takes what would hurt a
careless client most: a completed submission is PROCESSING for a while, a study PUBLISHING, bonuses and
bulk approvals happen some time after they were accepted, and paying a bulk bonus twice pays twice.

It shares no code with the product.
"""

from __future__ import annotations

from tests.doubles.prolific.faults import Fault, Faults
from tests.doubles.prolific.hooks import Delivery
from tests.doubles.prolific.platform import Clock, Entry, Platform
from tests.doubles.prolific.server import TOKEN, ProlificDouble

__all__ = ["TOKEN", "Clock", "Delivery", "Entry", "Fault", "Faults", "Platform", "ProlificDouble"]
