"""Compress HTML pages. Files are compressed already, or served as they are (ADR 0012)."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware


class CompressPages(GZipMiddleware):
    """Gzip for HTML only, with Django's random padding against BREACH (guessing secrets by length).

    A release's files keep their bytes and Content-Length: people compare both with the manifest.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.streaming or not response.get("Content-Type", "").startswith("text/html"):
            return response
        return super().process_response(request, response)
