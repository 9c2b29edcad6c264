"""The human baseline in a release: people's answers, from the released study that asked them. Files only."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from annotation.protocols.multiple_choice import QUESTION, key_of
from publishing.files import jsonl, rows
from publishing.files.directory import MANIFEST, DirectoryWriter, file_facts
from publishing.statistics.accuracy import AnsweredItem, accuracy

VOTES, ACCURACY = rows.BASELINE_VOTES_PATH, f"{rows.BASELINE}accuracy.json"


@dataclass(frozen=True, slots=True)
class Baseline:
    """The directory of a baseline study's release, and how its questions were drawn."""

    directory: Path
    drawn: Mapping[str, Any]


def write_baseline(
    writer: DirectoryWriter, layout: rows.Layout, baseline: Baseline | None
) -> dict[str, Any] | None:
    """Copy the answers to questions that the release has, word for word. Return the content of ACCURACY.

    Write nothing and return None if there are no such questions.
    """
    if baseline is None:
        return None
    kept = jsonl.rows(baseline.directory / rows.config_path(rows.STORY_CONFIG))
    items = {row["story_id"]: row["item"] for row in kept}
    asked = _questions(writer.directory, layout, items)
    same = {id_ for id_, row in asked.items() if items[id_].items() <= row.items()}
    if not same:
        return None
    with writer.open(VOTES) as file, open(baseline.directory / rows.VOTES_PATH, "rb") as votes:
        file.writelines(line for line in votes if jsonl.story_id(line).decode() in same)
    described = orjson.loads((baseline.directory / "release.json").read_bytes())
    source = {
        **{name: described[name] for name in ("study", "number", "url")},
        "manifest_sha256": file_facts(baseline.directory, MANIFEST).sha256,
        "votes_per_question": described["filter"]["parameters"]["votes_per_story"],
        "drawn": dict(baseline.drawn),
    }
    found = document(writer.directory, layout, source)
    writer.write(ACCURACY, jsonl.document(found))
    return found


def document(directory: Path, layout: rows.Layout, source: Mapping[str, Any]) -> dict[str, Any]:
    """Compute the content of ACCURACY from VOTES. Raise ``ValueError`` for unsound answers."""
    given: dict[str, dict[str, str]] = defaultdict(dict)
    for row in jsonl.rows(directory / VOTES):
        if row["annotator"] in given[row["story_id"]]:
            raise ValueError(f"{row['annotator']} answered {row['story_id']} twice.")
        given[row["story_id"]][row["annotator"]] = row[QUESTION]
    asked = _questions(directory, layout, given)
    items = []
    for id_, answers in given.items():
        if id_ not in asked:
            raise ValueError(f"{id_} is not a question of this release.")
        keys = [key_of(label) for label in asked[id_]["choices"]["label"]]
        if not set(answers.values()) <= set(keys):
            raise ValueError(f"An answer to {id_} is not one of its choices.")
        config, core, right = (asked[id_][name] for name in ("config", "core_id", "answerKey"))
        items.append(AnsweredItem(config, core, key_of(right), len(keys), Counter(answers.values())))
    found = {
        "source": dict(source),
        "annotators": len({person for answers in given.values() for person in answers}),
        **accuracy(items, votes_per_item=source["votes_per_question"]),
    }
    as_written: dict[str, Any] = orjson.loads(jsonl.document(found))
    return as_written


def _questions(directory: Path, layout: rows.Layout, ids: Collection[str]) -> dict[str, rows.Row]:
    found = {}
    for one in layout.question_sets:
        stories = jsonl.rows(directory / rows.config_path(rows.STORY_CONFIG))
        for story, row in zip(stories, jsonl.rows(directory / rows.config_path(one.config)), strict=True):
            if row["id"] in ids:
                found[row["id"]] = row | {"config": one.config, "core_id": story["core_id"]}
    return found
