"""The YAML block of the card: which files are which config, and what their columns are. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from publishing.card.markdown import one_line
from publishing.facts import ReleaseFacts, Tally
from publishing.files.rows import Layout, config_path

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


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
        "license": one_line(facts.license).lower(),
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
