"""Is everything there that MANIFEST lists, unchanged, and nothing else?"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from publishing.errors import BrokenDirectory
from publishing.files.directory import MANIFEST, file_facts, read_manifest
from publishing.files.parquet import parquet_path
from publishing.files.rows import DROPPED_PATH, VOTES_PATH, Layout, config_path
from publishing.verifying.findings import Findings

CHECK = "hashes"
_ALWAYS = (
    "README.md",
    "CITATION.cff",
    "release.json",
    "statistics.json",
    "machine_validation.json",
    "croissant.json",
    VOTES_PATH,
    DROPPED_PATH,
    parquet_path(VOTES_PATH),
)
_FIGURE = re.compile(r"figures/[a-z0-9-]+\.svg")


def check(directory: Path, findings: Findings) -> dict[str, str]:
    """Compare every file with MANIFEST. Returns the SHA-256 of each listed file by its path."""
    try:
        expected = read_manifest(directory)
    except BrokenDirectory as error:
        findings.add(CHECK, MANIFEST, str(error))
        return {}
    present = set(_present(directory, findings))
    for path in sorted(present - expected.keys() - {MANIFEST}):
        findings.add(CHECK, path, "The file is here, but MANIFEST does not list it.")
    for path in sorted(expected.keys() - present):
        findings.add(CHECK, path, "MANIFEST lists this file, but it is not here.")
    for path in sorted(expected.keys() & present):
        if file_facts(directory, path).sha256 != expected[path]:
            findings.add(CHECK, path, "The file has not the SHA-256 that MANIFEST says.")
    if list(expected) != sorted(expected):
        findings.add(CHECK, MANIFEST, "The files are not in order.")
    return expected


def check_files(listed: dict[str, str], layout: Layout, findings: Findings) -> None:
    """Are these the files that a release of this layout has?"""
    wanted = {*_ALWAYS}
    for config in layout.configs:
        wanted |= {config_path(config), parquet_path(config_path(config))}
    for path in sorted(wanted - listed.keys()):
        findings.add(CHECK, path, "A release has this file; MANIFEST does not list it.")
    for path in sorted(listed.keys() - wanted):
        if not _FIGURE.fullmatch(path):
            findings.add(CHECK, path, "No release has such a file.")


def _present(directory: Path, findings: Findings) -> Iterator[str]:
    """The plain files; links and anything else are findings, and are not followed."""
    for folder, folders, names in os.walk(directory):
        for name in sorted((*folders, *names)):
            place = Path(folder) / name
            path = place.relative_to(directory).as_posix()
            if place.is_symlink():
                findings.add(CHECK, path, "This is a link. A release holds its files itself.")
            elif place.is_file():
                yield path
            elif not place.is_dir():
                findings.add(CHECK, path, "This is neither a file nor a directory.")
