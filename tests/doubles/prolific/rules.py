"""What Prolific takes and what it refuses, as functions of plain values."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

Fields = Mapping[str, Any]

SUBMISSION_PAID = frozenset({"APPROVED", "PARTIALLY APPROVED", "SCREENED OUT"})
SUBMISSION_OVER = frozenset({"TIMED-OUT", "RETURNED", "REJECTED"})
"""The place of such a submission is free again, and nothing is paid for it."""

TRANSITIONS = {
    ("UNPUBLISHED", "PUBLISH"): "PUBLISHING",
    ("ACTIVE", "PAUSE"): "PAUSED",
    ("ACTIVE", "STOP"): "COMPLETED",
    ("PAUSED", "START"): "ACTIVE",
    ("PAUSED", "STOP"): "COMPLETED",
}
ACTIONS = frozenset(action for _status, action in TRANSITIONS) | {"SCHEDULE_PUBLISH", "CANCEL_PUBLISH"}

REQUIRED = (
    "name",
    "description",
    "prolific_id_option",
    "total_available_places",
    "estimated_completion_time",
    "reward",
)
OPTIONAL: dict[str, Any] = {
    "internal_name": None,
    "external_study_url": None,
    "completion_codes": [],
    "maximum_allowed_time": None,
    "device_compatibility": [],
    "peripheral_requirements": [],
    "filters": [],
    "project": None,
    "submissions_config": {},
    "study_labels": [],
    "metadata": None,
    "access_details": None,
    "is_external_study_url_secure": False,
}
AFTER_PUBLISHING = {"internal_name", "total_available_places", "submissions_config", "access_details"}
DEVICES = {"desktop", "tablet", "mobile"}
CODE_ACTIONS = {
    "AUTOMATICALLY_APPROVE": (),
    "MANUALLY_REVIEW": (),
    "ADD_TO_PARTICIPANT_GROUP": ("participant_group",),
    "REMOVE_FROM_PARTICIPANT_GROUP": ("participant_group",),
    "REQUEST_RETURN": ("return_reason",),
    "FIXED_SCREEN_OUT_PAYMENT": ("fixed_screen_out_reward", "slots"),
    "DYNAMIC_PAYMENT": (),
}
REJECTION_CATEGORIES = {
    *("TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK"),
    *("LOW_EFFORT", "MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER"),
}
FILTERS: dict[str, dict[str, Any]] = {
    "participant_group_allowlist": {"type": "select"},
    "participant_group_blocklist": {"type": "select"},
    "custom_allowlist": {"type": "select"},
    "custom_blocklist": {"type": "select"},
    "approval_rate": {"type": "range"},
    "approval_numbers": {"type": "range"},
    "current-country-of-residence": {
        "type": "select",
        "choices": {"0": "United Kingdom", "1": "United States", "45": "Germany"},
    },
    "fluent-languages": {"type": "select", "choices": {"19": "English", "26": "German"}},
}


class Refused(Exception):
    """An error answer: status, title, and what is wrong."""

    def __init__(self, detail: Any, status: int = 400, title: str = "Bad Request") -> None:
        super().__init__(detail)
        self.status = status
        self.title = title
        self.detail = detail

    def body(self) -> dict[str, Any]:
        """As Prolific wraps it."""
        return {
            "error": {
                "status": self.status,
                "error_code": 140000 + self.status,
                "title": self.title,
                "detail": self.detail,
                "additional_information": "/api/v1/errors/",
                "traceback": None,
                "interactive": False,
            }
        }


def least_allowed_time(minutes: float) -> int:
    """The shortest ``maximum_allowed_time`` for an estimated duration, in minutes."""
    return math.ceil(2 + 2 * minutes + 2 * math.sqrt(minutes))


def new_study(fields: Fields, *, insecure: bool) -> dict[str, Any]:
    """The fields of a draft, with defaults. Raises :class:`Refused` for what Prolific would not store."""
    wrong: dict[str, list[str]] = {}
    for name in REQUIRED:
        if fields.get(name) in (None, ""):
            wrong[name] = ["This field is required."]
    for name in sorted(fields.keys() - set(REQUIRED) - OPTIONAL.keys()):
        wrong[name] = ["Unknown field."]
    if wrong:
        raise Refused(wrong)
    study = {**OPTIONAL, **fields}
    check_study(study, insecure=insecure)
    return study


def check_study(study: dict[str, Any], *, insecure: bool) -> None:
    """Raise :class:`Refused` unless the fields, taken together, can be a study."""
    _check_fields(study, insecure=insecure)
    least = least_allowed_time(study["estimated_completion_time"])
    study["maximum_allowed_time"] = study["maximum_allowed_time"] or max(least, 120)
    if study["maximum_allowed_time"] < least:
        raise Refused({"maximum_allowed_time": [f"Ensure this value is greater than or equal to {least}."]})
    if study["access_details"] is not None:
        places = sum(detail["total_allocation"] for detail in study["access_details"])
        if places != study["total_available_places"]:
            raise Refused({"access_details": ["The allocations must add to total_available_places."]})
    _check_codes(study["completion_codes"])
    pays = [action["fixed_screen_out_reward"] for action in screen_outs(study)]
    if len(pays) > 1 or not all(0 < reward < study["reward"] for reward in pays):
        raise Refused({"completion_codes": ["One code can screen out, for less than the reward."]})
    for chosen in study["filters"] or []:
        _check_filter(chosen)


def _check_fields(study: dict[str, Any], *, insecure: bool) -> None:
    wrong: dict[str, list[str]] = {}
    for name in ("total_available_places", "reward", "estimated_completion_time"):
        if not isinstance(study[name], int) or isinstance(study[name], bool) or study[name] < 1:
            wrong[name] = ["A valid positive integer is required."]
    if study["prolific_id_option"] not in ("question", "url_parameters", "not_required"):
        wrong["prolific_id_option"] = ["Not a valid choice."]
    if not set(study["device_compatibility"]) <= DEVICES:
        wrong["device_compatibility"] = ["Not a valid choice."]
    if (study["external_study_url"] is None) == (study["access_details"] is None):
        wrong["external_study_url"] = ["Give either this or access_details."]
    for address in addresses_of(study):
        if not re.match(r"https?://" if insecure else r"https://", address):
            wrong["external_study_url"] = ["Enter a valid URL."]
    if wrong:
        raise Refused(wrong)


def addresses_of(study: Fields) -> list[str]:
    """Where the study sends people."""
    if study["access_details"] is None:
        return [study["external_study_url"]]
    return [detail["external_url"] for detail in study["access_details"]]


def screen_outs(study: Fields) -> list[dict[str, Any]]:
    """The actions that pay a fixed reward to whoever is screened out: one, at the most."""
    actions = [action for code in study["completion_codes"] for action in code["actions"]]
    return [action for action in actions if action["action"] == "FIXED_SCREEN_OUT_PAYMENT"]


def with_slots(study: Fields, codes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The codes of a published study with more slots for screen-outs: all that can be changed of them."""
    wanted = {code["code"]: code["actions"] for code in codes}
    changed = []
    for code in study["completion_codes"]:
        slots = {action["action"]: action["slots"] for action in wanted.pop(code["code"], ())}
        actions = [
            action | {"slots": slots.get(action["action"], action.get("slots"))} for action in code["actions"]
        ]
        changed.append(code | {"actions": actions if slots else code["actions"]})
    if wanted:
        raise Refused({"completion_codes": ["Cannot be changed once published."]})
    return changed


