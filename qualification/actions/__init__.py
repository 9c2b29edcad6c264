"""Every write of this room: rounds, the experts' answers, keys, and people's attempts.

Locks: the enrollment first (it serialises everything one person does), then the study, then its rounds in the
order of their numbers, then the attempt or the review.
"""

from __future__ import annotations

from qualification.actions.attempts import save_answers, start_attempt, submit_attempt, void_attempts
from qualification.actions.experts import (
    ask_experts,
    close_gathering,
    dismiss_expert,
    dismiss_from_study,
    hand_in_review,
    save_expert_answers,
)
from qualification.actions.keys import AcceptableAnswers, Reasons, set_answer_key
from qualification.actions.rounds import activate_round, create_round, retire_round

__all__ = [
    "AcceptableAnswers",
    "Reasons",
    "activate_round",
    "ask_experts",
    "close_gathering",
    "create_round",
    "dismiss_expert",
    "dismiss_from_study",
    "hand_in_review",
    "retire_round",
    "save_answers",
    "save_expert_answers",
    "set_answer_key",
    "start_attempt",
    "submit_attempt",
    "void_attempts",
]
