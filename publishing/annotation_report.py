"""The annotation report: how people were recruited, trained, timed, checked and paid, as JSON. Pure.

Its sections answer questions of the Human Evaluation Datasheet 2.0 (Shimorina and Belz 2022), as far as the
study's own records do.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from publishing.facts import ReleaseFacts
from publishing.filters import Outcome
from publishing.statistics.quartiles import quartiles
from publishing.totals import MAX_SECONDS, Tally

REPORT_PATH = "annotation-report.json"
QUESTIONS = {
    "items": "3.1.1", "evaluators": "3.2.1", "recruitment": "3.2.3", "training": "3.2.4",
    "characteristics": "3.2.5", "preregistration": "3.3.1", "responses": "3.3.2",
    "quality_assurance": "3.3.3", "time": "3.3.5", "pay": "3.2.2", "agreement": "4.3.11",
    "ethics": "5.1, 5.2, 5.3",
}  # fmt: skip
"""The sections, each with the numbers of its questions."""
FOLLOWS = {
    "name": "Human Evaluation Datasheet 2.0 (Shimorina and Belz, HumEval 2022, pages 54-75)",
    "url": "https://aclanthology.org/2022.humeval-1.6",
    "questions": QUESTIONS,
}
_COEFFICIENTS = ("percent", "krippendorff_alpha", "gwet_ac1")
Section = Mapping[str, Any]


def document(
    facts: ReleaseFacts, tally: Tally, instrument: Section, statistics: Section, records: Section
) -> dict[str, Any]:
    """Return the content of the report.

    ``instrument`` and ``statistics`` are the contents of the release's ``instrument.json`` and
    ``statistics.json``; ``records`` is :func:`known_to_the_study`, which follows from no other file.
    """
    outcomes, statement, plan = tally.outcomes, facts.statement, facts.plan
    joint = statistics.get("agreement_on_validity")
    agreement = {**statistics["agreement"], **({"agreement_on_validity": joint} if joint else {})}
    parts: dict[str, Section | None] = {
        "items": {
            "complete": tally.complete,
            "incomplete": outcomes[Outcome.INCOMPLETE],
            "votes": tally.votes,
        },
        "evaluators": {"with_counted_votes": len(tally.annotators)},
        "recruitment": {"stated": statement.platform},
        "training": {
            "instructions": [
                {name: form[name] for name in ("version", "language", "votes")}
                | {"worked_examples": sum(map(len, form["examples"].values()))}
                for form in instrument["forms"]
            ]
        },
        "characteristics": {"stated": statement.demographics},
        "preregistration": plan
        and {"sha256": plan["sha256"], "at": plan["fixed_at"], "deviations": len(plan["deviations"])},
        "responses": {"form": "instrument/", "first_vote": tally.first_vote, "last_vote": tally.last_vote},
        "quality_assurance": {},
        "time": {
            "seconds_per_item": quartiles(tally.seconds),
            "counted_up_to": MAX_SECONDS,
            "person_hours": tally.person_hours,
        },
        "pay": {"per_hour_stated": instrument["pay"]},
        "agreement": {name: {key: one[key] for key in _COEFFICIENTS} for name, one in agreement.items()},
        "ethics": {
            "review": statement.ethics,
            "consent_texts": [consent["version"] for consent in instrument["consent"]],
            "sensitive_information": statement.sensitive_information,
        },
    }
    whole = {name: None if one is None else {**one, **records.get(name, {})} for name, one in parts.items()}
    return {"follows": FOLLOWS, **whole}


def known_to_the_study(facts: ReleaseFacts) -> dict[str, Section]:
    """Return the parts of the sections that only the study's records hold."""
    people, known = facts.people, facts.recruited or {}
    return {
        "evaluators": {"arrived": people.visited, "consented": people.consented},
        "recruitment": {name: known.get(name) for name in ("campaigns", "people_by_link")},
        "training": {
            "rounds": known.get("rounds"), "pass_marks": list(people.marks), "attempted": people.attempted,
            "passed": people.passed, "admitted_through": facts.admitted_through,
        },
        "characteristics": {"intake": facts.intake},
        "quality_assurance": {
            "hidden_checks": facts.checks and asdict(facts.checks),
            "spot_checks": facts.spot_checks and asdict(facts.spot_checks),
            "votes_not_counted": dict(facts.surplus),
            "people_with_excluded_votes": facts.excluded_people,
        },
        "pay": {"achieved": known.get("achieved")},
    }  # fmt: skip