def _check_codes(codes: list[dict[str, Any]]) -> None:
    if not codes:
        raise Refused({"completion_codes": ["Specify at least one completion code."]})
    texts = [code.get("code") for code in codes]
    if len(set(texts)) < len(texts):
        raise Refused({"completion_codes": ["Each code must be unique within a study."]})
    for code in codes:
        if (
            not code.get("code_type")
            or "actions" not in code
            or not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", str(code.get("code")))
        ):
            raise Refused({"completion_codes": ["code, code_type and actions are required."]})
        kinds = [action.get("action") for action in code["actions"]]
        if {"AUTOMATICALLY_APPROVE", "MANUALLY_REVIEW"} <= set(kinds):
            raise Refused({"completion_codes": ["These actions cannot be used together."]})
        for action in code["actions"]:
            needed = CODE_ACTIONS.get(action.get("action"))
            if needed is None or any(name not in action for name in needed):
                raise Refused({"completion_codes": [f"Not a valid action: {action}."]})
        if "DYNAMIC_PAYMENT" in kinds and code.get("actor", "participant") != "researcher":
            raise Refused({"completion_codes": ["A dynamic payment needs the actor researcher."]})


def _check_filter(chosen: dict[str, Any]) -> None:
    known = FILTERS.get(chosen.get("filter_id", ""))
    if known is None:
        raise Refused({"filters": [f"Filter {chosen.get('filter_id')} does not exist."]})
    if known["type"] == "range":
        bounds = chosen.get("selected_range") or {}
        if bounds.get("lower") is None and bounds.get("upper") is None:
            raise Refused({"filters": ["selected_range needs a bound."]})
        return
    values = chosen.get("selected_values")
    if not values or ("choices" in known and not set(values) <= known["choices"].keys()):
        raise Refused({"filters": [f"Not a valid choice of {chosen['filter_id']}: {values}."]})


def is_eligible(participant: str, traits: Fields, filters: list[dict[str, Any]], groups: Fields) -> bool:
    """Whether a participant sees a study with these filters; groups are read as they are now."""
    return all(_passes(participant, traits, chosen, groups) for chosen in filters or [])


def _passes(participant: str, traits: Fields, chosen: dict[str, Any], groups: Fields) -> bool:
    name = chosen["filter_id"]
    if "selected_range" in chosen:
        bounds = chosen["selected_range"]
        value = traits.get(name, 0)
        lower, upper = bounds.get("lower"), bounds.get("upper")
        return bool((lower is None or value >= lower) and (upper is None or value <= upper))
    values = chosen["selected_values"]
    if name.startswith("participant_group"):
        listed = any(participant in groups.get(group, ()) for group in values)
    elif name.startswith("custom"):
        listed = participant in values
    else:
        listed = traits.get(name) in values
    return not listed if name.endswith("blocklist") else listed


def check_rejection(body: Fields) -> None:
    """Raise :class:`Refused` unless a rejection says enough."""
    if len(body.get("message") or "") < 100:
        raise Refused({"message": ["Ensure this field has at least 100 characters."]})
    if body.get("rejection_category") not in REJECTION_CATEGORIES:
        raise Refused({"rejection_category": ["Not a valid choice."]})


def bonus_lines(text: str) -> list[tuple[str, int]]:
    """Who gets how many cents, from lines ``id,amount`` with the amount in the study's currency."""
    lines = []
    for number, line in enumerate(text.strip().splitlines(), start=1):
        who, comma, amount = line.partition(",")
        try:
            cents = Decimal(amount.strip()) * 100
        except InvalidOperation:
            cents = Decimal(0)
        if not comma or not who.strip() or cents <= 0 or cents != int(cents):
            raise Refused({"csv_bonuses": [f"Line {number} is not valid: {line}"]})
        lines.append((who.strip(), int(cents)))
    if not lines:
        raise Refused({"csv_bonuses": ["This field is required."]})
    return lines
