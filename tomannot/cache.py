"""The shared cache in Redis: figures, progress, counters. No page fails when Redis is down."""

import logging
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

from django.core.cache import caches
from django.core.cache.backends.redis import RedisCache
from django.db.models import Model
from django.utils.connection import ConnectionProxy
from redis.exceptions import RedisError

T = TypeVar("T")
logger = logging.getLogger(__name__)
ONE_MINUTE = timedelta(minutes=1)
QUIET_SECONDS = 10.0  # between two warnings of a process that Redis does not answer
_quiet_until = 0.0
local = ConnectionProxy(caches, "local")
"""The cache of this process."""


class ForgivingRedisCache(RedisCache):
    """Django's Redis cache that acts as an empty cache, with a warning, when Redis does not answer.

    It holds nothing that must not be lost. Without Redis, figures are computed or missing, and nothing is
    limited (:mod:`accounts.rate_limits`).
    """

    def add(self, *args: Any, **named: Any) -> bool:
        return bool(_answer(super().add, True, *args, **named))

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        return _answer(super().get, default, key, default, version)

    def set(self, *args: Any, **named: Any) -> None:
        _answer(super().set, None, *args, **named)

    def touch(self, *args: Any, **named: Any) -> bool:
        return bool(_answer(super().touch, False, *args, **named))

    def delete(self, *args: Any, **named: Any) -> bool:
        return bool(_answer(super().delete, False, *args, **named))

    def get_many(self, *args: Any, **named: Any) -> dict[Any, Any]:
        found: dict[Any, Any] = _answer(super().get_many, {}, *args, **named)
        return found

    def set_many(self, data: dict[Any, Any], *args: Any, **named: Any) -> list[Any]:
        failed: list[Any] = _answer(super().set_many, [*data], data, *args, **named)
        return failed

    def incr(self, key: Any, *args: Any, **named: Any) -> int:
        """Raise ValueError if the key does not exist, as every Django cache does."""
        counted: int | None = _answer(super().incr, None, key, *args, **named)
        if counted is None:
            raise ValueError(f"There is no number under {key!r}: Redis does not answer.")
        return counted


def _answer(operation: Callable[..., Any], otherwise: Any, *args: Any, **named: Any) -> Any:
    try:
        return operation(*args, **named)
    except RedisError as error:
        global _quiet_until
        if time.monotonic() >= _quiet_until:  # each page asks a dozen times
            _quiet_until = time.monotonic() + QUIET_SECONDS
            logger.warning("Redis does not answer, so the cache is empty for now: %s", error)
        return otherwise


def row_key(row: Model, what: str) -> str:
    """Return a cache key for a row's data. It has the creation time: a recreated database reuses ids."""
    return f"{what}:{row._meta.model_name}:{row.pk}:{row.created_at:%Y%m%d%H%M%S%f}"  # type: ignore[attr-defined]


def cached_for_a_minute(of: Model, what: str, work: Callable[[], T], *, is_large: Callable[[T], bool]) -> T:
    """Return the result of ``work``, or the one from less than a minute ago.

    Only slow results are cached: those that ``is_large`` accepts. ``what`` names the result.
    """
    key = row_key(of, f"minute:{what}")
    known: tuple[T] | None = caches["shared"].get(key)
    if known is not None:
        return known[0]
    found = work()
    if is_large(found):
        caches["shared"].set(key, (found,), ONE_MINUTE.total_seconds())
    return found
