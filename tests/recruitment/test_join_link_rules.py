"""What a join link's settings may be, which ids are ids, and where the way back may lead."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from recruitment.join_links import (
    PLATFORMS,
    InvalidJoinLink,
    check_settings,
    filled_in,
    hint_of,
    participant_of,
    person_of,
    read_participant,
    screen_out_address,
)
from recruitment.models import JoinLink


@pytest.mark.parametrize(
    "id",
    ["5f3a9c0de1b2c3d4e5f60718", "7", "A1B2", "user_17", "ada@example.org", "a" * 100, "a-b.c:d~e=", "x+y"],
)
def test_ids_as_platforms_give_them_are_taken_as_they_are(id: str) -> None:
    assert read_participant(f" {id} ") == id


@pytest.mark.parametrize(
    "id",
    [
        None, "", " ", "{{%PROLIFIC_PID%}}", "%PID%", "${e://Field/PID}", "[id]", "<id>", "a b", "a/b",
        "a\0b", "a" * 101, "ä", "-a", "a\nb", "..",
    ],
)  # fmt: skip
def test_what_is_no_id_is_refused(id: str | None) -> None:
    """Placeholders that a platform did not fill in are the same for everybody."""
    assert read_participant(id) is None


@given(
    st.from_regex(r"[A-Za-z0-9]{1,100}", fullmatch=True), st.from_regex(r"[a-z0-9-]{1,60}", fullmatch=True)
)
def test_an_id_comes_out_as_it_went_in(id: str, source: str) -> None:
    assert read_participant(id) == id
    assert participant_of(person_of(source, id)) == id
    assert len(person_of(source, id)) <= 200


def settings(**changes: Any) -> Any:
    return {"parameter": "PROLIFIC_PID", "source": "prolific", "return_url": ""} | changes


@pytest.mark.parametrize(
    "changes",
    [
        {},
        *PLATFORMS.values(),
        {"return_url": "https://app.example.org/done?cc={code}&p={participant}"},
        {"return_url": "https://app.example.org:8443/{code}"},
    ],
)
def test_settings_that_can_be_used(changes: dict[str, Any]) -> None:
    check_settings(settings(**changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parameter": "a b"}, "parameter: “a b”"),
        ({"parameter": ""}, "parameter"),
        ({"source": "A/B"}, "source"),
        ({"return_url": "http://app.example.org/"}, "must begin with https://"),
        ({"return_url": "//app.example.org/"}, "must begin with https://"),
        ({"return_url": "https://{participant}/"}, "without a placeholder in it"),
        ({"return_url": "https://app.example.org@evil.example/"}, "https://"),
        ({"return_url": "https://app.example.org/{annotator}"}, "{annotator}"),
        ({"return_url": "https://app.example.org/{code"}, "{code”"),
        ({"return_url": "https://app.example.org/{code!r}"}, "{code!r}"),
        ({"return_url": "https://app.example.org/{}"}, "{}"),
        ({"source": "study-7"}, "one study alone"),
        ({"placeholder": "%ID%&more=1"}, "placeholder"),
        ({"leave_url": "https://app.example.org/{code}"}, "has no code"),
        (
            {"screen_out_url": "http://app.example.org/"},
            "screen_out_url: “http://app.example.org/” must begin",
        ),
        ({"return_url": "https://app{code}.example.org/"}, "without a placeholder in it"),
        ({"most_people": 0}, "most_people"),
        ({"return_url": "https://[app/"}, "must begin with https://"),
    ],
)
def test_settings_that_cannot_say_what_is_wrong(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidJoinLink) as error:
        check_settings(settings(**changes), own="study-8")
    assert message in str(error.value)


def test_a_return_address_is_filled_in_and_quoted() -> None:
    address = "https://app.example.org/done?cc={code}&p={participant}"
    assert filled_in(address, code="AB-C", participant="a@b&c=d") == (
        "https://app.example.org/done?cc=AB-C&p=a%40b%26c%3Dd"
    )
    assert filled_in("", code="AB-C", participant="x") is None
    assert filled_in("https://app.example.org/{participant}", code="AB-C", participant=None) is None


def test_an_address_that_says_completed_is_not_for_people_who_were_screened_out() -> None:
    complete, coded = "https://app.example.org/complete", "https://app.example.org/?cc={code}"
    assert screen_out_address(JoinLink(return_url=complete)) == ""
    assert screen_out_address(JoinLink(return_url=coded)) == coded
    assert (
        screen_out_address(JoinLink(return_url=complete, screen_out_url="https://x.org/")) == "https://x.org/"
    )


@pytest.mark.parametrize(
    ("address", "hint"), [("ada@example.org", "a…@example.org"), ("x@y@example.org", "x…@example.org")]
)
def test_an_address_is_shown_to_its_owner_only(address: str, hint: str) -> None:
    assert hint_of(address) == hint
