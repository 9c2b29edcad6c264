"""The overview of a study: its progress now, the actions on it, and its charts as files."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.errors import DomainError
from accounts.models import User
from annotation import actions
from annotation.errors import StudyNotReady
from annotation.models import Study
from annotation.numbers import number_in
from annotation.rights import (
    CHANGE_ALL,
    CREATE,
    Right,
    by_and_now,
    form_page,
    granted,
    read_page,
    signed_in,
    write_page,
)
from dashboard.actions import move_study
from dashboard.charts.catalogue import CHARTS, chart_called
from dashboard.figures import store
from dashboard.http import ErrorsAsMessages, csv_file
from dashboard.overview import queries
from dashboard.overview.checklist import GapsNotAccepted, checklist, proxies_step
from dashboard.recruitment.study_state import OPEN, STUDY_MOVES, linked_campaigns, turning_away
from publishing.human_baseline.drawing import has_questions
from publishing.models import Deposit, Release
from publishing.views import release_list
from qualification.experts import pending_reviews
from qualification.queries import tested
from tomannot import clock

ASKED = "asked"
"""In a form that has named the gaps, and has asked which campaigns move with the study."""


@read_page()
def overview(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a study's overview: of a draft its checklist. htmx polls the live part alone."""
    rights, is_draft = granted(request), study.state == Study.State.DRAFT
    context: dict[str, Any] = {} if is_draft else _now(study)
    if getattr(request, "htmx", False) and not is_draft:
        return render(request, "dashboard/overview/_now.html", context)
    context |= {
        "asked": pending_reviews(signed_in(request), study=study),
        **_actions(study, signed_in(request), rights, context.get("document")),
    }
    if is_draft:
        context["steps"] = [*checklist(study), *proxies_step(request)]
    else:
        context |= {
            "turning_away": turning_away(study),
            "releases": release_list(study),
            "deposits": Deposit.objects.filter(release__study=study).select_related("release"),
            "unpublished": Release.objects.filter(study=study).exclude(state=Release.State.PUBLISHED),
        }
    return render(request, "dashboard/overview/overview.html", context)


@write_page(Right.CHANGE)
def release_lease(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Give the story that somebody holds to others at once."""
    with ErrorsAsMessages(request):
        actions.release_lease(study=study, assignment_id=number, **by_and_now(request))
        messages.success(request, _("The story is released to others."))
    return redirect("dashboard:overview", slug=study.slug)


def _now(study: Study) -> dict[str, Any]:
    """Return the context of the live part: figures, participants, votes, leases."""
    now = clock.now()
    found, underway = store.refreshed(study, now=now)
    document = found.document if found else None
    leases, shares = queries.leases_of(study, now=now), queries.people_of(study)
    context = {
        "figures": found,
        "underway": underway,
        "document": document,
        "tested": tested(study),
        "people": shares,
        "nobody_invited": not shares[0].value,
        "leases": leases,
        "waiting": queries.waiting(study, document),
    }
    if document:
        context |= {
            "droppers": queries.droppers_of(study, document["verdicts"]),
            "lint": queries.lint_of(study, document),
            "cost": queries.cost_of(study, document),
            "unfinished": queries.unfinished_of(study, document, at_once=len(leases["rows"])),
        }
    return context


@form_page(Right.CHANGE)
def change_state(request: HttpRequest, study: Study, move: str) -> HttpResponse:
    """Open, pause or close a study. If there are gaps, or campaigns could move with it, ask first."""
    if move not in STUDY_MOVES:
        raise Http404
    along = linked_campaigns(study, move)
    steps = checklist(study) if move == OPEN and study.state == Study.State.DRAFT else []
    if request.method != "POST" or (ASKED not in request.POST and (along or not all(s.done for s in steps))):
        ready = not any(step.is_missing for step in steps)
        context = queries.opening_figures(study) if steps else {}
        context |= {"move": move, "along": along, "asked": ASKED, "steps": steps, "ready": ready}
        return render(request, "dashboard/overview/change_state.html", context)
    try:
        moved = move_study(
            study=study,
            move=move,
            campaigns={number_in(text) for text in request.POST.getlist("campaign")},
            accepted=request.POST.getlist("accepted"),
            planned_filter=request.POST.get("filter", ""),
            **by_and_now(request),
        )
        for one in moved:
            said = {"number": one.number, "state": one.get_state_display()}
            messages.success(request, _("Campaign %(number)s: %(state)s.") % said)
    except (StudyNotReady, GapsNotAccepted):
        messages.error(request, _("The study cannot open yet. The checklist says what is missing."))
        return redirect("dashboard:change_state", slug=study.slug, move=OPEN)
    except DomainError as error:
        messages.error(request, str(error))
    return redirect("dashboard:overview", slug=study.slug)


def _actions(
    study: Study, user: User, rights: frozenset[Right], document: Any
) -> dict[str, list[dict[str, Any]]]:
    """Return the reader's actions: the suggested ``next_step``, at most one, and ``further`` ones."""
    buttons: dict[str, dict[str, Any]] = {}
    opening, closing = ("open", _("Reopen")), ("close", _("Close the study"))
    moves = {
        Study.State.DRAFT: [("open", _("Open the study"))],
        Study.State.OPEN: [("pause", _("Pause")), closing],
        Study.State.PAUSED: [opening, closing],
        Study.State.CLOSED: [opening],
    }[Study.State(study.state)]
    if Right.CHANGE in rights:
        if study.state != Study.State.CLOSED:
            buttons["invite"] = _link(study, "invite", _("Invite participants"))
        for move, label in moves:
            address = reverse("dashboard:change_state", args=[study.slug, move])
            asks = "get" if study.state == Study.State.DRAFT else "post"
            buttons[move] = {"label": label, "url": address, "method": asks}
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
    verdicts = document["verdicts"] if document else {}
    if study.state == Study.State.CLOSED or (verdicts.get("stories") and not verdicts["incomplete"]):
        return "publish"
    return "invite" if study.state == Study.State.OPEN else "open"


def _link(study: Study, page: str, label: str) -> dict[str, Any]:
    return {"label": label, "url": reverse(f"dashboard:{page}", args=[study.slug])}


def _baseline_links(study: Study, user: User, rights: frozenset[Right]) -> list[dict[str, Any]]:
    """Return links for drawing a human baseline from the newest release, which creates a study."""
    if Right.CHANGE not in rights or not user.has_perm(CREATE):
        return []
    newest = Release.objects.not_withdrawn().filter(study=study).select_related("study").first()
    if newest is None or not has_questions(newest):
        return []
    address = reverse("dashboard:draw_human_baseline", args=[study.slug, newest.number])
    return [{"label": _("Draw a human baseline"), "url": address}]


KINDS = ("csv", "json")


@read_page()
def chart_file(request: HttpRequest, study: Study, name: str, kind: str) -> HttpResponse:
    """Send a chart's rows (``csv``), or a specification that any Vega-Lite program draws (``json``).

    Without data, redirect to the chart's page, which says so.
    """
    if name not in CHARTS or kind not in KINDS:
        raise Http404("There is no such chart.")
    chart = chart_called(name, study, store.latest(study))
    if chart is None:
        return redirect(f"dashboard:{CHARTS[name].page}", slug=study.slug)
    if kind == "csv":
        return csv_file(f"{study.slug}-{name}", [column.key for column in chart.columns], chart.rows)
    response = JsonResponse(chart.spec(), json_dumps_params={"indent": 1, "ensure_ascii": False})
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-{name}.vl.json"'
    return response
