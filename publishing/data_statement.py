"""Validation and parsing of data statements. Pure."""

import re
from dataclasses import fields

from django.utils.translation import gettext as _

from publishing.card.citation import DOI, WEB_ADDRESS
from publishing.card.markdown import one_line
from publishing.facts import Statement

MOST_CHARACTERS = 10_000
MOST_CREATORS = 200
LONGEST_NAME = 200


def problems(statement: Statement) -> dict[str, str]:
    """Return the problems of a statement and their remedies, by item."""
    found = {
        item.name: _("This is %(length)s characters long; the maximum is %(most)s.")
        % {"length": len(value), "most": MOST_CHARACTERS}
        for item in fields(Statement)
        if isinstance(value := getattr(statement, item.name), str) and len(value) > MOST_CHARACTERS
    }
    if statement.doi and not DOI.fullmatch(statement.doi):
        found["doi"] = _("This is not a DOI. A DOI begins with “10.”, as in 10.5281/zenodo.1234567.")
    if statement.url and not WEB_ADDRESS.fullmatch(statement.url):
        found["url"] = _("This is not a web address. It begins with https:// and has no spaces.")
    if len(statement.creators) > MOST_CREATORS:
        found["creators"] = _("Name at most %(most)s creators.") % {"most": MOST_CREATORS}
    for name in statement.creators:
        if not one_line(name) or "\n" in name or len(name) > LONGEST_NAME:
            found["creators"] = _("“%(name)s” is not a name on one line of at most %(most)s characters.") % {
                "name": name[:40],
                "most": LONGEST_NAME,
            }
    return found


def doi_of(text: str) -> str:
    """Return the DOI in a text; people paste it as a URL, or after ``doi:``."""
    return re.sub(r"^(https?://(dx\.)?doi\.org/|doi:\s*)", "", text.strip(), flags=re.IGNORECASE)


def creators_of(lines: str) -> tuple[str, ...]:
    """Return the names in a text with one name per line."""
    return tuple(name for line in lines.splitlines() if (name := one_line(line)))
