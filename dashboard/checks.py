"""What the pages about hidden checks show. Reads only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q
from django.utils.translation import gettext as _

from annotation import checks
from annotation.models import CheckKey, CheckOption, CheckResult, Event, Story, Study, Vote
from annotation.protocols.base import field_name
from annotation.queries import usable_checks
from dashboard.minute import kept_a_minute

MANY = 20_000
"""Answers to checks; counting more takes long beside a page."""


@dataclass(frozen=True, slots=True)
class ShownCheck:
    """One check: its key (None: nobody is given it yet), and how many people answered and failed it."""

    story: Story
    key: CheckKey | None
    answered: int = 0
    failed: int = 0

    @property
    def share(self) -> float | None:
        return self.failed / self.answered if self.answered else None

    @property
    def looks_wrong(self) -> bool:
        return checks.looks_wrong(answered=self.answered, failed=self.failed)

    @property
    def state(self) -> str:
        """``missing`` for one without known answers, else the state of its key."""
        return self.key.state if self.key else "missing"


def checks_of(study: Study, **which: Any) -> list[ShownCheck]:
    """The study's checks by their ids; those that most people fail come first."""
    stories = list(Story.objects.filter(study=study, role=Story.Role.CHECK, **which).order_by("story_id"))
    keys = {
        key.story_id: key
        for key in CheckKey.objects.filter(story__in=stories).exclude(state=CheckKey.State.REPLACED)
    }
    counts = _kept_counts(study, sorted(key.pk for key in keys.values()))
    shown = []
    for story in stories:
        story.study = study
        key = keys.get(story.pk)
        answered, failed = counts.get(key.pk, (0, 0)) if key else (0, 0)
        shown.append(ShownCheck(story, key, answered, failed))
    return sorted(shown, key=lambda check: not check.looks_wrong)


def _kept_counts(study: Study, keys: list[int]) -> Mapping[int, tuple[int, int]]:
    """The same as :func:`_counts`; of many answers, as they were at most a minute ago."""

    def are_many(counts: Mapping[int, tuple[int, int]]) -> bool:
        return sum(answered for answered, _ in counts.values()) > MANY

    return kept_a_minute(study, f"checks:{hash(tuple(keys))}", lambda: _counts(keys), is_large=are_many)


def _counts(keys: list[int]) -> Mapping[int, tuple[int, int]]:
    """Per key: how many people have answered, and how many of them failed, by their newest answers."""
    newer = Vote.objects.filter(
        assignment=OuterRef("vote__assignment"), revision__gt=OuterRef("vote__revision")
    )
    rows = (
        CheckResult.objects.filter(~Exists(newer), key__in=keys)
        .values("key")
        .annotate(answered=Count("pk"), failed=Count("pk", filter=Q(passed=False)))
    )
    return {row["key"]: (row["answered"], row["failed"]) for row in rows}


def consequences_of(study: Study) -> dict[str, int]:
    """How many people were warned, and were suspended, for failed checks: ``warned``, ``suspended``."""
    warned, suspended = Event.Type.ANNOTATOR_WARNED, Event.Type.ENROLLMENT_SUSPENDED
    # The types first: the log has an event for each vote, and an index for those of a type.
    told = Event.objects.filter(study=study, type__in=[warned, suspended])
    return told.aggregate(
        warned=Count("enrollment", filter=Q(type=warned), distinct=True),
        suspended=Count("enrollment", filter=Q(type=suspended, note__regex=checks.NOTED), distinct=True),
    )


def too_few_checks(study: Study) -> str:
    """What is missing where a busy person meets more checks than there are; empty where nothing is.

    A person meets one in so many stories, up to the limit or the end of the study's stories.
    """
    if not study.check_every:
        return ""
    stories = Story.objects.main().filter(study=study)[: study.story_cap].count()  # no further than matters
    met = stories // study.check_every
    usable = usable_checks(study)
    if usable >= met:
        return ""
    return _("Somebody who answers all they may would meet %(met)s checks; only %(usable)s can be given.") % {
        "met": met,
        "usable": usable,
    }


def accepted_by(*keys: CheckKey) -> dict[int, dict[str, list[str]]]:
    """The options that keys accept, by form field, by the key's id. One query."""
    accepted: dict[int, dict[str, list[str]]] = {key.pk: {} for key in keys}
    for option in CheckOption.objects.filter(key__in=keys).order_by("question", "row", "option"):
        fields = accepted[option.key_id]
        fields.setdefault(field_name(option.question, option.row), []).append(option.option)
    return accepted
