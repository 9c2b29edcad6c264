"""Durations of requests, tasks, mails and platform calls, summed over all processes in Redis.

Nothing is measured without METRICS_TOKEN. A process adds its sums to Redis every two seconds while there
are any, so that measuring costs microseconds, and any web node tells the sums of all machines.
"""

import json
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from celery import Task
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from redis import Redis
from redis.exceptions import RedisError

logger = logging.getLogger(__name__)
KEY = "tomannot:metrics"
SENT_EVERY_SECONDS = 2.0
BOUNDS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)
"""Upper bounds of the histograms' buckets, in seconds: a request and the build of a release fit in."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""Others are what strangers make up, and would be new labels for ever."""
_Handler = Callable[[HttpRequest], HttpResponse]

_sums: defaultdict[tuple[Any, ...], float] = defaultdict(float)
_lock = threading.Lock()


def observe(name: str, seconds: float, **labels: str) -> None:
    """Count something that took so long. Names and labels are few: no id is ever among them."""
    bound = next((str(bound) for bound in BOUNDS if seconds <= bound), "+Inf")
    with _lock:
        if not _sums:
            timer = threading.Timer(SENT_EVERY_SECONDS, send)
            timer.daemon = True
            timer.start()
        _sums[name, *sorted(labels.items()), bound] += 1
        _sums[name, *sorted(labels.items()), "sum"] += seconds


@contextmanager
def timed(name: str, **labels: str) -> Iterator[None]:
    """Observe the block, or the decorated function, with its outcome: ``ok`` or the exception's name."""
    if not settings.METRICS_TOKEN:
        yield
        return
    began, outcome = time.perf_counter(), "ok"
    try:
        yield
    except BaseException as error:
        outcome = type(error).__name__
        raise
    finally:
        observe(name, time.perf_counter() - began, outcome=outcome, **labels)


def send() -> None:
    """Add this process's sums to those in Redis. Without Redis they are lost."""
    with _lock:
        sums = dict(_sums)
        _sums.clear()
    try:
        with _redis().pipeline(transaction=False) as pipe:
            for field, amount in sums.items():
                pipe.hincrbyfloat(KEY, json.dumps(field), amount)
            pipe.execute()
    except RedisError as error:
        logger.warning("Metrics of some seconds are lost: %s", error)


def read() -> dict[str, dict[tuple[tuple[str, str], ...], dict[str, float]]]:
    """Return the sums by name, labels, and upper bound or ``sum``."""
    send()
    found: dict[str, dict[tuple[tuple[str, str], ...], dict[str, float]]] = {}
    for field, amount in _redis().hgetall(KEY).items():
        name, *labels, part = json.loads(field)
        found.setdefault(name, {}).setdefault(tuple(map(tuple, labels)), {})[part] = float(amount)
    return found


@cache
def _redis() -> Any:
    return Redis.from_url(settings.REDIS_URL, socket_connect_timeout=1, socket_timeout=5)


class TimedTask(Task):  # type: ignore[type-arg]  # not subscriptable at run time
    """Every task of ours: it observes how long it takes."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        with timed("task", task=str(self.name)):
            return self.run(*args, **named)


def time_requests(get_response: _Handler) -> _Handler:
    """Middleware that observes every request by the name of its address, and logs it without its path."""

    def respond(request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = get_response(request)
        seconds = time.perf_counter() - began
        view = request.resolver_match.view_name if request.resolver_match else "none"
        method = str(request.method) if request.method in METHODS else "other"
        seen = {"view": view, "method": method, "status": str(response.status_code)}
        logger.info("%(method)s %(view)s %(status)s", seen, extra=seen | {"seconds": round(seconds, 4)})
        if settings.METRICS_TOKEN:
            observe("request", seconds, **seen)
        return response

    return respond
