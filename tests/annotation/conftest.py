"""Fixtures of this room."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from accounts.models import Annotator, PlatformIdentity
from annotation.models import Answer, Enrollment, Event, Vote

WRITTEN = (Vote, Answer, Enrollment, Event, PlatformIdentity, Annotator)


@pytest.fixture
def no_writes() -> Callable[[], None]:
    """Call it to see that nothing was written since the test began."""
    tables = {model: list(model.objects.order_by("pk").values()) for model in WRITTEN}

    def check() -> None:
        assert {model: list(model.objects.order_by("pk").values()) for model in WRITTEN} == tables

    return check
