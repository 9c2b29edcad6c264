"""Migrations note an index, a constraint or a trigger without rendering any model again."""

from __future__ import annotations

import pgtrigger
from django.apps import apps
from django.db import models
from django.db.migrations.operations import AddConstraint, AddIndex
from django.db.migrations.state import ProjectState
from pgtrigger.migrations import AddTrigger


def test_what_is_added_beside_fields_is_noted_and_no_model_rendered() -> None:
    state = ProjectState.from_apps(apps)
    rendered = state.apps.get_model("annotation", "vote")
    index = models.Index(fields=["submitted_at"], name="new_index")
    constraint = models.CheckConstraint(condition=models.Q(pk__gt=0), name="new_constraint")
    trigger = pgtrigger.Protect(name="new_trigger", operation=pgtrigger.Delete)
    AddIndex("vote", index).state_forwards("annotation", state)
    AddConstraint("vote", constraint).state_forwards("annotation", state)
    AddTrigger("vote", trigger).state_forwards("annotation", state)

    assert state.apps.get_model("annotation", "vote") is rendered
    assert rendered._meta.indexes[-1] is index
    assert rendered._meta.constraints[-1] is constraint, "an altered field would take the constraint along"
    for option, what in (("indexes", index), ("constraints", constraint), ("triggers", trigger)):
        assert state.models["annotation", "vote"].options[option][-1] is what
