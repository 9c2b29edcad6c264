"""Fixing a study's plan."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.models import User
from annotation.actions.events import record_event
from annotation.models import Event, Study
from publishing.filters import filter_for
from publishing.models import StudyPlan
from publishing.plans import canonical, hash_of


@transaction.atomic
def fix_plan(
    *, study: Study, plan: Mapping[str, Any], filter_name: str, by: User | None, now: datetime
) -> StudyPlan:
    """Fix what is planned for a study that is being opened for the first time.

    ``plan`` holds its settings, ``filter_name`` the filter that its release is to use. Raise
    :class:`UnknownFilter`, also for one that the protocol cannot use, or ``IntegrityError`` if the study has
    a plan already.
    """
    text = canonical({**plan, "filter": filter_for(study.protocol_name, filter_name).name})
    fixed = StudyPlan.objects.create(
        study=study, document=text, sha256=hash_of(text), fixed_at=now, fixed_by=by
    )
    record_event(study=study, type=Event.Type.PLAN_FIXED, by=by, now=now, note=f"SHA-256 {fixed.sha256}")
    return fixed
