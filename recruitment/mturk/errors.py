"""Meanings of error answers: ask again, done already, or refused for good.

``Error.Code`` says almost nothing (``RequestError`` for nearly everything); the meaning is in
``TurkErrorCode``, and where that is missing or not documented in the message, which ends in the time in
milliseconds. Messages name workers, whose ids stand nowhere but with their identity, and their work: both are
taken out, since messages are stored, shown and exported.
"""

import re
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from recruitment.marketplace import MarketplaceError, NotConfigured, NotEnoughMoney, Refused, Unreachable

ALREADY_EXISTS = "HitAlreadyExists"
ALREADY_PROCESSED = "AlreadyProcessed"
NAME_TAKEN = "QualificationTypeAlreadyExists"
WRONG_ASSIGNMENT_STATE = "InvalidAssignmentState"
WRONG_QUALIFICATION_STATE = "InvalidQualificationState"
NO_HIT, NO_ASSIGNMENT = "HITDoesNotExist", "AssignmentDoesNotExist"
NO_QUALIFICATION = "QualificationDoesNotExist"
WRONG_HIT_STATE = "InvalidHITState"
TOO_LITTLE_MONEY = "InsufficientFunds"

PREFIX = "AWS.MechanicalTurk."
RETRYABLE = {"ThrottlingException", "ServiceFault", "RequestTimeout", "RequestLimitExceeded"}
CREDENTIAL_ERRORS = {
    "AccessDeniedException",
    "ExpiredTokenException",
    "InvalidSignatureException",
    "MissingAuthenticationTokenException",
    "RequestExpired",
    "UnrecognizedClientException",
}
MESSAGES = (
    (ALREADY_PROCESSED, "has already been processed"),
    (WRONG_ASSIGNMENT_STATE, "can be called with a status of: Submitted"),
    (WRONG_ASSIGNMENT_STATE, "can be called with a status of: Reviewable"),
    (WRONG_ASSIGNMENT_STATE, "can be called with a status of: null"),
    (NAME_TAKEN, "already created a QualificationType with this name"),
    (TOO_LITTLE_MONEY, "insufficient funds"),
    (NO_QUALIFICATION, "requested a Qualification that does not exist"),
)
"""Sentences by which a meaning is known when the code does not tell."""
TIME = re.compile(r"\s*\(\d{13}(?: s)?\)\s*$")
HIT_ID = re.compile(r"\b3[A-Z0-9]{29}\b")
WORKER_ID = re.compile(r"\bA(?:(?=[A-Z]*\d)[A-Z0-9]{1,63}|[A-Z]{11,63})\b")
"""With a digit at least, or so long that it is no word."""
REDIRECTION, CLIENT_ERROR, SERVER_ERROR = 300, 400, 500
FORBIDDEN = {401, 403}


def error_of(operation: str, response: Mapping[str, Any]) -> MarketplaceError:
    """Return the error to raise for botocore's ``ClientError.response`` to an operation."""
    kind = response.get("Error", {}).get("Code", "")
    said = TIME.sub("", response.get("Error", {}).get("Message", ""))
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    values = {"operation": operation, "message": without_ids(said) or kind}
    is_elsewhere = REDIRECTION <= status < CLIENT_ERROR  # a proxy's page, say of a hotel
    if kind in RETRYABLE or is_elsewhere or status >= SERVER_ERROR:
        return Unreachable(_("Mechanical Turk could not do %(operation)s now: %(message)s") % values)
    if kind in CREDENTIAL_ERRORS or status in FORBIDDEN:
        error: MarketplaceError = NotConfigured(
            _("Mechanical Turk does not accept the credentials of this site (%(message)s).") % values
        )
    else:
        meaning = meaning_of(response)
        message = _("Mechanical Turk refused %(operation)s: %(message)s") % values
        refusal = NotEnoughMoney if meaning == TOO_LITTLE_MONEY else Refused
        error = refusal(message, code=meaning, about=hit_named_in(said))
    # boto3 asks again by itself: what is refused now may be what an answer that was lost had done.
    error.maybe_done = response.get("ResponseMetadata", {}).get("RetryAttempts", 0) > 0
    return error


def meaning_of(response: Mapping[str, Any]) -> str:
    """Return the meaning of an error as one of the names above, else MTurk's own code without its prefix."""
    code = str(response.get("TurkErrorCode", "")).removeprefix(PREFIX)
    message = str(response.get("Error", {}).get("Message", ""))
    if code.lower() == ALREADY_EXISTS.lower():  # the documentation has it both as Hit… and as HIT…
        return ALREADY_EXISTS
    for meaning, sentence in MESSAGES:
        if sentence in message:
            return meaning
    return code or str(response.get("Error", {}).get("Code", ""))


def without_ids(text: str) -> str:
    """Return the text without the ids of workers, HITs and assignments."""
    return WORKER_ID.sub("…", HIT_ID.sub("…", text))


def hit_named_in(message: str) -> str:
    """Return the one HIT id in a message; empty when there is none, or more than one."""
    found = set(HIT_ID.findall(message))
    return found.pop() if len(found) == 1 else ""
