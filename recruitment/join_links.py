"""The rules of a study's join link, as functions of plain values: ids, parameters, the way back."""

import re
import string
from collections.abc import Collection
from datetime import datetime
from typing import TypedDict
from urllib.parse import quote, urlsplit

from django.utils.translation import gettext as _

PARAMETER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")
SOURCE = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")
OWN_SOURCE = re.compile(r"study-[0-9]+")
"""The form of :func:`own_source`: with another study's, its people would be taken for this one's."""
PARTICIPANT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:@+=~-]{0,98}[A-Za-z0-9_=~])?")
"""Ids as platforms give them out. Braces, brackets and per cent signs are placeholders left unfilled."""

MOST_PEOPLE = 1_000_000
PLACEHOLDERS = {"code", "participant"}
HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?")
PLACEHOLDER = re.compile(r"[^&#\x00-\x1f\x7f]{0,60}")
"""As platforms and mail merges write them: ``%SURVEY_CODE%``, ``{{%PROLIFIC_PID%}}``, ``*|ID|*``."""


class JoinSettings(TypedDict, total=False):
    """Settings of a join link, as in ``JoinLink``; those that are left out stay as they are.

    An empty ``source`` makes ids the study's own.
    """

    parameter: str
    placeholder: str
    adds_parameter: bool
    source: str
    return_url: str
    screen_out_url: str
    leave_url: str
    return_hosts: list[str]
    closes_at: datetime | None
    most_people: int | None
    least_stories: int | None


class InvalidJoinLink(Exception):
    """A join link's setting cannot be used: which (its name in :class:`JoinSettings`), and how to mend it."""

    def __init__(self, setting: str, text: str) -> None:
        super().__init__(f"{setting}: {text}")
        self.setting, self.text = setting, text


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

    A place may be opened by whoever knows a participant's id, so pages never show the whole address.
    """
    name, _at, host = address.rpartition("@")
    return f"{name[:1]}…@{host}"


def check_settings(settings: JoinSettings, *, own: str = "", cap: int | None = None) -> None:
    """Raise :class:`InvalidJoinLink` for the first thing that is wrong.

    ``own`` is the study's own source, ``cap`` the most stories per person; a study that is still to be made
    has neither.
    """
    parameter, source = settings.get("parameter", "participant"), settings.get("source", "")
    if not PARAMETER.fullmatch(parameter):
        raise InvalidJoinLink(
            "parameter",
            _("“%(value)s” is not a name like participant or PROLIFIC_PID.") % {"value": parameter},
        )
    if not PLACEHOLDER.fullmatch(settings.get("placeholder", "")):
        raise InvalidJoinLink("placeholder", _("At most 60 characters, without & and #."))
    if source and not SOURCE.fullmatch(source):
        raise InvalidJoinLink(
            "source",
            _("“%(value)s” is not a short name of small letters, digits and hyphens.") % {"value": source},
        )
    if OWN_SOURCE.fullmatch(source) and source != own:
        raise InvalidJoinLink(
            "source",
            _(
                "“%(value)s” is how the ids of one study alone are named. Give another name, or none for ids "
                "that are this study's own."
            )
            % {"value": source},
        )
    most = settings.get("most_people")
    if most is not None and not 1 <= most <= MOST_PEOPLE:
        raise InvalidJoinLink("most_people", _("A number from 1, or none."))
    least = settings.get("least_stories")
    if least is not None and not 1 <= least <= (cap or least):
        raise InvalidJoinLink("least_stories", _("From 1 to as many as one person may answer here."))
    _check_ways(settings)


def _check_ways(settings: JoinSettings) -> None:
    hosts = settings.get("return_hosts", [])
    for host in hosts:
        if not HOST.fullmatch(host.lower()):
            raise InvalidJoinLink(
                "return_hosts", _("“%(value)s” is not a host like app.example.org.") % {"value": host}
            )
    leave_url = settings.get("leave_url", "")
    if "{code}" in leave_url:
        raise InvalidJoinLink("leave_url", _("Who has done nothing has no code, so {code} cannot be in it."))
    for name, address in (
        ("return_url", settings.get("return_url", "")),
        ("screen_out_url", settings.get("screen_out_url", "")),
        ("leave_url", leave_url),
    ):
        if address:
            _check_way(name, address, hosts)


def _check_way(name: str, address: str, hosts: Collection[str]) -> None:
    try:
        names = {
            # As written: a conversion or a format after the name is none of ours.
            f"{field}{'!' if conversion else ''}{conversion or ''}{':' if spec else ''}{spec}"
            for _text, field, spec, conversion in string.Formatter().parse(address)
            if field is not None
        }
        parts = urlsplit(address)
    except ValueError as error:
        raise InvalidJoinLink(
            name, _("A brace or bracket is open in “%(value)s”.") % {"value": address}
        ) from error
    if names - PLACEHOLDERS:
        raise InvalidJoinLink(
            name,
            _("%(name)s is no placeholder. There are {code} and {participant}.")
            % {"name": f"{{{min(names - PLACEHOLDERS)}}}"},
        )
    if parts.scheme != "https" or not HOST.fullmatch(parts.netloc.lower()):
        raise InvalidJoinLink(
            name,
            _("“%(value)s” must begin with https:// and a host, without a placeholder in it.")
            % {"value": address},
        )
    if not _is_allowed(parts.netloc, hosts):
        raise InvalidJoinLink(
            name,
            _("The host %(host)s is not among the allowed ones. Allow it by name.") % {"host": parts.netloc},
        )


def way_of_less(return_url: str, screen_out_url: str) -> str:
    """Return the address for somebody who has done less than the study asks for.

    One that does not tell outcomes apart by a code would report work that they have not done.
    """
    return screen_out_url or (return_url if "{code}" in return_url else "")


def way_back(
    return_url: str, return_hosts: Collection[str], *, code: str, participant: str | None
) -> str | None:
    """Return the address that leads back to the platform, its placeholders filled in and quoted.

    None when there is none, when it needs an id that is not known, or when its host is not allowed.
    """
    if not return_url or ("{participant}" in return_url and participant is None):
        return None
    address = return_url.format(code=quote(code, safe=""), participant=quote(participant or "", safe=""))
    return address if _is_allowed(urlsplit(address).netloc, return_hosts) else None


def _is_allowed(host: str, hosts: Collection[str]) -> bool:
    """Tell whether a host is among these; capitals mean nothing in hosts (RFC 3986, 3.2.2)."""
    return host.lower() in {one.lower() for one in hosts}
