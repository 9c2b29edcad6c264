"""The double of MTurk, asked by an unmodified boto3: what tests against it rely on."""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit
from xml.etree import ElementTree

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError

from tests.doubles.mturk.client import client_for
from tests.doubles.mturk.crowd import Refused
from tests.doubles.mturk.faults import Fault
from tests.doubles.mturk.fees import MASTERS
from tests.doubles.mturk.questions import ANSWERS
from tests.doubles.mturk.rows import Worker
from tests.doubles.mturk.server import MTurkDouble

QUESTION = (
    '<ExternalQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/'
    'ExternalQuestion.xsd"><ExternalURL>https://lab.example/t?study=7&amp;x=a%20b</ExternalURL>'
    "<FrameHeight>0</FrameHeight></ExternalQuestion>"
)
TYPE = {
    "Title": "Judge a story",
    "Description": "Nine questions",
    "Reward": "0.25",
    "AssignmentDurationInSeconds": 600,
    "AutoApprovalDelayInSeconds": 86_400,
}
HIT = {"LifetimeInSeconds": 7200, "MaxAssignments": 3, "Question": QUESTION}


@pytest.fixture
def double() -> Iterator[MTurkDouble]:
    with MTurkDouble(deposit=Decimal(100)) as running:
        yield running
    assert running.defects == []


@pytest.fixture
def boto(double: MTurkDouble) -> Any:
    return client_for(double)


def made(boto: Any, **other: Any) -> dict[str, Any]:
    kind = boto.create_hit_type(**TYPE)["HITTypeId"]
    hit: dict[str, Any] = boto.create_hit_with_hit_type(HITTypeId=kind, **{**HIT, **other})["HIT"]
    return hit


def submitted(double: MTurkDouble, hit_id: str, **fields: str) -> tuple[str, str]:
    worker = double.crowd.hire().worker_id
    seat = double.crowd.accept(hit_id, worker).assignment_id
    double.crowd.submit([("assignmentId", seat), *fields.items()])
    return seat, worker


def refusal(call: Any, **params: Any) -> tuple[str, str, str]:
    """The error's code, TurkErrorCode and message."""
    with pytest.raises(ClientError) as caught:
        call(**params)
    response = caught.value.response
    return response["Error"]["Code"], response.get("TurkErrorCode", ""), response["Error"]["Message"]


def test_equal_types_are_one_and_a_token_makes_one_hit_for_a_day(double: MTurkDouble, boto: Any) -> None:
    kinds = {boto.create_hit_type(**TYPE)["HITTypeId"] for _ in range(2)}
    other = boto.create_hit_type(**{**TYPE, "Reward": "0.26"})["HITTypeId"]
    (kind,) = kinds
    call = {"HITTypeId": kind, **HIT, "RequesterAnnotation": "story-1", "UniqueRequestToken": "t1"}

    first = boto.create_hit_with_hit_type(**call)["HIT"]
    code, meaning, message = refusal(boto.create_hit_with_hit_type, **call)
    double.world.clock.advance(timedelta(hours=24))
    again = boto.create_hit_with_hit_type(**call)["HIT"]

    assert other not in kinds
    assert (code, meaning) == ("RequestError", "AWS.MechanicalTurk.HitAlreadyExists")
    assert re.findall(r"\b3[A-Z0-9]{29}\b", message) == [first["HITId"]]
    assert re.search(r" \(\d{13}\)$", message)
    assert again["HITId"] != first["HITId"]
    assert again["RequesterAnnotation"] == "story-1"


