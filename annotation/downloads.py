"""Files that are sent while they are being made or read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts import streams
from accounts.limits import client_of
from annotation.access import too_many

EXPORTS, RELEASES = "exports", "releases"
"""Kinds of streams, each with places of its own: what researchers read, and what everybody may."""


def download(
    request: HttpRequest, pieces: Iterator[Any], *, kind: str, name: str, media_type: str
) -> HttpResponseBase:
    """A file of this name, for a HEAD without anything in it; 429 when too many are being read."""
    if request.method == "HEAD":
        sent: Iterator[Any] | None = iter(())
    else:
        reader = f"user {request.user.pk}" if request.user.is_authenticated else client_of(request)
        sent = streams.limited(pieces, kind, reader)
    if sent is None:
        later = timezone.now() + timedelta(seconds=streams.TRY_AGAIN_SECONDS)
        return too_many(request, later, what=_("Too many files are being downloaded."))
    response = StreamingHttpResponse(sent, content_type=media_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
