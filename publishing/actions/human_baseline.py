"""Recording the samples of human baselines."""

from datetime import datetime

from django.db import transaction

from accounts.models import User
from annotation.actions.events import record_event
from annotation.models import Event, Study
from publishing.human_baseline.drawing import DrawnQuestions
from publishing.models import BaselineSample, Release


@transaction.atomic
def record_sample(
    *,
    study: Study,
    release: Release,
    drawn: DrawnQuestions,
    per_scenario: int,
    seed: int,
    by: User | None,
    now: datetime,
) -> BaselineSample:
    """Record the source of a study's questions, so that anybody can draw them again."""
    made = BaselineSample.objects.create(
        study=study,
        release=release,
        manifest_sha256=release.manifest_sha256,
        per_scenario=per_scenario,
        seed=seed,
        stories=len(drawn.sample.story_ids),
        questions=len(drawn.questions),
        short=drawn.sample.short,
        repeated_cores=drawn.sample.repeated_cores,
        drawn_by=by,
        drawn_at=now,
    )
    subject = f"release {release.number} of {release.study.slug}"[:100]
    note = f"seed {seed}, {per_scenario} per scenario, MANIFEST {release.manifest_sha256}"
    record_event(study=study, type=Event.Type.BASELINE_DRAWN, by=by, now=now, subject=subject, note=note)
    return made