def test_what_boto3_lets_through_is_refused_by_the_service(boto: Any) -> None:
    kind = boto.create_hit_type(**TYPE)["HITTypeId"]
    cases = [
        refusal(boto.create_hit_type, **{**TYPE, "Reward": "0.30000000000000004"}),
        refusal(boto.get_hit, HITId="lower-case"),
        refusal(boto.list_hits, MaxResults=101),
        refusal(boto.create_hit_type, **{**TYPE, "Title": "x" * 129}),
        refusal(boto.create_hit_type, **{**TYPE, "AssignmentDurationInSeconds": 29}),
        refusal(boto.create_hit_with_hit_type, HITTypeId=kind, LifetimeInSeconds=60),
        refusal(
            boto.create_hit_with_hit_type,
            HITTypeId=kind,
            **{**HIT, "Question": QUESTION.replace("https", "http")},
        ),
        refusal(
            boto.create_hit_with_hit_type,
            HITTypeId=kind,
            **{**HIT, "Question": QUESTION.replace("<FrameHeight>0</FrameHeight>", "")},
        ),
    ]

    assert [code for code, _, _ in cases] == [
        *["ValidationException"] * 3,
        *["ParameterValidationError"] * 4,
        "RequestError",
    ]
    assert "failed to satisfy constraint: Member must satisfy regular expression pattern" in cases[0][2]


def test_who_may_do_a_hit(double: MTurkDouble, boto: Any) -> None:
    own = boto.create_qualification_type(Name="incomplete", Description="d", QualificationTypeStatus="Active")
    incomplete = own["QualificationType"]["QualificationTypeId"]
    requirements = [
        {
            "QualificationTypeId": "000000000000000000L0",
            "Comparator": "GreaterThanOrEqualTo",
            "IntegerValues": [98],
            "ActionsGuarded": "DiscoverPreviewAndAccept",
        },
        {
            "QualificationTypeId": "00000000000000000040",
            "Comparator": "GreaterThanOrEqualTo",
            "IntegerValues": [10_000],
            "ActionsGuarded": "DiscoverPreviewAndAccept",
        },
        {
            "QualificationTypeId": "00000000000000000071",
            "Comparator": "EqualTo",
            "LocaleValues": [{"Country": "US"}],
            "ActionsGuarded": "PreviewAndAccept",
        },
        {"QualificationTypeId": incomplete, "Comparator": "DoesNotExist"},
    ]
    kind = boto.create_hit_type(**TYPE, QualificationRequirements=requirements)["HITTypeId"]
    hit_id = boto.create_hit_with_hit_type(HITTypeId=kind, **HIT)["HIT"]["HITId"]
    good, new, abroad, left_one = (
        double.crowd.hire(worker).worker_id
        for worker in (None, Worker("ANEW", 12, 1), Worker("AABROAD", country="DE"), Worker("ALEFT"))
    )
    boto.associate_qualification_with_worker(QualificationTypeId=incomplete, WorkerId=left_one)

    assert [double.crowd.available(one) for one in (good, new, abroad)] == [[hit_id], [], [hit_id]]
    assert double.crowd.preview(hit_id, left_one)
    for one, may in (
        (abroad, double.crowd.preview),
        (left_one, double.crowd.accept),
        (new, double.crowd.accept),
    ):
        with pytest.raises(Refused, match="requirements"):
            may(hit_id, one)
    assert double.crowd.accept(hit_id, good)
    masters = {"QualificationTypeId": MASTERS["sandbox"], "Comparator": "Exists"}
    assert refusal(boto.create_hit_type, **TYPE, QualificationRequirements=[masters])[1] == (
        "AWS.MechanicalTurk.QualificationTypeDoesNotExist"
    )
    assert [letter.worker_id for letter in double.world.letters] == [left_one]
    boto.disassociate_qualification_from_worker(QualificationTypeId=incomplete, WorkerId=left_one)
    revoked = boto.list_workers_with_qualification_type(QualificationTypeId=incomplete, Status="Revoked")
    assert [row["WorkerId"] for row in revoked["Qualifications"]] == [left_one]
    assert double.crowd.accept(hit_id, left_one)


