"""The process that makes the figures of the big study and asks for its pages."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from annotation.models import Story, Study
from bench.measure import Times
from dashboard.figures import kept, work

REQUESTS = 30
HTMX = {"HX-Request": "true"}


def main() -> None:
    """Make the figures of the only study, ask for each page, say on standard output how it went."""
    study = Study.objects.get()
    begun, used = time.perf_counter(), time.process_time()
    made = work.make(study.pk, now=timezone.now())
    seconds, worker_cpu = time.perf_counter() - begun, time.process_time() - used
    if made.document is None:
        sys.exit(f"bench: there are no figures: {made.failure}")
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
    root = f"/studies/{study.slug}/"
    person = kept.people(study)[0]["pseudonym"]
    pages = {
        "overview": (root, {}),
        "moving part": (root, HTMX),
        "quality": (f"{root}quality/", {}),
        "a person": (f"{root}people/{person}/", {}),
        "studies": ("/studies/", {}),
        "filters": (f"{root}filters/", {}),
        "stories": (f"{root}stories/", {}),
        "stories of no scenario": (f"{root}stories/?scenario=none", {}),
        "stories with findings": (f"{root}stories/?lint=any", {}),
        "incomplete stories": (f"{root}stories/?verdict=incomplete", {}),
        "a story": (f"{root}stories/{Story.objects.order_by('-pk')[0].story_id}/", {}),
        "excluding somebody": (f"{root}people/{person}/exclude/", {}),
        "review": (f"{root}review/", {}),
        "set-up": (f"{root}set-up/", {}),
        "qualification": (f"{root}qualification/", {}),
        "checks": (f"{root}checks/", {}),
        "members": (f"{root}members/", {}),
        "releases": (f"{root}releases/", {}),
        "recruitment": (f"{root}recruitment/", {}),
        "differences": (f"{root}differences/", {}),
        "payments": (f"{root}payments/", {}),
        "joining": (f"{root}joining/", {}),
        "the log": (f"{root}log/", {}),
        "a chart's table": (f"{root}charts/people.csv", {}),
    }
    found = {
        "votes": made.document["votes"]["counted"],
        "seconds": seconds,
        "worker_cpu": worker_cpu,
        "peak_mib": round(peak / 1024),
        "pages": {name: _page(*page) for name, page in pages.items()},
    }
    sys.stdout.write(json.dumps(found))


def _page(address: str, headers: dict[str, str]) -> dict[str, float]:
    """How long one page takes in this process, without a web server, and how many queries it makes."""
    client = Client(SERVER_NAME="127.0.0.1", headers=headers)
    client.force_login(User.objects.get_or_create(username="bench", is_superuser=True, is_staff=True)[0])
    took = []
    for _ in range(REQUESTS + 1):
        begun = time.perf_counter()
        response = client.get(address)
        _ = b"".join(response)
        took.append(time.perf_counter() - begun)
        if response.status_code != 200:
            sys.exit(f"bench: {address} answered {response.status_code}.")
    with CaptureQueriesContext(connection) as queries:
        client.get(address)
    times = Times.of(took[1:])
    return {"p50_ms": times.p50_ms, "p95_ms": times.p95_ms, "queries": len(queries)}
