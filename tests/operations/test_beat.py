"""Celery's scheduler when the clock of its machine is set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tomannot import beat
from tomannot.celery import app

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Clock:
    """A scheduler whose machine's clock is ``now``, and the names of what it sent."""

    def __init__(self, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = START
        self.sent: list[str] = []
        monkeypatch.setattr(app, "now", lambda: self.now)
        self.scheduler = beat.Scheduler(app=app, schedule_filename=str(place / "schedule"))
        vars(self.scheduler)["producer"] = None
        monkeypatch.setattr(self.scheduler, "apply_entry", self._send)

    def _send(self, entry: Any, **_named: Any) -> None:
        self.sent.append(entry.name)

    def pass_seconds(self, seconds: int) -> set[str]:
        """Return the names of what was sent in these seconds."""
        self.sent.clear()
        for _ in range(seconds):
            self.now += timedelta(seconds=1)
            while not self.scheduler.tick():
                pass
        return set(self.sent)


@pytest.fixture
def make_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Clock]]:
    """Makes schedulers that remember in one file when each entry was sent, as after a restart."""
    made: list[Clock] = []

    def make() -> Clock:
        for before in made:
            before.scheduler.close()
        made.append(Clock(tmp_path, monkeypatch))
        return made[-1]

    yield make
    made[-1].scheduler.close()


@pytest.mark.parametrize("minutes", [-45, 45])
def test_work_is_sent_again_at_once_when_the_clock_was_set(
    minutes: int, make_clock: Callable[[], Clock]
) -> None:
    """A scheduler that knows only how far the clock is from the last time would rest 45 minutes."""
    clock = make_clock()
    often = {name for name, entry in app.conf.beat_schedule.items() if entry["schedule"] <= 60}
    assert clock.pass_seconds(62) == often
    clock.now += timedelta(minutes=minutes)
    assert clock.pass_seconds(62) >= often
    clock.now -= timedelta(minutes=minutes)
    assert clock.pass_seconds(62) >= often


def test_a_restarted_scheduler_forgets_the_wrong_time(make_clock: Callable[[], Clock]) -> None:
    ahead = make_clock()
    ahead.now += timedelta(minutes=45)
    ahead.pass_seconds(62)
    assert "resume-releases" in make_clock().pass_seconds(32)
