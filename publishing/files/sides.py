"""The position of right answers: a balanced, reproducible shuffle.

Each question id has a number: the first eight bytes (big-endian) of the SHA-256 of ``<salt>:<id>``. In each
file, questions with a number below the median have their right answer first, the others second. So positions
are even to within one question, follow from the released files and the salt alone, and are independent
between the questions of a story or the severities of a core. For ten million questions, two numbers are equal
with a probability below 1e-6; positions may then be uneven by one more.

Salt and medians are those of the study's first release, so no question changes sides in a later one; there,
the new questions are balanced by chance only.
"""

import hashlib
from array import array
from collections.abc import Iterator


class Sides:
    """The positions for one file. Add every id, then ask. Holds 8 bytes per question.

    ``median`` (16 hexadecimal digits) is that of the study's first release, if this is a later one.
    """

    def __init__(self, salt: str, median: str | None = None) -> None:
        self._salted = hashlib.sha256(f"{salt}:".encode())
        self._numbers = array("Q")
        self._threshold = None if median is None else int(median, 16)

    def add(self, question_id: str) -> None:
        """Add a question, before any position is asked for."""
        number = self._salted.copy()
        number.update(question_id.encode())
        self._numbers.append(int.from_bytes(number.digest()[:8], "big"))

    def right_answers_first(self) -> Iterator[bool]:
        """Yield for each question, in the order of addition, whether its right answer is choice A."""
        threshold = self._decided()
        return (number < threshold for number in self._numbers)

    @property
    def median(self) -> str:
        """The median as 16 hexadecimal digits, for ``release.json``."""
        return f"{self._decided():016x}"

    def _decided(self) -> int:
        if self._threshold is None:
            ranked = sorted(self._numbers)
            self._threshold = ranked[len(ranked) // 2] if ranked else 0
        return self._threshold
