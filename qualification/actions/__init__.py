"""All writes to rounds, experts' answers, answer keys, attempts and practice.

Lock order: the enrollment (it serialises everything that one annotator does), the study, its rounds by
number, then the attempt or the review.
"""

from qualification.actions.attempts import (
    practise, save_answers, start_attempt, submit_attempt, void_attempts,
)
from qualification.actions.experts import (
    ask_experts, close_gathering, dismiss_expert, dismiss_from_study, hand_in_review, save_expert_answers,
)
from qualification.actions.rounds import activate_round, create_round, retire_round, set_answer_key
