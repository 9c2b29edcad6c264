"""Do the card and ``croissant.json`` speak of the files that are there?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from publishing.files.croissant import CROISSANT_PATH
from publishing.files.directory import MANIFEST
from publishing.files.features import Type, declared
from publishing.files.rows import DROPPED_PATH, Layout, config_path
from publishing.verifying.description import read_document
from publishing.verifying.findings import Findings

CARD, CROISSANT = "card", "croissant"
CARD_PATH = "README.md"
_LARGEST_HEAD = 1 << 20


def check_card(
    directory: Path, layout: Layout, columns: Mapping[str, Mapping[str, Type]], findings: Findings
) -> None:
    """The YAML at the top of the card: the configs, their files and the types of their columns."""
    try:
        header = _header(directory / CARD_PATH)
    except (OSError, ValueError, yaml.YAMLError) as error:
        findings.add(CARD, CARD_PATH, f"The card's YAML cannot be read: {str(error)[:200]}")
        return
    for problem in _wrong_header(header, layout, columns):
        findings.add(CARD, CARD_PATH, problem)


def _header(path: Path) -> Mapping[str, Any]:
    with open(path, encoding="utf-8") as file:
        text = file.read(_LARGEST_HEAD)
    start, separator, rest = text.partition("---\n")
    head, end, _ = rest.partition("\n---")
    if start or not separator or not end:
        raise ValueError("it does not begin with a block between two lines of ---")
    header = yaml.safe_load(head)
    if not isinstance(header, dict):
        raise ValueError("it is not a block of keys and values")
    return header


def _wrong_header(
    header: Mapping[str, Any], layout: Layout, columns: Mapping[str, Mapping[str, Type]]
) -> Iterator[str]:
    configs = found if isinstance(found := header.get("configs"), list) else []
    stated = {
        config["config_name"]: config.get("data_files")
        for config in configs
        if isinstance(config, dict) and isinstance(config.get("config_name"), str)
    }
    if list(stated) != list(layout.configs) or len(configs) != len(stated):
        yield f"The configs are {', '.join(stated)[:200]}; they should be {', '.join(layout.configs)}."
    for config in layout.configs:
        files = [{"split": "test", "path": config_path(config)}]
        if config in stated and stated[config] != files:
            yield f"The files of {config} should be the split test at {config_path(config)}."
    expected = [
        {"config_name": config, "features": features}
        for config in layout.configs
        if (features := declared(columns[config_path(config)])) is not None
    ]
    if (header.get("dataset_info") or []) != expected:
        yield "dataset_info does not declare the columns that the files have."


def check_croissant(directory: Path, listed: Mapping[str, str], layout: Layout, findings: Findings) -> None:
    """``croissant.json`` has every file but itself and MANIFEST, with its hash, and every kind of rows."""
    document = read_document(directory, CROISSANT_PATH, findings)
    if document is None:
        return
    distribution = document.get("distribution")
    objects = [one for one in distribution if isinstance(one, dict)] if isinstance(distribution, list) else []
    named = {str(one.get("contentUrl")): one for one in objects}
    wanted = listed.keys() - {CROISSANT_PATH, MANIFEST}
    for path in sorted(wanted ^ named.keys()):
        findings.add(CROISSANT, CROISSANT_PATH, f"{path} is in MANIFEST or in distribution, but not in both.")
    for path in sorted(wanted & named.keys()):
        stated = named[path]
        if stated.get("sha256") != listed[path]:
            findings.add(CROISSANT, CROISSANT_PATH, f"The SHA-256 of {path} is not that of MANIFEST.")
        if (directory / path).is_file() and stated.get("contentSize") != _size(directory, path):
            findings.add(CROISSANT, CROISSANT_PATH, f"The size of {path} is not that of the file.")
    dropped = directory / DROPPED_PATH
    kinds = [*layout.configs, "votes"]
    if dropped.is_file() and dropped.stat().st_size:
        kinds.append("dropped-stories")
    records = document.get("recordSet")
    found = [one.get("@id") for one in records if isinstance(one, dict)] if isinstance(records, list) else []
    if found != kinds:
        findings.add(CROISSANT, CROISSANT_PATH, f"The record sets should be {', '.join(kinds)}.")
    known = {str(one.get("@id")) for one in objects}
    for name in sorted(_sources(document.get("recordSet")) - known):
        findings.add(CROISSANT, CROISSANT_PATH, f"A field is read from {name}, which is not in distribution.")


def _size(directory: Path, path: str) -> str:
    return f"{(directory / path).stat().st_size} B"


def _sources(node: Any) -> set[str]:
    """The ids of the files from which fields are read."""
    if isinstance(node, list):
        return set().union(*(_sources(inner) for inner in node))
    if not isinstance(node, dict):
        return set()
    named = node.get("fileObject")
    found = {str(named.get("@id"))} if isinstance(named, dict) else set()
    return found.union(*(_sources(inner) for inner in node.values()))
