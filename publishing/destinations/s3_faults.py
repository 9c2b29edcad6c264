"""What an S3 store or the way to it can answer, as sentences with a remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    NoCredentialsError,
    PartialCredentialsError,
    ResponseStreamingError,
)
from botocore.exceptions import ConnectionError as BotocoreConnectionError

from publishing.destinations.base import (
    AccessRefused,
    Damaged,
    DestinationError,
    Refused,
    Unreachable,
    WrongPlace,
)

_DENIED = {
    "AccessDenied", "Forbidden", "403", "401", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken",
    "InvalidToken",
}  # fmt: skip
_GARBLED = {"BadDigest", "InvalidDigest", "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch"}
_BUSY = {"SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout", "500", "502", "503", "504"}
_ELSEWHERE = {"PermanentRedirect", "AuthorizationHeaderMalformed", "301"}
_RIGHTS = "the rights that docs/releases.md lists"


@contextmanager
def explained(place: str) -> Iterator[None]:
    """Turns what boto3 raises inside into a :class:`DestinationError`.

    Messages are ours: what a library says may hold an address with a signature or a key.
    """
    try:
        yield
    except ClientError as error:
        raise _answered(place, error) from None
    except (NoCredentialsError, PartialCredentialsError):
        raise AccessRefused(
            f"There are no credentials for {place}. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
            "AWS_PROFILE, in the environment."
        ) from None
    except (HTTPClientError, BotocoreConnectionError, ResponseStreamingError) as error:
        raise Unreachable(
            f"The store of {place} did not answer or broke off ({type(error).__name__}). Check "
            "S3_ENDPOINT_URL and the network, and run this again: what has arrived is not sent twice."
        ) from None
    except (BotoCoreError, ValueError) as error:
        raise Refused(
            f"{place} cannot be asked with these settings ({type(error).__name__}). Check S3_ENDPOINT_URL, "
            "AWS_REGION, AWS_PROFILE and the files they name."
        ) from None


def _answered(place: str, error: ClientError) -> DestinationError:
    code = str(error.response.get("Error", {}).get("Code", ""))
    if code == "NoSuchBucket":
        return WrongPlace(
            f"There is no bucket for {place}. Make it first, in the region that AWS_REGION names."
        )
    if code in _ELSEWHERE:
        return WrongPlace(f"The bucket of {place} is in another region. Set AWS_REGION to that one.")
    if code in _DENIED:
        return AccessRefused(
            f"The store refuses {error.operation_name} at {place} ({code}). The credentials need {_RIGHTS}."
        )
    if code in _GARBLED:
        return Damaged(f"{place}: something changed the bytes on their way ({code}). Run this again.")
    if code in _BUSY:
        return Unreachable(
            f"The store of {place} cannot take it now ({code}). Run this again later: what has arrived is "
            "not sent twice."
        )
    return Refused(
        f"The store of {place} answered {code or 'nothing known'} to {error.operation_name}. Look that up "
        "in the store's documentation."
    )
