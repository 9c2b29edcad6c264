"""What ``release.json`` says about a release, as far as the other checks build on it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from publishing.facts import AskedQuestion
from publishing.files.rows import Layout, layout_for
from publishing.filters import FILTERS, StoryFilter
from publishing.verifying.findings import Findings

RELEASE_JSON = "release.json"
_KEYS = [
    "study", "title", "number", "environment", "study_state", "license", "protocol", "questions", "filter",
    "salt", "counts", "code_version", "created",
]  # fmt: skip
_TEXTS = ("study", "title", "environment", "study_state", "license", "salt", "code_version", "created")
_COUNTS = [
    "stories", "kept", "dropped", "incomplete", "votes", "annotators", "dropped_by_question",
    "dropped_by_reason",
]  # fmt: skip
OLD = (
    "The release names no questions: an older version of tomannot made it, before releases recorded "
    "their rule. Nothing can be recomputed from it, so only its hashes and identifiers have been checked."
)


@dataclass(frozen=True, slots=True)
class Description:
    """The parts of ``release.json`` by which the other files can be recomputed."""

    document: Mapping[str, Any]
    layout: Layout
    asked: tuple[AskedQuestion, ...]
    rule: StoryFilter
    votes_per_story: int
    salt: str
    counts: Mapping[str, Any]

    @property
    def decides_by_itself(self) -> bool:
        """Whether the verdicts follow from the votes, and do not depend on each story as well."""
        return all(question.options for question in self.asked)


def read(directory: Path, findings: Findings) -> Description | None:
    """The description, or None when it cannot be used; what is wrong is among the findings."""
    document = read_document(directory, RELEASE_JSON, findings)
    if document is None:
        return None
    if "questions" not in document:
        findings.add("schema", RELEASE_JSON, OLD)
        return None
    wrong = list(_wrong(document))
    for problem in wrong:
        findings.add("schema", RELEASE_JSON, problem)
    if wrong:
        return None
    rule, parameters = FILTERS[document["filter"]["name"]], document["filter"]["parameters"]
    votes = parameters["votes_per_story"]
    described = {"name": rule.name, "rule": rule.sentence(votes), "parameters": rule.parameters(votes)}
    if document["filter"] != described:
        findings.add("schema", RELEASE_JSON, f"filter is described otherwise than {rule.name} is defined.")
    return Description(
        document,
        layout_for(document["protocol"]["name"]),
        tuple(
            AskedQuestion(
                question["key"], question["title"], tuple(question["options"]), tuple(question["against"])
            )
            for question in document["questions"]
        ),
        rule,
        votes,
        document["salt"],
        document["counts"],
    )


def read_document(directory: Path, path: str, findings: Findings) -> dict[str, Any] | None:
    """The object in a JSON file, or None with a finding."""
    try:
        document = json.loads((directory / path).read_bytes(), parse_constant=_refuse)
    except FileNotFoundError:
        findings.add("schema", path, "The file is missing.")
        return None
    except (ValueError, RecursionError) as error:
        findings.add("schema", path, f"This is not JSON: {error}.")
        return None
    if not isinstance(document, dict):
        findings.add("schema", path, "This is not a JSON object.")
        return None
    return document


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not a number that JSON has")


def _wrong(document: Mapping[str, Any]) -> list[str]:
    """What keeps a description from being used, as sentences."""
    if list(document) != _KEYS:
        return [f"The keys are {', '.join(document)}; they should be {', '.join(_KEYS)}."]
    wrong = [
        f"{key} should be a text that is not empty."
        for key in _TEXTS
        if not isinstance(document[key], str) or not document[key]
    ]
    if not is_count(document["number"]) or document["number"] < 1:
        wrong.append("number should be a whole number from 1 on.")
    if document["environment"] not in ("live", "rehearsal"):
        wrong.append("environment should be live or rehearsal.")
    protocol = document["protocol"]
    if (
        not isinstance(protocol, dict)
        or not _texts(list(protocol.values()))
        or set(protocol)
        != {
            "name",
            "version",
        }
    ):
        wrong.append("protocol should have a name and a version.")
    if not isinstance(document["questions"], list) or not document["questions"]:
        wrong.append("questions should be a list with at least one question.")
    elif not all(_is_question(question) for question in document["questions"]):
        wrong.append("Each of questions should have key, title, and the lists options and against.")
    counts = document["counts"]
    if not isinstance(counts, dict) or list(counts) != _COUNTS:
        wrong.append(f"counts should have {', '.join(_COUNTS)}.")
    return wrong + _wrong_filter(document["filter"])


def _wrong_filter(described: Any) -> list[str]:
    if not isinstance(described, dict) or not isinstance(described.get("parameters"), dict):
        return ["filter should have a name, a rule and parameters."]
    if not isinstance(described.get("name"), str) or described["name"] not in FILTERS:
        return [f"filter: {described.get('name')} is none of {', '.join(sorted(FILTERS))}."]
    votes = described["parameters"].get("votes_per_story")
    if not is_count(votes) or votes < 1:
        return ["filter: votes_per_story should be a whole number from 1 on."]
    return []


def _is_question(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and list(value) == ["key", "title", "options", "against"]
        and _texts([value["key"], value["title"]])
        and all(isinstance(value[name], list) and _texts(value[name]) for name in ("options", "against"))
        and set(value["against"]) <= set(value["options"])
    )


def _texts(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def is_count(value: Any) -> bool:
    """Whether it is a whole number from 0 on."""
    return type(value) is int and value >= 0
