"""Slow results of pages, cached for a minute in the cache that all processes share."""

from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from django.core.cache import caches

from annotation.models import Study
from recruitment.models import Campaign

T = TypeVar("T")
KEPT_FOR = timedelta(minutes=1)


def cached_for_a_minute(
    of: Study | Campaign, what: str, work: Callable[[], T], *, is_large: Callable[[T], bool]
) -> T:
    """Return the result of ``work``, or the one from less than a minute ago.

    Only slow results are cached: those that ``is_large`` accepts. ``what`` names the result.
    """
    key = f"minute:{of._meta.model_name}:{of.pk}:{of.created_at:%Y%m%d%H%M%S%f}:{what}"
    known: tuple[T] | None = caches["shared"].get(key)
    if known is not None:
        return known[0]
    found = work()
    if is_large(found):
        caches["shared"].set(key, (found,), KEPT_FOR.total_seconds())
    return found
