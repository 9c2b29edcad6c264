"""What a data statement may say. Pure."""

from __future__ import annotations

import re
from dataclasses import fields

from django.utils.translation import gettext as _

from publishing.card.citing import DOI, WEB_ADDRESS
from publishing.card.markdown import one_line
from publishing.facts import Statement

MOST_CHARACTERS = 10_000
MOST_CREATORS = 200
LONGEST_NAME = 200


def problems(said: Statement) -> dict[str, str]:
    """What is wrong with a statement and how to mend it, by the name of the item; empty: nothing."""
    found = {
        item.name: _("This is %(length)s characters long; %(most)s are the most.")
        % {"length": len(value), "most": MOST_CHARACTERS}
        for item in fields(Statement)
        if isinstance(value := getattr(said, item.name), str) and len(value) > MOST_CHARACTERS
    }
    if said.doi and not DOI.fullmatch(said.doi):
        found["doi"] = _("This is not a DOI. A DOI begins with “10.”, as in 10.5281/zenodo.1234567.")
    if said.url and not WEB_ADDRESS.fullmatch(said.url):
        found["url"] = _("This is not a web address. It begins with https:// and has no spaces.")
    if len(said.creators) > MOST_CREATORS:
        found["creators"] = _("Name %(most)s creators at the most.") % {"most": MOST_CREATORS}
    for name in said.creators:
        if not one_line(name) or "\n" in name or len(name) > LONGEST_NAME:
            found["creators"] = _(
                "“%(name)s” is not a name on one line of %(most)s characters at the most."
            ) % {
                "name": name[:40],
                "most": LONGEST_NAME,
            }
    return found


def doi_of(text: str) -> str:
    """The DOI in what was given: people copy it as an address, or with ``doi:`` before it."""
    return re.sub(r"^(https?://(dx\.)?doi\.org/|doi:\s*)", "", text.strip(), flags=re.IGNORECASE)


def creators_of(lines: str) -> tuple[str, ...]:
    """The names in a text with one per line."""
    return tuple(name for line in lines.splitlines() if (name := one_line(line)))
