"""Compare the instrument and the annotation report with the other files and the installed protocol."""

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from jinja2 import UndefinedError

from annotation.intake import FEWEST_IN_GROUP
from annotation.protocols import get_protocol, is_installed
from publishing.annotation_report import REPORT_PATH, Section, document
from publishing.facts import ReleaseFacts, SpotChecks
from publishing.files.rows import INSTRUMENT_PATH, STATISTICS_JSON
from publishing.instrument import form_of, readable
from publishing.statistics.quartiles import QUARTILES
from publishing.totals import Tally
from publishing.verification.release import CheckedRelease, Description
from publishing.verification.schema import COUNT, NAME, NUMBER_OR_NULL, TEXT, Kind, Shape, misfit, or_null
from publishing.verification.statistics import differences

REPORT, INSTRUMENT = "annotation-report", "instrument"
_KEYS = ["protocol", "forms", "consent", "pay", "test"]
_AMOUNT = Kind("an amount", lambda value: re.fullmatch(r"\d+\.\d\d", str(value)) is not None)
_KINDS: dict[str, Shape] = {
    "name": NAME, "texts": [TEXT], "count": COUNT, "count?": NUMBER_OR_NULL, "cents": _AMOUNT,
    "cents?": or_null(_AMOUNT), "quartiles?": or_null(dict.fromkeys(QUARTILES, _AMOUNT)),
}  # fmt: skip


def _object(said: str) -> dict[str, Shape]:
    """Return the shape of an object from the name and kind of each of its fields."""
    return {name: _KINDS[kind] for name, _colon, kind in (field.partition(":") for field in said.split())}


_CAMPAIGN = (
    "platform:name purpose:name countries:texts reward:cents screen_out_reward:cents? "
    "currency:name minutes_expected:count people:count"
)
_CHECKS = _object("checks:count answers:count failed:count warned:count")
_RULES = _object("every:count minimum:count warn_percent:count? suspend_percent:count?")
_ROUND = "kind:name stories:count attempts:count answers:count enough:count must:count"
_PAID = (
    "purpose:name currency:name paid:count rejected:count waiting:count "
    "per_visit:quartiles? per_hour:quartiles?"
)
ONLY_HERE: dict[str, dict[str, Shape]] = {
    "evaluators": _object("arrived:count? consented:count"),
    "recruitment": {
        "campaigns": or_null([_object(_CAMPAIGN)]), "people_by_link": NUMBER_OR_NULL,
    },
    "training": {
        "rounds": or_null([_object(_ROUND)]),
        "pass_marks": [TEXT], "attempted": NUMBER_OR_NULL, "passed": NUMBER_OR_NULL, "admitted_through": TEXT,
    },
    "characteristics": {
        "intake": Kind("null or groups, none too small", lambda value: value is None or _are_groups(value))
    },
    "quality_assurance": {
        "hidden_checks": or_null({**_CHECKS, "rules": _RULES}),
        "spot_checks": or_null(dict.fromkeys([item.name for item in fields(SpotChecks)], COUNT)),
        "votes_not_counted": Kind("counts", lambda value: all(map(COUNT.fits, value.values()))),
        "people_with_excluded_votes": COUNT,
    },
    "pay": {"achieved": or_null([_object(_PAID)])},
}  # fmt: skip
"""The parts that follow from no other file."""


def _are_groups(intake: Section) -> bool:
    least, found = intake["smallest_group"], intake["people"].values()
    are_large = all(said is None or (len(said) > 1 and min(said.values()) >= least) for said in found)
    return bool(least >= FEWEST_IN_GROUP and are_large)


def check_report(release: CheckedRelease, facts: ReleaseFacts, tally: Tally) -> Section | None:
    """Check the report, if the files that it repeats can be read. Return its intake groups."""
    paths = (REPORT_PATH, INSTRUMENT_PATH, STATISTICS_JSON)
    stated, shown, statistics = map(release.document, paths)
    if stated is None or shown is None or statistics is None:
        return None
    try:
        problems = [*_wrong_report(stated, facts, tally, shown, statistics)]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problems = [f"It cannot be generated again: {error!r:.200}"]
    for problem in problems:
        release.report(REPORT, REPORT_PATH, problem)
    return None if problems else stated["characteristics"]["intake"]


def _wrong_report(
    stated: Section, facts: ReleaseFacts, tally: Tally, shown: Section, statistics: Section
) -> Iterator[str]:
    told = {section: {key: stated[section][key] for key in keys} for section, keys in ONLY_HERE.items()}
    if problem := misfit(told, {**ONLY_HERE}):
        yield problem
        return
    yield from differences(stated, document(facts, tally, shown, statistics, told))
    test, people = told["training"], told["evaluators"]
    if people["consented"] < len(tally.annotators) or (test["passed"] or 0) > (test["attempted"] or 0):
        yield "More people voted than consented, or more passed the test than attempted it."


def check_instrument(release: CheckedRelease, description: Description, tally: Tally) -> None:
    """Check that every version and language that votes name has its form, and what the forms say."""
    document = release.document(INSTRUMENT_PATH)
    if document is None:
        return
    try:
        problems, pages = [*_wrong_instrument(document, description, tally)], readable(document)
    except (KeyError, TypeError, ValueError, AttributeError, UndefinedError) as error:
        problems, pages = [f"It is not of the form of an instrument: {error!r:.200}"], {}
    for problem in problems:
        release.report(INSTRUMENT, INSTRUMENT_PATH, problem)
    found = {path for path in release.listed if path.startswith("instrument/") and release.has(path)}
    here = found - {INSTRUMENT_PATH}
    for path in sorted(here | pages.keys()):
        if path not in here or (release.directory / path).read_bytes() != pages.get(path):
            release.report(INSTRUMENT, path, f"It does not match {INSTRUMENT_PATH}.")


def _wrong_instrument(document: dict[str, Any], description: Description, tally: Tally) -> Iterator[str]:
    stated = description.document["protocol"]
    if list(document) != _KEYS or document["protocol"] != stated:
        yield f"The keys are not {', '.join(_KEYS)}, or the protocol is not that of release.json."
    places = [((form["version"], form["language"]), form["votes"]) for form in document["forms"]]
    if places != sorted(tally.forms.items()):
        yield "The forms are not one for each version and language that votes name, with their number."
    asked = [(one.key, one.options, one.against) for one in description.facts.asked]
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
