"""What can be made to happen at a server of these tests, at a request of one's choice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

Matches = Callable[[str, str], bool]
"""Whether a request, by method and path, is one of those meant."""


class Dropped(ConnectionError):
    """The connection ends here, without an answer."""


@dataclass
class Faults:
    """Counts the requests that match, and does something before or after one of them is carried out.

    ``seen`` has every request as ``METHOD path``. A fault happens once.
    """

    seen: list[str] = field(default_factory=list)
    _armed: list[tuple[Matches, int, bool, Callable[[], None]]] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def before(self, matches: Matches, happens: Callable[[], None], *, nth: int = 1) -> None:
        self._armed.append((matches, nth, False, happens))

    def after(self, matches: Matches, happens: Callable[[], None], *, nth: int = 1) -> None:
        """Done to the state of the server, not answered yet."""
        self._armed.append((matches, nth, True, happens))

    def clear(self) -> None:
        self.seen.clear()
        self._armed.clear()

    def begin(self, method: str, path: str) -> Callable[[], None] | None:
        """Note a request. Runs what comes before it, returns what comes after it."""
        with self._lock:
            self.seen.append(f"{method} {path}")
            due: list[tuple[bool, Callable[[], None]]] = []
            left = []
            for matches, nth, late, happens in self._armed:
                hit = matches(method, path)
                if hit and nth == 1:
                    due.append((late, happens))
                else:
                    left.append((matches, nth - hit, late, happens))
            self._armed[:] = left
        for late, happens in due:
            if not late:
                happens()
        afterwards = [happens for late, happens in due if late]
        return afterwards[0] if afterwards else None


def drop() -> None:
    raise Dropped


def method_is(wanted: str, ending: str = "") -> Matches:
    return lambda method, path: method == wanted and path.endswith(ending)
