"""The pages of a study, in the order in which its menu lists them: those used every day first."""

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
    below: tuple[str, ...] = ()
    """The pages that one comes to from it and that have no line of their own."""
    is_rare: bool = False
    """Whether it stands behind “More”: all in one row would not fit on a desk."""


ENTRIES = (
    Entry("study", _("Overview")),
    Entry("set_up", _("Set-up"), below=("preview", "clone")),
    Entry("stories", _("Stories"), below=("story", "import_stories", "import_report")),
    Entry(
        "qualification",
        _("Qualification"),
        below=("new_round", "round", "answer_key", "expert", "expert_story"),
    ),
    Entry(
        "recruitment",
        _("Recruitment"),
        below=("new_campaign", "campaign", "change_campaign", "work", "payments", "differences"),
    ),
    Entry(
        "people",
        _("People"),
        below=("invite", "invited_links", "person", "persons_link", "exclude", "tests"),
    ),
    Entry("quality", _("Quality")),
    Entry(
        "review",
        _("Review"),
        below=("review_sample", "review_item", "decisions", "next_decision", "decide_story"),
    ),
    Entry(
        "releases",
        _("Releases"),
        below=("publish", "compare_releases", "withdraw_release", "draw_baseline"),
    ),
    Entry("accuracy", _("Accuracy"), suits=has_accuracy),
    Entry("checks", _("Hidden checks"), below=("check", "check_keys"), is_rare=True),
    Entry("members", _("Members"), is_rare=True),
    Entry("joining", _("Join link and codes"), below=("join_link",), is_rare=True),
    Entry("filters", _("Filters"), suits=lambda study: not has_accuracy(study), is_rare=True),
    Entry("statement", _("Data statement"), is_rare=True),
    Entry("log", _("Log"), Right.AUDIT, is_rare=True),
)


def menu(request: HttpRequest, study: Study) -> list[dict[str, Any]]:
    """The entries that the reader may open.

    ``current`` is ``page`` for the one they are on, ``true`` for the one that page lies below, else empty.
    """
    rights = rights_in(request.user, study)
    match = request.resolver_match
    here = match.url_name if match and match.namespace == "dashboard" else None
    return [
        {
            "label": entry.label,
            "url": reverse(f"dashboard:{entry.page}", args=[study.slug]),
            "is_rare": entry.is_rare,
            "current": "page" if here == entry.page else "true" if here in entry.below else "",
        }
        for entry in ENTRIES
        if entry.right in rights and entry.suits(study)
    ]
