"""The signed addresses by which people are let in. For annotators no cookie is involved anywhere.

A *personal link* opens a person's place in a study; it does not expire and can be sent again. Opening
it gives a *visit token*, which stands in the path of every page and form of that visit and runs out
after ``VISIT_TOKEN_DAYS``. Both sign an enrollment and the version of its link, so that revoking the
link ends them all; neither carries anything about the person.

An *invitation link* gives a researcher a role in a study; its row says until when, and it works once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.core import signing

ADDRESS_TOKEN_LIFE = timedelta(days=7)
"""How long the address in a mail that asks for a confirmation works."""
CLAIMED = "c"
"""Ends what a visit token says when its bearer is only claimed to be that person."""


class InvalidToken(Exception):
    """The address was not made by us, or not for this."""


class ExpiredToken(InvalidToken):
    """The address was ours but has run out; the personal link gives a new one."""


@dataclass(frozen=True, slots=True)
class LinkClaim:
    """What a personal link says: which enrollment, and which of its links (see ``link_version``)."""

    enrollment_id: int
    link_version: int = 1


@dataclass(frozen=True, slots=True)
class VisitClaim:
    """What a visit token says: which enrollment, which arrival of it, by which of its links, for what work.

    ``session_id`` is the work session of a visit from a platform that pays by the piece; others have none.
    ``is_claimed``: whoever was given this token had only said who they are, in an address that anybody could
    have typed. It stays so, whatever becomes known about the session's work: that says nothing of who typed.
    """

    enrollment_id: int
    visit_id: int
    link_version: int = 1
    session_id: int | None = None
    is_claimed: bool = False


@dataclass(frozen=True, slots=True)
class InvitationClaim:
    """What an invitation link says: which invitation, and the number that only its link and row know."""

    invitation_id: int
    nonce: str


def personal_token(claim: LinkClaim) -> str:
    """The token in a person's own link to a study."""
    return _personal().sign(f"{claim.enrollment_id}-{claim.link_version}")


def read_personal_token(token: str) -> LinkClaim:
    """What the token of a personal link claims. Raises :class:`InvalidToken`."""
    try:
        enrollment_id, link_version = _personal().unsign(token).split("-")
        return LinkClaim(int(enrollment_id), int(link_version))
    except (signing.BadSignature, ValueError) as error:
        raise InvalidToken from error


def visit_token(claim: VisitClaim) -> str:
    """The token in the path of every page of one visit."""
    session = "" if claim.session_id is None else f"-{claim.session_id}{CLAIMED * claim.is_claimed}"
    return _visit().sign(f"{claim.enrollment_id}-{claim.visit_id}-{claim.link_version}{session}")


def read_visit_token(token: str, *, however_old: bool = False) -> VisitClaim:
    """What the token claims. Raises :class:`InvalidToken`; unless ``however_old``, :class:`ExpiredToken`."""
    try:
        life = None if however_old else timedelta(days=settings.VISIT_TOKEN_DAYS)
        value = _visit().unsign(token, max_age=life)
        enrollment_id, visit_id, link_version, *session = value.split("-")
        said = session[0] if session else ""
        session_id = int(said.removesuffix(CLAIMED)) if said else None
        is_claimed = said.endswith(CLAIMED)
        return VisitClaim(int(enrollment_id), int(visit_id), int(link_version), session_id, is_claimed)
    except signing.SignatureExpired as error:
        raise ExpiredToken from error
    except (signing.BadSignature, ValueError) as error:
        raise InvalidToken from error


def meant_by(token: str) -> int:
    """The enrollment that a token names which we did not make, to be believed by nobody; 0 for none."""
    number = token.partition("-")[0]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 18 else 0


def address_token(identity_id: int) -> str:
    """The token in the mail that asks whether an e-mail address is the person's own."""
    return _address().sign(str(identity_id))


def read_address_token(token: str) -> int:
    """The stored address that a token confirms. Raises :class:`ExpiredToken` or :class:`InvalidToken`."""
    try:
        return int(_address().unsign(token, max_age=ADDRESS_TOKEN_LIFE))
    except signing.SignatureExpired as error:
        raise ExpiredToken from error
    except (signing.BadSignature, ValueError) as error:
        raise InvalidToken from error


def invitation_token(claim: InvitationClaim) -> str:
    """The token in the link that invites a researcher into a study."""
    return _invitation().sign(f"{claim.invitation_id}-{claim.nonce}")


def read_invitation_token(token: str) -> InvitationClaim:
    """What the token of an invitation link claims. Raises :class:`InvalidToken`."""
    try:
        invitation_id, nonce = _invitation().unsign(token).split("-")
        return InvitationClaim(int(invitation_id), nonce)
    except (signing.BadSignature, ValueError) as error:
        raise InvalidToken from error


def _invitation() -> signing.Signer:
    return signing.Signer(salt="tomannot.invitation", sep=".")


def _personal() -> signing.Signer:
    return signing.Signer(salt="tomannot.personal-link", sep=".")


def _visit() -> signing.TimestampSigner:
    return signing.TimestampSigner(salt="tomannot.visit", sep=".")


def _address() -> signing.TimestampSigner:
    return signing.TimestampSigner(salt="tomannot.confirm-address", sep=".")
