"""Recording data statements, plans, and the samples of human baselines."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db import transaction

from accounts.models import User, locked
from annotation.actions.events import record_event
from annotation.models import Event, Study
from publishing.data_statement import problems
from publishing.errors import InvalidStatement
from publishing.facts import Statement
from publishing.human_baseline.drawing import Sample
from publishing.models import BaselineSample, DataStatement, Release, StudyPlan
from publishing.plans import canonical
from publishing.study_filters import filter_for


@transaction.atomic
def describe_data(*, study: Study, statement: Statement, by: User | None, now: datetime) -> bool:
    """Save a new version of the study's data statement, for releases requested from now on.

    Return False if the statement is unchanged. Raise :class:`~publishing.errors.InvalidStatement` with all
    problems.
    """
    wrong = problems(statement)
    if wrong:
        raise InvalidStatement(wrong)
    study = locked(study)
    last = DataStatement.objects.filter(study=study).order_by("-version").first()
    if statement == (last.statement if last else Statement()):
        return False
    values = asdict(statement) | {"creators": "\n".join(statement.creators)}
    written = DataStatement.objects.create(
        study=study, version=last.version + 1 if last else 1, written_by=by, written_at=now, **values
    )
    record_event(
        study=study, type=Event.Type.DATA_DESCRIBED, by=by, now=now, subject=f"statement {written.version}"
    )
    return True


@transaction.atomic
def fix_plan(
    *, study: Study, plan: Mapping[str, Any], filter_name: str, by: User | None, now: datetime
) -> StudyPlan:
    """Fix what is planned for a study that is being opened for the first time.

    ``plan`` holds its settings, ``filter_name`` the filter that its release is to use. Raise
    :class:`UnknownFilter`, also for one that the protocol cannot use, or ``IntegrityError`` if the study has
    a plan already.
    """
    text = canonical({**plan, "filter": filter_for(study, filter_name).name})
    fixed = StudyPlan.objects.create(
        study=study, document=text, sha256=sha256(text.encode()).hexdigest(), fixed_at=now, fixed_by=by
    )
    record_event(study=study, type=Event.Type.PLAN_FIXED, by=by, now=now, note=f"SHA-256 {fixed.sha256}")
    return fixed


@transaction.atomic
def record_sample(
    *,
    study: Study,
    release: Release,
    drawn: Sample,
    per_scenario: int,
    seed: int,
    by: User | None,
    now: datetime,
) -> BaselineSample:
    """Record the source of a study's questions, so that anybody can draw them again."""
    made = BaselineSample.objects.create(
        study=study,
        release=release,
        per_scenario=per_scenario,
        seed=seed,
        stories=len(drawn.story_ids),
        questions=len(drawn.questions),
        short=drawn.short,
        repeated_cores=drawn.repeated_cores,
        drawn_by=by,
        drawn_at=now,
    )
    subject = f"release {release.number} of {release.study.slug}"[:100]
    note = f"seed {seed}, {per_scenario} per scenario, MANIFEST {release.manifest_sha256}"
    record_event(study=study, type=Event.Type.BASELINE_DRAWN, by=by, now=now, subject=subject, note=note)
    return made
