"""Compare the directory with MANIFEST."""

import os
import re

from publishing.card.contents import copied, paths
from publishing.errors import BrokenDirectory
from publishing.files.directory import MANIFEST, manifest_differences, read_manifest
from publishing.files.parquet import parquet_path
from publishing.files.rows import INSTRUMENT_PATH, REVISIONS_PATH
from publishing.results import per_item
from publishing.verification.release import CheckedRelease, Description

CHECK = "hashes"
FROM_A_HUB = {".cache/", ".gitattributes"}
"""Names that a hub's client adds to a copy of a release; a folder's ends with a slash."""
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
    for path, problem in manifest_differences(release.directory, expected, besides=FROM_A_HUB):
        release.report(CHECK, path, f"It {problem}")
    present = {one.name + "/" * one.is_dir() for one in os.scandir(release.directory)}
    for added in sorted(FROM_A_HUB & present):
        release.skip(
            f"{added.rstrip('/')} was not checked: it comes from a hub and is not part of the release."
        )
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
