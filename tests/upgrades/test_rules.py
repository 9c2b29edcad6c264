"""The version before runs on the schema of this one: what migrations since the oldest kept version may do."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.postgres.operations import AddConstraintNotValid, AddIndexConcurrently, ValidateConstraint
from django.db import models
from django.db.migrations import operations as ops
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.migration import Migration
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ModelState, ProjectState

from tests.upgrades import archive, rules

OURS = ("accounts", "annotation", "publishing", "qualification", "recruitment")
REVIEWED: dict[tuple[str, str], str] = {}
"""Migrations that the rules refuse though they do no harm, as ``(app, name)``, each with the reason."""
INDEX = models.Index(fields=["title"], name="story_title")
CHECK = models.CheckConstraint(condition=models.Q(votes__gt=0), name="some_votes")
UNIQUE = models.UniqueConstraint(fields=["title"], name="one_title")


def test_migrations_let_the_version_before_run_on_their_schema() -> None:
    """From the newest kept version on."""
    loader = MigrationLoader(None)
    known = archive.applied_migrations(archive.archives()[-1])
    plan = [key for leaf in loader.graph.leaf_nodes() for key in loader.graph.forwards_plan(leaf)]
    ordered = list(dict.fromkeys(plan))
    state = ProjectState()
    for key in ordered:
        if key in known:
            loader.get_migration(*key).mutate_state(state, preserve=False)
    assert {app for app, _ in known} >= set(OURS)
    later = [loader.get_migration(*key) for key in ordered if key not in known and key[0] in OURS]
    judged = [one for one in later if (one.app_label, one.name) not in REVIEWED]
    assert list(rules.problems(judged, state)) == []


def story() -> ProjectState:
    """A database with one table, which has a column of each kind."""
    state = ProjectState()
    fields: list[tuple[str, models.Field[Any, Any]]] = [
        ("id", models.BigAutoField(primary_key=True)),
        ("title", models.CharField(max_length=100)),
        ("note", models.CharField(max_length=100, null=True)),
        ("votes", models.IntegerField(db_default=3)),
    ]
    state.add_model(ModelState("app", "Story", fields))
    return state


def migrated(*operations: Operation) -> list[str]:
    """Return what is wrong with these operations on the one table."""
    migration = type("Migration", (Migration,), {"operations": operations})("0002_controls", "app")
    return list(rules.problems([migration], story()))


def add(field: models.Field) -> Operation:  # type: ignore[type-arg]
    return ops.AddField("story", "added", field)


def alter(name: str, field: models.Field) -> Operation:  # type: ignore[type-arg]
    return ops.AlterField("story", name, field)


@pytest.mark.parametrize(
    ("operation", "told"),
    [
        (add(models.IntegerField(default=1)), rules.NO_DEFAULT),
        (add(models.IntegerField(null=True, db_index=True)), rules.LOCKS),
        (add(models.CharField(null=True, unique=True)), rules.LOCKS),
        (add(models.ForeignKey("app.Story", models.CASCADE, null=True)), rules.LOCKS),
        (alter("note", models.CharField(max_length=100)), rules.NO_DEFAULT),
        (alter("votes", models.IntegerField()), rules.NO_DEFAULT),
        (alter("title", models.CharField(max_length=100, db_index=True)), rules.LOCKS),
        (alter("title", models.CharField(max_length=100, db_column="name")), rules.RENAMED),
        (ops.RemoveField("story", "note"), rules.DROPPED),
        (ops.DeleteModel("Story"), rules.DROPPED),
        (ops.RenameField("story", "title", "name"), rules.RENAMED),
        (ops.RenameModel("Story", "Item"), rules.RENAMED),
        (ops.AlterModelTable("Story", "items"), rules.RENAMED),
        (ops.AddIndex("story", INDEX), rules.LOCKS),
        (ops.AddConstraint("story", UNIQUE), rules.LOCKS),
        (ops.AddConstraint("story", CHECK), rules.SCANS),
        (ops.AlterUniqueTogether("story", {("title", "note")}), rules.LOCKS),
        (ops.RunSQL("DROP TABLE app_story"), rules.UNJUDGED),
        (ops.RunPython(ops.RunPython.noop), rules.UNJUDGED),
        (ops.SeparateDatabaseAndState([ops.RemoveField("story", "note")], []), rules.DROPPED),
    ],
    ids=lambda given: given.describe() if isinstance(given, Operation) else "",
)
def test_what_the_version_before_could_not_bear_is_refused(operation: Operation, told: str) -> None:
    (problem,) = migrated(operation)
    assert problem.startswith("app.0002_controls: ")
    assert problem.endswith(told)


@pytest.mark.parametrize(
    "operations",
    [
        [add(models.IntegerField(db_default=1))],
        [add(models.IntegerField(null=True))],
        [add(models.ForeignKey("app.Story", models.CASCADE, null=True, db_index=False))],
        [alter("votes", models.BigIntegerField(db_default=3))],
        [AddIndexConcurrently("story", INDEX)],
        [AddConstraintNotValid("story", CHECK), ValidateConstraint("story", "some_votes")],
        [ops.SeparateDatabaseAndState([], [ops.RemoveField("story", "note")])],
        [
            ops.CreateModel("Fresh", [("id", models.BigAutoField(primary_key=True))]),
            ops.AddField("fresh", "story", models.ForeignKey("app.Story", models.CASCADE)),
            ops.AddIndex("fresh", models.Index(fields=["story"], name="fresh_story")),
        ],
    ],
    ids=lambda given: given[0].describe(),
)
def test_what_it_can_bear_is_allowed(operations: list[Operation]) -> None:
    assert migrated(*operations) == []
