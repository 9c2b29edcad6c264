"""A small released study, and samples of it, for the tests of the human baseline."""

from __future__ import annotations

import json
from typing import Any

from django.utils import timezone

from annotation import actions
from annotation.models import Assignment, Enrollment, Story, Study
from annotation.protocols.multiple_choice import right_key
from dashboard import actions as dashboard_actions
from dashboard.releases.human_baseline import Admission, BaselinePlan
from publishing.models import Release
from tests import builders
from tests.publishing.support import published
from tests.worlds import built_once

SCENARIOS = ("inside_reuse_labeled_containers", "unobserved_unethical_actions")
PER_SCENARIO = 4


@built_once
def released_study(slug: str = "pilot", *, rehearsal: bool = False, **settings: Any) -> Release:
    """Eight stories of two scenarios, kept by the two people who judged them; three more are qualified."""
    rows = [
        builders.story_row(number, scenario_name=SCENARIOS[number // PER_SCENARIO])
        for number in range(2 * PER_SCENARIO)
    ]
    study = builders.make_study(slug, stories=rows, opened=False, votes_per_story=2, **settings)
    if rehearsal:
        study = actions.make_rehearsal(study=study, by=None, now=timezone.now())
    study = actions.open_study(study=study, by=None, now=timezone.now())
    builders.answer_everything(builders.qualified(study, 2))
    builders.qualified(study, 3)
    return published(study)


def drawn(release: Release, **decisions: Any) -> tuple[Study, Admission]:
    """A sample of two stories per scenario, as a draft."""
    usual: dict[str, Any] = {"slug": "questions", "title": "Questions", "seed": 7, "per_scenario": 2}
    plan = BaselinePlan(**usual | decisions)
    return dashboard_actions.draw_baseline(release=release, plan=plan, by=None, now=timezone.now())


def opened(study: Study) -> Study:
    return actions.open_study(study=study, by=None, now=timezone.now())


def invited(study: Study) -> list[Enrollment]:
    """Everybody who may take part, with consent."""
    people = actions.invite_qualified(study=study, by=None, now=timezone.now())
    return [builders.consent(person) for person in people]


def answer(person: Enrollment, *, right: bool) -> int:
    """Answer every question, all of them rightly or all wrongly; returns how many."""
    answered = 0
    while isinstance(given := actions.assign_next_story(enrollment=person, now=timezone.now()), Assignment):
        key = right_key(given.story.content)
        actions.record_vote(
            assignment_id=given.pk,
            enrollment=person,
            submitted={"answer": key if right else other(key)},
            now=timezone.now(),
        )
        answered += 1
    return answered


def other(key: str) -> str:
    return {"a": "b", "b": "a"}[key]


def keys(study: Study) -> dict[str, str]:
    """The right answers by the question's id."""
    return {story.story_id: right_key(story.content) for story in Story.objects.filter(study=study)}


def question_rows(release: Release) -> dict[str, dict[str, Any]]:
    """Every question of the release by its id."""
    found = {}
    for config in ("mental-state-qa", "behavior-qa", "judgment-qa"):
        for line in (release.directory / config / "test.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            found[row["id"]] = row | {"config": config}
    return found
