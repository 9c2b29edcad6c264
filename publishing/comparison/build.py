"""Computing a comparison in a worker and storing it for good: releases never change."""

import json
import secrets
import shutil
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from publishing.comparison import store
from publishing.comparison.diff import READ, Kind, difference_of, paired_stories
from publishing.errors import NotComparable
from publishing.files import directory, jsonl
from publishing.files.rows import DROPPED_PATH
from publishing.models import Release
from publishing.store import StoreUnavailable, install, put

DOCUMENTS = ("release.json", "statistics.json")
_LEFT_OVER_SECONDS = 24 * 3600


def compare(before: Release, now: Release) -> None:
    """Compare two published releases of a study by their files and store the result.

    Memory is bounded by one story. Raise :class:`~publishing.errors.NotComparable` if files are missing or
    changed, and ``OSError``, which is ``StoreUnavailable`` if the shared store does not answer.
    """
    place = store.place_of(before, now)
    if place.exists():
        put(place, place)  # for the other machines, if the store lacks it
        return
    for release in (before, now):
        _check(release)
    place.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(place.parent, store.UNFINISHED)
    unfinished = place.with_name(f"{store.UNFINISHED}{secrets.token_hex(4)}")
    unfinished.mkdir()
    try:
        summary = _write(unfinished, before.directory, now.directory)
        (unfinished / store.SUMMARY).write_bytes(jsonl.document(summary))
        install(unfinished, place)
    except OSError:
        if not place.exists():  # else another worker was faster, with the same result
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _write(place: Path, before: Path, now: Path) -> dict[str, Any]:
    """Write the files of differing stories. Return the summary of all stories."""
    moves: Counter[str] = Counter()
    differing: Counter[Kind] = Counter()
    other_votes = 0
    with ExitStack() as files:
        written = {
            kind: files.enter_context(open(place / f"{kind}.jsonl", "wb", buffering=1 << 20)) for kind in Kind
        }
        for pair in paired_stories(before, now):
            moves[" ".join(outcome.value if outcome else "none" for outcome in pair.outcomes)] += 1
            found = difference_of(pair)
            if found:
                differing[found[0]] += 1
                written[found[0]].write(jsonl.line(found[1]))
            elif not pair.same_votes:
                other_votes += 1
    sides = {"before": before, "now": now}
    return {
        "differing": {kind.value: differing[kind] for kind in Kind},
        "moves": dict(sorted(moves.items())),
        "same_verdict_other_votes": other_votes,
        **{
            name: {path.removesuffix(".json"): json.loads((side / path).read_bytes()) for path in DOCUMENTS}
            for name, side in sides.items()
        },
    }


def _check(release: Release) -> None:
    """Raise :class:`~publishing.errors.NotComparable` unless the files to be read are as published."""
    published = {
        file.path: file.sha256 for file in release.files.filter(path__in=(*READ, DROPPED_PATH, *DOCUMENTS))
    }
    dropped = [DROPPED_PATH] if DROPPED_PATH in published else []
    for path in (*READ, *dropped, *DOCUMENTS):
        try:
            whole = directory.file_facts(release.directory, path).sha256 == published.get(path)
        except StoreUnavailable:
            raise
        except OSError:
            whole = False
        if not whole:
            told = _(
                "%(path)s of release %(number)s is missing or has changed. Restore the files of that "
                "release, then reload this page."
            ) % {"path": path, "number": release.number}
            raise NotComparable(told)


def remove_leftovers(place: Path, prefix: str) -> None:
    """Remove what killed workers left."""
    for left in place.glob(f"{prefix}*"):
        if time.time() - left.stat().st_mtime > _LEFT_OVER_SECONDS:
            shutil.rmtree(left, ignore_errors=True)
