"""Addresses by which people come from Prolific and go back."""

import re
from collections.abc import Mapping
from urllib.parse import urlencode, urlsplit

from recruitment.arrivals.arrival import Arrival, CannotArrive, Problem
from recruitment.prolific.client import API

PERSON = "PROLIFIC_PID"
STUDY = "STUDY_ID"
SESSION = "SESSION_ID"
IDS = (PERSON, STUDY, SESSION)
TOKEN = "prolific_token"  # noqa: S105  # the name of a parameter
"""Names of the parameters in a study's address; the session is the submission."""

PARTICIPANTS_SITE = "https://app.prolific.com"
_ID = re.compile(r"[0-9a-fA-F]{24}")


def is_id(text: str) -> bool:
    """Tell whether the text can be an id of Prolific's: 24 hexadecimal digits."""
    return _ID.fullmatch(text) is not None


def read_claim(parameters: Mapping[str, str]) -> Arrival:
    """Return the arrival that an address claims; a signature or Prolific proves it. Raise ``CannotArrive``.

    Prolific's ids are in small letters; one that came in capitals is the same one, not another person's.
    """
    if not any(name in parameters for name in IDS):
        raise CannotArrive(Problem.NO_IDS)
    found = [parameters.get(name, "").strip().lower() for name in IDS]
    if not all(map(is_id, found)):
        raise CannotArrive(Problem.WRONG_IDS)
    person, study, submission = found
    return Arrival(remote_id=submission, posting=study, person=person)


def study_address(entry_url: str) -> str:
    """Return the address to give to Prolific, with the places that it fills in for each participant."""
    blanks = "&".join(f"{name}={{{{%{name}%}}}}" for name in IDS)
    return f"{entry_url}{'&' if '?' in entry_url else '?'}{blanks}"


def participants_site(api: str) -> str:
    """Return the participants' site: Prolific's, or that of a double."""
    return PARTICIPANTS_SITE if api.rstrip("/") == API else api.rstrip("/")


def completion_url(code: str, *, api: str = API) -> str:
    """Return the address that hands a submission in.

    Everybody in a study has the same code, so it proves nothing.
    """
    return f"{participants_site(api)}/submissions/complete?{urlencode({'cc': code})}"


def is_same_page(one: str, other: str) -> bool:
    """Tell whether two addresses lead to the same page, whatever their parameters."""
    first, second = urlsplit(one), urlsplit(other)
    return (
        first.scheme == second.scheme
        and first.netloc.lower() == second.netloc.lower()
        and first.path.rstrip("/") == second.path.rstrip("/")
    )
