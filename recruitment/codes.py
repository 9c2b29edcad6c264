"""Completion codes, which participants enter on a platform as proof of participation.

A code is an HMAC of the person and what their part came to, so it cannot be made up, is the same
whenever it is shown, and needs no table. It proves nothing about who hands it in: people share codes,
so a check also asks for the platform's id of the person.
"""

import enum
import hashlib
import hmac
import secrets
from collections.abc import Iterable

ALPHABET = "ACDEFGHJKLMNPQRTVWXY34679"
"""Letters and digits that nobody takes for one another: no B8, I1, O0, S5, UV, Z2."""

LENGTH = 10
"""Letters of a code: 25 to the 10th power, about 46 bits."""


class CompletionOutcome(enum.StrEnum):
    """The result of a person's part in a study, as far as a platform is told."""

    COMPLETED = "completed"
    PARTIAL = "partial"
    """The participant answered fewer stories than the join link asks for."""
    SCREENED_OUT = "screened out"
    """The participant handed in a test and answered no story."""
    NO_WORK = "no work left"
    """The participant agreed to take part, but there was nothing left to do."""


def outcome_of(stories_submitted: int, *, least: int | None = None, tested: bool = True) -> CompletionOutcome:
    """Return the outcome after so many stories. ``least``: stories that complete the study (None: one)."""
    if stories_submitted:
        is_enough = stories_submitted >= (least or 1)
        return CompletionOutcome.COMPLETED if is_enough else CompletionOutcome.PARTIAL
    return CompletionOutcome.SCREENED_OUT if tested else CompletionOutcome.NO_WORK


def completion_code(key: str, enrollment_id: int, outcome: CompletionOutcome) -> str:
    """Return the person's code for this outcome, like ``KXM4Q-9TQPA``: HMAC-SHA256 with the study's key."""
    message = f"completion-code:{outcome.value}:{enrollment_id}".encode()
    number = int.from_bytes(hmac.new(key.encode(), message, hashlib.sha256).digest(), "big")
    letters = []
    for _place in range(LENGTH):
        number, letter = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[letter])
    return f"{''.join(letters[: LENGTH // 2])}-{''.join(letters[LENGTH // 2 :])}"


def new_code() -> str:
    """Return a code for everybody in a study, where a platform wants it registered; nobody can guess it."""
    return "".join(secrets.choice(ALPHABET) for _place in range(LENGTH))


def normal_form(text: str) -> str:
    """Return a pasted code as it is shown: capitals, one hyphen in the middle, nothing else.

    Text that no code can look like becomes the empty string.
    """
    letters = [letter for letter in text.upper() if not letter.isspace() and letter != "-"]
    if len(letters) != LENGTH or not set(letters) <= set(ALPHABET):
        return ""
    return f"{''.join(letters[: LENGTH // 2])}-{''.join(letters[LENGTH // 2 :])}"


def find_code(key: str, enrollment_ids: Iterable[int], text: str) -> tuple[int, CompletionOutcome] | None:
    """Return the person among these whose code it is, and its outcome; None if it is nobody's."""
    wanted = normal_form(text)
    if not wanted:
        return None
    for enrollment_id in enrollment_ids:
        for outcome in CompletionOutcome:
            if hmac.compare_digest(completion_code(key, enrollment_id, outcome), wanted):
                return enrollment_id, outcome
    return None
