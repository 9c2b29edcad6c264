"""Working a comparison out, in a worker, and writing it down for good: releases never change."""

from __future__ import annotations

import json
import secrets
import shutil
import time
from array import array
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

from django.utils.translation import gettext as _

from publishing.errors import NotComparable
from publishing.files import directory, jsonl
from publishing.models import Release
from publishing.side_by_side import keeping
from publishing.side_by_side.walking import READ, Kind, kind_of, pairs

DOCUMENTS = ("release.json", "statistics.json")
_LEFT_OVER_SECONDS = 24 * 3600


def make(before: Release, now: Release) -> None:
    """Compare two published releases of a study by their files and keep the outcome.

    Memory is bounded by one story and by 8 bytes per page of differing stories. Raises
    :class:`~publishing.errors.NotComparable` when their files are not there as they were published.
    """
    place = keeping.place_of(before, now)
    if place.exists():
        return
    for release in (before, now):
        _check(release)
    place.parent.mkdir(parents=True, exist_ok=True)
    _sweep(place.parent)
    unfinished = place.with_name(f"{keeping.UNFINISHED}{secrets.token_hex(4)}")
    unfinished.mkdir()
    try:
        summary = _write(unfinished, before.directory, now.directory)
        (unfinished / keeping.SUMMARY).write_bytes(jsonl.document(summary))
        _put(unfinished, place)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _put(unfinished: Path, place: Path) -> None:
    try:
        unfinished.rename(place)
    except OSError:
        if not place.exists():  # else somebody else was quicker, with the same outcome
            raise


class _Written:
    """One file of differing stories, with the places where its pages begin."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.rows = 0
        self.pages = array("Q")

    def add(self, row: dict[str, Any]) -> None:
        if self.rows % keeping.PER_PAGE == 0:
            self.pages.append(self._file.tell())
        self._file.write(jsonl.line(row))
        self.rows += 1


def _write(place: Path, before: Path, now: Path) -> dict[str, Any]:
    """The files of differing stories; returns what is said about all stories."""
    moves: Counter[str] = Counter()
    other_votes = 0
    with ExitStack() as files:
        written = {
            kind: _Written(files.enter_context(open(place / f"{kind}.jsonl", "wb", buffering=1 << 20)))
            for kind in Kind
        }
        for pair in pairs(before, now):
            moves[" ".join(outcome.value if outcome else "none" for outcome in pair.outcomes)] += 1
            found = kind_of(pair)
            if found:
                written[found[0]].add(found[1])
            elif not pair.same_votes:
                other_votes += 1
    for kind, file in written.items():
        (place / f"{kind}.pages").write_bytes(file.pages.tobytes())
    sides = {"before": before, "now": now}
    return {
        "differing": {kind.value: file.rows for kind, file in written.items()},
        "moves": dict(sorted(moves.items())),
        "same_verdict_other_votes": other_votes,
        **{
            name: {path.removesuffix(".json"): json.loads((side / path).read_bytes()) for path in DOCUMENTS}
            for name, side in sides.items()
        },
    }


def _check(release: Release) -> None:
    """Raises :class:`~publishing.errors.NotComparable` unless what is read of a release is as published."""
    published = {file.path: file.sha256 for file in release.files.filter(path__in=(*READ, *DOCUMENTS))}
    for path in (*READ, *DOCUMENTS):
        try:
            whole = directory.file_facts(release.directory, path).sha256 == published.get(path)
        except OSError:
            whole = False
        if not whole:
            raise NotComparable(
                _(
                    "%(path)s of release %(number)s is not there as it was published. Put the files of that "
                    "release back as they were, then load this page again."
                )
                % {"path": path, "number": release.number}
            )


def _sweep(place: Path) -> None:
    """Remove what killed workers have left."""
    for left in place.glob(f"{keeping.UNFINISHED}*"):
        if time.time() - left.stat().st_mtime > _LEFT_OVER_SECONDS:
            shutil.rmtree(left, ignore_errors=True)
