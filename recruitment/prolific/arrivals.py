"""Addresses by which people come from Prolific and go back, and Prolific's signature of who comes.

A workspace that has signed addresses gets a ``prolific_token`` in them, valid for two minutes: a JWT, signed
by RS256 with a key of Prolific's. It is read once, at the arrival, and our own visit token takes its place
at once.
"""

import json
import logging
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from threading import Lock
from typing import Any
from urllib.parse import urlencode, urlsplit

import jwt
from django.utils.translation import gettext as _

from recruitment.arrival_rules import Arrival, ArrivalProblem, CannotArrive
from recruitment.marketplace import Unreachable
from recruitment.prolific.client import API, ProlificClient

PERSON = "PROLIFIC_PID"
STUDY = "STUDY_ID"
SESSION = "SESSION_ID"
IDS = (PERSON, STUDY, SESSION)
TOKEN = "prolific_token"  # noqa: S105  # the name of a parameter
"""Names of the parameters in a study's address; the session is the submission."""

PARTICIPANTS_SITE = "https://app.prolific.com"
_ID = re.compile(r"[0-9a-fA-F]{24}")


def is_id(text: str) -> bool:
    """Return True if the text can be an id of Prolific's: 24 hexadecimal digits."""
    return _ID.fullmatch(text) is not None


def read_claim(parameters: Mapping[str, str]) -> Arrival:
    """Return the arrival that an address claims; a signature or Prolific proves it. Raise ``CannotArrive``.

    Prolific's ids are in small letters; one that came in capitals is the same one, not another person's.
    """
    if not any(name in parameters for name in IDS):
        raise CannotArrive(ArrivalProblem.NO_IDS)
    found = [parameters.get(name, "").strip().lower() for name in IDS]
    if not all(map(is_id, found)):
        raise CannotArrive(ArrivalProblem.WRONG_IDS)
    person, study, submission = found
    return Arrival(remote_id=submission, posting=study, person=person)


def study_address(entry_url: str) -> str:
    """Return the address to give to Prolific, with the places that it fills in for each participant."""
    blanks = "&".join(f"{name}={{{{%{name}%}}}}" for name in IDS)
    return f"{entry_url}{'&' if '?' in entry_url else '?'}{blanks}"


def participants_site(api: str) -> str:
    return PARTICIPANTS_SITE if api.rstrip("/") == API else api.rstrip("/")


def completion_url(code: str, *, api: str = API) -> str:
    """Return the address that hands a submission in.

    Everybody in a study has the same code, so it proves nothing.
    """
    return f"{participants_site(api)}/submissions/complete?{urlencode({'cc': code})}"


def is_same_page(one: str, other: str) -> bool:
    """Return True if two addresses lead to the same page, whatever their parameters."""
    first, second = urlsplit(one), urlsplit(other)
    return (
        first.scheme == second.scheme
        and first.netloc.lower() == second.netloc.lower()
        and first.path.rstrip("/") == second.path.rstrip("/")
    )


logger = logging.getLogger(__name__)
ISSUER = "https://www.prolific.com"
ALGORITHM = "RS256"
CLAIMS = ["iss", "iat", "exp", "aud", "sub", "prolific"]
CLOCKS_DIFFER = timedelta(seconds=30)
KEYS_ARE_FRESH = timedelta(days=1)
KEYS_ARE_KEPT = timedelta(days=2)
"""The time for which old keys are used when new ones cannot be fetched."""
SOONEST_AGAIN = timedelta(minutes=1)
"""Shortest time between two fetches: made-up key names must not cause one each."""


class InvalidSignature(Exception):
    """Prolific did not sign the token, or not for this page and workspace."""


class ExpiredSignature(InvalidSignature):
    """Prolific signed the token too long ago. ``claim`` is what it signed."""

    def __init__(self, claim: Arrival) -> None:
        super().__init__()
        self.claim = claim


