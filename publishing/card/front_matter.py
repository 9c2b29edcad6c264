"""The YAML block of the card: which files are which config, and what their columns are. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from publishing.card.citing import SPDX
from publishing.card.markdown import one_line
from publishing.facts import ReleaseFacts, Tally
from publishing.files.rows import Layout, config_path

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


_HUB_LICENSES = {name.lower(): name.lower() for name in SPDX} | {
    "odbl-1.0": "odbl",
    "odc-by-1.0": "odc-by",
    "pddl-1.0": "pddl",
    "gpl-3.0-only": "gpl-3.0",
    "gpl-3.0-or-later": "gpl-3.0",
}
"""The names of licences on the Hugging Face Hub (https://huggingface.co/docs/hub/repositories-licenses)."""


def _license(stated: str) -> dict[str, str]:
    """The licence as the Hub takes it: one of its names, or ``other`` with a name in small letters."""
    name = one_line(stated).lower()
    if name in _HUB_LICENSES:
        return {"license": _HUB_LICENSES[name]}
    plain = re.sub(r"[^a-z0-9.]+", "-", name).strip("-.")
    return {"license": "other", "license_name": plain or "see-the-card"}


def front_matter(
    facts: ReleaseFacts,
    tally: Tally,
    layout: Layout,
    features: Mapping[str, Sequence[Mapping[str, Any]] | None],
) -> str:
    """What ``datasets`` reads of the card; ``features`` are the columns of every config.

    It declares no sizes: a wrong number of examples would keep the data from loading.
    """
    kept = tally.counts()["kept"]
    has_questions = bool(layout.question_sets)
    header: dict[str, Any] = {
        **_license(facts.license),
        "language": ["en"],
        "pretty_name": one_line(facts.title),
        **({"task_categories": ["question-answering", "multiple-choice"]} if has_questions else {}),
        "size_categories": [next((name for limit, name in _SIZES if kept < limit), "1M<n<10M")],
        **({"tags": ["theory-of-mind"]} if has_questions else {}),
        "configs": [
            {
                "config_name": config,
                # `datasets` caches by the directory's name and this entry, not by the files: without
                # something that differs, it would answer with another release loaded before.
                "description": f"{facts.slug}, release {facts.number}, {facts.salt}",
                "data_files": [{"split": "test", "path": config_path(config)}],
            }
            for config in layout.configs
        ],
    }
    declared = [
        {"config_name": config, "features": [dict(column) for column in columns]}
        for config in layout.configs
        if (columns := features[config]) is not None
    ]
    if declared:
        header["dataset_info"] = declared
    dumped = yaml.safe_dump(header, allow_unicode=True, sort_keys=False, width=110)
    return f"---\n{dumped}---"
