"""Writes that span rooms, each made of the rooms' own actions in one transaction."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from django.conf import settings
from django.db import transaction

from accounts.models import User
from annotation import actions as annotation_actions
from annotation.models import Story, Study
from dashboard.configuration import StudyConfiguration, read_configuration
from publishing.facts import Statement
from publishing.statement.actions import describe_data
from qualification import actions as qualification_actions

SAMPLE_STUDY = settings.BASE_DIR / "sample_study" / "study.json"
"""The study that ships with tomannot: stories made for it, a qualification round and its key."""


@transaction.atomic
def create_study(*, slug: str, config: StudyConfiguration, by: User | None, now: datetime) -> Study:
    """A study in state draft with its consent text, qualification round, key, stories and data statement.

    All of it or none: whatever any of the steps refuses (see ``annotation.actions``,
    ``qualification.actions`` and ``publishing.statement.actions``) undoes the others.
    """
    study = annotation_actions.create_study(slug=slug, settings=config.settings, by=by, now=now)
    annotation_actions.add_consent_text(study=study, text=config.consent, by=by, now=now)
    if config.round:
        job = annotation_actions.import_stories(
            study=study, path=config.round.stories, role=Story.Role.QUALIFICATION, by=by, now=now
        )
        round = qualification_actions.create_round(
            study=study,
            story_ids=list(job.stories.order_by("source_line").values_list("story_id", flat=True)),
            title=config.round.title,
            attempts_allowed=config.round.attempts,
            pays_on_fail=config.round.pays_on_fail,
            by=by,
            now=now,
        )
        qualification_actions.set_answer_key(
            round=round, acceptable=config.round.acceptable, note=config.round.note, by=by, now=now
        )
    for path in config.stories:
        annotation_actions.import_stories(study=study, path=path, by=by, now=now)
    if config.statement != Statement():
        describe_data(study=study, statement=config.statement, by=by, now=now)
    study.refresh_from_db()
    return study


def default_configuration(*, title: str, contact: str) -> StudyConfiguration:
    """A study by the published procedure: our own consent text and five test stories, no stories yet."""
    sample = read_configuration(SAMPLE_STUDY)
    chosen = annotation_actions.StudySettings(title=title, contact=contact)
    consent = (SAMPLE_STUDY.parent / "consent.txt").read_text(encoding="utf-8").replace("{contact}", contact)
    return replace(sample, settings=chosen, stories=[], consent=consent, statement=Statement())


@transaction.atomic
def load_sample_study(*, now: datetime) -> Study:
    """The sample study, open and marked as a rehearsal; made when it is not there yet."""
    config = read_configuration(SAMPLE_STUDY)
    study = Study.objects.filter(slug="sample").first()
    if study is None:
        study = create_study(slug="sample", config=config, by=None, now=now)
        study = annotation_actions.make_rehearsal(study=study, by=None, now=now)
        study = annotation_actions.open_study(study=study, by=None, now=now)
    return study
