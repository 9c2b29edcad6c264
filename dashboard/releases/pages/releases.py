"""The list of releases with the build in progress, and withdrawing a release."""

import json
from math import ceil
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from accounts.errors import DomainError
from annotation.models import Study
from annotation.rights import Right, by_and_now, form_page, read_page
from dashboard.http import number_in, render_form
from publishing import progress
from publishing.access import published_release
from publishing.actions.withdrawals import LONGEST_REASON, withdraw_release as record_withdrawal
from publishing.builder import MACHINE_VALIDATION_JSON
from publishing.filters import find_filter
from publishing.machine_validation import warnings
from publishing.models import Deposit, Release
from publishing.steps import Stage
from publishing.views import ARCHIVES
from tomannot import clock

PER_PAGE = 20
STAGES = {
    Stage.STORIES: gettext_lazy("Reading stories and votes"),
    Stage.QUESTIONS: gettext_lazy("Writing the questions"),
    Stage.DOCUMENTS: gettext_lazy("Computing agreement and machine baselines, writing the card"),
    Stage.COPIES: gettext_lazy("Finishing the Parquet copies"),
    Stage.SEALING: gettext_lazy("Writing metadata and MANIFEST"),
    Stage.RECORDING: gettext_lazy("Recording the release"),
}


@read_page()
def releases(request: HttpRequest, study: Study) -> HttpResponse:
    """List the releases, the newest first; htmx refreshes the build in progress."""
    found = Release.objects.filter(study=study).order_by("-number")
    underway = found.unfinished().select_related("requested_by").first()
    if getattr(request, "htmx", False) and underway is None:
        return HttpResponse(headers={"HX-Refresh": "true"})  # it has ended, so the list has changed
    before = number_in(request.GET.get("before"))
    older = found.filter(number__lt=before) if before else found
    listed = older.select_related("study", "requested_by", "withdrawal__withdrawn_by")
    rows = list(listed.prefetch_related("deposits")[: PER_PAGE + 1])
    published = found.published().count()
    context = {
        "build": _build(underway) if underway else None,
        "rows": [_row(release) for release in rows[:PER_PAGE]],
        "older": rows[PER_PAGE - 1].number if len(rows) > PER_PAGE else None,
        "is_first": not before,
        "can_compare": published > 1,
        "advice": _advice(rows),
        "can_publish": study.state != Study.State.DRAFT and underway is None,
    }
    return render(request, "dashboard/releases/releases.html", context)


def _advice(rows: list[Release]) -> list[str]:
    """Return advice for authors from the newest listed release; none if its file cannot be read."""
    newest = next((release for release in rows if release.state == Release.State.PUBLISHED), None)
    try:
        guesses = json.loads((newest.directory / MACHINE_VALIDATION_JSON).read_bytes()) if newest else {}
        return warnings.advice(guesses.get("configs", {}))
    except (OSError, ValueError):
        return []


@form_page(Right.PUBLISH)
def withdraw_release(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Explain what withdrawing means. A POST marks the release as withdrawn."""
    release = published_release(study.slug, number)
    failure = ""
    if request.method == "POST":
        try:
            record_withdrawal(release=release, reason=request.POST.get("reason", ""), **by_and_now(request))
            messages.success(request, _("Release %(number)s is withdrawn.") % {"number": number})
            return redirect("dashboard:releases", slug=study.slug)
        except DomainError as error:
            failure = str(error)
    context = {
        "release": release,
        "failure": failure,
        "reason": request.POST.get("reason", ""),
        "longest": LONGEST_REASON,
        "deposits": Deposit.objects.started_or_done().filter(release=release),
        "samples": release.baseline_samples.select_related("study"),
    }
    return render_form(request, "dashboard/releases/withdraw_release.html", context, errors=failure)


def _row(release: Release) -> dict[str, Any]:
    published = release.state == Release.State.PUBLISHED
    rule = find_filter(release.filter_name)
    place = [release.study.slug, release.number]
    return {
        "release": release,
        "published": published,
        "failed": release.state == Release.State.FAILED,
        "filter": rule.localized(release.votes_per_story)[0] if rule else release.filter_name,
        "validates": bool(rule and rule.validates),
        "url": reverse("publishing:release", args=place) if published else "",
        "archives": [(kind, reverse("publishing:archive", args=[*place, kind])) for kind in ARCHIVES]
        if published
        else [],
        "withdrawn": release.withdrawn,
    }


def _build(release: Release) -> dict[str, Any]:
    """Return the progress of a build."""
    found = progress.latest(release)
    standing, sign = progress.build_standing(release, found, now=clock.now())
    return {
        "release": release,
        "standing": standing.value,
        "sign": sign,
        "step": [*Stage].index(found.stage) + 1 if found else None,
        "steps": len(Stage),
        "label": STAGES[found.stage] if found else "",
        "done": found.done if found else None,
        "total": found.total if found else None,
        "remaining": _minutes(*found.remaining) if found and found.remaining else "",
    }


def _minutes(low: float, high: float) -> str:
    """Return a range of seconds as whole minutes in words."""
    least, most = int(low // 60), ceil(high / 60)
    if most <= 1:
        return _("less than a minute")
    if least == 0:
        return _("at most %(most)s minutes") % {"most": most}
    return ngettext("%(least)s to %(most)s minute", "%(least)s to %(most)s minutes", most) % {
        "least": least,
        "most": most,
    }
