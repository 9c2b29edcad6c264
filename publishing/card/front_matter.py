"""The YAML block of the card, with configs and columns. Pure."""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from publishing.card.citation import NOT_VALIDATED, SPDX, TEST_RUN, marked
from publishing.card.contents import configs
from publishing.card.markdown import one_line
from publishing.facts import ReleaseFacts
from publishing.files.features import Type, declared
from publishing.files.rows import Layout
from publishing.results import per_item
from publishing.totals import Tally

_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


_HUB_LICENSES = {name.lower(): name.lower() for name in SPDX} | {
    "odbl-1.0": "odbl",
    "odc-by-1.0": "odc-by",
    "pddl-1.0": "pddl",
    "gpl-3.0-only": "gpl-3.0",
    "gpl-3.0-or-later": "gpl-3.0",
}
"""Licence names on the Hugging Face Hub (https://huggingface.co/docs/hub/repositories-licenses)."""


def front_matter(
    facts: ReleaseFacts, tally: Tally, layout: Layout, columns: Mapping[str, Mapping[str, Type]]
) -> str:
    """Return the YAML block, which ``datasets`` reads; ``columns`` are those of every file.

    No sizes are declared, because a wrong number of examples would break loading.
    """
    kept, results = tally.counts()["kept"], per_item(facts.protocol_name, facts.asked)
    loaded = configs(layout, results, also=columns)
    has_questions = bool(layout.question_sets)
    named = marked(one_line(facts.title), facts.filter_name)
    marks = {
        "theory-of-mind": has_questions,
        "test-run": facts.is_rehearsal,
        "not-validated-by-all": named.endswith(NOT_VALIDATED),
    }
    tags = [tag for tag, fits in marks.items() if fits]
    stated = one_line(facts.license).lower()
    licence = {"license_name": re.sub(r"[^a-z0-9.]+", "-", stated).strip("-.") or "see-the-card"}
    header: dict[str, Any] = {
        "license": _HUB_LICENSES.get(stated, "other"),
        **({} if stated in _HUB_LICENSES else licence),
        "language": [facts.story_language],
        "pretty_name": f"{TEST_RUN if facts.is_rehearsal else ''}{named}",
        **({"task_categories": ["question-answering", "multiple-choice"]} if has_questions else {}),
        "size_categories": [next((name for limit, name in _SIZES if kept < limit), "1M<n<10M")],
        **({"tags": tags} if tags else {}),
        "configs": [
            {
                "config_name": config,
                # `datasets` caches by the directory's name and this entry, not by the files: without a
                # difference here, it would return another release that was loaded before.
                "description": f"{facts.slug}, release {facts.number}, {facts.salt}",
                "data_files": [{"split": "test", "path": path}],
            }
            for config, path in loaded.items()
        ],
    }
    info = [
        {"config_name": config, "features": features}
        for config, path in loaded.items()
        if (features := declared(columns[path])) is not None
    ]
    if info:
        header["dataset_info"] = info
    dumped = yaml.safe_dump(header, allow_unicode=True, sort_keys=False, width=110)
    return f"---\n{dumped}---"
