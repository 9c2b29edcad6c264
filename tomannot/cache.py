"""The shared cache in Redis: figures, progress, counters. No page fails when Redis is down."""

import logging
import time
from collections.abc import Callable
from typing import Any

from django.core.cache import caches
from django.core.cache.backends.redis import RedisCache
from django.utils.connection import ConnectionProxy
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)
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
