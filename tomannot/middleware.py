"""Middleware: headers of every response, and compression of pages (not of files: ADR 0012)."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.utils.cache import add_never_cache_headers

UNUSED_FEATURES = "camera=(), geolocation=(), microphone=(), payment=(), usb=(), browsing-topics=()"
"""Abilities of browsers that no page uses, so that no injected script could."""

_Handler = Callable[[HttpRequest], HttpResponse]


def protect_pages(get_response: _Handler) -> _Handler:
    """Keep what a signed-in person sees out of every cache, unless the view decided about it."""

    def respond(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers.setdefault("Permissions-Policy", UNUSED_FEATURES)
        session = getattr(request, "session", None)
        is_private = session is not None and session.accessed and not session.is_empty()
        if is_private and not response.has_header("Cache-Control"):
            add_never_cache_headers(response)
        return response

    return respond


class CompressPages(GZipMiddleware):
    """Gzip for HTML only, with Django's random padding against BREACH (guessing secrets by length).

    A release's files keep their bytes and Content-Length: people compare both with the manifest.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if response.streaming or not response.get("Content-Type", "").startswith("text/html"):
            return response
        return super().process_response(request, response)
