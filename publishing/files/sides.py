"""On which side the right answer of a question stands: a balanced, reproducible shuffle.

Every question id gets a number: the first eight bytes (big-endian) of SHA-256 of ``<salt>:<id>``. The
questions of one file whose number is below the median have their right answer first, the others
second. So the sides are even to within one question, follow from the released files and the salt
alone, and those of one story's questions, or of one core's severities, have nothing to do with each
other. Two numbers are equal with a probability below 1e-6 for ten million questions; then the sides
may be uneven by one more.
"""

from __future__ import annotations

import hashlib
from array import array


class Sides:
    """The sides for the questions of one file. Add every id, then ask. Holds 8 bytes per question."""

    def __init__(self, salt: str) -> None:
        self._salt = salt
        self._numbers = array("Q")
        self._threshold: int | None = None

    def add(self, question_id: str) -> None:
        """Count this question in. Raises ``RuntimeError`` once a side has been asked for."""
        if self._threshold is not None:
            raise RuntimeError("The sides are dealt out already.")
        self._numbers.append(self._number(question_id))

    def right_answer_first(self, question_id: str) -> bool:
        """Whether the right answer of this question is choice A."""
        if self._threshold is None:
            ranked = sorted(self._numbers)
            self._threshold = ranked[len(ranked) // 2] if ranked else 0
            self._numbers = array("Q")
        return self._number(question_id) < self._threshold

    def _number(self, question_id: str) -> int:
        return int.from_bytes(hashlib.sha256(f"{self._salt}:{question_id}".encode()).digest()[:8], "big")
