"""The process that computes a full study's figures and requests its pages."""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import resolve
from django.utils import timezone

from annotation.models import Story, Study
from bench.filled.filling import lengthen_comparison
from bench.machine import cpu_seconds, postmaster
from bench.measure import Times
from bench.visited import FOUND, Page, not_measured, pages_of
from dashboard.figures import compute, store
from publishing.models import Release

DIFFERING = 20
"""One story in this many differs between two releases, in each possible way."""


def main() -> None:
    """Compute the figures of the only study, request each page, and print the measurements."""
    requests = int(sys.argv[1])
    study = Study.objects.get()
    caches["shared"].clear()  # the studies of both sizes go by the same names there
    begun, used = time.perf_counter(), time.process_time()
    # They pass for newer than all that has happened, so that no page asks for newer ones.
    made = compute.make(study.pk, now=timezone.now() + timedelta(minutes=5))
    seconds, worker_cpu = time.perf_counter() - begun, time.process_time() - used
    if made.document is None:
        sys.exit(f"bench: there are no figures: {made.failure}")
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
    stories = Story.objects.filter(study=study).main().count()
    releases = Release.objects.filter(study=study).order_by("number")
    lengthen_comparison(releases[0], releases[1], rows=stories // DIFFERING)
    measured = {name: _measured(page, requests) for name, page in pages_of(study).items()}
    found = {
        "stories": stories,
        "votes": made.document["votes"]["counted"],
        "seconds": seconds,
        "worker_cpu": worker_cpu,
        "peak_mib": round(peak / 1024),
        "people": store.people_count(study),
        "pages": measured,
        "not_measured": not_measured({page["route"] for page in measured.values()}),
    }
    sys.stdout.write(json.dumps(found))


def _measured(page: Page, requests: int) -> dict[str, Any]:
    """Measure one page in this process, without a web server: its time and number of queries."""
    client = Client(SERVER_NAME="127.0.0.1", headers=page.headers)
    if page.user:
        client.force_login(page.user)
    first = _seconds(client, page)
    used = _cpu()
    times = Times.of([_seconds(client, page) for _ in range(requests)])
    used = _cpu() - used
    with CaptureQueriesContext(connection) as queries:
        _seconds(client, page)
    return {
        "route": resolve(urlsplit(page.address).path).view_name,
        "first_ms": 1000 * first,
        "p50_ms": times.p50_ms,
        "p95_ms": times.p95_ms,
        "cpu_ms": 1000 * used / requests,
        "queries": len(queries),
    }


def _cpu() -> float:
    """Return the CPU seconds of this process and PostgreSQL, which do not depend on the machine's load."""
    return time.process_time() + cpu_seconds([postmaster(Path(os.environ["TOMANNOT_VAR"]))])


def _seconds(client: Client, page: Page) -> float:
    """Return the time of one request, to the last byte of the response."""
    begun = time.perf_counter()
    response = client.post(page.address, page.sent) if page.sent else client.get(page.address)
    body = b"".join(response)
    if response.status_code != page.status or not (body or page.status == FOUND):
        sys.exit(f"bench: {page.address} answered {response.status_code}.")
    return time.perf_counter() - begun