def test_an_assignment_id_goes_on_to_the_next_worker_and_is_unseen_until_submitted(
    double: MTurkDouble, boto: Any
) -> None:
    hit_id = made(boto)["HITId"]
    first, second, third = (double.crowd.hire().worker_id for _ in range(3))
    seat = double.crowd.accept(hit_id, first).assignment_id
    double.crowd.give_back(seat, first)
    same = double.crowd.accept(hit_id, second).assignment_id
    double.world.clock.advance(timedelta(seconds=601))  # second lets it lapse
    thirds = double.crowd.accept(hit_id, third).assignment_id

    assert seat == same == thirds
    states = "This operation can be called with a status of: Reviewable,Approved,Rejected"
    assert states in refusal(boto.get_assignment, AssignmentId=seat)[2]
    assert "status of: null" in refusal(boto.approve_assignment, AssignmentId=seat)[2]
    assert boto.list_assignments_for_hit(HITId=hit_id)["Assignments"] == []
    with pytest.raises(Refused, match="not working on this"):
        double.crowd.submit([("assignmentId", seat), ("workerId", first)])

    double.crowd.submit([("assignmentId", seat), ("workerId", third), ("receipt", "r & <1>")])
    seen = boto.get_assignment(AssignmentId=seat)
    answer = ElementTree.fromstring(seen["Assignment"]["Answer"])  # noqa: S314 - our own double wrote it
    fields = {child[0].text: child[1].text for child in answer}
    assert (seen["Assignment"]["WorkerId"], answer.tag) == (third, f"{{{ANSWERS}}}QuestionFormAnswers")
    assert fields == {"receipt": "r & <1>"}
    assert seen["HIT"]["NumberOfAssignmentsPending"] == seen["HIT"]["NumberOfAssignmentsCompleted"] == 0


def test_money_is_held_then_paid_with_fees_and_reviews_happen_once(double: MTurkDouble, boto: Any) -> None:
    hit_id = made(boto)["HITId"]
    held = boto.get_account_balance()
    (one, _), (two, worker), (three, _) = (submitted(double, hit_id) for _ in range(3))
    boto.approve_assignment(AssignmentId=one)
    boto.reject_assignment(AssignmentId=two, RequesterFeedback="empty")
    bonus = {"WorkerId": worker, "BonusAmount": "0.02", "AssignmentId": two, "Reason": "waited"}
    boto.send_bonus(**bonus, UniqueRequestToken="b1")
    twice = refusal(boto.send_bonus, **bonus, UniqueRequestToken="b1")
    wrong_worker = refusal(boto.send_bonus, **{**bonus, "WorkerId": "ASOMEBODYELSE"})
    double.world.clock.advance(timedelta(days=1))

    assert (held["AvailableBalance"], held["OnHoldBalance"]) == ("99.10", "0.90")  # 3 x (0.25 + 0.05)
    assert boto.get_assignment(AssignmentId=three)["Assignment"]["AssignmentStatus"] == "Approved"
    assert "status of: Submitted" in refusal(boto.approve_assignment, AssignmentId=one)[2]
    assert (
        "status of: Submitted"
        in refusal(boto.reject_assignment, AssignmentId=three, RequesterFeedback="x")[2]
    )
    assert "b1" in twice[2]
    assert wrong_worker[0] == "ParameterValidationError"
    assert len(boto.list_bonus_payments(AssignmentId=two)["BonusPayments"]) == 1
    assert boto.get_account_balance()["AvailableBalance"] == "99.37"  # less 2 x 0.30, 0.02 and 0.01 at least
    boto.approve_assignment(AssignmentId=two, OverrideRejection=True)
    assert boto.get_account_balance()["AvailableBalance"] == "99.07"
    assert refusal(boto.create_hit, **TYPE, **{**HIT, "MaxAssignments": 999})[1].endswith("InsufficientFunds")
    assert boto.notify_workers(Subject="s", MessageText="m", WorkerIds=[worker, "AUNKNOWN"])[
        "NotifyWorkersFailureStatuses"
    ] == [
        {
            "NotifyWorkersFailureCode": "HardFailure",
            "NotifyWorkersFailureMessage": "You have not reviewed any work of this worker.",
            "WorkerId": "AUNKNOWN",
        }
    ]


