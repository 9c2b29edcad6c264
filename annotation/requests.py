"""Read numbers from requests, and declare for the type checker what middleware and decorators add to them."""

import enum
from typing import cast

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from annotation.models import Study, WorkSession

MOST_DIGITS = 18
"""Numbers with so many digits fit into PostgreSQL's bigint."""


class Request(HttpRequest):
    """A request with everything that may be added to it."""

    htmx: HtmxDetails
    """Added by django-htmx to every request."""
    study: Study
    rights: frozenset[enum.Enum]
    """Added by :func:`annotation.rights.study_page`."""
    work_session: WorkSession | None
    is_claimed: bool
    """Added by :func:`annotation.access.annotator_page`."""


def extended(request: HttpRequest) -> Request:
    """Return the same request, typed as :class:`Request`."""
    return cast(Request, request)


def number_in(text: str | None) -> int:
    """Return the whole number that the text spells; 0, which no row has, for anything else."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else 0
