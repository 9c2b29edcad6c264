"""The process that publishes the big release and is measured."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from django.utils import timezone

from annotation.models import Study
from publishing.actions import releases
from publishing.models import Release


def main() -> None:
    """Request a release of the only study, build it, and print the measurements."""
    begun, used = time.perf_counter(), time.process_time()
    release = releases.request_release(study=Study.objects.get(), by=None, now=timezone.now())
    releases.build_release(release_id=release.pk, now=timezone.now())
    seconds, worker_cpu = time.perf_counter() - begun, time.process_time() - used
    release.refresh_from_db()
    if release.state != Release.State.PUBLISHED:
        sys.exit(f"bench: the release failed: {release.failure}")
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
    found = {
        "votes": release.votes,
        "kept": release.kept,
        "seconds": seconds,
        "worker_cpu": worker_cpu,
        "release_bytes": sum(release.files.values_list("size", flat=True)),
        "peak_mib": round(peak / 1024),
    }
    sys.stdout.write(json.dumps(found))