def test_the_life_of_a_hit(double: MTurkDouble, boto: Any) -> None:
    hit = made(boto)
    hit_id = hit["HITId"]
    border = refusal(
        boto.create_additional_assignments_for_hit, HITId=hit_id, NumberOfAdditionalAssignments=7
    )
    boto.create_additional_assignments_for_hit(
        HITId=hit_id, NumberOfAdditionalAssignments=1, UniqueRequestToken="more"
    )
    later = hit["Expiration"] + timedelta(hours=1)
    boto.update_expiration_for_hit(HITId=hit_id, ExpireAt=later)
    repeated = refusal(boto.update_expiration_for_hit, HITId=hit_id, ExpireAt=later)
    sooner = refusal(boto.update_expiration_for_hit, HITId=hit_id, ExpireAt=hit["Expiration"])
    held = double.crowd.accept(hit_id, double.crowd.hire().worker_id)
    boto.update_expiration_for_hit(HITId=hit_id, ExpireAt=0)

    assert border[1] == "AWS.MechanicalTurk.InvalidMaximumAssignmentsIncrease"
    assert "has already been processed" in repeated[2]
    assert sooner[0] == "ParameterValidationError"
    assert boto.get_hit(HITId=hit_id)["HIT"]["HITStatus"] == "Unassignable"
    assert boto.get_account_balance()["OnHoldBalance"] == "0.30"  # for the one who still works
    assert refusal(boto.delete_hit, HITId=hit_id)[1] == "AWS.MechanicalTurk.InvalidHITState"
    double.crowd.submit([("assignmentId", held.assignment_id)])  # expired, but held: it may still come in
    assert boto.list_reviewable_hits()["HITs"][0]["NumberOfAssignmentsAvailable"] == 3
    boto.approve_assignment(AssignmentId=held.assignment_id)
    boto.delete_hit(HITId=hit_id)
    assert boto.list_hits()["HITs"] == []


def test_many_at_once_get_one_hit_and_its_seats(double: MTurkDouble, boto: Any) -> None:
    kind = boto.create_hit_type(**TYPE)["HITTypeId"]
    workers = [double.crowd.hire().worker_id for _ in range(12)]

    def ask(_: int) -> str:
        try:
            hit = boto.create_hit_with_hit_type(HITTypeId=kind, **HIT, UniqueRequestToken="t")["HIT"]
        except ClientError as error:
            return str(error.response["TurkErrorCode"])
        return str(hit["HITId"])

    def accept(worker: str) -> str:
        try:
            return double.crowd.accept(hit_id, worker).assignment_id
        except Refused:
            return ""

    with ThreadPoolExecutor(12) as pool:
        asked = Counter(pool.map(ask, range(12)))
        (hit_id,) = [hit["HITId"] for hit in boto.list_hits()["HITs"]]
        seats = [seat for seat in pool.map(accept, workers) if seat]

    assert asked == {hit_id: 1, "AWS.MechanicalTurk.HitAlreadyExists": 11}
    assert len(seats) == len(set(seats)) == 3


def test_lists_come_in_pages_and_every_page_but_the_empty_one_has_a_token(
    double: MTurkDouble, boto: Any
) -> None:
    ids = [made(boto, RequesterAnnotation=str(number))["HITId"] for number in range(20)]
    first, second = boto.list_hits(), boto.list_hits(NextToken=boto.list_hits()["NextToken"])
    last = boto.list_hits(NextToken=second["NextToken"])
    pages = boto.get_paginator("list_hits").paginate(PaginationConfig={"PageSize": 7})

    assert [page["NumResults"] for page in (first, second, last)] == [10, 10, 0]
    assert "NextToken" not in last
    assert [hit["HITId"] for page in pages for hit in page["HITs"]] == ids


def test_faults_strike_before_and_after_and_reads_lag(double: MTurkDouble, boto: Any) -> None:
    kind = boto.create_hit_type(**TYPE)["HITTypeId"]
    call = {"HITTypeId": kind, **HIT}
    name = "CreateHITWithHITType"
    double.faults.next[name] = [Fault.THROTTLED, Fault.BEFORE, Fault.AFTER, Fault.DROPPED]

    errors = [refusal(boto.create_hit_with_hit_type, **call)[0] for _ in range(3)]
    with pytest.raises(ConnectionClosedError):
        boto.create_hit_with_hit_type(**call)

    assert errors == ["ThrottlingException", "ServiceFault", "ServiceFault"]
    assert len(boto.list_hits()["HITs"]) == 2  # the two whose answers were lost
    double.faults.next["ListHITs"] = [Fault.STALE]
    stale = len(boto.list_hits()["HITs"])
    assert stale < 2 == len(boto.list_hits()["HITs"])
    double.faults.next[name] = [Fault.AFTER]
    patient = client_for(double, attempts=3)
    again = refusal(patient.create_hit_with_hit_type, **call, UniqueRequestToken="once")
    assert again[1] == "AWS.MechanicalTurk.HitAlreadyExists"  # boto3 itself asked again
    assert len(boto.list_hits()["HITs"]) == 3


