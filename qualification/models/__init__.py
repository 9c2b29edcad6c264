"""Rounds of stories, experts' answers, answer keys, attempts, and practice."""

from qualification.models.attempts import Attempt, AttemptAnswer, PracticeAnswer
from qualification.models.rounds import (
    TESTS, AcceptableOption, AnswerKey, ExpertAnswer, ExpertReview, KeyReader, KeyReason, Round, RoundStory,
)
