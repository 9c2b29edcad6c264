"""Saving data statements."""

from dataclasses import asdict
from datetime import datetime

from django.db import transaction

from accounts.models import User
from accounts.rows import locked
from annotation.actions.events import record_event
from annotation.models import Event, Study
from publishing.data_statement import problems
from publishing.errors import InvalidStatement
from publishing.facts import Statement
from publishing.models import DataStatement


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
