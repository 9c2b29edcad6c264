"""Compare ``instrument/`` with the votes, the questions and the installed protocol."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from annotation.protocols import get_protocol, is_installed
from publishing.facts import Tally
from publishing.files.rows import INSTRUMENT_PATH
from publishing.instrument import form_of, readable
from publishing.verification.description import Description, read_document
from publishing.verification.findings import Findings

CHECK = "instrument"
_KEYS = ["protocol", "forms", "consent", "pay", "test"]


def check(
    directory: Path, listed: dict[str, str], description: Description, tally: Tally, findings: Findings
) -> None:
    """Check that every version and language that votes name has its form, and what the forms say."""
    document = read_document(directory, INSTRUMENT_PATH, findings)
    if document is None:
        return
    try:
        problems, pages = [*_wrong(document, description, tally)], readable(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problems, pages = [f"It is not of the form of an instrument: {error!r:.200}"], {}
    for problem in problems:
        findings.add(CHECK, INSTRUMENT_PATH, problem)
    found = {path for path in listed if path.startswith("instrument/") and (directory / path).is_file()}
    here = found - {INSTRUMENT_PATH}
    for path in sorted(here | pages.keys()):
        if path not in here or (directory / path).read_bytes() != pages.get(path):
            findings.add(CHECK, path, f"It does not say what {INSTRUMENT_PATH} says.")


def _wrong(document: dict[str, Any], description: Description, tally: Tally) -> Iterator[str]:
    stated = description.document["protocol"]
    if list(document) != _KEYS or document["protocol"] != stated:
        yield f"The keys are not {', '.join(_KEYS)}, or the protocol is not that of release.json."
    places = [((form["version"], form["language"]), form["votes"]) for form in document["forms"]]
    if places != sorted(tally.forms.items()):
        yield "The forms are not one for each version and language that votes name, with their number."
    asked = [(one.key, one.options, one.against) for one in description.asked]
    is_here = is_installed(stated["name"], stated["version"])
    for form in document["forms"]:
        if [_defined(question) for question in form["questions"]] != asked:
            yield "The questions of a form are not those of release.json."
        is_known = is_here and form["version"] == 0 and form["language"] == "en"  # not a translation
        if is_known and form != {"votes": form["votes"], **form_of(get_protocol(stated["name"]), "en")}:
            yield "A form is not that of the installed protocol."


def _defined(question: dict[str, Any]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    options = {option["key"]: option["counts_against"] for option in question["options"]}
    return question["key"], tuple(options), tuple(key for key, against in options.items() if against)
