"""The menu of a study: its eight entries and the pages of each, in order.

The addresses mirror the menu, so a page belongs to the menu page whose address its own begins with.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.models import Study
from annotation.rights import Right, granted


@dataclass(frozen=True, slots=True)
class MenuPage:
    """A page with a link in the menu: its URL name, its label, and the right that opens it."""

    name: str
    label: Promise
    right: Right = Right.LOOK
    suits: Callable[[Study], bool] = lambda study: True
    """True if the study has such a page."""
    is_in_study: bool = True
    """False for a page of the researcher's own, whose address names no study."""

    def url(self, study: Study) -> str:
        return reverse(f"dashboard:{self.name}", args=[study.slug] if self.is_in_study else [])


def _has_opened(study: Study) -> bool:
    return study.state != Study.State.DRAFT


def _has_right_answers(study: Study) -> bool:
    return bool(study.protocol.scored)


def _has_filters(study: Study) -> bool:
    return study.protocol.resolution == "filter" and not _has_right_answers(study)


ENTRIES = {
    _("Overview"): (MenuPage("overview", _("Overview")),),
    _("Stories"): (MenuPage("stories", _("Stories")), MenuPage("import_stories", _("Import"))),
    _("People"): (
        MenuPage("people", _("People")),
        MenuPage("given_items", _("Given stories"), suits=lambda study: not study.stratum_field),
    ),
    _("Recruitment"): (
        MenuPage("recruitment", _("Campaigns")),
        MenuPage("join_link", _("Join link")),
        MenuPage("payments", _("Payments")),
        MenuPage("mismatches", _("Mismatches")),
    ),
    _("Qualification"): (MenuPage("qualification", _("Qualification")),),
    _("Quality"): (
        MenuPage("quality", _("Agreement")),
        MenuPage("hidden_checks", _("Hidden checks")),
        MenuPage("review", _("Review")),
        MenuPage("decisions", _("Decisions"), suits=lambda study: study.protocol.resolution != "mean"),
        MenuPage("skips", _("Skipped stories"), suits=_has_opened),
        MenuPage("filters", _("Filters"), suits=_has_filters),
    ),
    _("Releases"): (
        MenuPage("releases", _("Releases")),
        MenuPage("publish", _("Publish"), Right.PUBLISH, _has_opened),
        MenuPage("compare_releases", _("Compare")),
        MenuPage("data_statement", _("Data statement")),
        MenuPage("human_baseline", _("Right answers"), suits=_has_right_answers),
    ),
    _("Settings"): (
        MenuPage("settings", _("Settings")),
        MenuPage("instructions", _("Instructions")),
        MenuPage(
            "design", _("Design"), suits=lambda study: bool(study.state == "draft" or study.stratum_field)
        ),
        MenuPage("members", _("Members")),
        MenuPage("alerts", _("Alerts")),
        MenuPage("log", _("Log"), Right.AUDIT),
        MenuPage("configuration", _("Configuration"), Right.CHANGE),
        MenuPage("api_tokens", _("API tokens"), is_in_study=False),
    ),
}
"""The pages of each entry, by its label. An entry leads to the first of them."""


def menu(request: HttpRequest, study: Study) -> dict[str, Any]:
    """Return the menu for the reader of this page.

    ``entries``: a link per entry. ``here``: the link of the entry that this page belongs to. ``pages``: links
    to the pages of that entry, if it has several. ``above``: the link of the page in the menu that this one
    is below, None for a page in the menu. A link has ``label``, ``url`` and ``current``: ``page`` for
    this page itself, ``true`` for an entry or page above it, else empty.
    """
    rights = granted(request)
    opened = {label: [page for page in pages if page.right in rights] for label, pages in ENTRIES.items()}
    entries = _links([(label, pages[0].url(study)) for label, pages in opened.items()], request.path)
    here = next(link for link in entries if link["current"])
    own = [(page.label, page.url(study)) for page in opened[here["label"]] if page.suits(study)]
    pages = _links(own, request.path)
    above = next((link for link in pages if link["current"] == "true"), None)
    return {"entries": entries, "here": here, "pages": pages if len(pages) > 1 else [], "above": above}


def _links(pages: Sequence[tuple[Promise, str]], path: str) -> list[dict[str, Any]]:
    """Return links to these pages. The longest address that begins ``path`` is the current page's."""
    current = max((url for _label, url in pages if path.startswith(url)), key=len, default="")
    return [
        {"label": label, "url": url, "current": "" if url != current else "page" if url == path else "true"}
        for label, url in pages
    ]
