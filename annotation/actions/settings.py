"""Change a study's settings."""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.models import User
from accounts.rows import locked
from annotation.actions.events import record_event
from annotation.actions.studies import StudySettings, problems_of
from annotation.errors import InvalidStudy
from annotation.fixed_settings import fixed_settings, noted, pay_problem
from annotation.models import Event, Story, Study
from annotation.protocols import UnknownProtocol, get_protocol
from annotation.rules import cap_problem
from annotation.strata import stories_of_design

SETTINGS = tuple(item.name for item in fields(StudySettings) if item.name != "qualification_required")
"""All settings of a study that can be changed here."""
_FIELDS = {name: name for name in SETTINGS} | {"protocol": "protocol_name"}
"""The study's field for each setting."""


@transaction.atomic
def change_study(*, study: Study, changes: Mapping[str, Any], by: User | None, now: datetime) -> Study:
    """Change settings of a study; ``changes`` maps names of ``StudySettings`` to values.

    The audit log records old and new values. Raise :class:`InvalidStudy` with the problem by setting: an
    invalid value, or a setting that is fixed by now (see ``annotation.fixed_settings``). Then nothing
    changes.
    """
    study = locked(study)
    before = settings_of(study)
    changed = {name: value for name, value in changes.items() if value != before[name]}
    if not changed:
        return study
    problems = _refusals(study, changed)
    for name, value in changed.items():
        setattr(study, _FIELDS[name], value)
    try:
        if "protocol" in changed:
            study.protocol_version = get_protocol(study.protocol_name).version
        study.full_clean(exclude=["slug"])
    except UnknownProtocol as error:
        problems["protocol"] = str(error)
    except ValidationError as error:
        problems |= problems_of(error)
    if problems:
        raise InvalidStudy(problems=problems)
    study.save(update_fields=[*(_FIELDS[name] for name in changed), "protocol_version"])
    after = settings_of(study)
    note = noted(before, after, changed)
    record_event(study=study, type=Event.Type.STUDY_CHANGED, by=by, now=now, note=note)
    return study


def settings_of(study: Study) -> dict[str, Any]:
    """Return the study's settings by the names of ``StudySettings``."""
    return {name: getattr(study, field) for name, field in _FIELDS.items()}


def fixed_of(study: Study) -> dict[str, str]:
    """Return the settings that can no longer change, each with the reason."""
    has_stories = Story.objects.filter(study=study).exists()
    return fixed_settings(state=study.state, has_stories=has_stories)


def _refusals(study: Study, changed: Mapping[str, Any]) -> dict[str, str]:
    fixed = fixed_of(study)
    refused = {name: fixed[name] for name in changed if name in fixed}
    if "pay_rate" in changed:
        problem = pay_problem(state=study.state, before=study.pay_rate, after=changed["pay_rate"])
        refused |= {"pay_rate": problem} if problem else {}
    needed = stories_of_design(study, at_most=True) if "story_cap" in changed else 0
    if needed and changed["story_cap"] < needed:
        refused |= {"story_cap": cap_problem(changed["story_cap"], needed)}
    return refused
