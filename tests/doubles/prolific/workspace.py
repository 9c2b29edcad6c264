"""The REST API of a workspace: participant groups, filters, money, signing keys, webhooks."""

from __future__ import annotations

from typing import Any

from tests.doubles.prolific import rules
from tests.doubles.prolific.answers import Answer, Request, found, moment
from tests.doubles.prolific.hooks import EVENT_TYPES
from tests.doubles.prolific.platform import Group, Platform
from tests.doubles.prolific.rules import Refused

# -- groups


def _group(platform: Platform, group: Group) -> dict[str, Any]:
    return {
        "id": group.id,
        "name": group.name,
        "description": group.description,
        "workspace_id": platform.workspace_id,
        "project_id": None,
        "organisation_id": None,
        "participant_count": len(group.members),
        "is_deleted": False,
        "feeder_studies": [],
    }


def list_groups(platform: Platform, request: Request) -> Answer:
    if request.query.get("workspace_id") != platform.workspace_id:
        raise Refused({"workspace_id": ["Either a workspace or a project is required."]})
    return Answer({"results": [_group(platform, group) for group in platform.groups.values()]})


def create_group(platform: Platform, request: Request) -> Answer:
    if not request.body.get("name") or request.body.get("workspace_id") != platform.workspace_id:
        raise Refused({"name": ["A name and a workspace are required."]})
    made = Group(platform.new_id("group"), request.body["name"], request.body.get("description", ""))
    platform.groups[made.id] = made
    _join(platform, made, request.body.get("participant_ids", []))
    return Answer(_group(platform, made), 201)


def list_members(platform: Platform, request: Request, group_id: str) -> Answer:
    group: Group = found(platform.groups, group_id)
    members = [
        {"participant_id": person, "datetime_created": moment(since)}
        for person, since in group.members.items()
    ]
    return Answer({"results": members})


def _join(platform: Platform, group: Group, people: list[str]) -> None:
    unknown = [person for person in people if person not in platform.participants]
    if unknown:
        raise Refused({"participant_ids": [f"Not found: {', '.join(unknown)}"]})
    for person in people:
        group.members.setdefault(person, platform.clock.now())


def add_members(platform: Platform, request: Request, group_id: str) -> Answer:
    _join(platform, found(platform.groups, group_id), request.body.get("participant_ids", []))
    return list_members(platform, request, group_id)


def remove_members(platform: Platform, request: Request, group_id: str) -> Answer:
    for person in request.body.get("participant_ids", []):
        found(platform.groups, group_id).members.pop(person, None)
    return list_members(platform, request, group_id)


# -- the rest


def list_filters(platform: Platform, request: Request) -> Answer:
    return Answer({"results": [{"filter_id": name, "title": name, **f} for name, f in rules.FILTERS.items()]})


def me(platform: Platform, request: Request) -> Answer:
    return Answer({"id": platform.new_id("user"), "name": "A researcher", "currency_code": platform.currency})


def list_workspaces(platform: Platform, request: Request) -> Answer:
    return Answer({"results": [{"id": platform.workspace_id, "title": "The lab"}]})


def read_balance(platform: Platform, request: Request, workspace_id: str) -> Answer:
    if workspace_id != platform.workspace_id:
        raise Refused("Not found", 404, "Not Found")
    return Answer(
        {
            "currency_code": platform.currency,
            "total_balance": platform.balance,
            "available_balance": platform.available,
        }
    )


def read_keys(platform: Platform, request: Request) -> Answer:
    return Answer(platform.signer.jwks())


def list_event_types(platform: Platform, request: Request) -> Answer:
    return Answer({"results": [{"event_type": name, "description": name} for name in EVENT_TYPES]})


def list_secrets(platform: Platform, request: Request) -> Answer:
    return Answer({"results": [platform.hooks.secret] if platform.hooks.secret else []})


def make_secret(platform: Platform, request: Request) -> Answer:
    return Answer(platform.hooks.make_secret(request.body.get("workspace_id", "")), 201)


def list_subscriptions(platform: Platform, request: Request) -> Answer:
    enabled = request.query.get("is_enabled", "true") == "true"
    shown = [s.shown() for s in platform.hooks.subscriptions.values() if s.is_enabled == enabled]
    return Answer({"results": shown})


def subscribe(platform: Platform, request: Request) -> Answer:
    made = platform.hooks.subscribe(request.body, insecure=platform.insecure)
    return Answer(made.shown(), 201, {"X-Hook-Secret": made.secret})


def confirm_subscription(platform: Platform, request: Request, subscription_id: str) -> Answer:
    wanted = found(platform.hooks.subscriptions, subscription_id)
    if request.body.get("secret") != wanted.secret:
        raise Refused({"secret": ["Not the secret of this subscription."]})
    wanted.is_enabled = True
    return Answer(wanted.shown())


def unsubscribe(platform: Platform, request: Request, subscription_id: str) -> Answer:
    found(platform.hooks.subscriptions, subscription_id)
    del platform.hooks.subscriptions[subscription_id]
    return Answer(None, 204)
