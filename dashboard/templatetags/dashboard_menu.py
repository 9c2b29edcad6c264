"""The menu of a study's pages."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import RequestContext

from dashboard.navigation import menu

register = template.Library()


@register.inclusion_tag("dashboard/_menu.html", takes_context=True)
def study_menu(context: RequestContext) -> dict[str, Any]:
    """The menu for ``study`` as the reader of ``request`` sees it."""
    entries = menu(context["request"], context["study"])
    here = next((entry for entry in entries if entry["current"]), None)
    return {
        "everyday": [entry for entry in entries if not entry["is_rare"]],
        "rare": [entry for entry in entries if entry["is_rare"]],
        "here": here,
    }
