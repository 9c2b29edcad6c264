"""The overview of a study: how it stands now, and what can be done with it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from annotation import actions
from annotation.errors import AnnotationError, StudyNotReady
from annotation.models import Study
from annotation.rights import CHANGE_ALL, CREATE, Right, rights_in, signed_in, study_page
from annotation.views.common import number
from dashboard import overview
from dashboard.actions import move_study
from dashboard.attention import waiting
from dashboard.checklist import Step, checklist
from dashboard.figures import kept
from dashboard.persons import story_address
from dashboard.recruiting.doors import STUDY_MOVES, along_with, turning_away
from publishing.baseline.drawing import can_be_drawn_from
from publishing.models import Deposit, Release
from publishing.views import release_list
from qualification.experts import waited_for
from qualification.queries import tested
from recruitment.errors import RecruitmentError

ASKED = "campaigns_asked"
"""In a form that has asked which campaigns move with the study."""


@require_safe
@study_page()
def study(request: HttpRequest, study: Study) -> HttpResponse:
    """How a study stands. htmx asks for the part that moves and gets it alone."""
    context = _now(request, study)
    if getattr(request, "htmx", False):
        return render(request, "dashboard/_now.html", context)
    rights = rights_in(request.user, study)
    context |= {
        "missing": _missing(study),
        "turning_away": turning_away(study),
        "may_change": Right.CHANGE in rights,
        "asked": waited_for(signed_in(request), study=study),
        "releases": release_list(study),
        "deposits": Deposit.objects.filter(release__study=study).select_related("release"),
        "unpublished": Release.objects.filter(study=study).exclude(state=Release.State.PUBLISHED),
        **_actions(study, signed_in(request), rights, context["document"]),
    }
    return render(request, "dashboard/study.html", context)


@require_POST
@study_page(Right.CHANGE)
def release_lease(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Give the story that somebody holds to others at once."""
    try:
        actions.release_lease(study=study, assignment_id=number, by=signed_in(request), now=timezone.now())
        messages.success(request, _("The story goes to somebody else."))
    except AnnotationError as error:
        messages.error(request, str(error))
    return redirect("dashboard:study", slug=study.slug)


def _now(request: HttpRequest, study: Study) -> dict[str, Any]:
    """What moves: the figures as far as they are worked out, people, answers, leases."""
    now = timezone.now()
    found, underway = kept.refreshed(study, now=now)
    people, document = tested(study), found.document if found else None
    leases, shares = overview.leases_of(study, now=now), overview.people_of(study, people)
    for row in leases["rows"]:
        row["address"] = story_address(study, row["story_id"])
    context = {
        "study": study,
        "figures": found,
        "underway": underway,
        "document": document,
        "tested": people,
        "people": shares,
        "nobody_invited": not shares[0].value,
        "per_hour": overview.votes_in_the_last_hour(study, now=now),
        "leases": leases,
        "waiting": waiting(study, document),
        "may_release": Right.CHANGE in rights_in(request.user, study),
    }
    if document:
        context |= {
            "droppers": overview.droppers_of(study, document["verdicts"]),
            "lint": overview.lint_of(study, document),
            "cost": overview.cost_of(study, document),
        }
    return context


@require_POST
@study_page(Right.CHANGE)
def change_state(request: HttpRequest, study: Study, move: str) -> HttpResponse:
    """Open, pause or close a study; where it has campaigns that could move with it, that is asked first."""
    if move not in STUDY_MOVES:
        raise Http404
    along = along_with(study, move)
    if along and ASKED not in request.POST:
        context = {"study": study, "move": move, "along": along, "asked": ASKED}
        return render(request, "dashboard/move_study.html", context)
    chosen = {number(text) for text in request.POST.getlist("campaign")}
    try:
        moved = move_study(
            study=study, move=move, campaigns=chosen, by=signed_in(request), now=timezone.now()
        )
        for campaign in moved:
            said = {"number": campaign.number, "state": campaign.get_state_display()}
            messages.success(request, _("Campaign %(number)s: %(state)s.") % said)
    except StudyNotReady:
        messages.error(
            request, _("The study cannot open yet. Below is what is missing, and where to mend it.")
        )
        return redirect("dashboard:set_up", slug=study.slug)
    except (AnnotationError, RecruitmentError) as error:
        messages.error(request, str(error))
    return redirect("dashboard:study", slug=study.slug)


def _missing(study: Study) -> list[Step]:
    """What keeps a study from opening that has never been open."""
    if study.state != Study.State.DRAFT:
        return []
    return [step for step in checklist(study) if step.is_missing]


def _actions(
    study: Study, user: User, rights: frozenset[Right], document: dict[str, Any] | None
) -> dict[str, list[dict[str, Any]]]:
    """What the reader can do: ``next_step``, at most one, what a study in its state needs; ``further``."""
    buttons: dict[str, dict[str, Any]] = {}
    if Right.CHANGE in rights:
        if study.state != Study.State.CLOSED:
            buttons["invite"] = _link(study, "invite", _("Invite people"))
        for move, label in _moves(study):
            address = reverse("dashboard:change_state", args=[study.slug, move])
            buttons[move] = {"label": label, "url": address, "method": "post"}
    if study.state != Study.State.DRAFT and Right.PUBLISH in rights:
        buttons["publish"] = _link(study, "publish", _("Publish a release"))
    if Right.CHANGE in rights:
        buttons["import"] = _link(study, "import_stories", _("Import stories"))
    step = buttons.pop(_next_step(study, document), None)
    further = [*buttons.values(), *_baseline_links(study, user, rights)]
    if user.is_staff and user.has_perm(CHANGE_ALL):
        row = reverse("admin:annotation_study_change", args=[study.pk])
        further.append({"label": _("Back office"), "url": row})
    return {"next_step": [step] if step else [], "further": further}


def _next_step(study: Study, document: dict[str, Any] | None) -> str:
    """What a study in its state needs: stories that are all complete, or closed, want to be published."""
    verdicts = document["verdicts"] if document else {}
    if study.state == Study.State.CLOSED or (verdicts.get("stories") and not verdicts["incomplete"]):
        return "publish"
    return "invite" if study.state == Study.State.OPEN else "open"


def _moves(study: Study) -> list[tuple[str, str]]:
    """Into which states it can go."""
    return {
        Study.State.DRAFT: [("open", _("Open the study"))],
        Study.State.OPEN: [("pause", _("Pause")), ("close", _("Close the study"))],
        Study.State.PAUSED: [("open", _("Open again")), ("close", _("Close the study"))],
        Study.State.CLOSED: [("open", _("Open again"))],
    }[Study.State(study.state)]


def _link(study: Study, page: str, label: str) -> dict[str, Any]:
    return {"label": label, "url": reverse(f"dashboard:{page}", args=[study.slug])}


def _baseline_links(study: Study, user: User, rights: frozenset[Right]) -> list[dict[str, Any]]:
    """To drawing questions for people from the newest release, which makes a study."""
    if Right.CHANGE not in rights or not user.has_perm(CREATE):
        return []
    newest = Release.objects.standing().filter(study=study).select_related("study").first()
    if newest is None or not can_be_drawn_from(newest):
        return []
    address = reverse("dashboard:draw_baseline", args=[study.slug, newest.number])
    return [{"label": _("Questions for people"), "url": address}]
