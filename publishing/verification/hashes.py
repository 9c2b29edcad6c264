"""Compare the directory with MANIFEST."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from publishing.card.contents import copied, paths
from publishing.errors import BrokenDirectory
from publishing.files.directory import MANIFEST, file_facts, read_manifest
from publishing.files.parquet import parquet_path
from publishing.files.rows import INSTRUMENT_PATH, REVISIONS_PATH
from publishing.results import per_item
from publishing.verification.release import CheckedRelease, Description

CHECK = "hashes"
HUB_FOLDER, HUB_FILE = ".cache", ".gitattributes"
_NAMED_ELSEWHERE = re.compile(
    r"figures/[a-z0-9-]+\.svg|instrument/[A-Za-z0-9-]+\.md|baseline/(votes\.jsonl|accuracy\.json)"
)
"""Files that other checks know by name."""


def check(release: CheckedRelease) -> dict[str, str]:
    """Compare every file with MANIFEST. Return the SHA-256 of each listed file by path."""
    try:
        expected = read_manifest(release.directory)
    except BrokenDirectory as error:
        release.report(CHECK, MANIFEST, str(error))
        return {}
    present = set(_present(release))
    for path in sorted(present - expected.keys() - {MANIFEST}):
        release.report(CHECK, path, "The file is here, but MANIFEST does not list it.")
    for path in sorted(expected.keys() - present):
        release.report(CHECK, path, "MANIFEST lists this file, but it is not here.")
    for path in sorted(expected.keys() & present):
        if file_facts(release.directory, path).sha256 != expected[path]:
            release.report(CHECK, path, "The SHA-256 of the file is not the one in MANIFEST.")
    if list(expected) != sorted(expected):
        release.report(CHECK, MANIFEST, "The paths are not in order.")
    return expected


def check_files(release: CheckedRelease, described: Description) -> None:
    """Check that the listed files are those of a release with this layout, filter and questions."""
    results = per_item(described.facts.protocol_name, described.facts.asked)
    also = {REVISIONS_PATH} & release.listed.keys()
    listed_in_card = paths(described.layout, results, selects=described.facts.rule.selects, also=also)
    wanted = {path for path in listed_in_card if not path.endswith("/")} - {MANIFEST} | {INSTRUMENT_PATH}
    wanted |= set(map(parquet_path, copied(described.layout, results, also=also)))
    for path in sorted(wanted - release.listed.keys()):
        release.report(CHECK, path, "Every release has this file, but MANIFEST does not list it.")
    for path in sorted(release.listed.keys() - wanted):
        if not _NAMED_ELSEWHERE.fullmatch(path):
            release.report(CHECK, path, "No release has such a file.")


def _present(release: CheckedRelease) -> Iterator[str]:
    """Yield the plain files. Links and other entries become findings and are not followed."""
    directory = release.directory
    for folder, folders, names in os.walk(directory):
        if not (folders or names):
            problem = "This directory is empty. A release contains only files."
            release.report(CHECK, Path(folder).relative_to(directory).as_posix(), problem)
        if Path(folder) == directory:
            for found, added in ((folders, HUB_FOLDER), (names, HUB_FILE)):
                if added in found:  # by a hub's client, beside a copy of a release
                    found.remove(added)
                    said = f"{added} was not checked: it comes from a hub and is not part of the release."
                    release.skip(said)
        for name in sorted((*folders, *names)):
            place = Path(folder) / name
            path = place.relative_to(directory).as_posix()
            if place.is_symlink():
                release.report(CHECK, path, "This is a link. A release contains only plain files.")
            elif place.is_file():
                yield path
            elif not place.is_dir():
                release.report(CHECK, path, "This is neither a file nor a directory.")
