"""Compare the directory with MANIFEST."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from publishing.annotation_report import REPORT_PATH
from publishing.comparison.changes import CHANGES_PATH
from publishing.errors import BrokenDirectory
from publishing.files.directory import MANIFEST, file_facts, read_manifest
from publishing.files.parquet import parquet_path
from publishing.files.rows import (
    ADJUDICATIONS_PATH,
    HARD_PATH,
    INSTRUMENT_PATH,
    SKIPS_PATH,
    VOTES_PATH,
    config_path,
    story_paths,
)
from publishing.statistics.per_item import per_item
from publishing.verification.description import Description
from publishing.verification.findings import Findings

CHECK = "hashes"
_ALWAYS = (
    "README.md", "CITATION.cff", "release.json", "statistics.json", "machine_validation.json",
    "croissant.json", VOTES_PATH, SKIPS_PATH, CHANGES_PATH, ADJUDICATIONS_PATH, parquet_path(VOTES_PATH),
    parquet_path(SKIPS_PATH), INSTRUMENT_PATH, REPORT_PATH, HARD_PATH,
)  # fmt: skip
HUB_FOLDER, HUB_FILE = ".cache", ".gitattributes"
_NAMED_ELSEWHERE = re.compile(
    r"figures/[a-z0-9-]+\.svg|instrument/[A-Za-z0-9-]+\.md|baseline/(votes\.jsonl|accuracy\.json)"
)
"""Files that other checks know by name."""


def check(directory: Path, findings: Findings) -> dict[str, str]:
    """Compare every file with MANIFEST. Return the SHA-256 of each listed file by path."""
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
            findings.add(CHECK, path, "The SHA-256 of the file is not the one in MANIFEST.")
    if list(expected) != sorted(expected):
        findings.add(CHECK, MANIFEST, "The paths are not in order.")
    return expected


def check_files(listed: dict[str, str], described: Description, findings: Findings) -> None:
    """Check that the listed files are those of a release with this layout, filter and questions."""
    wanted = {*_ALWAYS, *story_paths(described.rule).values()}
    results = per_item(described.document["protocol"]["name"], described.asked)
    wanted |= {results.path} if results else set()
    for config in described.layout.configs:
        wanted |= {config_path(config), parquet_path(config_path(config))}
    for path in sorted(wanted - listed.keys()):
        findings.add(CHECK, path, "Every release has this file, but MANIFEST does not list it.")
    for path in sorted(listed.keys() - wanted):
        if not _NAMED_ELSEWHERE.fullmatch(path):
            findings.add(CHECK, path, "No release has such a file.")


def _present(directory: Path, findings: Findings) -> Iterator[str]:
    """Yield the plain files. Links and other entries become findings and are not followed."""
    for folder, folders, names in os.walk(directory):
        if not (folders or names):
            problem = "This directory is empty. A release contains only files."
            findings.add(CHECK, Path(folder).relative_to(directory).as_posix(), problem)
        if Path(folder) == directory:
            for found, added in ((folders, HUB_FOLDER), (names, HUB_FILE)):
                if added in found:  # by a hub's client, beside a copy of a release
                    found.remove(added)
                    said = f"{added} was not checked: it comes from a hub and is not part of the release."
                    findings.skip(said)
        for name in sorted((*folders, *names)):
            place = Path(folder) / name
            path = place.relative_to(directory).as_posix()
            if place.is_symlink():
                findings.add(CHECK, path, "This is a link. A release contains only plain files.")
            elif place.is_file():
                yield path
            elif not place.is_dir():
                findings.add(CHECK, path, "This is neither a file nor a directory.")
