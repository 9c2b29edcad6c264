"""Sign and read the tokens in links. Annotators' pages use no cookie.

A *personal link* opens an annotator's enrollment; it does not expire and can be sent again. Opening it
gives a *visit token*, which is in the path of every page and form of that visit and expires after
``VISIT_TOKEN_DAYS``. Both sign an enrollment and the key of its link, so that revoking the link
invalidates them all, and a link sent before a backup was restored never opens a row that later got the
same number; neither contains personal data.

An *invitation link* gives a researcher a role in a study. It works once, until the time in its row.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.core import signing

from annotation.numbers import number_in
from tomannot.keyed import keyed_hashes, matches_any

ADDRESS_TOKEN_LIFE = timedelta(days=7)
"""The lifetime of the link that confirms an e-mail address."""
CLAIMED = "c"
"""The ending of a visit token whose bearer only claims to be the annotator."""


class InvalidToken(Exception):
    """The token was not signed by us, or not for this purpose."""


class ExpiredToken(InvalidToken):
    """The token has expired; the personal link gives a new one."""


@dataclass(frozen=True, slots=True)
class VisitClaim:
    """The content of a visit token: enrollment, visit, the enrollment's ``link_key``, and work session.

    ``session_id`` is None for visits that no platform pays for. ``is_claimed``: the bearer only claimed to
    be the annotator, in an address that anybody could have typed. It stays so even if the platform confirms
    the session's work, which does not say who typed the address.
    """

    enrollment_id: int
    visit_id: int
    link_key: str
    session_id: int | None = None
    is_claimed: bool = False


def personal_token(enrollment_id: int, link_key: str) -> str:
    return _personal().sign(f"{enrollment_id}-{link_key}")


def read_personal_token(token: str) -> tuple[int, str]:
    """Read the enrollment of a personal link, and its ``link_key``. Raise :class:`InvalidToken`."""
    return _pair(_personal(), token)


def visit_token(claim: VisitClaim) -> str:
    """Sign the token in the path of every page of a visit."""
    session = "" if claim.session_id is None else f"-{claim.session_id}{CLAIMED * claim.is_claimed}"
    return _visit().sign(f"{claim.enrollment_id}-{claim.visit_id}-{claim.link_key}{session}")


def read_visit_token(token: str, *, however_old: bool = False) -> VisitClaim:
    """Read a visit token. Raise :class:`InvalidToken` or, unless ``however_old``, :class:`ExpiredToken`."""
    life = None if however_old else timedelta(days=settings.VISIT_TOKEN_DAYS)
    with _refusing_forgeries():
        enrollment_id, visit_id, link_key, *session = _visit().unsign(token, max_age=life).split("-")
        part = session[0] if session else ""
        session_id = int(part.removesuffix(CLAIMED)) if part else None
        return VisitClaim(int(enrollment_id), int(visit_id), link_key, session_id, part.endswith(CLAIMED))


def meant_by(token: str) -> int:
    """Return the enrollment id that a forged token names, or 0. Never trust it."""
    return number_in(token.partition("-")[0])


def address_token(identity_id: int, address: str) -> str:
    """Sign the token that confirms an e-mail address, with a keyed hash of it instead of the address."""
    return _address().sign(f"{identity_id}-{_address_digests(address)[0]}")


def is_digest_of(digest: str, address: str) -> bool:
    """Return True if this is the keyed hash of an e-mail address in an :func:`address_token`."""
    return matches_any(digest, _address_digests(address))


def _address_digests(address: str) -> list[str]:
    return [digest[:16] for digest in keyed_hashes("tomannot.confirmed-address", address)]


def read_address_token(token: str) -> tuple[int, str]:
    """Read the id of the address to confirm, and its keyed hash (:func:`is_digest_of`).

    Raise :class:`InvalidToken` or :class:`ExpiredToken`.
    """
    return _pair(_address(), token, max_age=ADDRESS_TOKEN_LIFE)


def invitation_token(invitation_id: int, nonce: str) -> str:
    """Sign the token of an invitation link, with the invitation's secret nonce."""
    return _invitation().sign(f"{invitation_id}-{nonce}")


def read_invitation_token(token: str) -> tuple[int, str]:
    """Read the id of an invitation, and its nonce. Raise :class:`InvalidToken`."""
    return _pair(_invitation(), token)


def _pair(signer: signing.Signer, token: str, **limits: Any) -> tuple[int, str]:
    with _refusing_forgeries():
        number, key = signer.unsign(token, **limits).split("-")
        return int(number), key


@contextmanager
def _refusing_forgeries() -> Iterator[None]:
    """Raise :class:`InvalidToken` or :class:`ExpiredToken` for a token that cannot be read."""
    try:
        yield
    except signing.SignatureExpired as error:
        raise ExpiredToken from error
    except (signing.BadSignature, ValueError) as error:
        raise InvalidToken from error


_invitation = partial(signing.Signer, salt="tomannot.invitation", sep=".")
_personal = partial(signing.Signer, salt="tomannot.personal-link", sep=".")
_visit = partial(signing.TimestampSigner, salt="tomannot.visit", sep=".")
_address = partial(signing.TimestampSigner, salt="tomannot.confirm-address", sep=".")
