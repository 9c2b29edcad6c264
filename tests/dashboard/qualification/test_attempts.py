"""What people chose in a test: counted once for many looks."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.qualification.figures import chosen_in
from qualification import rates
from tests import builders

pytestmark = pytest.mark.django_db


def test_what_was_chosen_is_counted_anew_only_when_another_test_is_handed_in(
    monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    """It looks at every answer, of which a round of many people has a million."""
    monkeypatch.setattr(rates, "REST", 0)
    study = builders.make_study(qualification=1)
    round = study.rounds.get()

    def noes() -> tuple[int, bool]:
        with django_assert_max_num_queries(10) as seen:
            asked = chosen_in(round)[1][0]
        counted = any("GROUP BY" in query["sql"] for query in seen.captured_queries)
        return sum(option["people"] for option in asked["options"] if not option["accepted"]), counted

    assert chosen_in(round) == {}
    builders.take_test(builders.consent(builders.invite(study)[0]), builders.answers(q1="no"))
    assert [noes(), noes()] == [(1, True), (1, False)]
    builders.take_test(builders.consent(builders.invite(study)[0]), builders.answers(q1="no"))
    assert [noes(), noes()] == [(2, True), (2, False)]
