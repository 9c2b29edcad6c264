"""Words, money and errors of Prolific's, as pure functions."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from recruitment.arrival_rules import CannotArrive
from recruitment.marketplace import (
    MarketplaceError,
    NotConfigured,
    NotEnoughMoney,
    Refused,
    Status,
    Unreachable,
)
from recruitment.platforms import platform_named
from recruitment.prolific.arrivals import is_same_page, read_claim
from recruitment.prolific.client import NotFound, error_of
from recruitment.prolific.marketplace import Prolific
from recruitment.prolific.payloads import cents, least_minutes_allowed, pay_warning
from recruitment.prolific.review import status_of

ID = "60ffe5c8371090c7041d43f8"


def test_statuses_that_decide_money_are_ours_and_unknown_words_do_nothing() -> None:
    assert status_of("AWAITING REVIEW") is Status.SUBMITTED
    assert status_of("TIMED-OUT") is Status.TIMED_OUT
    assert status_of("PARTIALLY APPROVED") is Status.APPROVED
    assert status_of("RESERVED") is status_of("PROCESSING") is Status.ACTIVE
    assert status_of("SOMETHING NEW") is Status.UNKNOWN


@pytest.mark.parametrize(
    ("status", "detail", "kind", "maybe_done"),
    [
        (429, "slow down", Unreachable, False),
        (500, None, Unreachable, True),
        (502, "Bad gateway", Unreachable, True),
        (400, {"reward": ["Too low."]}, Refused, False),
        (400, "You do not have enough funds to publish", NotEnoughMoney, False),
        (401, "Invalid token.", NotConfigured, False),
        (403, "Not of this workspace.", NotConfigured, False),
        (404, "Not found.", NotFound, False),
    ],
)
def test_errors_say_whether_to_ask_again(
    status: int, detail: Any, kind: type[MarketplaceError], maybe_done: bool
) -> None:
    error = error_of(status, {"error": {"status": status, "detail": detail}}, "POST /x/", writes=True)
    assert type(error) is kind
    assert error.maybe_done is maybe_done
    assert error_of(503, None, "GET /x/", writes=False).maybe_done is False


@pytest.mark.parametrize(
    ("status", "body"),
    [(302, b""), (200, b"<html>"), (200, b"[]"), (200, b'{"id": 1}'), (200, b'{"results": [{}]}')],
)
def test_an_answer_that_is_not_prolifics_says_nothing(
    status: int, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    prolific = Prolific(token="t", environment="live", workspace="w", sleep=lambda _seconds: None)
    answer = SimpleNamespace(status=status, data=body, headers={})
    monkeypatch.setattr(prolific.client._http, "request", lambda *_asked, **_more: answer)
    with pytest.raises(Unreachable):
        prolific.approve(ID, person=ID)
    with pytest.raises(Unreachable):
        prolific.work(ID, ID)


def test_errors_name_nobody_however_an_id_is_written() -> None:
    text = str(error_of(400, {"error": {"detail": f"{ID} and {ID.upper()}"}}, "GET /x/", writes=False))
    assert ID not in text.lower()


def test_the_pay_is_measured_against_the_time_that_people_took() -> None:
    assert pay_warning(Decimal("2.00"), "GBP", 1200) == ""  # 6 pounds an hour
    assert "5.99 GBP" in pay_warning(Decimal("2.00"), "GBP", 1201)
    assert "7.20 USD" in pay_warning(Decimal("2.00"), "USD", 1000)
    assert pay_warning(Decimal("0.01"), "GBP", 0) == ""
    assert "5.99 GBP" in platform_named("prolific").pay_warning(Decimal("2.00"), "GBP", 1201)
    assert platform_named("mturk").pay_warning(Decimal("0.01"), "GBP", 1201) == ""
    assert cents(Decimal("19.99")) == 1999
    with pytest.raises(ValueError, match="whole cents"):
        cents(Decimal("0.005"))


def test_the_least_time_allowed_is_the_formula_of_the_reference() -> None:
    assert [least_minutes_allowed(minutes) for minutes in (1, 10, 30)] == [6, 29, 73]


def test_ids_have_a_shape_and_pages_are_compared_without_their_parameters() -> None:
    given = {"PROLIFIC_PID": ID, "STUDY_ID": ID, "SESSION_ID": ID}
    assert read_claim(given).person == ID
    assert read_claim({name: ID.upper() for name in given}) == read_claim(given), "the same person"
    wrong: list[dict[str, str]] = [
        {"PROLIFIC_PID": "{{%PROLIFIC_PID%}}"},
        {"SESSION_ID": ""},
        {"STUDY_ID": ID + "0"},
    ]
    for change in wrong:
        with pytest.raises(CannotArrive):
            read_claim(given | change)
    assert is_same_page("https://a.org/join/s/1/?x=1", "https://A.org/join/s/1/")
    for other in ("https://a.org/join/s/11/", "https://a.org.evil.org/join/s/1/", "http://a.org/join/s/1/"):
        assert not is_same_page("https://a.org/join/s/1/?x=1", other)


def test_a_rehearsal_never_runs_with_the_live_account(settings: Any) -> None:
    live = {"token": "t", "workspace": "w", "project": "", "api": ""}
    own = {"token": "other", "workspace": "another"}
    for same in ("token", "workspace"):
        settings.PROLIFIC = {"live": live, "rehearsal": live | own | {same: live[same]}}
        with pytest.raises(NotConfigured, match=f"REHEARSAL_{same.upper()}"):
            platform_named("prolific").marketplace("rehearsal")
        assert platform_named("prolific").marketplace("live").environment == "live"
    settings.PROLIFIC = {"live": live, "rehearsal": live | own}
    assert platform_named("prolific").marketplace("rehearsal").environment == "rehearsal"
