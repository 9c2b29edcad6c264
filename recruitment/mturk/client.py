"""Calls of Mechanical Turk's API through boto3: credentials, endpoint, retries, and the meanings of errors.

``Error.Code`` says almost nothing (``RequestError`` for nearly everything); the meaning is in
``TurkErrorCode``, and where that is missing or not documented in the message, which ends in the time in
milliseconds. Messages name workers, whose ids stand nowhere but with their identity, and their work: both are
taken out, since messages are stored, shown and exported.
"""

import re
from collections.abc import Collection, Mapping
from datetime import timedelta
from typing import Any, Final

import boto3
import botocore.session
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError
from botocore.loaders import create_loader
from django.utils.translation import gettext as _

from accounts.models import Environment
from recruitment.marketplace import MarketplaceError, NotConfigured, NotEnoughMoney, Refused, Unreachable
from recruitment.mturk.terms import ENDPOINTS, is_of_the_other
from tomannot.metrics import timed

ALREADY_EXISTS = "HitAlreadyExists"
ALREADY_PROCESSED = "AlreadyProcessed"
NAME_TAKEN = "QualificationTypeAlreadyExists"
WRONG_ASSIGNMENT_STATE = "InvalidAssignmentState"
WRONG_QUALIFICATION_STATE = "InvalidQualificationState"
NO_HIT, NO_ASSIGNMENT = "HITDoesNotExist", "AssignmentDoesNotExist"
NO_QUALIFICATION = "QualificationDoesNotExist"
WRONG_HIT_STATE = "InvalidHITState"
TOO_LITTLE_MONEY = "InsufficientFunds"

TOKENS_ARE_KNOWN = timedelta(hours=23)
"""Mechanical Turk knows a request token for 24 hours; before they are over we look for what it made."""
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


REGION = "us-east-1"  # there never was another
ADAPTIVE: Final = {"mode": "adaptive", "total_max_attempts": 4}
"""boto3's retries, which slow down when told to. Quotas are unknown; 2 or 3 calls a second were safe."""
ONCE: Final = {"mode": "standard", "total_max_attempts": 1}
SECONDS, QUICK_SECONDS = (5, 15), (2, 4)
"""To connect, and to answer."""
SERVICE_MODELS: Final = create_loader()
"""Read boto3's description of the service once per process: that is most of the work of making a client."""
PAGE = 100  # the most that a list gives at once


class Api:
    """Operations by their names in the protocol; errors are those of ``recruitment.marketplace``.

    ``endpoint``: where the API is, if not at Amazon's for the environment (a rehearsal's is the sandbox).
    ``is_quick``: somebody waits for a page, so ask once. Raise :class:`NotConfigured` without credentials,
    and when a rehearsal is given the live endpoint or the other way round.
    """

    def __init__(
        self,
        *,
        environment: str,
        key_id: str,
        secret: str,
        endpoint: str = "",
        retries: Mapping[str, Any] = ADAPTIVE,
        is_quick: bool = False,
    ) -> None:
        own = ENDPOINTS[Environment(environment)]
        if not key_id or not secret:
            raise NotConfigured(_("Mechanical Turk needs an AWS access key; see docs/mechanical-turk.md."))
        if is_of_the_other(endpoint, environment):
            raise NotConfigured(
                _("%s belongs to the other environment: only test runs use the sandbox.") % endpoint
            )
        core = botocore.session.Session()
        core.register_component("data_loader", SERVICE_MODELS)
        session = boto3.session.Session(
            aws_access_key_id=key_id, aws_secret_access_key=secret, botocore_session=core
        )
        connect, read = QUICK_SECONDS if is_quick else SECONDS
        patience = dict(ONCE if is_quick else retries)
        config = Config(retries=patience, connect_timeout=connect, read_timeout=read)
        self._client: Any = session.client(
            "mturk", region_name=REGION, endpoint_url=endpoint or own, config=config
        )

    def call(self, operation: str, *, unless: Collection[str] = (), **params: Any) -> dict[str, Any]:
        """Carry out one operation and return its answer, empty if refused for a reason in ``unless``."""
        method = getattr(self._client, xform_name(operation))
        try:
            return dict(self._asked(operation, method, params))
        except Refused as error:
            if error.code not in unless:
                raise
            return {}

    def everything(self, operation: str, part: str, **params: Any) -> list[dict[str, Any]]:
        """Return all rows of a list, from all pages. Change nothing before it has been read to its end."""
        pages = self._client.get_paginator(xform_name(operation))

        def read(**params: Any) -> list[dict[str, Any]]:
            found = pages.paginate(**params, PaginationConfig={"PageSize": PAGE})
            return [row for page in found for row in page[part]]

        return list(self._asked(operation, read, params))

    @timed("platform_call", platform="mturk")
    def _asked(self, operation: str, method: Any, params: Mapping[str, Any]) -> Any:
        try:
            return method(**params)
        except ClientError as error:
            raise error_of(operation, error.response) from None  # the original names workers
        except ParamValidationError as error:
            raise Refused(str(error)) from error
        except BotoCoreError as error:
            values = {"operation": operation, "problem": type(error).__name__}
            message = _("Mechanical Turk did not answer to %(operation)s (%(problem)s).") % values
            raise Unreachable(message) from error
