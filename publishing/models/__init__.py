"""Releases, statements about their data, and deposits. Writes are in :mod:`publishing.actions`."""

from publishing.models.releases import AnswerSides, Deposit, Release, ReleaseFile, Withdrawal
from publishing.models.statements import BaselineSample, DataStatement, StudyPlan
