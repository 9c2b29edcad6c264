"""The double keeps Prolific's rules: what these tests hold, the adapter's tests build upon."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
import urllib3

from tests.doubles.prolific import TOKEN, Fault, ProlificDouble
from tests.doubles.prolific.faults import Faults

DRAFT = {
    "name": "Judge short stories",
    "description": "Four questions on each.",
    "external_study_url": "http://127.0.0.1/p/?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}"
    "&SESSION_ID={{%SESSION_ID%}}",
    "prolific_id_option": "url_parameters",
    "completion_codes": [
        {"code": "DONE", "code_type": "COMPLETED", "actions": [{"action": "MANUALLY_REVIEW"}]}
    ],
    "total_available_places": 3,
    "estimated_completion_time": 10,
    "reward": 250,
}
ENOUGH = "A reason that says, in a hundred letters or more, " + "what was wrong with the answers " * 3


class Client:
    """The least that speaks to the double."""

    def __init__(self, double: ProlificDouble) -> None:
        self.double = double
        self.http = urllib3.PoolManager(retries=False)

    def __call__(self, method: str, path: str, body: Any = None, *, token: str = TOKEN) -> tuple[int, Any]:
        headers = {"Authorization": f"Token {token}"}
        url = path if path.startswith("http") else f"{self.double.url}/api/v1{path}"
        reply = self.http.request(method, url, json=body, headers=headers)
        return reply.status, reply.json() if reply.data else None

    def publish(self, **changes: Any) -> str:
        _status, study = self("POST", "/studies/", DRAFT | changes)
        assert self("POST", f"/studies/{study['id']}/transition/", {"action": "PUBLISH"})[0] == 200
        self.double.settle()
        return str(study["id"])

    def hand_in(self, study: str, participant: str) -> str:
        started = self.double.start(participant, study)
        self.double.complete(started.submission, "DONE")
        self.double.settle()
        return started.submission


@pytest.fixture
def double() -> Iterator[ProlificDouble]:
    with ProlificDouble(seed=1) as made:
        yield made


@pytest.fixture
def call(double: ProlificDouble) -> Client:
    return Client(double)


def test_a_submission_from_a_draft_to_money_that_leaves_once(double: ProlificDouble, call: Client) -> None:
    assert call("GET", "/users/me/", token="another")[0] == 401
    study_id = call("POST", "/studies/", DRAFT)[1]["id"]
    participant = double.join()
    assert double.sees(participant) == []
    assert (
        call("POST", f"/studies/{study_id}/transition/", {"action": "PUBLISH"})[1]["status"] == "PUBLISHING"
    )
    assert call("GET", f"/studies/{study_id}/")[1]["status"] == "ACTIVE"
    price = call("POST", "/study-cost-calculator/", {"reward": 250, "total_available_places": 1})[1]
    assert price == {"total_cost": 250 + 83 + 17}
    workspace = f"/workspaces/{double.platform.workspace_id}/balance/"
    assert call("GET", workspace)[1]["available_balance"] == 10_000_00 - 3 * 350

    started = double.start(participant, study_id)
    assert parse_qs(urlsplit(started.url).query) == {
        "PROLIFIC_PID": [participant],
        "STUDY_ID": [study_id],
        "SESSION_ID": [started.submission],
    }
    assert double.sees(participant) == []
    approve = ("POST", f"/submissions/{started.submission}/transition/", {"action": "APPROVE"})
    assert call(*approve)[0] == 400
    double.complete(started.submission, "DONE")
    seen = [call("GET", f"/submissions/{started.submission}/")[1]["status"] for _time in range(2)]
    assert seen == ["PROCESSING", "AWAITING REVIEW"]
    assert [call(*approve)[0] for _time in range(2)] == [200, 200]
    assert [(entry.kind, entry.cents) for entry in double.platform.ledger] == [("reward", 250)]
    assert call("GET", workspace)[1]["total_balance"] == 10_000_00 - 350
    row = call("GET", f"/submissions/?study={study_id}")[1]["results"][0]
    assert (row["status"], row["study_code"], row["participant_id"]) == ("APPROVED", "DONE", participant)


def test_bonuses_leave_later_and_paying_a_set_twice_pays_twice(double: ProlificDouble, call: Client) -> None:
    study = call.publish()
    submission = call.hand_in(study, double.join())
    lines = {"study_id": study, "csv_bonuses": f"{submission},1.25"}
    status, bulk = call("POST", "/submissions/bonus-payments/", lines)
    assert (status, bulk["amount"], bulk["total_amount"]) == (201, 125, 125 + 42 + 8)
    assert double.platform.ledger == []
    for _time in range(2):
        assert call("POST", f"/bulk-bonus-payments/{bulk['id']}/pay/")[0] == 202
    assert call("GET", f"/submissions/{submission}/")[1]["bonus_payments"] == []
    double.settle()
    assert call("GET", f"/submissions/{submission}/")[1]["bonus_payments"] == [125.0, 125.0]
    for wrong in (f"{submission},0", f"{submission},1.255", "f" * 24 + ",1.00", submission):
        assert call("POST", "/submissions/bonus-payments/", lines | {"csv_bonuses": wrong})[0] == 400


def test_places_come_back_from_who_leaves_and_from_who_is_rejected(
    double: ProlificDouble, call: Client
) -> None:
    study = call.publish(total_available_places=1)
    slow, late, gone, poor, good = (double.join() for _person in range(5))
    submission = double.start(slow, study).submission
    assert double.sees(late) == []
    double.platform.clock.advance(hours=3)
    assert double.sees(late) == [study]
    assert double.submission(submission).status == "TIMED-OUT"
    double.give_back(double.start(gone, study).submission)
    rejected = call.hand_in(study, poor)
    path = f"/submissions/{rejected}/transition/"
    short = {"action": "REJECT", "message": "Too short.", "rejection_category": "LOW_EFFORT"}
    assert call("POST", path, short)[0] == 400
    assert call("POST", path, short | {"message": ENOUGH, "rejection_category": "BECAUSE"})[0] == 400
    assert call("POST", path, short | {"message": ENOUGH})[1]["status"] == "REJECTED"
    assert call("POST", path, {"action": "APPROVE"})[0] == 400
    call.hand_in(study, good)
    assert call("GET", f"/studies/{study}/")[1]["status"] == "AWAITING REVIEW"
    assert double.platform.ledger == []


def test_what_is_refused_before_and_after_publishing(double: ProlificDouble, call: Client) -> None:
    refused: list[dict[str, Any]] = [
        {"completion_codes": []},
        {"reward": 0},
        {"maximum_allowed_time": 20},
        {"completion_code": "OLD"},
        {"external_study_url": "example.org"},
        {"filters": [{"filter_id": "shoe-size", "selected_values": ["1"]}]},
    ]
    for wrong in refused:
        assert call("POST", "/studies/", DRAFT | wrong)[0] == 400, wrong
    study = call.publish()
    assert call("PATCH", f"/studies/{study}/", {"reward": 300})[0] == 400
    assert call("PATCH", f"/studies/{study}/", {"total_available_places": 2})[0] == 400
    assert call("PATCH", f"/studies/{study}/", {"total_available_places": 9})[0] == 200
    assert call("POST", f"/studies/{study}/transition/", {"action": "PUBLISH"})[0] == 400
    assert call("POST", f"/studies/{study}/transition/", {"action": "PAUSE"})[1]["status"] == "PAUSED"
    assert double.sees(double.join()) == []
    assert call("POST", f"/studies/{study}/transition/", {"action": "STOP"})[1]["status"] == "COMPLETED"
    dear = call("POST", "/studies/", DRAFT | {"total_available_places": 100_000})[1]["id"]
    assert call("POST", f"/studies/{dear}/transition/", {"action": "PUBLISH"})[0] == 400


def test_a_group_opens_a_study_and_pages_are_of_twenty(double: ProlificDouble, call: Client) -> None:
    new = {"workspace_id": double.platform.workspace_id, "name": "qualified"}
    group = call("POST", "/participant-groups/", new)[1]["id"]
    allow = [{"filter_id": "participant_group_allowlist", "selected_values": [group]}]
    study = call.publish(total_available_places=45, filters=allow)
    people = [double.join() for _person in range(45)]
    assert double.sees(people[0]) == []
    members = f"/participant-groups/{group}/participants/"
    for _time in range(2):
        assert len(call("POST", members, {"participant_ids": people})[1]["results"]) == 45
    for person in people:
        double.start(person, study)
    pages: list[list[str]] = []
    for number in (1, 2, 3):
        _status, page = call("GET", f"/submissions/?study={study}&page={number}")
        assert set(page) == {"results"}, "nothing else is documented"
        pages.append([row["participant_id"] for row in page["results"]])
    assert [len(page) for page in pages] == [20, 20, 5]
    assert [person for page in pages for person in page] == people


def test_a_signed_address_proves_who_comes_for_two_minutes(double: ProlificDouble, call: Client) -> None:
    study = call.publish(is_external_study_url_secure=True)
    participant = double.join()
    started = double.start(participant, study)
    token = parse_qs(urlsplit(started.url).query)["prolific_token"][0]
    keys = call("GET", f"{double.url}/.well-known/study/jwks.json")[1]["keys"]
    kid = jwt.get_unverified_header(token)["kid"]
    key = jwt.PyJWK(next(key for key in keys if key["kid"] == kid))
    claims = jwt.decode(token, key, algorithms=["RS256"], options={"verify_aud": False})
    assert claims["iss"] == "https://www.prolific.com"
    assert claims["exp"] - claims["iat"] == 120
    assert claims["sub"] == claims["prolific"]["SESSION_ID"] == started.submission
    assert claims["prolific"]["workspace_id"] == double.platform.workspace_id
    assert claims["aud"].startswith("http://127.0.0.1/p/?PROLIFIC_PID=" + participant)


def test_webhooks_are_signed_and_only_for_who_confirmed(double: ProlificDouble, call: Client) -> None:
    workspace = double.platform.workspace_id
    wish = {"workspace_id": workspace, "event_type": "submission.status.change", "target_url": "https://a.b/"}
    assert call("POST", "/hooks/subscriptions/", wish)[0] == 400
    secret = call("POST", "/hooks/secrets/", {"workspace_id": workspace})[1]["value"]
    made = call.http.request(
        "POST",
        f"{double.url}/api/v1/hooks/subscriptions/",
        json=wish,
        headers={"Authorization": f"Token {TOKEN}"},
    )
    study = call.publish()
    call.hand_in(study, double.join())
    assert double.deliveries() == []
    path = f"/hooks/subscriptions/{made.json()['id']}/"
    assert call("POST", path, {"secret": "another"})[0] == 400
    assert call("POST", path, {"secret": made.headers["X-Hook-Secret"]})[1]["is_enabled"] is True
    submission = call.hand_in(study, double.join())
    sent = double.deliveries(seed=3, repeat=1.0)
    assert len(sent) == 6
    assert len({delivery.headers["X-Event-ID"] for delivery in sent}) == 3
    for delivery in sent:
        signed = delivery.headers["X-Prolific-Request-Timestamp"].encode() + delivery.body
        digest = hmac.new(secret.encode(), signed, hashlib.sha256).digest()
        assert delivery.headers["X-Prolific-Request-Signature"] == base64.b64encode(digest).decode()
        assert json.loads(delivery.body)["resource_id"] == submission


def test_faults_happen_before_or_after_the_work_and_the_same_for_the_same_seed(
    double: ProlificDouble, call: Client
) -> None:
    def count() -> int:
        return len(double.platform.studies)

    for fault, status, made in (
        (Fault.THROTTLED, 429, 0),
        (Fault.FAILED, 500, 0),
        (Fault.FAILED_LATE, 500, 1),
    ):
        before = count()
        double.faults.order(fault, "POST", "/studies/$")
        assert call("POST", "/studies/", DRAFT)[0] == status
        assert count() - before == made
    double.faults.order(Fault.DROPPED, "POST", "/studies/$")
    with pytest.raises(urllib3.exceptions.ProtocolError):
        call("POST", "/studies/", DRAFT)
    assert count() == 2
    study = call.publish()
    assert call("GET", f"/studies/{study}/")[1]["status"] == "ACTIVE"
    call("POST", f"/studies/{study}/transition/", {"action": "PAUSE"})
    assert call("GET", f"/studies/{study}/")[1]["status"] == "PAUSED"
    double.faults.order(Fault.STALE, "GET", "/studies/")
    assert call("GET", f"/studies/{study}/")[1]["status"] == "ACTIVE"
    assert double.faults.done[Fault.STALE] == 1

    def drawn(seed: int) -> list[Fault | None]:
        faults = Faults(seed, rate=0.2)
        return [faults.draw("POST", "/api/v1/studies/") for _request in range(500)]

    assert drawn(5) == drawn(5) != drawn(6)
    assert 60 < sum(fault is not None for fault in drawn(5)) < 140
