"""Headers of every response."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
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
