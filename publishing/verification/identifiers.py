"""Search for text that looks like a person's platform id or an e-mail address.

Stories, and files made from them, are not searched: a story may mention an address. Story ids and names of
scenarios and generators belong to the researchers and may look like anything. The same holds for their
statements, which may give an address to be read; those are the ones that ``croissant.json`` repeats.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from annotation.identifiers import PATTERNS
from publishing.annotation_report import REPORT_PATH
from publishing.card import CARD_PATH
from publishing.card.citation import CITATION_PATH
from publishing.card.croissant import CROISSANT_PATH
from publishing.files import rows
from publishing.verification.release import CheckedRelease

CHECK = "identifiers"
_CHUNK = 1 << 20
_STORY_ID = re.compile(rb'^\{"story_id":"(?:[^"\\\n]|\\.)*"', re.MULTILINE)
_ABOUT_STORIES = (
    rows.VOTES_PATH,
    rows.SKIPS_PATH,
    rows.ADJUDICATIONS_PATH,
    rows.RECONCILED_PATH,
    rows.BASELINE_VOTES_PATH,
)
_DESCRIBING = (rows.RELEASE_JSON, REPORT_PATH, CARD_PATH, CITATION_PATH, CROISSANT_PATH)


def check(release: CheckedRelease) -> None:
    """Search the files about people and figures, and the descriptions.

    A finding names the kind of identifier, not its value.
    """
    directory, again = release.directory, CheckedRelease(release.directory)  # findings are known by now
    names = _ids(" ".join(_names(again.document(rows.STATISTICS_JSON) or {})))
    for config in directory.glob("*/test.jsonl"):  # the card shows one of their first rows
        with open(config, encoding="utf-8", errors="replace") as file:
            names |= _ids(file.readline())
    croissant = again.document(CROISSANT_PATH) or {}
    prose = {name: said for name, said in croissant.items() if name not in ("distribution", "recordSet")}
    stated = {id_ for id_ in _ids(json.dumps(prose)) if b"@" in id_}
    charts = sorted(f"figures/{chart.name}" for chart in (directory / "figures").glob("*.svg"))
    shown = sorted(f"instrument/{page.name}" for page in (directory / "instrument").glob("*.*"))
    for page in filter(Path.is_file, (directory / path for path in shown)):
        # The plan in release.json repeats the consent text, with its contact.
        stated |= {id_ for id_ in _ids(page.read_text("utf-8", errors="replace")) if b"@" in id_}
    for line in again.lines(rows.REVISIONS_PATH) if (directory / rows.REVISIONS_PATH).is_file() else ():
        # Its texts are those of stories.
        _search(release, rows.REVISIONS_PATH, line.number, str(line.row.get("reason")).encode(), names, set())
    for path in (*_ABOUT_STORIES, rows.STATISTICS_JSON, *_DESCRIBING, *charts, *shown):
        if not (directory / path).is_file():
            continue
        with open(directory / path, "rb") as file:
            first = 1
            while lines := file.readlines(_CHUNK):
                text = b"".join(lines)
                said = stated if path in (*shown, *_DESCRIBING) else set()
                _search(release, path, first, text, names, said)
                first += len(lines)


def _search(
    release: CheckedRelease, path: str, first: int, text: bytes, names: set[bytes], stated: set[bytes]
) -> None:
    if path in _ABOUT_STORIES:
        text = _STORY_ID.sub(b"{", text)
    for kind, (hint, pattern) in PATTERNS.items():
        if hint not in text:
            continue
        for match in pattern.finditer(text):
            line = first + text.count(b"\n", 0, match.start())
            if match.group() in stated:
                release.skip(
                    f"{path}:{line} has an e-mail address that seems to be part of the researchers' text."
                )
            elif match.group() not in names:
                release.report(CHECK, path, f"This looks like {kind}.", line)


def _ids(text: str) -> set[bytes]:
    data = text.encode(errors="replace")
    return {match.group() for _, pattern in PATTERNS.values() for match in pattern.finditer(data)}


def _names(statistics: dict[str, Any]) -> Iterator[str]:
    for key in ("by_scenario", "by_generator_model"):
        groups = statistics.get(key)
        yield from groups if isinstance(groups, dict) else ()
