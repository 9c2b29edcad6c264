"""The rules of a study's join link: participants' ids, settings, and addresses that lead back."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from accounts.errors import DomainError
from recruitment.models import JoinLink

SETTINGS = tuple(
    field.name for field in JoinLink._meta.concrete_fields if field.name not in ("id", "study", "set_at")
)
"""Names of the settings of a join link."""
PLATFORMS: dict[str, dict[str, Any]] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
"""The usual settings of platforms."""
OWN_SOURCE = re.compile(r"study-[0-9]+")
"""The form of :func:`own_source`: with another study's, its people would be taken for this one's."""
PARTICIPANT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:@+=~-]{0,98}[A-Za-z0-9_=~])?")
"""Ids as platforms give them out. Braces, brackets and per cent signs are placeholders left unfilled."""


class InvalidJoinLink(DomainError):
    """A join link's setting cannot be used. ``problems``: its name (of :data:`SETTINGS`), how to mend it."""

    def __init__(self, setting: str, text: str) -> None:
        super().__init__(f"{setting}: {text}")
        self.problems = {setting: text}


def own_source(study_id: int) -> str:
    """Return the source of ids that are a study's own.

    By its number, since two slugs may come to the same name.
    """
    return f"study-{study_id}"


def read_participant(value: str | None) -> str | None:
    """Return the id of a participant from an address, or None when there is none that could be one."""
    value = (value or "").strip()
    return value if PARTICIPANT.fullmatch(value) else None


def person_of(source: str, participant: str) -> str:
    """Return a participant as stored: the list their id is from, then the id itself.

    Two lists may both count from 1; the same number in them is not the same person.
    """
    return f"{source}/{participant}"


def participant_of(person: str) -> str:
    """Return the participant's id as the platform wrote it (the inverse of :func:`person_of`)."""
    return person.partition("/")[2]


def source_of(person: str) -> str:
    """Return the list that a stored participant's id is from."""
    return person.partition("/")[0]


def hint_of(address: str) -> str:
    """Return enough of an e-mail address for its owner to know it, like ``a…@example.org``.

    Anybody who knows a participant's id can open their account, so pages never show the whole address.
    """
    name, _at, host = address.rpartition("@")
    return f"{name[:1]}…@{host}"


def check_settings(settings: Mapping[str, Any], *, own: str = "", cap: int | None = None) -> None:
    """Raise :class:`InvalidJoinLink` for the first thing that is wrong.

    ``own`` is the study's own source, ``cap`` the most stories per person; a study that is still to be made
    has neither.
    """
    try:
        JoinLink(**settings).clean_fields(exclude=("study", "set_at"))
    except ValidationError as error:
        name, texts = next(iter(error.message_dict.items()))
        raise InvalidJoinLink(name, texts[0]) from error
    source, least = settings.get("source", ""), settings.get("least_stories")
    if OWN_SOURCE.fullmatch(source) and source != own:
        raise InvalidJoinLink(
            "source",
            _(
                "“%(value)s” is how the ids of one study alone are named. Give another name, or none for ids "
                "that are this study's own."
            )
            % {"value": source},
        )
    if least and cap and least > cap:
        raise InvalidJoinLink("least_stories", _("From 1 to as many as one person may answer here."))


def screen_out_address(link: JoinLink) -> str:
    """Return the address for people who did less than the study asks for, "" if there is none.

    An address that does not tell outcomes apart by a code would report work that they have not done.
    """
    return link.screen_out_url or (link.return_url if "{code}" in link.return_url else "")


def filled_in(address: str, *, code: str, participant: str | None) -> str | None:
    """Return an address with its placeholders filled in and quoted.

    None for an empty address, and for one that needs an unknown participant's id.
    """
    if not address or ("{participant}" in address and participant is None):
        return None
    return address.format(code=quote(code, safe=""), participant=quote(participant or "", safe=""))
