"""Does anything look like a person's id on a platform, or like an e-mail address?

What is looked at are the files about people and figures. Stories are not: a story may speak of a mail.
"""

from __future__ import annotations

import re
from pathlib import Path

from publishing.files.rows import VOTES_PATH
from publishing.verifying.description import RELEASE_JSON
from publishing.verifying.figures import STATISTICS_JSON
from publishing.verifying.findings import Findings

CHECK = "identifiers"
_CHUNK = 1 << 20
_PATTERNS = {
    "an e-mail address": (
        b"@",
        re.compile(rb"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+"),
    ),
    "a Mechanical Turk worker id": (b"A", re.compile(rb"(?<![A-Za-z0-9])A[A-Z0-9]{12,14}(?![A-Za-z0-9])")),
    "a Prolific id": (b"", re.compile(rb"(?<![0-9A-Za-z])[0-9a-f]{24}(?![0-9A-Za-z])")),
}


def check(directory: Path, findings: Findings) -> None:
    """Search votes, statistics and ``release.json``. The finding names the kind, not the id itself."""
    for path in (VOTES_PATH, STATISTICS_JSON, RELEASE_JSON):
        if not (directory / path).is_file():
            continue
        with open(directory / path, "rb") as file:
            first = 1
            while lines := file.readlines(_CHUNK):
                _search(path, first, b"".join(lines), findings)
                first += len(lines)


def _search(path: str, first: int, text: bytes, findings: Findings) -> None:
    for kind, (hint, pattern) in _PATTERNS.items():
        if hint not in text:
            continue
        for match in pattern.finditer(text):
            line = first + text.count(b"\n", 0, match.start())
            findings.add(CHECK, path, f"This looks like {kind}.", line)
