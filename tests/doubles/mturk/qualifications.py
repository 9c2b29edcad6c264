"""Qualification types of the requester, and who was given them; messages to workers; subscriptions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.doubles.mturk import errors
from tests.doubles.mturk.fees import MASTERS
from tests.doubles.mturk.hits import check_lengths
from tests.doubles.mturk.registry import Params, operation, page
from tests.doubles.mturk.requirements import ADULT, LOCALE, NUMBER_APPROVED, PERCENT_APPROVED
from tests.doubles.mturk.rows import Grant, Letter, QualificationType, Subscription
from tests.doubles.mturk.world import World

LONGEST_SUBJECT, LONGEST_TEXT, MOST_WORKERS = 200, 4096, 100


def _own_type(world: World, params: Params) -> QualificationType:
    found = world.qualification_types.get(params["QualificationTypeId"])
    if found is None:
        raise errors.no_such_qualification()
    return found


def _describe_type(row: QualificationType) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "QualificationTypeId": row.qualification_type_id,
        "CreationTime": row.created.timestamp(),
        "Name": row.name,
        "Description": row.description,
        "QualificationTypeStatus": row.status,
        "IsRequestable": False,
        "AutoGranted": False,
    }
    return shown | ({"Keywords": row.keywords} if row.keywords else {})


def _describe_grant(row: Grant) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "QualificationTypeId": row.qualification_type_id,
        "WorkerId": row.worker_id,
        "GrantTime": row.granted.timestamp(),
        "Status": row.status,
    }
    return shown | ({} if row.value is None else {"IntegerValue": row.value})


@operation
def create_qualification_type(world: World, params: Params) -> dict[str, Any]:
    check_lengths(params)
    if any(row.name == params["Name"] for row in world.qualification_types.values()):
        raise errors.name_is_taken()
    made = QualificationType(
        world.new_id(),
        params["Name"],
        params["Description"],
        params.get("Keywords", ""),
        params["QualificationTypeStatus"],
        world.now(),
    )
    world.qualification_types.put(made.qualification_type_id, made)
    return {"QualificationType": _describe_type(made)}


@operation
def get_qualification_type(world: World, params: Params) -> dict[str, Any]:
    return {"QualificationType": _describe_type(_own_type(world, params))}


@operation
def list_qualification_types(world: World, params: Params) -> dict[str, Any]:
    """Those of the caller: the types of other requesters are not here."""
    if not params.get("MustBeOwnedByCaller", False):
        raise errors.invalid_value("MustBeOwnedByCaller", "the double knows no other requester")
    query = params.get("Query", "").lower()
    rows = [
        _describe_type(row)
        for row in world.qualification_types.values()
        if query in f"{row.name} {row.description} {row.keywords}".lower() and not params["MustBeRequestable"]
    ]
    return page("QualificationTypes", rows, params)


@operation
def associate_qualification_with_worker(world: World, params: Params) -> dict[str, Any]:
    """A second time sets the value. Unless ``SendNotification`` is false the worker is told by e-mail."""
    if params["QualificationTypeId"] in {PERCENT_APPROVED, NUMBER_APPROVED, LOCALE, ADULT, *MASTERS.values()}:
        raise errors.invalid_value("QualificationTypeId", params["QualificationTypeId"])
    kind, worker_id = _own_type(world, params), params["WorkerId"]
    if world.workers.get(worker_id) is None:
        raise errors.invalid_value("WorkerId", worker_id)
    row = Grant(kind.qualification_type_id, worker_id, params.get("IntegerValue", 1), world.now())
    world.grants.put(f"{kind.qualification_type_id} {worker_id}", row)
    if params.get("SendNotification", True):
        world.letters.append(Letter(worker_id, "You have been granted a Qualification", kind.name))
    return {}


@operation
def disassociate_qualification_from_worker(world: World, params: Params) -> dict[str, Any]:
    row = _grant(world, params)
    if row.status != "Granted":
        raise errors.wrong_state("Qualification", ("Granted",))
    world.grants.put(f"{row.qualification_type_id} {row.worker_id}", replace(row, status="Revoked"))
    if params.get("Reason"):
        world.letters.append(Letter(row.worker_id, "A Qualification was taken back", params["Reason"]))
    return {}


@operation
def get_qualification_score(world: World, params: Params) -> dict[str, Any]:
    row = _grant(world, params)
    if row.status != "Granted":
        raise errors.wrong_state("Qualification", ("Granted",))
    return {"Qualification": _describe_grant(row)}


def _grant(world: World, params: Params) -> Grant:
    kind = _own_type(world, params)
    row = world.grants.get(f"{kind.qualification_type_id} {params['WorkerId']}")
    if row is None:
        raise errors.no_such_qualification()
    return row


@operation
def list_workers_with_qualification_type(world: World, params: Params) -> dict[str, Any]:
    kind, status = _own_type(world, params), params.get("Status", "Granted")
    rows = [
        _describe_grant(row)
        for row in world.grants.values()
        if row.qualification_type_id == kind.qualification_type_id and row.status == status
    ]
    return page("Qualifications", rows, params)


def members(world: World, kind: str) -> set[str]:
    """The ids of the workers who have a qualification: for tests, who ask the double and not its protocol."""
    rows = world.grants.values()
    return {row.worker_id for row in rows if row.qualification_type_id == kind and row.status == "Granted"}


@operation
def notify_workers(world: World, params: Params) -> dict[str, Any]:
    """Only workers whose work was approved or rejected can be written to; the others come back by name."""
    for name, longest in {"Subject": LONGEST_SUBJECT, "MessageText": LONGEST_TEXT}.items():
        if not 1 <= len(params[name]) <= longest:
            raise errors.invalid_value(name, params[name])
    if not 1 <= len(params["WorkerIds"]) <= MOST_WORKERS:
        raise errors.invalid_value("WorkerIds", f"{len(params['WorkerIds'])} workers")
    reviewed = {row.worker_id for row in world.assignments.values() if row.state in ("Approved", "Rejected")}
    failures = []
    for worker_id in params["WorkerIds"]:
        if worker_id in reviewed:
            world.letters.append(Letter(worker_id, params["Subject"], params["MessageText"]))
        else:
            failures.append(
                {
                    "NotifyWorkersFailureCode": "HardFailure",
                    "NotifyWorkersFailureMessage": "You have not reviewed any work of this worker.",
                    "WorkerId": worker_id,
                }
            )
    return {"NotifyWorkersFailureStatuses": failures}


@operation
def update_notification_settings(world: World, params: Params) -> dict[str, Any]:
    identifier = params["HITTypeId"]
    if world.hit_types.get(identifier) is None:
        raise errors.does_not_exist("HITType", identifier)
    before = world.post.subscriptions.get(identifier)
    if "Notification" not in params and ("Active" not in params or before is None):
        raise errors.invalid_value("Notification", None)
    made = _subscription(params["Notification"]) if "Notification" in params else before
    assert made is not None
    world.post.subscriptions[identifier] = replace(made, active=params.get("Active", made.active))
    return {}


@operation
def send_test_event_notification(world: World, params: Params) -> dict[str, Any]:
    event = {
        "EventType": params["TestEventType"],
        "EventTimestamp": world.now().strftime("%Y-%m-%dT%H:%M:%SZ"),
        "HITTypeId": world.new_id(),
        "HITId": world.new_id(),
        "AssignmentId": world.new_id(),
    }
    world.post.send(_subscription(params["Notification"]), event, customer=world.requester_id)
    return {}


def _subscription(given: Params) -> Subscription:
    prefix = {"SNS": "arn:aws:sns:", "SQS": "https://"}.get(given["Transport"])
    if prefix is None or not given["Destination"].startswith(prefix):
        message = f"The notification destination {given['Destination']} is not valid."
        raise errors.request_error("InvalidTransportEndpoint", message)
    types = frozenset(given["EventTypes"])
    return Subscription(given["Destination"], given["Transport"], given["Version"], types)
