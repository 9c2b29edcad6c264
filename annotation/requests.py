"""Requests with what middleware and decorators add to them, for the type checker."""

import enum
from typing import cast

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails

from annotation.models import Study, WorkSession


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
