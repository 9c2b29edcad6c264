"""How well people answer the questions of a release: drawing them into a study, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_safe

from annotation.errors import AnnotationError
from annotation.models import Study
from annotation.rights import Right, signed_in, study_page
from dashboard import actions
from dashboard.baseline import Admission
from dashboard.forms import BaselineForm
from dashboard.pages.creating import makers_page
from dashboard.spreadsheets import csv_file
from publishing.access import published_release
from publishing.baseline.accuracy import ALL
from publishing.baseline.drawing import can_be_drawn_from, check_size_for_a_page, check_stands
from publishing.baseline.results import has_accuracy, results
from publishing.errors import PublishingError


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(Right.CHANGE)
@makers_page
def draw(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Draw a sample of a release into a draft study, after a form that says what is usual."""
    release = published_release(study.slug, number)
    if not can_be_drawn_from(release):
        raise Http404("The release has no question sets.")
    try:
        check_stands(release)
    except PublishingError as error:
        messages.error(request, str(error))
        return redirect("dashboard:releases", slug=study.slug)
    form = BaselineForm.of(release, request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            check_size_for_a_page(release)
            made, admission = actions.draw_baseline(
                release=release, plan=form.plan(), by=signed_in(request), now=timezone.now()
            )
        except (AnnotationError, PublishingError) as error:
            form.add_error(None, str(error))
        else:
            _say(request, made, admission)
            return redirect("dashboard:study", slug=made.slug)
    context = {"study": study, "release": release, "form": form}
    return render(request, "dashboard/draw_baseline.html", context, status=422 if form.errors else 200)


@require_safe
@study_page()
def accuracy(request: HttpRequest, study: Study) -> HttpResponse:
    """How many of the answers so far are right, per question set."""
    found = _results(study)
    context = {"study": study, "results": found, "lines": _lines(found)}
    return render(request, "dashboard/accuracy.html", context)


@require_safe
@study_page()
def accuracy_file(request: HttpRequest, study: Study, kind: str) -> HttpResponse:
    """The same as a file: everything as JSON, or a line per question set as CSV."""
    found = _results(study)
    if kind == "json":
        response: HttpResponse = JsonResponse(found, json_dumps_params={"indent": 2})
    elif kind == "csv":
        rows = [_row(name, line) for name, line in (*found["configs"].items(), (ALL, found[ALL]))]
        response = csv_file(f"{study.slug}-accuracy", list(rows[0]), rows)
    else:
        raise Http404
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-accuracy.{kind}"'
    return response


def _results(study: Study) -> dict[str, Any]:
    if not has_accuracy(study):
        raise Http404("The study has no right answers to compare with.")
    return results(study)


def _say(request: HttpRequest, study: Study, admission: Admission) -> None:
    sample = study.baseline_sample
    messages.success(
        request,
        _("A draft with %(questions)s questions about %(stories)s stories, drawn with seed %(seed)s.")
        % {"questions": sample.questions, "stories": sample.stories, "seed": sample.seed},
    )
    for scenario, have in sorted(sample.short.items()):
        messages.warning(
            request,
            ngettext(
                "“%(scenario)s” has only %(have)s story: it is taken.",
                "“%(scenario)s” has only %(have)s stories: all are taken.",
                have,
            )
            % {"scenario": scenario, "have": have},
        )
    if study.qualified_through:
        messages.info(
            request,
            _(
                "%(remaining)s people of “%(source)s” may take part; %(excluded)s are excluded because they "
                "were shown these stories. manage.py invite %(study)s --qualified prints their links."
            )
            % {
                "remaining": admission.remaining,
                "source": study.qualified_through.slug,
                "excluded": len(admission.excluded),
                "study": study.slug,
            },
        )


@dataclass(frozen=True, slots=True)
class Line:
    """One question set on the page. Shares are in 0..1, or None where nothing can be said."""

    title: str
    found: dict[str, Any]

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval of the accuracy: its beginning and its width, for the bar."""
        if self.found["interval"] is None:
            return None
        low, high = self.found["interval"]
        return low, high - low


def _lines(found: dict[str, Any]) -> list[Line]:
    titles = {
        "mental-state-qa": _("Mental state"),
        "behavior-qa": _("Behavior"),
        "judgment-qa": _("Judgment"),
    }
    known = [name for name in titles if name in found["configs"]]
    others = [name for name in found["configs"] if name not in titles]
    lines = [Line(titles.get(name, name), found["configs"][name]) for name in (*known, *others)]
    return [*lines, Line(_("All questions"), found[ALL])]


def _row(name: str, line: dict[str, Any]) -> dict[str, Any]:
    low, high = line["interval"] or (None, None)
    majority, agreement = line["majority"], line["agreement"]
    majority_low, majority_high = majority["interval"] or (None, None)
    agreement_low, agreement_high = agreement["interval"] or (None, None)
    return {
        "config": name,
        "items": line["items"],
        "complete": line["complete"],
        "votes": line["votes"],
        "right": line["right"],
        "accuracy": line["accuracy"],
        "low": low,
        "high": high,
        "chance": line["chance"],
        "majority_right": majority["right"],
        "ties": majority["ties"],
        "majority_accuracy": majority["accuracy"],
        "majority_low": majority_low,
        "majority_high": majority_high,
        "agreement": agreement["percent"],
        "agreement_low": agreement_low,
        "agreement_high": agreement_high,
    }
