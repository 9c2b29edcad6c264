"""Is what counts against a story what the protocol says, and not only what ``release.json`` says of it?"""

from __future__ import annotations

from annotation.protocols import UnknownProtocol, get_protocol
from annotation.protocols.base import Question
from publishing.verifying.decisions import CHECK
from publishing.verifying.description import RELEASE_JSON, Description
from publishing.verifying.findings import Findings

Asked = tuple[str, tuple[str, ...], tuple[str, ...]]


def check(description: Description, findings: Findings) -> None:
    """Compare the questions with those of the installed protocol of that name and version.

    Their titles are not compared: a release has them in the language of the installation that made it.
    """
    stated = description.document["protocol"]
    try:
        protocol = get_protocol(stated["name"], stated["version"])
    except UnknownProtocol as error:
        findings.skip(f"What counts against a story has been taken from {RELEASE_JSON}: {error}")
        return
    expected = {question.key: _defined(question) for question in protocol.questions}
    found: dict[str, Asked] = {one.key: (one.key, one.options, one.against) for one in description.asked}
    which = f"the protocol {protocol.name}, version {protocol.version}"
    if list(found) != list(expected) or len(description.asked) != len(found):
        findings.add(CHECK, RELEASE_JSON, f"questions are not those of {which}: {', '.join(expected)}.")
        return
    for key, question in expected.items():
        if found[key] != question:
            problem = (
                f"The question {key} has the options {_listed(found[key][1])}, and against a story count "
                f"{_listed(found[key][2])}; in {which}, it has {_listed(question[1])}, and against a story "
                f"count {_listed(question[2])}."
            )
            findings.add(CHECK, RELEASE_JSON, problem)


def _defined(question: Question) -> Asked:
    options = question.options if question.is_static else ()
    against = tuple(option.key for option in options if option.counts_against)
    return question.key, tuple(option.key for option in options), against


def _listed(keys: tuple[str, ...]) -> str:
    return ", ".join(keys) or "none"
