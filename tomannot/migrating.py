"""Migrate in a third of the time: render no models for an index, a constraint or a trigger.

After each of these Django renders the model anew with all that refer to it, twenty for each of 260. It is
enough to note it on the rendered model: an altered field drops the constraints of its column that its model
does not name.
"""

from typing import Any

from django.db.migrations.state import ProjectState
from pgtrigger.migrations import AddTrigger


def render_less() -> None:
    """Let all migrations of this process do so."""
    ProjectState._append_option = _append_option  # type: ignore[attr-defined]
    AddTrigger.state_forwards = _add_trigger  # type: ignore[method-assign]


def _append_option(self: ProjectState, app_label: str, model_name: str, option_name: str, obj: Any) -> None:
    options = self.models[app_label, model_name].options
    options[option_name] = [*options.get(option_name, []), obj]
    if "apps" in self.__dict__:  # rendered
        setattr(self.apps.get_model(app_label, model_name)._meta, option_name, options[option_name])


def _add_trigger(self: AddTrigger, app_label: str, state: ProjectState) -> None:
    _append_option(state, app_label, self.model_name, "triggers", self.trigger)
