"""What a join link's settings may be, which ids are ids, and where the way back may lead."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recruitment.join_links import (
    InvalidJoinLink,
    check_settings,
    hint_of,
    participant_of,
    person_of,
    read_participant,
    way_back,
    way_of_less,
)
from recruitment.join_platforms import PLATFORMS

HOSTS = ["app.example.org"]


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
    return {"parameter": "PROLIFIC_PID", "source": "prolific", "return_url": "", "return_hosts": []} | changes


@pytest.mark.parametrize(
    "changes",
    [
        {},
        *[platform.settings for platform in PLATFORMS.values()],
        {"return_url": "https://app.example.org/done?cc={code}&p={participant}", "return_hosts": HOSTS},
        {"return_url": "https://app.example.org:8443/{code}", "return_hosts": ["app.example.org:8443"]},
        {"return_hosts": HOSTS},
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
        ({"return_hosts": ["https://app.example.org"]}, "return_hosts"),
        ({"return_url": "https://app.example.org/"}, "is not among the allowed ones"),
        ({"return_url": "https://evil.example/{code}", "return_hosts": HOSTS}, "evil.example"),
        ({"return_url": "http://app.example.org/", "return_hosts": HOSTS}, "must begin with https://"),
        ({"return_url": "//app.example.org/", "return_hosts": HOSTS}, "must begin with https://"),
        ({"return_url": "https://{participant}/", "return_hosts": HOSTS}, "without a placeholder in it"),
        ({"return_url": "https://app.example.org@evil.example/", "return_hosts": HOSTS}, "https://"),
        ({"return_url": "https://app.example.org/{annotator}", "return_hosts": HOSTS}, "{annotator}"),
        ({"return_url": "https://app.example.org/{code", "return_hosts": HOSTS}, "brace"),
        ({"return_url": "https://app.example.org/{code!r}", "return_hosts": HOSTS}, "{code!r}"),
        ({"return_url": "https://app.example.org/{}", "return_hosts": HOSTS}, "{}"),
        ({"source": "study-7"}, "one study alone"),
        ({"placeholder": "%ID%&more=1"}, "placeholder"),
        ({"leave_url": "https://app.example.org/{code}", "return_hosts": HOSTS}, "has no code"),
        ({"screen_out_url": "https://evil.example/", "return_hosts": HOSTS}, "screen_out_url: The host evil"),
        ({"most_people": 0}, "most_people"),
        ({"return_url": "https://[app/", "return_hosts": HOSTS}, "bracket"),
    ],
)
def test_settings_that_cannot_say_what_is_wrong(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidJoinLink) as error:
        check_settings(settings(**changes), own="study-8")
    assert message in str(error.value)


def test_the_way_back_is_filled_in_and_quoted() -> None:
    address = "https://app.example.org/done?cc={code}&p={participant}"

    assert way_back(address, HOSTS, code="AB-C", participant="a@b&c=d") == (
        "https://app.example.org/done?cc=AB-C&p=a%40b%26c%3Dd"
    )


def test_an_address_that_says_completed_is_not_for_who_was_screened_out() -> None:
    assert way_of_less("https://app.example.org/complete", "") == ""
    assert way_of_less("https://app.example.org/?cc={code}", "") == "https://app.example.org/?cc={code}"
    assert way_of_less("https://app.example.org/complete", "https://x.org/") == "https://x.org/"


def test_there_is_no_way_back_without_what_it_needs() -> None:
    assert way_back("", HOSTS, code="AB-C", participant="x") is None
    assert way_back("https://app.example.org/{participant}", HOSTS, code="AB-C", participant=None) is None
    assert way_back("https://app.example.org/{code}", [], code="AB-C", participant="x") is None


@pytest.mark.parametrize(
    ("address", "hint"), [("ada@example.org", "a…@example.org"), ("x@y@example.org", "x…@example.org")]
)
def test_an_address_is_shown_to_its_owner_only(address: str, hint: str) -> None:
    assert hint_of(address) == hint
