"""What MTurk answers when it does not do what it was asked, in its own words where they are on record.

Only a few codes exist at the level of the protocol (``RequestError``, ``ServiceFault`` and those of every
AWS service); the meaning is in ``TurkErrorCode`` and in the message, which ends in a time in milliseconds.
Words seen in public issue threads: "does not exist", "can be called with a status of", "already created a
QualificationType", "insufficient funds", "The idempotency token". Those of a repeated request token are
not on record but for what they contain: the HIT's id, or the id of the first request.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

PREFIX = "AWS.MechanicalTurk."


class ServiceError(Exception):
    """An answer that is an error."""

    def __init__(self, kind: str, message: str, *, code: str = "", status: int = 400) -> None:
        super().__init__(message)
        self.kind, self.message, self.code, self.status = kind, message, code, status

    def body(self, milliseconds: int) -> dict[str, Any]:
        """The error as JSON 1.1 says it; MTurk's own errors carry the time."""
        if not self.code:
            return {"__type": self.kind, "message": self.message}
        said = f"{self.message} ({milliseconds})"
        return {"__type": self.kind, "Message": said, "TurkErrorCode": PREFIX + self.code}


def request_error(code: str, message: str) -> ServiceError:
    return ServiceError("RequestError", message, code=code)


def invalid_shapes(problems: list[str]) -> ServiceError:
    """What the layer in front of MTurk says about patterns, enumerations, lengths and ranges."""
    count = f"{len(problems)} validation error{'s' if len(problems) > 1 else ''} detected: "
    return ServiceError("ValidationException", count + "; ".join(problems))


def invalid_value(parameter: str, value: object) -> ServiceError:
    """What MTurk itself says about a value that it cannot use, unknown workers among them."""
    message = f'The value "{value}" is not valid for the parameter {parameter}.'
    return ServiceError("ParameterValidationError", message, code="InvalidParameterValue")


def does_not_exist(kind: str, identifier: str) -> ServiceError:
    words = {"HIT": "Hit", "HITType": "HITType", "Assignment": "Assignment"}.get(kind, kind)
    return request_error(f"{kind}DoesNotExist", f"{words} {identifier} does not exist.")


def no_such_qualification() -> ServiceError:
    return request_error("QualificationDoesNotExist", "You requested a Qualification that does not exist.")


def wrong_state(kind: str, allowed: Iterable[str]) -> ServiceError:
    """The sentence that those who approve twice meet: it names the states in which it would have worked."""
    message = f"This operation can be called with a status of: {','.join(allowed)}"
    return request_error(f"Invalid{kind}State", message)


def wrong_hit_state(state: str) -> ServiceError:
    message = (
        f"This HIT is currently in the state '{state}'.  "
        "This operation can be called with a status of: Reviewing, Reviewable"
    )
    return request_error("InvalidHITState", message)


def hit_already_exists(hit_id: str) -> ServiceError:
    return request_error("HitAlreadyExists", f"The HIT with the ID {hit_id} already exists.")


def already_processed(token: str, request_id: str) -> ServiceError:
    message = f'The idempotency token "{token}" has already been processed. Request ID: {request_id}'
    return request_error("DuplicateRequest", message)


def insufficient_funds() -> ServiceError:
    message = (
        "This Requester has insufficient funds in their account to complete this transaction. "
        "Please visit https://requester.mturk.com/prepayments/new to purchase Prepaid HITs."
    )
    return request_error("InsufficientFunds", message)


def name_is_taken() -> ServiceError:
    message = (
        "You have already created a QualificationType with this name. A QualificationType's name must be "
        "unique among all of the QualificationTypes created by the same user."
    )
    return request_error("QualificationTypeAlreadyExists", message)


def throttled() -> ServiceError:
    return ServiceError("ThrottlingException", "Rate exceeded")


def fault() -> ServiceError:
    message = "Amazon Mechanical Turk is temporarily unable to process your request. Try your call again."
    return ServiceError("ServiceFault", message, code="ServiceUnavailable", status=500)


def unknown_credentials() -> ServiceError:
    message = "The security token included in the request is invalid."
    return ServiceError("UnrecognizedClientException", message, status=403)


def unknown_operation(name: str) -> ServiceError:
    return ServiceError("UnknownOperationException", f"Unknown operation {name}", status=404)
