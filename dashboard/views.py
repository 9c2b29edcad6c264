"""The front page, and the researchers' first page about a study."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from annotation import actions
from annotation.errors import AnnotationError
from annotation.models import Study
from annotation.rights import (
    CHANGE_ALL,
    Right,
    researchers_page,
    rights_in,
    signed_in,
    studies_of,
    study_page,
)
from dashboard import queries
from publishing.baseline.drawing import can_be_drawn_from
from publishing.models import Deposit, Release
from publishing.queries import verdict_counts
from publishing.views import release_list
from qualification.queries import funnel

MOVES = {"open": actions.open_study, "pause": actions.pause_study, "close": actions.close_study}


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What this is, and what has been published here."""
    return render(request, "pages/home.html", {"releases": release_list(), "sends_mail": settings.SENDS_MAIL})


@require_safe
@researchers_page
def studies(request: HttpRequest) -> HttpResponse:
    """The studies that the reader may look at."""
    found = queries.studies(studies_of(request.user))
    return render(request, "dashboard/studies.html", {"studies": found})


@require_safe
@study_page()
def study(request: HttpRequest, study: Study) -> HttpResponse:
    """The counts of one study and what can be done with it."""
    user = signed_in(request)
    verdicts, people = verdict_counts(study), funnel(study)
    context = {
        "study": study,
        "stories": {
            "total": verdicts.stories,
            "kept": verdicts.kept,
            "dropped": verdicts.dropped,
            "incomplete": verdicts.incomplete,
            "by_question": queries.droppers_of(study, verdicts),
        },
        "votes": queries.votes_of(study, now=timezone.now()),
        "people": queries.people_of(study, people),
        "qualification_fails": queries.failures_of(study, people),
        "lint": queries.lint_of(study),
        "blockers": actions.blockers(study) if study.state == Study.State.DRAFT else [],
        "releases": release_list(study),
        "deposits": Deposit.objects.filter(release__study=study).select_related("release"),
        "unpublished": Release.objects.filter(study=study).exclude(state=Release.State.PUBLISHED),
        "actions": _actions(study, user, rights_in(user, study)),
    }
    return render(request, "dashboard/study.html", context)


@require_POST
@study_page(Right.CHANGE)
def change_state(request: HttpRequest, study: Study, move: str) -> HttpResponse:
    """Open, pause or close a study."""
    if move not in MOVES:
        raise Http404
    try:
        MOVES[move](study=study, by=signed_in(request), now=timezone.now())
    except AnnotationError as error:
        messages.error(request, str(error))
    return redirect("dashboard:study", slug=study.slug)


def _actions(study: Study, user: User, rights: frozenset[Right]) -> list[dict[str, Any]]:
    """What the reader can do with a study in its state, the likeliest first."""
    possible = {
        Study.State.DRAFT: [("open", _("Open the study"))],
        Study.State.OPEN: [("pause", _("Pause")), ("close", _("Close the study"))],
        Study.State.PAUSED: [("open", _("Open again")), ("close", _("Close the study"))],
        Study.State.CLOSED: [("open", _("Open again"))],
    }[Study.State(study.state)]
    buttons: list[dict[str, Any]] = []
    if study.state != Study.State.DRAFT and Right.PUBLISH in rights:
        publish_url = reverse("dashboard:publish", args=[study.slug])
        buttons.append({"label": _("Publish a release"), "url": publish_url})
    if Right.CHANGE in rights:
        buttons += [
            {
                "label": label,
                "url": reverse("dashboard:change_state", args=[study.slug, move]),
                "method": "post",
            }
            for move, label in possible
        ]
    if study.state != Study.State.DRAFT:
        filters_url = reverse("dashboard:filters", args=[study.slug])
        buttons.append({"label": _("Compare filters"), "url": filters_url})
    buttons += _baseline_links(study, rights)
    if user.is_staff and user.has_perm(CHANGE_ALL):
        imports = reverse("admin:annotation_study_import_file", args=[study.pk])
        row = reverse("admin:annotation_study_change", args=[study.pk])
        buttons += [{"label": _("Import stories"), "url": imports}, {"label": _("Back office"), "url": row}]
    return buttons


def _baseline_links(study: Study, rights: frozenset[Right]) -> list[dict[str, Any]]:
    """To drawing questions for people from the newest release."""
    newest = Release.objects.published().filter(study=study).select_related("study").first()
    if Right.CHANGE not in rights or newest is None or not can_be_drawn_from(newest):
        return []
    address = reverse("dashboard:draw_baseline", args=[study.slug, newest.number])
    return [{"label": _("Questions for people"), "url": address}]
