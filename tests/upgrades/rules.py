"""Tell whether the version before can run on the schema of this one, and tables stay usable meanwhile.

During an upgrade the database is migrated first, while web nodes of the version before go on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.contrib.postgres.operations import AddConstraintNotValid, AddIndexConcurrently
from django.db import models
from django.db.migrations import operations as ops
from django.db.migrations.migration import Migration
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

DROPS_COLUMNS = (ops.RemoveField, ops.DeleteModel)
RENAMES = (ops.RenameField, ops.RenameModel, ops.AlterModelTable)
CODE = (ops.RunPython, ops.RunSQL)

DROPPED = (
    "the version before still reads it: leave the column until the next version, nullable or with db_default"
)
RENAMED = "the version before knows only the former name"
NO_DEFAULT = "the version before leaves it out of its INSERTs: give it a db_default, or null=True"
LOCKS = "builds an index while nobody can write: use AddIndexConcurrently in a migration with atomic = False"
SCANS = "reads the whole table while nobody can write: AddConstraintNotValid, then ValidateConstraint"
UNJUDGED = "nobody can see what it does: say in REVIEWED why the version before can run beside it"


def problems(migrations: Iterable[Migration], state: ProjectState) -> Iterator[str]:
    """Yield what is wrong with migrations that are applied in this order to a database in this state.

    ``state`` is changed. Tables that these migrations make are nobody's yet, so everything may be done to
    them.
    """
    old = set(state.models)
    for migration in migrations:
        for operation in _on_the_database(migration.operations):
            told = _problem(operation, migration.app_label, state, old)
            if told:
                yield f"{migration.app_label}.{migration.name}: {operation.describe()}: {told}"
            operation.state_forwards(migration.app_label, state)


def _on_the_database(operations: Iterable[Operation]) -> Iterator[Operation]:
    """Yield the operations; of those that separate the state from the database, only the latter's."""
    for operation in operations:
        if isinstance(operation, ops.SeparateDatabaseAndState):
            yield from _on_the_database(operation.database_operations)
        else:
            yield operation


def _problem(operation: Operation, app: str, state: ProjectState, old: set[tuple[str, str]]) -> str:
    if isinstance(operation, CODE):
        return UNJUDGED
    name = getattr(operation, "old_name", None) if isinstance(operation, ops.RenameModel) else None
    name = name or getattr(operation, "model_name", None) or getattr(operation, "name", "")
    if (app, str(name).lower()) not in old:
        return ""
    if isinstance(operation, DROPS_COLUMNS):
        return DROPPED
    if isinstance(operation, RENAMES):
        return RENAMED
    if isinstance(operation, ops.AddField):
        return _of_a_new_field(operation.field)
    if isinstance(operation, ops.AlterField):
        before = state.models[app, operation.model_name_lower].fields[operation.name]
        return _of_a_changed_field(before, operation.field)
    if isinstance(operation, ops.AlterUniqueTogether):
        return LOCKS
    if isinstance(operation, ops.AddIndex) and not isinstance(operation, AddIndexConcurrently):
        return LOCKS
    if isinstance(operation, ops.AddConstraint) and not isinstance(operation, AddConstraintNotValid):
        return SCANS if isinstance(operation.constraint, models.CheckConstraint) else LOCKS
    return ""


def _of_a_new_field(field: models.Field) -> str:  # type: ignore[type-arg]
    if field.many_to_many:
        return ""
    if not field.null and not field.has_db_default() and not getattr(field, "generated", False):
        return NO_DEFAULT
    return LOCKS if _is_indexed(field) else ""


def _of_a_changed_field(before: models.Field, after: models.Field) -> str:  # type: ignore[type-arg]
    if before.db_column != after.db_column:
        return RENAMED
    if before.null and not after.null and not after.has_db_default():
        return NO_DEFAULT
    if before.has_db_default() and not after.has_db_default() and not after.null:
        return NO_DEFAULT
    return LOCKS if _is_indexed(after) and not _is_indexed(before) else ""


def _is_indexed(field: models.Field) -> bool:  # type: ignore[type-arg]
    return field.unique or bool(getattr(field, "db_index", False))