class StudyKeys:
    """Prolific's public keys by name: fetched daily, and when a new name comes up."""

    def __init__(self, fetch: Callable[[], Any]) -> None:
        self._fetch = fetch
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at: datetime | None = None
        self._asked_at: datetime | None = None
        self._lock = Lock()

    def key(self, name: str, *, now: datetime) -> jwt.PyJWK | None:
        """Return the key of this name; None if Prolific has none such. Raise :class:`Unreachable`.

        One request at a time asks Prolific, and none waits for it. Whether it answers or not, the next one
        asks a minute later at the soonest.
        """
        if self._wants(name, now):
            if self._lock.acquire(blocking=False):
                try:
                    if self._wants(name, now):
                        self._refresh(now)
                finally:
                    self._lock.release()
            elif name not in self._keys:
                raise Unreachable(_("Prolific’s keys are just being asked for."), maybe_done=False)
        if self._fetched_at is None or now - self._fetched_at >= KEYS_ARE_KEPT:
            raise Unreachable(_("Prolific’s keys cannot be had."), maybe_done=False)
        return self._keys.get(name)

    def _wants(self, name: str, now: datetime) -> bool:
        is_fresh = self._fetched_at is not None and now - self._fetched_at < KEYS_ARE_FRESH
        may_ask = self._asked_at is None or now - self._asked_at >= SOONEST_AGAIN
        return may_ask and not (is_fresh and name in self._keys)

    def _refresh(self, now: datetime) -> None:
        self._asked_at = now
        try:
            found = self._fetch()["keys"]
            usable = [key for key in found if key.get("kty") == "RSA" and key.get("alg") == ALGORITHM]
            self._keys = {key["kid"]: jwt.PyJWK(key, algorithm=ALGORITHM) for key in usable}
        except (Unreachable, jwt.PyJWTError):
            logger.warning("Prolific's keys could not be fetched; the old ones serve for two days.")
            return
        self._fetched_at = now


@lru_cache
def keys_of(api: str) -> StudyKeys:
    """Return the signing keys that an API publishes, kept for all requests of this process."""
    client = ProlificClient(token="", api=api, is_quick=True)
    return StudyKeys(lambda: client.reply("GET", "/.well-known/study/jwks.json", repeatable=True).body)


def read_signed(token: str, keys: StudyKeys, *, entry_url: str, workspace: str, now: datetime) -> Arrival:
    """Return the claim in a signed token.

    The algorithm is fixed; issuer, page and workspace are ours to expect; the subject is the submission.
    Raise :class:`InvalidSignature`, :class:`ExpiredSignature` and :class:`Unreachable` (no keys).
    """
    try:
        name = jwt.get_unverified_header(token).get("kid", "")
        key = keys.key(name, now=now) if isinstance(name, str) else None
        if key is None:
            raise InvalidSignature
        claims = jwt.decode(
            token,
            key,
            algorithms=[ALGORITHM],
            issuer=ISSUER,
            # The time is compared below, with ours; the audience is an address with parameters.
            options={"require": CLAIMS, "verify_aud": False, "verify_exp": False, "verify_iat": False},
        )
        claim = read_claim(claims["prolific"])
    except (jwt.InvalidTokenError, CannotArrive, json.JSONDecodeError, AttributeError, TypeError) as error:
        raise InvalidSignature from error
    _check(claims, claim, entry_url=entry_url, workspace=workspace, now=now)
    return claim


def _check(
    claims: Mapping[str, Any], claim: Arrival, *, entry_url: str, workspace: str, now: datetime
) -> None:
    audience = claims["aud"] if isinstance(claims["aud"], str) else ""
    if (
        not is_same_page(audience, entry_url)
        or claims["sub"] != claim.remote_id
        or claims["prolific"].get("workspace_id") != workspace
        or not all(isinstance(claims[name], int) for name in ("iat", "exp"))
        or claims["iat"] > (now + CLOCKS_DIFFER).timestamp()
    ):
        raise InvalidSignature
    if claims["exp"] < (now - CLOCKS_DIFFER).timestamp():
        raise ExpiredSignature(claim)
