"""A study's plan, fixed when the study is opened, and the deviations from it.

The plan is declared before the first answer, so that readers of a release can tell what was decided before
the results were known, as with a preregistration.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.utils.translation import override

from annotation.identifiers import without_identifiers
from annotation.models import Event
from publishing.files import jsonl
from publishing.models import Release, StudyPlan

_NAMED = (Event.Type.CONSENT_TEXT_ADDED, Event.Type.KEY_SET, Event.Type.ROUND_CHANGED)
"""Types of events whose subject names the text, key or round."""
_CHANGES = (
    *_NAMED,
    Event.Type.STUDY_CHANGED,
    Event.Type.INSTRUCTIONS_SET,
    Event.Type.GATE_CHANGED,
    Event.Type.ADMISSION_SETTLED,
    Event.Type.STORIES_IMPORTED,
    Event.Type.CHECKS_CHANGED,
    Event.Type.STORY_REVISED,
)
"""Types of events that may deviate from a plan."""


def canonical(plan: Mapping[str, Any]) -> str:
    """Return the plan as JSON with sorted keys and without spaces: the text whose UTF-8 is hashed."""
    return json.dumps(plan, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def plan_and_deviations(release: Release) -> dict[str, Any] | None:
    """Return the study's plan and each deviation from it until the request, for ``release.json``.

    None for a study that was opened without a plan, as one is that was imported from a release.
    """
    plan = StudyPlan.objects.filter(study=release.study).first()
    if plan is None:
        return None
    document = json.loads(plan.document)
    later = Event.objects.filter(study=release.study, type__in=_CHANGES, at__gt=plan.fixed_at)
    revised = Q(type=Event.Type.STORY_REVISED, at__lte=release.counted_until)
    in_time = Q(at__lte=release.requested_at) | revised
    with override(settings.LANGUAGE_CODE):
        deviations = [*_deviations(later.filter(in_time).order_by("at", "pk"), document)]
    if document["filter"] != release.filter_name:
        what = f"another filter: {document['filter']} → {release.filter_name}"
        deviations.append({"at": jsonl.timestamp(release.requested_at), "what": what})
    fixed_at = jsonl.timestamp(plan.fixed_at)
    return {"sha256": plan.sha256, "fixed_at": fixed_at, "document": document, "deviations": deviations}


def _deviations(events: Iterable[Event], plan: Mapping[str, Any]) -> Iterable[dict[str, str]]:
    for event in events:
        at: datetime = event.at
        what = str(event.get_type_display())
        if event.type == Event.Type.STUDY_CHANGED:
            lines = [line for line in event.note.split("\n") if line.partition(":")[0] in plan]
            if not lines:
                continue  # only its title, description or contact
            what = f"{what}: {without_identifiers('; '.join(lines))}"
        elif event.type == Event.Type.ROUND_CHANGED and " " in event.note:
            continue  # a sentence about the experts; a change of state is one word
        elif event.type == Event.Type.STORIES_IMPORTED:
            added = event.note.rpartition(": ")[2]
            if added.startswith("0 "):
                continue
            what = f"{what}: {added}"
        elif event.type in (*_NAMED, Event.Type.STORY_REVISED):
            what = f"{what}: {event.subject}"
        yield {"at": jsonl.timestamp(at), "what": what}