def test_a_stranger_and_an_operation_that_is_not_there(double: MTurkDouble, boto: Any) -> None:
    stranger = client_for(double, key_id="AKIASOMEBODYELSE")

    assert refusal(stranger.get_account_balance)[0] == "UnrecognizedClientException"
    assert refusal(boto.list_worker_blocks)[0] == "UnknownOperationException"


def test_notifications_are_repeated_and_in_no_order(double: MTurkDouble, boto: Any) -> None:
    kind = boto.create_hit_type(**TYPE)["HITTypeId"]
    wanted = {
        "Destination": "arn:aws:sns:us-east-1:1:t",
        "Transport": "SNS",
        "Version": "2014-08-15",
        "EventTypes": ["AssignmentSubmitted", "AssignmentReturned"],
    }
    boto.update_notification_settings(HITTypeId=kind, Notification=wanted, Active=True)
    hits = [boto.create_hit_with_hit_type(HITTypeId=kind, **HIT)["HIT"]["HITId"] for _ in range(20)]
    seats = [submitted(double, hit_id)[0] for hit_id in hits]
    documents = [json.loads(message["Message"]) for message in double.world.post.collect()]

    unique = {document["EventDocId"]: document["Events"][0] for document in documents}
    assert len(documents) > len(unique) == 20
    assert {event["EventType"] for event in unique.values()} == {"AssignmentSubmitted"}
    assert sorted(event["AssignmentId"] for event in unique.values()) == sorted(seats)
    assert [event["AssignmentId"] for event in unique.values()] != seats
    assert 0 < sum("WorkerId" in event for event in unique.values()) < 20
    boto.send_test_event_notification(Notification=wanted, TestEventType="Ping")
    assert "Ping" in double.world.post.collect()[0]["Message"]


def test_the_worker_site(double: MTurkDouble, boto: Any) -> None:
    hit_id, worker = made(boto)["HITId"], double.crowd.hire().worker_id
    who = urlencode({"workerId": worker})

    def get(path: str, data: bytes | None = None) -> Any:
        return urllib.request.urlopen(double.url + path, data)  # noqa: S310 - loopback

    listing = get(f"/?{who}").read().decode()
    preview = get(f"/projects/{hit_id}/tasks?{who}").read().decode()
    with get(f"/projects/{hit_id}/tasks/accept", who.encode()) as accepted:
        work, address = accepted.read().decode(), urlsplit(accepted.url)
    seat = address.path.rpartition("/")[2]
    frame = parse_qs(urlsplit(double.crowd.frame(seat, worker)).query)

    assert "Judge a story" in listing
    assert "assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE" in preview
    assert f"workerId={worker}&quot;" not in preview
    assert 'sandbox="allow-scripts allow-forms" src="https://lab.example/t?study=7&amp;x=a+b' in work
    assert frame == {
        "study": ["7"],
        "x": ["a b"],
        "assignmentId": [seat],
        "hitId": [hit_id],
        "turkSubmitTo": [double.url],
        "workerId": [worker],
    }
    form = urlencode({"assignmentId": seat, "workerId": worker, "receipt": "r1"}).encode()
    with get("/mturk/externalSubmit", form) as answer:
        assert answer.headers["X-Frame-Options"] == "DENY"
    with pytest.raises(urllib.error.HTTPError) as caught:
        get("/mturk/externalSubmit", form)
    with caught.value as second:
        assert (second.code, "already submitted" in second.read().decode()) == (400, True)
    assert get(f"/projects/{hit_id}/tasks/{seat}/state?{who}").read() == b"Submitted"
    with pytest.raises(urllib.error.HTTPError) as lower:
        get("/mturk/externalSubmit", urlencode({"assignmentid": seat}).encode())
    lower.value.close()
