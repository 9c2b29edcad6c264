"""Does anything look like a person's id on a platform, or like an e-mail address?

What is looked at is everything but the stories and what is made of them: a story may speak of a mail.
Ids of stories and names of scenarios and generators are the researchers' own, and may look like anything.
So are their texts, where an address may be meant to be read: those that ``croissant.json`` repeats.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from publishing.card.citing import CITATION_PATH
from publishing.files.croissant import CROISSANT_PATH
from publishing.files.rows import VOTES_PATH
from publishing.verifying.description import RELEASE_JSON
from publishing.verifying.figures import STATISTICS_JSON
from publishing.verifying.findings import Findings
from publishing.verifying.metadata import CARD_PATH

CHECK = "identifiers"
MAIL = "an e-mail address"
_CHUNK = 1 << 20
_PATTERNS = {
    MAIL: (b"@", re.compile(rb"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+")),
    "a Mechanical Turk worker id": (b"A", re.compile(rb"(?<![A-Za-z0-9])A[A-Z0-9]{12,14}(?![A-Za-z0-9])")),
    "a Prolific id": (b"", re.compile(rb"(?<![0-9A-Za-z])[0-9a-f]{24}(?![0-9A-Za-z])")),
}
_STORY_ID = re.compile(rb'^\{"story_id":"(?:[^"\\\n]|\\.)*"', re.MULTILINE)
_DESCRIBING = (CARD_PATH, CITATION_PATH, CROISSANT_PATH)


def check(directory: Path, findings: Findings) -> None:
    """Search the files about people and figures, and the descriptions.

    The finding names the kind, not the id itself.
    """
    names = _ids(" ".join(_names(_document(directory / STATISTICS_JSON))))
    told = {id_ for id_ in _ids(_told(_document(directory / CROISSANT_PATH))) if b"@" in id_}
    charts = sorted(f"figures/{chart.name}" for chart in (directory / "figures").glob("*.svg"))
    for path in (VOTES_PATH, STATISTICS_JSON, RELEASE_JSON, *_DESCRIBING, *charts):
        if not (directory / path).is_file():
            continue
        with open(directory / path, "rb") as file:
            first = 1
            while lines := file.readlines(_CHUNK):
                _search(path, first, b"".join(lines), names, told if path in _DESCRIBING else set(), findings)
                first += len(lines)


def _search(
    path: str, first: int, text: bytes, names: set[bytes], told: set[bytes], findings: Findings
) -> None:
    if path == VOTES_PATH:
        text = _STORY_ID.sub(b"{", text)
    for kind, (hint, pattern) in _PATTERNS.items():
        if hint not in text:
            continue
        for match in pattern.finditer(text):
            line = first + text.count(b"\n", 0, match.start())
            if match.group() in told:
                findings.skip(
                    f"{path}:{line} has an e-mail address in what seems to be the researchers' words."
                )
            elif match.group() not in names:
                findings.add(CHECK, path, f"This looks like {kind}.", line)


def _ids(text: str) -> set[bytes]:
    """What looks like an id in a text."""
    data = text.encode(errors="replace")
    return {match.group() for _, pattern in _PATTERNS.values() for match in pattern.finditer(data)}


def _names(statistics: dict[str, Any]) -> Iterator[str]:
    for key in ("by_scenario", "by_generator_model"):
        groups = statistics.get(key)
        yield from groups if isinstance(groups, dict) else ()


def _told(croissant: dict[str, Any]) -> str:
    """What ``croissant.json`` says in words: all but its files and columns."""
    return json.dumps(
        {key: said for key, said in croissant.items() if key not in ("distribution", "recordSet")}
    )


def _document(path: Path) -> dict[str, Any]:
    """An object, empty where there is none to be read: that has its own finding."""
    try:
        found = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
