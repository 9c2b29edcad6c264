"""How people come from Prolific and how they go back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from recruitment.prolific.client import API

PERSON = "PROLIFIC_PID"
STUDY = "STUDY_ID"
SESSION = "SESSION_ID"
TOKEN = "prolific_token"  # noqa: S105  # the name of a parameter
"""Names of the parameters in a study's address; the session is the submission."""

PARTICIPANTS_SITE = "https://app.prolific.com"
_ID = re.compile(r"[0-9a-fA-F]{24}")


class InvalidClaim(Exception):
    """The address does not say who comes, as Prolific's addresses do."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Who somebody says they are: anybody can write such an address. A signature or Prolific proves it."""

    person: str
    study: str
    submission: str


def is_id(text: str) -> bool:
    """Whether the text can be an id of Prolific's: 24 hexadecimal digits."""
    return _ID.fullmatch(text) is not None


def read_claim(parameters: Mapping[str, str]) -> Claim:
    """The claim in an address's parameters. Raises :class:`InvalidClaim`.

    Prolific's ids are in small letters; one that came in capitals is the same one, not another person's.
    """
    found = [parameters.get(name, "").strip().lower() for name in (PERSON, STUDY, SESSION)]
    if not all(map(is_id, found)):
        raise InvalidClaim
    return Claim(*found)


def study_address(entry_url: str) -> str:
    """The address to give to Prolific, with the places that it fills in for each participant."""
    blanks = "&".join(f"{name}={{{{%{name}%}}}}" for name in (PERSON, STUDY, SESSION))
    return f"{entry_url}{'&' if '?' in entry_url else '?'}{blanks}"


def participants_site(api: str) -> str:
    """Where people go back to: Prolific's own site, or the site of a double or an own API."""
    return PARTICIPANTS_SITE if api.rstrip("/") == API else api.rstrip("/")


def completion_url(code: str, *, api: str = API) -> str:
    """The address that hands a submission in. Everybody in a study has the same code: it proves nothing."""
    return f"{participants_site(api)}/submissions/complete?{urlencode({'cc': code})}"


def is_same_page(one: str, other: str) -> bool:
    """Whether two addresses lead to the same page, whatever their parameters are."""
    first, second = urlsplit(one), urlsplit(other)
    return (
        first.scheme == second.scheme
        and first.netloc.lower() == second.netloc.lower()
        and first.path.rstrip("/") == second.path.rstrip("/")
    )
