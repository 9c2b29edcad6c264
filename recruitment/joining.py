"""The rules of a study's join link, as functions of plain values: ids, parameters, the way back."""

from __future__ import annotations

import re
import string
from collections.abc import Collection
from urllib.parse import quote, urlsplit

from django.utils.translation import gettext as _

PARAMETER = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")
SOURCE = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")
OWN_SOURCE = re.compile(r"study-[0-9]+")
"""Of this form is :func:`own_source`: with another study's, its people would be taken for this one's."""
PARTICIPANT = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:@+=~-]{0,98}[A-Za-z0-9_=~])?")
"""Ids as platforms give them out. Braces, brackets and per cent signs are placeholders left unfilled."""

PLACEHOLDERS = {"code", "participant"}
HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?")


class InvalidJoinLink(Exception):
    """A join link's settings cannot be used; the message says which and how to mend it."""


def own_source(study_id: int) -> str:
    """The source of ids that are a study's own. By its number, since two slugs may come to the same name."""
    return f"study-{study_id}"


def read_participant(value: str | None) -> str | None:
    """The id of a participant from an address, or None when there is none that could be one."""
    value = (value or "").strip()
    return value if PARTICIPANT.fullmatch(value) else None


def person_of(source: str, participant: str) -> str:
    """How a participant is stored: the list their id is from, then the id itself.

    Two lists may both count from 1; the same number in them is not the same person.
    """
    return f"{source}/{participant}"


def participant_of(person: str) -> str:
    """The participant's id as the platform wrote it (the inverse of :func:`person_of`)."""
    return person.partition("/")[2]


def hint_of(address: str) -> str:
    """Enough of an e-mail address for its owner to know it, like ``a…@example.org``.

    A place may be opened by whoever knows a participant's id, so pages never show the whole address.
    """
    name, _at, host = address.rpartition("@")
    return f"{name[:1]}…@{host}"


def check_settings(
    *, parameter: str, source: str, return_url: str, return_hosts: Collection[str], own: str = ""
) -> None:
    """Raises :class:`InvalidJoinLink` for the first thing that is wrong.

    ``own`` is the study's own source; a study that is still to be made has none to name.
    """
    if not PARAMETER.fullmatch(parameter):
        raise InvalidJoinLink(
            _("parameter: “%(value)s” is not a name like participant or PROLIFIC_PID.") % {"value": parameter}
        )
    if not SOURCE.fullmatch(source):
        raise InvalidJoinLink(
            _("source: “%(value)s” is not a short name of small letters, digits and hyphens.")
            % {"value": source}
        )
    if OWN_SOURCE.fullmatch(source) and source != own:
        raise InvalidJoinLink(
            _(
                "source: “%(value)s” is how the ids of one study alone are named. Give another name, or none "
                "for ids that are this study's own."
            )
            % {"value": source}
        )
    for host in return_hosts:
        if not HOST.fullmatch(host.lower()):
            raise InvalidJoinLink(
                _("return host: “%(value)s” is not a host like app.example.org.") % {"value": host}
            )
    if return_url:
        _check_return_url(return_url, return_hosts)


def _check_return_url(return_url: str, return_hosts: Collection[str]) -> None:
    try:
        names = {
            # As written: a conversion or a format after the name is none of ours.
            f"{name}{'!' if conversion else ''}{conversion or ''}{':' if spec else ''}{spec}"
            for _text, name, spec, conversion in string.Formatter().parse(return_url)
            if name is not None
        }
        parts = urlsplit(return_url)
    except ValueError as error:
        raise InvalidJoinLink(
            _("return address: a brace or bracket is open in “%(value)s”.") % {"value": return_url}
        ) from error
    if names - PLACEHOLDERS:
        raise InvalidJoinLink(
            _("return address: %(name)s is no placeholder. There are {code} and {participant}.")
            % {"name": f"{{{min(names - PLACEHOLDERS)}}}"}
        )
    if parts.scheme != "https" or not HOST.fullmatch(parts.netloc.lower()):
        raise InvalidJoinLink(
            _("return address: “%(value)s” must begin with https:// and a host, without a placeholder in it.")
            % {"value": return_url}
        )
    if not _is_allowed(parts.netloc, return_hosts):
        raise InvalidJoinLink(
            _("return address: the host %(host)s is not among the allowed ones. Allow it by name.")
            % {"host": parts.netloc}
        )


def way_back(
    return_url: str, return_hosts: Collection[str], *, code: str, participant: str | None
) -> str | None:
    """The address that leads back to the platform, its placeholders filled in and quoted.

    None when there is none, when it needs an id that is not known, or when its host is not allowed.
    """
    if not return_url or ("{participant}" in return_url and participant is None):
        return None
    address = return_url.format(code=quote(code, safe=""), participant=quote(participant or "", safe=""))
    return address if _is_allowed(urlsplit(address).netloc, return_hosts) else None


def way_out(return_url: str, return_hosts: Collection[str], *, participant: str | None) -> str | None:
    """The address that leads back for somebody who has no code; None when it cannot do without one too."""
    if "{code}" in return_url:
        return None
    return way_back(return_url, return_hosts, code="", participant=participant)


def _is_allowed(host: str, hosts: Collection[str]) -> bool:
    """Whether a host is named among these; in hosts, capitals mean nothing (RFC 3986, 3.2.2)."""
    return host.lower() in {one.lower() for one in hosts}
