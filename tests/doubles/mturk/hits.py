"""HIT types and HITs: making, extending, expiring, listing, deleting."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from tests.doubles.mturk import errors, questions, requirements
from tests.doubles.mturk.account import require_funds
from tests.doubles.mturk.registry import Params, operation, page
from tests.doubles.mturk.rows import Hit, HitType
from tests.doubles.mturk.world import World

DURATION = LIFETIME = (30, 31_536_000)  # seconds
AUTO_APPROVAL = (0, 2_592_000)
LONGEST = {"Title": 128, "Description": 2000, "Keywords": 1000, "RequesterAnnotation": 255}
MANY_ASSIGNMENTS = 10  # from here on MTurk takes a higher fee, and nobody may slip over the border later


def within(params: Params, name: str, bounds: tuple[int, int], default: int | None = None) -> int:
    value = params.get(name, default)
    if value is None or not bounds[0] <= value <= bounds[1]:
        raise errors.invalid_value(name, value)
    return int(value)


def check_lengths(params: Params) -> None:
    for name, longest in LONGEST.items():
        if len(params.get(name, "")) > longest:
            raise errors.invalid_value(name, params[name])


def find_or_make_type(world: World, params: Params) -> HitType:
    """Equal values are the same type, whatever the order of the requirements."""
    check_lengths(params)
    reward = Decimal(params["Reward"])
    if reward < Decimal("0.01"):
        raise errors.invalid_value("Reward", params["Reward"])
    wanted = params.get("QualificationRequirements", [])
    requirements.check(world, wanted)
    values = (
        params["Title"],
        params["Description"],
        params.get("Keywords", ""),
        reward,
        within(params, "AssignmentDurationInSeconds", DURATION),
        within(params, "AutoApprovalDelayInSeconds", AUTO_APPROVAL, 2_592_000),
        tuple(sorted(wanted, key=lambda one: json.dumps(one, sort_keys=True))),
    )
    for known in world.hit_types.values():
        if values == _values(known):
            return known
    made = HitType(world.new_id(), world.new_id(), *values)
    return world.hit_types.put(made.hit_type_id, made)


def _values(kind: HitType) -> tuple[Any, ...]:
    terms = (kind.reward, kind.duration, kind.auto_approval_delay, kind.requirements)
    return (kind.title, kind.description, kind.keywords, *terms)


def make_hit(world: World, kind: HitType, params: Params) -> dict[str, Any]:
    check_lengths(params)
    if ("Question" in params) == ("HITLayoutId" in params):
        raise errors.invalid_value("Question", params.get("Question"))
    lifetime = within(params, "LifetimeInSeconds", LIFETIME)
    assignments = within(params, "MaxAssignments", (1, 1_000_000_000), 1)
    url = questions.external_url(params.get("Question", ""))
    token = params.get("UniqueRequestToken")
    made_before = world.made_by("CreateHIT", token)
    if made_before is not None:
        raise errors.hit_already_exists(made_before)
    require_funds(world, kind, assignments, assignments)
    identifier, now = world.new_id(), world.now()
    hit = Hit(
        identifier,
        kind.hit_type_id,
        now,
        now + timedelta(seconds=lifetime),
        params["Question"],
        url,
        assignments,
        params.get("RequesterAnnotation", ""),
    )
    world.remember("CreateHIT", token, identifier)
    world.hits.put(identifier, hit)
    world.tell("HITCreated", hit)
    return {"HIT": describe(world, hit)}


def describe(world: World, hit: Hit) -> dict[str, Any]:
    """A HIT as the API shows it. Work that waits for review is in none of the three counters."""
    kind = world.type_of(hit)
    pending, reviewed = world.seats(hit, "Accepted"), world.seats(hit, "Approved", "Rejected")
    shown: dict[str, Any] = {
        "HITId": hit.hit_id,
        "HITTypeId": kind.hit_type_id,
        "HITGroupId": kind.group_id,
        "CreationTime": hit.created.timestamp(),
        "Title": kind.title,
        "Description": kind.description,
        "Question": hit.question,
        "HITStatus": world.status(hit),
        "MaxAssignments": hit.max_assignments,
        "Reward": f"{kind.reward:.2f}",
        "AutoApprovalDelayInSeconds": kind.auto_approval_delay,
        "Expiration": hit.expires.timestamp(),
        "AssignmentDurationInSeconds": kind.duration,
        "QualificationRequirements": list(kind.requirements),
        "HITReviewStatus": "NotReviewed",
        "NumberOfAssignmentsPending": len(pending),
        "NumberOfAssignmentsAvailable": hit.max_assignments - world.taken(hit),
        "NumberOfAssignmentsCompleted": len(reviewed),
    }
    optional = {"Keywords": kind.keywords, "RequesterAnnotation": hit.annotation}
    return shown | {name: value for name, value in optional.items() if value}


@operation
def create_hit_type(world: World, params: Params) -> dict[str, Any]:
    return {"HITTypeId": find_or_make_type(world, params).hit_type_id}


@operation
def create_hit(world: World, params: Params) -> dict[str, Any]:
    return make_hit(world, find_or_make_type(world, params), params)


@operation
def create_hit_with_hit_type(world: World, params: Params) -> dict[str, Any]:
    kind = world.hit_types.get(params["HITTypeId"])
    if kind is None:
        raise errors.does_not_exist("HITType", params["HITTypeId"])
    return make_hit(world, kind, params)


@operation
def get_hit(world: World, params: Params) -> dict[str, Any]:
    return {"HIT": describe(world, world.hit(params["HITId"]))}


@operation
def list_hits(world: World, params: Params) -> dict[str, Any]:
    rows = [describe(world, hit) for hit in world.hits.values() if not hit.disposed]
    return page("HITs", rows, params)


@operation
def list_reviewable_hits(world: World, params: Params) -> dict[str, Any]:
    status, kind = params.get("Status", "Reviewable"), params.get("HITTypeId")
    rows = [
        describe(world, hit)
        for hit in world.hits.values()
        if world.status(hit) == status and kind in (None, hit.hit_type_id)
    ]
    return page("HITs", rows, params)


@operation
def create_additional_assignments_for_hit(world: World, params: Params) -> dict[str, Any]:
    hit = world.hit(params["HITId"])
    more = within(params, "NumberOfAdditionalAssignments", (1, 1_000_000_000))
    after = hit.max_assignments + more
    if hit.disposed:
        raise errors.wrong_hit_state("Disposed")
    if hit.max_assignments < MANY_ASSIGNMENTS <= after:
        message = (
            "HITs created with fewer than 10 assignments cannot be extended to have 10 or more assignments. "
            f"This HIT has {hit.max_assignments}, and {after} were requested."
        )
        raise errors.request_error("InvalidMaximumAssignmentsIncrease", message)
    token = params.get("UniqueRequestToken")
    before = world.made_by("CreateAdditionalAssignments", token)
    if token is not None and before is not None:
        raise errors.already_processed(token, before)
    require_funds(world, world.type_of(hit), after, more)
    world.remember("CreateAdditionalAssignments", token, world.new_id("", 32))
    world.hits.put(hit.hit_id, replace(hit, max_assignments=after))
    world.tell("HITExtended", hit)
    return {}


@operation
def update_expiration_for_hit(world: World, params: Params) -> dict[str, Any]:
    """A time that is past expires the HIT; a later one than before extends it, which counts once."""
    hit, now = world.hit(params["HITId"]), world.now()
    until = datetime.fromtimestamp(params["ExpireAt"], UTC)
    if until <= now:
        world.hits.put(hit.hit_id, replace(hit, expires=min(now, hit.expires)))
        world.tell("HITExpired", hit)
        return {}
    token = f"{hit.hit_id}{until:%a %b %d %H:%M:%S UTC %Y}"
    before = world.made_by("UpdateExpirationForHIT", token)
    if before is not None:
        raise errors.already_processed(token, before)
    if until < hit.expires:
        raise errors.invalid_value("ExpireAt", until.isoformat())
    world.hits.put(hit.hit_id, replace(hit, expires=until))
    world.remember("UpdateExpirationForHIT", token, world.new_id("", 32))
    world.tell("HITExtended", hit)
    return {}


@operation
def update_hit_review_status(world: World, params: Params) -> dict[str, Any]:
    hit, back = world.hit(params["HITId"]), params.get("Revert", False)
    if world.status(hit) != ("Reviewing" if back else "Reviewable"):
        raise errors.wrong_hit_state(world.status(hit))
    world.hits.put(hit.hit_id, replace(hit, reviewing=not back))
    return {}


@operation
def delete_hit(world: World, params: Params) -> dict[str, Any]:
    hit = world.hit(params["HITId"])
    if world.status(hit) not in ("Reviewable", "Reviewing") or world.seats(hit, "Submitted"):
        raise errors.wrong_hit_state(world.status(hit))
    world.hits.put(hit.hit_id, replace(hit, disposed=True))
    world.tell("HITDisposed", hit)
    return {}
