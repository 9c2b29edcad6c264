"""Queries about hidden checks: counts and consequences."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q
from django.utils.translation import gettext as _

from annotation import hidden_checks
from annotation.models import CheckKey, CheckResult, Event, Story, Study
from annotation.strata import usable_checks
from tomannot.cache import cached_for_a_minute

MANY = 20_000
"""Answers to checks; counting more is too slow for a page."""


@dataclass(frozen=True, slots=True)
class ShownCheck:
    """A hidden check: its key (None until it is set), and how many people answered and failed it."""

    story: Story
    key: CheckKey | None
    answered: int = 0
    failed: int = 0

    @property
    def accepted(self) -> dict[str, list[str]]:
        """Return the accepted options by form field; none until they are set."""
        return self.key.accepted if self.key else {}

    @property
    def share(self) -> float | None:
        return self.failed / self.answered if self.answered else None

    @property
    def looks_wrong(self) -> bool:
        return hidden_checks.looks_wrong(answered=self.answered, failed=self.failed)

    @property
    def can_be_set(self) -> bool:
        """Return True if nobody has answered it, so that its key can be set or replaced."""
        return self.key is None or (self.key.state == CheckKey.State.IN_USE and not self.answered)

    @property
    def state(self) -> str:
        """Return ``missing`` without known answers, else the key's state."""
        return self.key.state if self.key else "missing"


def checks_of(study: Study, **which: Any) -> list[ShownCheck]:
    """Return the study's checks by id, those that look wrong first."""
    stories = list(Story.objects.filter(study=study, role=Story.Role.CHECK, **which).order_by("story_id"))
    keys = {
        key.story_id: key
        for key in CheckKey.objects.filter(story__in=stories).exclude(state=CheckKey.State.REPLACED)
    }
    pks = sorted(key.pk for key in keys.values())
    counts = cached_for_a_minute(  # counting many answers is too slow for every page
        study,
        f"checks:{hash(tuple(pks))}",
        lambda: _counts(pks),
        is_large=lambda counts: sum(answered for answered, _ in counts.values()) > MANY,
    )
    shown = []
    for story in stories:
        story.study = study
        key = keys.get(story.pk)
        answered, failed = counts.get(key.pk, (0, 0)) if key else (0, 0)
        shown.append(ShownCheck(story, key, answered, failed))
    return sorted(shown, key=lambda check: not check.looks_wrong)


def _counts(keys: list[int]) -> Mapping[int, tuple[int, int]]:
    """Count, by key, the people who answered and those who failed, by their newest answers."""
    by_key = CheckResult.objects.newest().filter(key__in=keys).values_list("key")
    counted = by_key.annotate(answered=Count("pk"), failed=Count("pk", filter=Q(passed=False)))
    return {key: (answered, failed) for key, answered, failed in counted}


def consequences_of(study: Study) -> dict[str, int]:
    """Count the people who were ``warned`` and ``suspended`` for failed checks."""
    warned, suspended = Event.Type.ANNOTATOR_WARNED, Event.Type.ENROLLMENT_SUSPENDED
    # Filter by type first: the log has an event for each vote, and an index by type.
    events = Event.objects.filter(study=study, type__in=[warned, suspended])
    return events.aggregate(
        warned=Count("enrollment", filter=Q(type=warned), distinct=True),
        suspended=Count(
            "enrollment", filter=Q(type=suspended, note__regex=hidden_checks.NOTED), distinct=True
        ),
    )


def too_few_checks(study: Study) -> str:
    """Return a warning if an annotator can meet more checks than there are; else an empty text.

    Annotators meet one check in ``check_every`` stories, up to their limit or the end of the stories.
    """
    if not study.check_every:
        return ""
    stories = Story.objects.wanted().filter(study=study)[: study.story_cap].count()  # no further than matters
    met = stories // study.check_every
    usable = usable_checks(study)
    if usable >= met:
        return ""
    return _("At the limit a participant would meet %(met)s checks, but only %(usable)s can be used.") % {
        "met": met,
        "usable": usable,
    }
