"""The REST API of studies."""

from __future__ import annotations

from typing import Any

from tests.doubles.prolific import rules
from tests.doubles.prolific.answers import Answer, Request, found, moment, page_of
from tests.doubles.prolific.platform import Platform, Study
from tests.doubles.prolific.rules import Refused


def _shown(platform: Platform, study: Study) -> dict[str, Any]:
    return {
        **study.fields,
        "id": study.id,
        "status": study.status,
        "date_created": moment(study.created),
        "published_at": moment(study.published_at),
        "places_taken": study.taken,
        "number_of_submissions": len(study.submissions),
        "currency_code": platform.currency,
        "is_ready_to_publish": study.status == "UNPUBLISHED",
    }


def list_studies(platform: Platform, request: Request) -> Answer:
    names = ("id", "name", "internal_name", "status", "total_available_places", "places_taken", "reward")
    wanted = request.query.get("state", "").strip("()").lower().split("|")
    shown = [
        {name: _shown(platform, study)[name] for name in names}
        for study in platform.studies.values()
        if wanted == [""] or study.status.lower() in wanted
    ]
    return Answer(page_of(shown, request, size=len(shown) or 1))


def create_study(platform: Platform, request: Request) -> Answer:
    fields = rules.new_study(request.body, insecure=platform.insecure)
    for chosen in fields["filters"]:
        if chosen["filter_id"].startswith("participant_group"):
            for group in chosen["selected_values"]:
                found(platform.groups, group)
    study = Study(platform.new_id("study"), fields, created=platform.clock.now())
    platform.studies[study.id] = study
    return Answer(_shown(platform, study), 201)


def read_study(platform: Platform, request: Request, study_id: str) -> Answer:
    return Answer(_shown(platform, found(platform.studies, study_id)))


def change_study(platform: Platform, request: Request, study_id: str) -> Answer:
    study: Study = found(platform.studies, study_id)
    if study.status != "UNPUBLISHED":
        fixed = request.body.keys() - rules.AFTER_PUBLISHING - {"completion_codes"}
        if fixed:
            raise Refused({name: ["Cannot be changed once published."] for name in sorted(fixed)})
        if request.body.get("total_available_places", study.places) < study.places:
            raise Refused({"total_available_places": ["Can only be increased."]})
    changed = {**study.fields, **request.body}
    if study.status != "UNPUBLISHED" and "completion_codes" in request.body:
        changed["completion_codes"] = rules.with_slots(study.fields, request.body["completion_codes"])
    rules.check_study(changed, insecure=platform.insecure)
    grows = changed["total_available_places"] > study.places
    study.fields = changed
    if grows and study.status in ("COMPLETED", "AWAITING REVIEW"):
        study.stopped = False
        platform.move_study(study, "ACTIVE")
    return Answer(_shown(platform, study))


def delete_study(platform: Platform, request: Request, study_id: str) -> Answer:
    if found(platform.studies, study_id).status != "UNPUBLISHED":
        raise Refused("Published studies cannot be deleted.")
    del platform.studies[study_id]
    return Answer(None, 204)


def move_study(platform: Platform, request: Request, study_id: str) -> Answer:
    study: Study = found(platform.studies, study_id)
    action = request.body.get("action")
    status = rules.TRANSITIONS.get((study.status, action))
    if status is None:
        known = "Not a valid choice." if action not in rules.ACTIONS else f"The study is {study.status}."
        raise Refused({"action": [f"{action}: {known}"]})
    if action == "PUBLISH":
        platform.publish(study)
    study.stopped = action == "STOP"
    platform.move_study(study, status)
    return Answer(_shown(platform, study))


def study_cost(platform: Platform, request: Request, study_id: str) -> Answer:
    study: Study = found(platform.studies, study_id)
    mine = {submission.id for submission in study.submissions}
    paid = [entry for entry in platform.ledger if entry.submission in mine]
    kinds = {
        "rewards": [e for e in paid if e.kind != "bonus"],
        "bonuses": [e for e in paid if e.kind == "bonus"],
    }
    return Answer({kind: _breakdown(platform, [e.cents for e in made]) for kind, made in kinds.items()})


def _breakdown(platform: Platform, payments: list[int]) -> dict[str, Any]:
    costs = [platform.cost(cents) for cents in payments]
    sums = {"rewards": sum(payments), "fees": sum(c[0] for c in costs), "tax": sum(c[1] for c in costs)}
    return {name: {"amount": amount, "currency": platform.currency} for name, amount in sums.items()}


def calculate_cost(platform: Platform, request: Request) -> Answer:
    reward, places = request.body.get("reward"), request.body.get("total_available_places")
    if not isinstance(reward, int) or not isinstance(places, int) or reward < 1 or places < 1:
        raise Refused({"reward": ["A valid positive integer is required."]})
    return Answer({"total_cost": places * (reward + sum(platform.cost(reward)))})
