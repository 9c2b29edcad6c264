"""Checks of a release directory from its files alone: no database, no network."""

from publishing.verification.findings import Finding
from publishing.verification.report import CHECKS, Report, check_release
