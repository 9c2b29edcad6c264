"""What can be known of Mechanical Turk without asking it: XML, requirements, fees, what errors mean."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from recruitment.marketplace import MarketplaceError, NotConfigured, NotEnoughMoney, Refused, Unreachable
from recruitment.mturk import client, terms
from recruitment.mturk.arrivals import external_question, receipt_in
from recruitment.mturk.marketplace import MechanicalTurk
from recruitment.mturk.terms import is_amazon, requirements_of
from recruitment.platforms import platform_named
from tests.doubles.mturk.questions import external_url, form_answers
from tests.recruitment.mturk.offers import offer


def test_the_question_is_the_documented_xml_with_the_address_escaped_once() -> None:
    assert external_question("https://lab.example/t?a=1&b=2") == (
        '<ExternalQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/'
        '2006-07-14/ExternalQuestion.xsd"><ExternalURL>https://lab.example/t?a=1&amp;b=2</ExternalURL>'
        "<FrameHeight>0</FrameHeight></ExternalQuestion>"
    )
    for url in ("https://lab.example/t?a=1&b=%26amp%3B", "https://lab.example/t?q=%C3%A4&amp;=<]]>"):
        assert external_url(external_question(url)) == url


def test_the_receipt_is_found_in_what_comes_back_whatever_else_does() -> None:
    answer = form_answers({"other": "x", "receipt": " R-1 & <2> "})
    entity = answer.replace("?>", '?><!DOCTYPE a [<!ENTITY e "R-1">]>').replace("&amp;", "&e;")

    assert receipt_in(answer) == "R-1 & <2>"
    assert [receipt_in(text) for text in ("", "<a", entity, form_answers({"other": "x"}))] == [""] * 4


def test_requirements_are_the_documented_ones_and_hide_the_work_from_others() -> None:
    groups = {"needs_group": "3Q", "excludes_groups": ("3B",), "adds_to_group": "3A"}
    wanted = requirements_of(offer(masters_only=True, **groups), "rehearsal")

    assert [(row["QualificationTypeId"], row["Comparator"]) for row in wanted] == [
        ("000000000000000000L0", "GreaterThanOrEqualTo"),
        ("00000000000000000040", "GreaterThanOrEqualTo"),
        ("00000000000000000071", "EqualTo"),
        ("2ARFPLSP75KLA8M8DH1HTEQVJT3SY6", "Exists"),
        ("3Q", "Exists"),
        ("3A", "DoesNotExist"),
        ("3B", "DoesNotExist"),
    ]
    assert [row["IntegerValues"] for row in wanted[:2]] == [[98], [10_000]]
    assert wanted[2]["LocaleValues"] == [{"Country": "US"}]
    assert {row["ActionsGuarded"] for row in wanted} == {"DiscoverPreviewAndAccept"}
    assert requirements_of(offer(masters_only=True), "live")[3]["QualificationTypeId"].startswith("2F1QJ")
    assert requirements_of(offer(approved_percent=None, approved_work=None, countries=()), "live") == []


def test_an_approval_rate_never_stands_without_a_number_of_approvals() -> None:
    rate, number = requirements_of(offer(approved_work=None, countries=("DE", "US")), "live")[:2]

    assert (rate["IntegerValues"], number["IntegerValues"]) == ([98], [100])
    assert any("fewer than 100" in warning for warning in terms.estimate(offer(approved_work=None)).warnings)


@pytest.mark.parametrize(
    ("seats", "per_hit", "reward", "masters", "total"),
    [
        (10_800, 3, "0.08", False, "1080.00"),  # 3,600 stories x 3 people at $15 an hour: 20 seconds each
        (10_800, 3, "0.13", False, "1728.00"),  # 30 seconds; a fee of 2.6 cents is 3
        (10_800, 3, "0.25", False, "3240.00"),  # 60 seconds
        (10_800, 3, "0.25", True, "3348.00"),  # with Masters, 6.25 cents are 6
        (10_800, 3, "0.50", False, "6480.00"),
        (1_080, 3, "1.25", False, "1620.00"),  # ten stories a HIT: less is lost by rounding
        (100, 100, "2.50", False, "350.00"),  # a test for a hundred people: 40 %
        (105, 100, "2.50", False, "365.00"),  # five of them at a HIT of their own: 20 %
        (9, 9, "0.01", False, "0.18"),  # at least a cent
        (1, 1, "0.125", False, "0.155"),  # a fee of 2.5 cents is rounded up
    ],
)
def test_the_estimate_is_the_price_pages_to_the_cent(
    seats: int, per_hit: int, reward: str, masters: bool, total: str
) -> None:
    wanted = offer(seats=seats, seats_per_posting=per_hit, reward=Decimal(reward), masters_only=masters)
    estimate = terms.estimate(wanted)

    assert estimate.total == Decimal(total)
    assert sum(line.amount for line in estimate.lines) == estimate.total


def response(code: str, message: str, turk: str = "", status: int = 400) -> dict[str, Any]:
    """An error as botocore hands it on."""
    error: dict[str, Any] = {"Code": code, "Message": message}
    more = {"TurkErrorCode": turk} if turk else {}
    return {"Error": error, "ResponseMetadata": {"HTTPStatusCode": status}, **more}


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        (response("ThrottlingException", "Rate exceeded"), Unreachable, ""),
        (response("ServiceFault", "", "AWS.ServiceUnavailable", 500), Unreachable, ""),
        (response("503", "Service Unavailable", status=503), Unreachable, ""),
        (response("302", "<html>", status=302), Unreachable, ""),
        (response("AccessDeniedException", "not authorized"), NotConfigured, ""),
        (response("ExpiredTokenException", "expired"), NotConfigured, ""),
        (response("Unheard", "", status=403), NotConfigured, ""),
        (
            response("RequestError", "no funds", "AWS.MechanicalTurk.InsufficientFunds"),
            NotEnoughMoney,
            client.TOO_LITTLE_MONEY,
        ),
        (
            response("RequestError", "This Requester has insufficient funds in their account"),
            NotEnoughMoney,
            client.TOO_LITTLE_MONEY,
        ),
        (
            response("RequestError", "exists", "AWS.MechanicalTurk.HITAlreadyExists"),
            Refused,
            client.ALREADY_EXISTS,
        ),
        (
            response(
                "RequestError", "This operation can be called with a status of: Submitted (1625139618656)"
            ),
            Refused,
            client.WRONG_ASSIGNMENT_STATE,
        ),
        (
            response("RequestError", 'The idempotency token "t" has already been processed. (1626172412406)'),
            Refused,
            client.ALREADY_PROCESSED,
        ),
        (response("RequestError", "?", "AWS.MechanicalTurk.Unheard"), Refused, "Unheard"),
        (response("ValidationException", "1 validation error"), Refused, "ValidationException"),
    ],
)
def test_errors_mean_what_the_code_below_the_code_says(
    answer: dict[str, Any], kind: type[MarketplaceError], code: str
) -> None:
    error = client.error_of("SendBonus", answer)

    assert type(error) is kind
    assert getattr(error, "code", "") == code


def test_a_message_loses_its_time_its_worker_and_its_work() -> None:
    said = 'The value "A143XRCI1YXAFE" of 3VJ4PFXFJ5VXUC3I783DUQKOMF2UAW is not valid. (1563818969320 s)'
    error = client.error_of("SendBonus", response("ParameterValidationError", said))
    text = str(error)

    for hidden in ("A143", "15638", "3VJ4"):
        assert hidden not in text
    assert client.without_ids("No ASSIGNMENTS of A2 and AQWERTZUIOPLKJ") == "No ASSIGNMENTS of … and …"
    assert isinstance(error, Refused)
    assert error.about == client.hit_named_in(said) == "3VJ4PFXFJ5VXUC3I783DUQKOMF2UAW"
    assert client.hit_named_in(said + " 3VJ4PFXFJ5VXUC3I783DUQKOMF2UA0") == ""


def test_what_boto3_has_asked_more_than_once_may_have_been_done_before_it_was_refused() -> None:
    for times, maybe_done in ((0, False), (2, True)):
        answer = response("RequestError", "no funds", "AWS.MechanicalTurk.InsufficientFunds")
        answer["ResponseMetadata"]["RetryAttempts"] = times
        assert client.error_of("SendBonus", answer).maybe_done is maybe_done


def test_sandbox_and_live_have_their_own_addresses_and_never_the_others() -> None:
    key: dict[str, Any] = {"key_id": "AKIAX", "secret": "s"}
    live, sandbox = (MechanicalTurk(environment=name, **key) for name in ("live", "rehearsal"))
    addresses = [one._api._client.meta.endpoint_url for one in (live, sandbox)]

    assert ["sandbox" in address for address in addresses] == [False, True]
    assert all(address.startswith("https://mturk-requester") for address in addresses)
    turk = platform_named("mturk")
    assert not turk.still_exists("live")
    for name, wrong in (("live", addresses[1]), ("rehearsal", addresses[0])):
        host = wrong.removeprefix("https://").rstrip("/")
        written = (
            wrong,
            f"https://{host.upper()}/",
            f"https://{host}:443",
            f"https://{host}.",
            f"http://{host}",
        )
        for endpoint in written:
            with pytest.raises(NotConfigured, match="other environment"):
                MechanicalTurk(environment=name, endpoint=endpoint, **key)
            own = MechanicalTurk(
                environment={"live": "rehearsal"}.get(name, "live"), endpoint=endpoint, **key
            )
            assert is_amazon(own._api._client.meta.endpoint_url)
    with pytest.raises(NotConfigured):
        MechanicalTurk(environment="live", key_id="", secret="")
    with pytest.raises(Refused, match="https"):
        live.estimate(offer(entry_url="http://lab.example/"))
    with pytest.raises(Refused, match="dollars"):
        live.prepare(offer(currency="GBP"))


def test_one_endpoint_with_one_key_is_not_used_for_live_and_rehearsal(settings: Any) -> None:
    def account(endpoint: str, key_id: str) -> dict[str, str]:
        return {"key_id": key_id, "secret": "s", "endpoint": endpoint, "notification_topic": ""}

    live = account("https://mturk.lab.example/", "AKIALIVE")
    for endpoint, key_id, refused in (
        ("https://MTURK.lab.example:443", "AKIALIVE", True),
        ("https://mturk.lab.example", "AKIAOWN", False),
        ("https://mturk.lab.example:8443", "AKIALIVE", False),
        ("", "AKIALIVE", False),
    ):
        settings.MTURK = {"live": live, "rehearsal": account(endpoint, key_id)}
        if refused:
            with pytest.raises(NotConfigured, match="MTURK_REHEARSAL_ACCESS_KEY_ID"):
                platform_named("mturk").marketplace("rehearsal")
        else:
            platform_named("mturk").marketplace("rehearsal")
        platform_named("mturk").marketplace("live")
