"""Stream files to clients while they are generated or read."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils.translation import gettext_lazy as _

from accounts import download_slots
from accounts.rate_limits import client_of
from annotation.access import too_many
from tomannot import clock

EXPORTS, RELEASES = "exports", "releases"
"""Kinds of streams, each with its own limit: researchers' exports, and public releases."""


def download(
    request: HttpRequest, pieces: Iterator[Any], *, kind: str, name: str, media_type: str
) -> HttpResponseBase:
    """Stream a file of this name; empty for HEAD, and 429 if too many streams are open."""
    if request.method == "HEAD":
        sent: Iterator[Any] | None = iter(())
    else:
        reader = f"user {request.user.pk}" if request.user.is_authenticated else client_of(request)
        sent = download_slots.limited(pieces, kind, reader)
    if sent is None:
        later = clock.now() + timedelta(seconds=download_slots.TRY_AGAIN_SECONDS)
        return too_many(request, later, what=_("Too many files are being downloaded."))
    response = StreamingHttpResponse(sent, content_type=media_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
