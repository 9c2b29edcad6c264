"""What the Hugging Face Hub or the way to it can answer, as sentences with a remedy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from httpx2 import HTTPError
from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

from publishing.destinations.base import (
    AccessRefused,
    DestinationError,
    Refused,
    Unreachable,
    WrongPlace,
)


@contextmanager
def explained(place: str) -> Iterator[None]:
    """Turns what huggingface_hub raises inside into a :class:`DestinationError`.

    Messages are ours: what a library says may hold an address with a signature.
    """
    try:
        yield
    except DestinationError:
        raise
    except (HTTPError, OSError, RuntimeError, ValueError) as error:
        raise _explained(place, error) from None


def _explained(place: str, error: BaseException) -> DestinationError:
    while isinstance(error, RuntimeError) and error.__cause__ is not None:
        error = error.__cause__  # what stopped a thread that was sending a file
    if isinstance(error, OfflineModeIsEnabled):
        return Unreachable("HF_HUB_OFFLINE keeps this process from the Hub. Unset it and run this again.")
    if isinstance(error, HfHubHTTPError):
        return _answered(place, error.response.status_code)
    if isinstance(error, HTTPError):
        return Unreachable(
            f"The Hub did not answer for {place} or broke off ({type(error).__name__}). Check HF_ENDPOINT "
            "and the network, and run this again: big files that have arrived are not sent twice."
        )
    return Refused(
        f"{place} cannot be sent ({type(error).__name__}). Check the name, the rights to read the release's "
        "files, and that nobody changes the repository meanwhile."
    )


def _answered(place: str, status: int) -> DestinationError:
    if status in (401, 403):
        return AccessRefused(
            f"The Hub refuses this token for {place} (HTTP {status}). Give one of a person who may write "
            "there, with the right to write, made under Settings, Access Tokens."
        )
    if status == 404:
        return WrongPlace(
            f"The Hub knows no owner or repository {place}, or the token may not see it. Check the name."
        )
    if status in (409, 412):
        return Refused(
            f"Somebody else has changed {place} meanwhile (HTTP {status}). Nothing was overwritten; run this "
            "again."
        )
    if status == 429 or status >= 500:
        return Unreachable(
            f"The Hub cannot take {place} now (HTTP {status}). Run this again later: big files that have "
            "arrived are not sent twice."
        )
    return Refused(f"The Hub answered HTTP {status} for {place}. Look that up in its documentation.")
