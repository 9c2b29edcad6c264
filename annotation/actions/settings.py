"""Changing what was decided about a study."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.models import User
from annotation.actions.events import record_event
from annotation.actions.studies import lock, problems_of
from annotation.errors import InvalidStudy
from annotation.models import Event, Story, Study
from annotation.protocols import UnknownProtocol, get_protocol
from annotation.settled import SETTINGS, fixed_settings, noted, pay_problem

_FIELDS = {name: name for name in SETTINGS} | {"protocol": "protocol_name"}
"""Per setting: the field of the study that holds it."""


@transaction.atomic
def change_study(*, study: Study, changes: Mapping[str, Any], by: User | None, now: datetime) -> Study:
    """Give settings of a study other values; ``changes`` has them by the names of ``StudySettings``.

    The audit log says what changed from what to what; values that stay as they are change nothing.
    Raises :class:`InvalidStudy` with what is wrong by setting: a value that cannot be, or a setting that
    is fixed by now (see ``annotation.settled``). Then nothing is changed.
    """
    study = lock(study)
    before = settings_of(study)
    changed = {name: value for name, value in changes.items() if value != before[name]}
    if not changed:
        return study
    problems = _refusals(study, changed)
    problems |= _apply(study, changed)
    if problems:
        raise InvalidStudy(problems=problems)
    study.save(update_fields=[*(_FIELDS[name] for name in changed), "protocol_version"])
    after = settings_of(study)
    note = noted(before, after, changed)
    record_event(study=study, type=Event.Type.STUDY_CHANGED, by=by, now=now, note=note)
    return study


def settings_of(study: Study) -> dict[str, Any]:
    """The settings as they are, by the names of ``StudySettings``."""
    return {name: getattr(study, field) for name, field in _FIELDS.items()}


def fixed_of(study: Study) -> dict[str, str]:
    """The settings of this study that cannot be changed any more, each with the reason."""
    has_stories = Story.objects.filter(study=study).exists()
    return fixed_settings(state=study.state, has_stories=has_stories)


def _refusals(study: Study, changed: Mapping[str, Any]) -> dict[str, str]:
    fixed = fixed_of(study)
    refused = {name: fixed[name] for name in changed if name in fixed}
    if "pay_rate" in changed:
        problem = pay_problem(state=study.state, before=study.pay_rate, after=changed["pay_rate"])
        refused |= {"pay_rate": problem} if problem else {}
    return refused


def _apply(study: Study, changed: Mapping[str, Any]) -> dict[str, str]:
    """Set the values; what is wrong with them."""
    for name, value in changed.items():
        setattr(study, _FIELDS[name], value)
    try:
        if "protocol" in changed:
            study.protocol_version = get_protocol(study.protocol_name).version
        study.full_clean(exclude=["slug"])
    except UnknownProtocol as error:
        return {"protocol": str(error)}
    except ValidationError as error:
        return problems_of(error)
    return {}
