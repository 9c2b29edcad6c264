"""The pages of a study, in the order in which its menu lists them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.models import Study
from annotation.rights import Right, rights_in
from publishing.baseline.results import has_accuracy


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the menu: the page, how it is called there, and the right that opens it."""

    page: str
    label: Promise
    right: Right = Right.LOOK
    suits: Callable[[Study], bool] = lambda study: True
    """Whether there is such a page for this study."""


ENTRIES = (
    Entry("study", _("Overview")),
    Entry("set_up", _("Set-up")),
    Entry("qualification", _("Qualification")),
    Entry("stories", _("Stories")),
    Entry("members", _("Members")),
    Entry("quality", _("Quality")),
    Entry("checks", _("Hidden checks")),
    Entry("review", _("Review")),
    Entry("filters", _("Filters"), suits=lambda study: not has_accuracy(study)),
    Entry("releases", _("Releases")),
    Entry("statement", _("Data statement")),
    Entry("accuracy", _("Accuracy"), suits=has_accuracy),
    Entry("recruitment", _("Recruitment")),
    Entry("joining", _("Join link and codes")),
    Entry("log", _("Log"), Right.AUDIT),
)


def menu(request: HttpRequest, study: Study) -> list[dict[str, Any]]:
    """The entries that the reader may open; ``current`` marks the page they are on."""
    rights = rights_in(request.user, study)
    here = request.resolver_match.view_name if request.resolver_match else ""
    return [
        {
            "label": entry.label,
            "url": reverse(f"dashboard:{entry.page}", args=[study.slug]),
            "current": here == f"dashboard:{entry.page}",
        }
        for entry in ENTRIES
        if entry.right in rights and entry.suits(study)
    ]
