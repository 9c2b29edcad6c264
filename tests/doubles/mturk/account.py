"""Money: the balance, what is held for work that may still come, rewards paid, bonuses."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

from tests.doubles.mturk import errors, fees
from tests.doubles.mturk.registry import Params, operation, page
from tests.doubles.mturk.rows import Charge, Hit, HitType, Letter
from tests.doubles.mturk.world import SHOWN_STATES, World

SANDBOX_BALANCE = Decimal("10000.00")
BONUS_WITHIN = timedelta(days=183)  # six months


def held(world: World) -> Decimal:
    """What open HITs may still cost: every assignment that can come in or waits for review, with its fee."""
    return sum((_held_for(world, hit) for hit in world.hits.values()), Decimal(0))


def _held_for(world: World, hit: Hit) -> Decimal:
    kind = world.type_of(hit)
    seats = len(world.seats(hit, "Accepted", "Submitted"))
    if hit.expires > world.now() and not hit.disposed:
        seats += hit.max_assignments - world.taken(hit)
    return seats * (kind.reward + fees.of_reward(kind, hit.max_assignments))


def spent(world: World) -> Decimal:
    """What has left the account so far, fees included."""
    return sum((charge.amount + charge.fee for charge in world.charges.values()), Decimal(0))


def available(world: World) -> Decimal:
    if world.environment == "sandbox":
        return SANDBOX_BALANCE
    return world.deposit - spent(world) - held(world)


def require_funds(world: World, kind: HitType, max_assignments: int, assignments: int) -> None:
    """Refuse work that the account could not pay."""
    if assignments * (kind.reward + fees.of_reward(kind, max_assignments)) > available(world):
        raise errors.insufficient_funds()


@operation
def get_account_balance(world: World, params: Params) -> dict[str, Any]:
    answer = {"AvailableBalance": f"{available(world):.2f}"}
    return answer if world.environment == "sandbox" else answer | {"OnHoldBalance": f"{held(world):.2f}"}


@operation
def send_bonus(world: World, params: Params) -> dict[str, Any]:
    row = world.assignments.get(params["AssignmentId"])
    if row is None or row.state not in SHOWN_STATES or row.submitted is None:
        raise errors.does_not_exist("Assignment", params["AssignmentId"])
    if row.worker_id != params["WorkerId"]:
        raise errors.invalid_value("WorkerId", params["WorkerId"])
    if world.now() - row.submitted > BONUS_WITHIN:
        raise errors.invalid_value("AssignmentId", params["AssignmentId"])
    amount = Decimal(params["BonusAmount"])
    if amount < fees.CENT:
        raise errors.invalid_value("BonusAmount", params["BonusAmount"])
    fee = fees.of_bonus(amount)
    if world.looks_at_money_first and amount + fee > available(world):
        raise errors.insufficient_funds()
    token = params.get("UniqueRequestToken")
    before = world.made_by("SendBonus", token)
    if token is not None and before is not None:
        raise errors.already_processed(token, before)
    if amount + fee > available(world):
        raise errors.insufficient_funds()
    charge = Charge("bonus", row.worker_id, row.assignment_id, amount, fee, world.now(), params["Reason"])
    request = world.new_id("", 32)
    world.remember("SendBonus", token, request)
    world.charges.put(f"bonus {request}", charge)
    world.letters.append(Letter(row.worker_id, "You have received a bonus", params["Reason"]))
    return {}


@operation
def list_bonus_payments(world: World, params: Params) -> dict[str, Any]:
    """By HIT or by assignment: one of the two."""
    hit_id, assignment_id = params.get("HITId"), params.get("AssignmentId")
    if (hit_id is None) == (assignment_id is None):
        raise errors.invalid_value("HITId", hit_id)
    if hit_id is not None:
        world.hit(hit_id)
    rows = [charge for charge in world.charges.values() if charge.kind == "bonus"]
    wanted = [row for row in rows if _is_of(world, row, hit_id, assignment_id)]
    return page("BonusPayments", [_payment(row) for row in wanted], params)


def _is_of(world: World, charge: Charge, hit_id: str | None, assignment_id: str | None) -> bool:
    if assignment_id is not None:
        return charge.assignment_id == assignment_id
    row = world.assignments.get(charge.assignment_id)
    return row is not None and row.hit_id == hit_id


def _payment(charge: Charge) -> dict[str, Any]:
    return {
        "WorkerId": charge.worker_id,
        "BonusAmount": f"{charge.amount:.2f}",
        "AssignmentId": charge.assignment_id,
        "Reason": charge.reason,
        "GrantTime": charge.at.timestamp(),
    }
