"""Reading ``release.json``, on which the other checks build."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from annotation.importing.rows import hash_of
from annotation.protocols import UnknownProtocol, get_protocol
from publishing.comparison.changes import RECORDED
from publishing.facts import AskedQuestion, People, ReleaseFacts, Statement
from publishing.files.rows import RELEASE_JSON, layout_for
from publishing.filters import FILTER_NAMES, get_filter
from publishing.queries import asked_question
from publishing.verification.release import CheckedRelease, Description
from publishing.verification.schema import (
    ANYTHING,
    COUNT,
    FLAG,
    MOMENT,
    NAME,
    ORDINAL,
    TEXT,
    Kind,
    Shape,
    misfit,
    one_of,
    or_null,
)

_AS_STATED = (
    "title", "description", "environment", "license", "url", "story_language", "number", "code_version",
    "study_state", "sources", "plan", "salt", "medians",
)  # fmt: skip
"""Facts by the names of their keys."""
_MEDIAN = re.compile("[0-9a-f]{16}")
_RECORDED = [*RECORDED, "manifest_sha256"]
_PREVIOUS = Kind(
    f"null or an object with {', '.join(_RECORDED)}",
    lambda value: value is None or (isinstance(value, dict) and list(value) == _RECORDED),
)
_PLANNED: dict[str, Shape] = {
    "sha256": NAME,
    "fixed_at": MOMENT,
    "document": Kind("an object with filter", lambda value: isinstance(value, dict) and "filter" in value),
    "deviations": [{"at": MOMENT, "what": NAME}],
}
_MEDIANS = Kind(
    "an object with 16 hexadecimal digits for every question set",
    lambda value: isinstance(value, dict) and all(_MEDIAN.fullmatch(str(found)) for found in value.values()),
)
_PARAMETERS = Kind(
    "an object with the whole number votes_per_story, and with a greater most_votes if any",
    lambda value: (
        isinstance(value, dict)
        and ORDINAL.fits(value.get("votes_per_story"))
        and ("most_votes" not in value or ORDINAL.fits(value["most_votes"]))
        and value.get("most_votes", value["votes_per_story"] + 1) > value["votes_per_story"]
    ),
)
_COUNTS = (
    "stories", "kept", "dropped", "incomplete", "votes", "annotators", "dropped_by_question",
    "dropped_by_reason",
)  # fmt: skip
_COUNTED = Kind(
    f"an object with {', '.join(_COUNTS)}, and with revised if there are old versions",
    lambda value: isinstance(value, dict) and [name for name in value if name != "revised"] == [*_COUNTS],
)
_DOCUMENT: dict[str, Shape] = {
    "study": NAME,
    "title": NAME,
    "description": TEXT,
    "statement": {item.name: [TEXT] if item.name == "creators" else TEXT for item in fields(Statement)},
    "number": ORDINAL,
    "environment": one_of(("live", "rehearsal")),
    "study_state": NAME,
    "license": NAME,
    "url": TEXT,
    "story_language": NAME,
    "protocol": {"name": TEXT, "version": TEXT},
    "questions": [
        {"key": TEXT, "title": TEXT, "options": [TEXT], "against": [TEXT], "scale": [TEXT]}
        | {"in_words": FLAG, "optional": FLAG}
    ],
    "filter": {"name": one_of(FILTER_NAMES), "rule": ANYTHING, "parameters": _PARAMETERS},
    "salt": NAME,
    "medians": _MEDIANS,
    "counts": _COUNTED,
    "sources": [{"file": TEXT, "sha256": TEXT, "license": TEXT, "stories": COUNT}],
    "plan": or_null(_PLANNED),
    "previous": _PREVIOUS,
    "code_version": NAME,
    "created": MOMENT,
}
OLD = (
    "An older version of tomannot built the release; its release.json does not record {missing}. Nothing can "
    "be recomputed from it, so only hashes and identifiers were checked."
)


def read(release: CheckedRelease) -> Description | None:
    """Read the description. Return None, with findings, if it cannot be used."""
    document = release.document(RELEASE_JSON)
    if document is None:
        return None
    if missing := [key for key in _DOCUMENT if key not in document]:
        release.report("schema", RELEASE_JSON, OLD.format(missing=", ".join(missing)))
        return None
    asked = document["questions"] if isinstance(document["questions"], list) else []
    usual = {"scale": [], "in_words": False, "optional": False}
    full = [
        {name: one[name] for name in one if name not in usual} | usual | one if isinstance(one, dict) else one
        for one in asked
    ]
    if isinstance(document["statement"], dict):  # older versions did not ask for every item
        items = (item.name for item in fields(Statement))
        document["statement"] = dict.fromkeys(items, "") | document["statement"]
    problem = misfit({**document, "questions": full if asked else document["questions"]}, _DOCUMENT)
    if not problem and not document["questions"]:
        problem = "questions is empty."
    scales = [one["options"] for one in full if not problem and one["scale"]]
    if any(len(options) < 2 or not all(map(str.isdecimal, options)) for options in scales):
        problem = "The options of a scale in questions are not its numbers."
    if not problem and any(not set(one["against"]) <= set(one["options"]) for one in document["questions"]):
        problem = "One of questions counts an option against a story that it does not have."
    if problem:
        release.report("schema", RELEASE_JSON, problem)
        return None
    parameters = document["filter"]["parameters"]
    votes, most = parameters["votes_per_story"], parameters.get("most_votes")
    rule = get_filter(document["filter"]["name"], most)
    described = {"name": rule.name, "rule": rule.sentence(votes), "parameters": rule.parameters(votes)}
    if document["filter"] != described:
        release.report("schema", RELEASE_JSON, f"filter does not match the definition of {rule.name}.")
    for problem in _wrong_plan(document["plan"], rule.name):
        release.report("schema", RELEASE_JSON, problem)
    facts = ReleaseFacts(
        **{name: document[name] for name in _AS_STATED},
        slug=document["study"],
        protocol_name=document["protocol"]["name"],
        protocol_version=document["protocol"]["version"],
        protocol_title="",
        asked=tuple(
            AskedQuestion(**one | {name: tuple(one[name]) for name in ("options", "against", "scale")})
            for one in full
        ),
        filter_name=rule.name,
        votes_per_story=votes,
        most_votes=rule.most_votes,
        created=datetime.fromisoformat(document["created"]),
        story_cap=0,
        pay_rate=None,
        currency="",
        people=People(consented=0, attempted=None, passed=None),
        statement=Statement(**document["statement"] | {"creators": tuple(document["statement"]["creators"])}),
    )
    return Description(document, layout_for(facts.protocol_name), facts)


def _wrong_plan(plan: Mapping[str, Any] | None, filter_name: str) -> Iterator[str]:
    """Yield what does not agree in a plan: its hash, and another filter that is not among the deviations."""
    if plan is None:
        return
    if hash_of(plan["document"]) != plan["sha256"]:
        yield "The plan does not have the SHA-256 that is stated for it."
    told = any(one["what"].startswith("another filter: ") for one in plan["deviations"])
    if told == (plan["document"]["filter"] == filter_name):
        yield "The deviations from the plan state wrongly whether the filter is the planned one."


def check_questions(release: CheckedRelease, description: Description) -> None:
    """Compare the questions with those of the installed protocol of that name and version.

    Titles are not compared: a release has them in the language of its installation.
    """
    stated = description.document["protocol"]
    try:
        protocol = get_protocol(stated["name"], stated["version"])
    except UnknownProtocol as error:
        release.skip(f"What counts against a story was taken from {RELEASE_JSON}: {error}")
        return
    expected = [asked_question(question) for question in protocol.questions]
    which = f"the protocol {protocol.name}, version {protocol.version}"
    if [one.key for one in description.facts.asked] != [one.key for one in expected]:
        keys = ", ".join(one.key for one in expected)
        release.report("decisions", RELEASE_JSON, f"questions are not those of {which}: {keys}.")
        return
    for found, wanted in zip(description.facts.asked, expected, strict=True):
        if (found.options, found.against, bool(found.scale)) != (
            wanted.options,
            wanted.against,
            bool(wanted.scale),
        ):
            problem = (
                f"The question {found.key} has {_options(found)}; in {which}, it has {_options(wanted)}."
            )
            release.report("decisions", RELEASE_JSON, problem)


def _options(asked: AskedQuestion) -> str:
    options, against = ", ".join(asked.options) or "none", ", ".join(asked.against) or "none"
    kind = "numbers" if asked.scale else "options"
    return f"the {kind} {options} (against a story: {against})"
