"""Qualification: rounds of stories, the experts' answers, the acceptable ones, and people's attempts."""

from qualification.models.attempts import Attempt, AttemptAnswer
from qualification.models.rounds import (
    AcceptableOption,
    AnswerKey,
    ExpertAnswer,
    ExpertReview,
    KeyReader,
    KeyReason,
    Round,
    RoundStory,
)

__all__ = [
    "AcceptableOption",
    "AnswerKey",
    "Attempt",
    "AttemptAnswer",
    "ExpertAnswer",
    "ExpertReview",
    "KeyReader",
    "KeyReason",
    "Round",
    "RoundStory",
]
