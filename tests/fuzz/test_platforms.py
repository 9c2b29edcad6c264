"""Anything that platforms or their people's browsers send is a hint, an arrival, or refused."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jwt
import pytest
from django.utils import timezone
from hypothesis import example, given, strategies as st

from recruitment.arrival_rules import CannotArrive
from recruitment.join_links import read_participant
from recruitment.marketplace import MarketplaceError
from recruitment.mturk import arrivals as mturk, notifications
from recruitment.platforms import Hint, InvalidHook
from recruitment.prolific import arrivals as prolific, platform
from recruitment.prolific.arrivals import InvalidSignature, StudyKeys, read_claim, read_signed
from recruitment.prolific.marketplace import Prolific
from tests.fuzz.near_valid import TEXTS, VALUES, as_json, changed, fuzzed, wounded

DEEP = b"[" * 100_000
TOPIC = "arn:aws:sns:us-east-1:1:hits"
EVENT = {"EventType": "AssignmentReturned", "HITId": "3HIT", "AssignmentId": "3WORK", "WorkerId": "A1"}
MESSAGE = {"EventDocId": "event-1", "Events": [EVENT]}
NOTIFICATION = {"Type": "Notification", "TopicArn": TOPIC, "Message": json.dumps(MESSAGE)}
QUESTION = {
    "Type": "SubscriptionConfirmation",
    "TopicArn": TOPIC,
    "SubscribeURL": "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription",
}
LOGIN = {"Authorization": "Basic " + base64.b64encode(b"tomannot:secret").decode()}


def storable(*texts: str) -> None:
    """Fail for a text that PostgreSQL cannot store."""
    for text in texts:
        assert "\0" not in text
        text.encode()


def hint_or_refusal(read: Callable[[], Hint | None]) -> None:
    try:
        hint = read()
    except InvalidHook:
        return
    if hint:
        hint.event_id.encode()
        storable(*hint.about, *(one for pair in hint.returned for one in pair))


def read_sns(body: bytes) -> Hint | None:
    return notifications.read_hook(LOGIN, body, password="secret", topic=TOPIC)


@given(body=wounded(as_json(NOTIFICATION)) | wounded(as_json(QUESTION)) | changed(NOTIFICATION).map(as_json))
@example(body=DEEP)
@example(body=as_json({**NOTIFICATION, "Message": DEEP.decode()}))
@example(body=as_json({**NOTIFICATION, "Message": json.dumps({**MESSAGE, "EventDocId": "\ud800"})}))
@fuzzed(60)
def test_a_notification_of_mechanical_turk_is_a_hint_or_refused(body: bytes) -> None:
    hint_or_refusal(lambda: read_sns(body))


@given(message=changed(MESSAGE))
@fuzzed(60)
def test_no_event_of_mechanical_turk_is_too_much(message: Any) -> None:
    hint_or_refusal(lambda: read_sns(as_json({**NOTIFICATION, "Message": json.dumps(message)})))


@given(body=wounded(b'{"resource_id": "0123456789abcdef01234567"}') | VALUES.map(as_json), event=st.text())
@example(body=DEEP, event="1")
@example(body=b'{"resource_id": "0123456789abcdef01234567"}', event="\0")
@fuzzed(60)
def test_a_notification_of_prolific_is_a_hint_or_refused(body: bytes, event: str) -> None:
    headers = {
        platform.TIMESTAMP: "1",
        platform.SIGNATURE: platform.signature_of("secret", "1", body),
        platform.EVENT_ID: event.encode().decode("latin-1"),  # as WSGI has headers
    }
    hint_or_refusal(lambda: platform.read_hook(headers, body, secret="secret"))


ANSWERS = (
    '<?xml version="1.0" encoding="UTF-8"?><QuestionFormAnswers xmlns="'
    + mturk.ANSWERS
    + '"><Answer><QuestionIdentifier>receipt</QuestionIdentifier><FreeText>abc</FreeText></Answer>'
    "</QuestionFormAnswers>"
)
BOMB = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>'


@given(answer=wounded(ANSWERS.encode()).map(lambda content: content.decode(errors="surrogateescape")))
@example(answer="\ud800")
@example(answer="<a>" * 50_000)
@example(answer=ANSWERS.replace("<Question", BOMB + "<Question", 1))
@fuzzed(60)
def test_whatever_a_browser_handed_in_is_a_receipt_or_none(answer: str) -> None:
    assert len(mturk.receipt_in(answer)) <= mturk.LONGEST


def test_the_receipt_of_good_answers_is_found() -> None:
    assert mturk.receipt_in(ANSWERS) == "abc"
    assert mturk.receipt_in(ANSWERS.replace("<Question", BOMB + "<Question", 1)) == ""


PARAMETERS = ("assignmentId", "hitId", "workerId", "turkSubmitTo", *prolific.IDS, "participant", "other")
VALID = st.sampled_from(["3WORK", "A1", "https://www.mturk.com", "0123456789abcdef01234567", "p-1"])


@given(given=st.dictionaries(st.sampled_from(PARAMETERS), VALID | st.sampled_from(TEXTS) | st.text()))
@fuzzed(60)
def test_an_address_of_a_platform_is_an_arrival_or_refused(given: dict[str, str]) -> None:
    lists = {name: [value] for name, value in given.items()}
    for read in (
        lambda: mturk.read_mturk(lists, submit_sites=["https://www.mturk.com"]),
        lambda: read_claim(given),
    ):
        try:
            arrival = read()
        except CannotArrive:
            continue
        storable(arrival.remote_id, arrival.posting, arrival.person, arrival.submit_to)
        assert arrival.submit_to in ("", "https://www.mturk.com")
    mturk.is_preview(lists)
    participant = read_participant(given.get("participant"))
    assert participant is None or (participant.isascii() and participant.isprintable())


@given(token=wounded(jwt.encode({"sub": "x"}, "s" * 32, headers={"kid": "one"}).encode()) | st.binary())
@example(token=base64.urlsafe_b64encode(b"[" * 5000) + b".e30.eA")
@example(token=base64.urlsafe_b64encode(b'{"alg":"RS256","kid":[]}') + b".e30.eA")
@fuzzed(60)
def test_a_token_that_nobody_signed_is_refused(token: bytes) -> None:
    keys = StudyKeys(lambda: {"keys": []})
    with pytest.raises(InvalidSignature):
        read_signed(token.decode("latin-1"), keys, entry_url="https://x", workspace="w", now=timezone.now())


SUBMISSION = {
    "id": "0123456789abcdef01234567",
    "participant_id": "0123456789abcdef01234567",
    "participant": "0123456789abcdef01234567",
    "status": "AWAITING REVIEW",
    "study_id": "0123456789abcdef01234567",
    "completed_at": "2026-11-20T11:03:00.457Z",
}
STUDY = {
    "id": "s",
    "status": "ACTIVE",
    "total_available_places": 3,
    "completion_codes": [{"code": "C", "actions": [{"action": "X"}]}],
}
BALANCE = {"currency_code": "GBP", "available_balance": 1200}
ASKED: dict[str, tuple[Any, Callable[[Prolific], object]]] = {
    "work": ({"results": [SUBMISSION]}, lambda there: there.work("s", "s")),
    "one work": (SUBMISSION, lambda there: there.one_work("s")),
    "balance": (BALANCE, lambda there: there.balance()),
    "on offer": (STUDY, lambda there: there.on_offer("s", ["s"])),
    "widen": (STUDY, lambda there: there.widen("s", "s", seats=3, token=None)),  # type: ignore[arg-type]
    "end": (STUDY, lambda there: there.end("s", "s")),
}


def answering(status: int, data: bytes, headers: dict[str, str]) -> Prolific:
    """Return a workspace whose every request gets this answer."""
    there = Prolific(token="t", environment="live", workspace="w", is_quick=True)
    reply = SimpleNamespace(status=status, data=data, headers=headers)
    there.client._http = SimpleNamespace(request=lambda *_, **__: reply)  # type: ignore[assignment]
    return there


@pytest.mark.parametrize("what", ASKED)
@given(data=st.data(), status=st.sampled_from([200, 200, 200, 200, 204, 302, 400, 404, 429, 500, 999]))
@fuzzed(25)
def test_whatever_prolific_answers_is_an_answer_or_one_of_its_errors(
    what: str, data: st.DataObject, status: int
) -> None:
    good, ask = ASKED[what]
    body = data.draw(wounded(as_json(good)) | changed(good).map(as_json) | st.just(DEEP))
    headers = {"Retry-After": data.draw(st.sampled_from(TEXTS))}
    try:
        ask(answering(status, body, headers))
    except MarketplaceError as error:
        str(error)


def test_a_good_answer_of_prolific_is_read() -> None:
    for good, ask in ASKED.values():
        ask(answering(200, as_json(good), {}))
