"""Pages are compressed on their way out; files are compressed already or served as they are (ADR 0012)."""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class CompressPages(GZipMiddleware):
    """Gzip for HTML alone, with Django's up to 100 random bytes against guessing secrets by length (BREACH).

    A release's files keep their Content-Length and their bytes: people compare both with the manifest.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.streaming or not response.get("Content-Type", "").startswith("text/html"):
            return response
        return super().process_response(request, response)
