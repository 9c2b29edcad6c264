"""The releases of a study: all of them, the one that is being built, and withdrawing one."""

from __future__ import annotations

from math import ceil
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_safe

from annotation.models import Study
from annotation.rights import Right, rights_in, signed_in, study_page
from dashboard.pages.comparing import number_in
from publishing import progress
from publishing.access import published_release
from publishing.errors import PublishingError
from publishing.filters import FILTERS
from publishing.models import Deposit, Release
from publishing.steps import Stage
from publishing.views import ARCHIVES
from publishing.withdrawing.actions import LONGEST_REASON, withdraw_release

PER_PAGE = 20
STAGES = {
    Stage.STORIES: gettext_lazy("Reading stories and votes"),
    Stage.QUESTIONS: gettext_lazy("Writing the questions"),
    Stage.DOCUMENTS: gettext_lazy("Working out agreement and what a machine can guess, writing the card"),
    Stage.COPIES: gettext_lazy("Finishing the Parquet copies"),
    Stage.SEALING: gettext_lazy("Writing metadata and MANIFEST"),
    Stage.RECORDING: gettext_lazy("Recording the release"),
}


@require_safe
@study_page()
def releases(request: HttpRequest, study: Study) -> HttpResponse:
    """Every release, the newest first; the build that is underway moves by itself."""
    found = Release.objects.filter(study=study).order_by("-number")
    underway = found.unfinished().select_related("requested_by").first()
    if getattr(request, "htmx", False) and underway is None:
        return HttpResponse(headers={"HX-Refresh": "true"})  # it has ended: the list has changed, too
    before = number_in(request.GET.get("before"))
    older = found.filter(number__lt=before) if before else found
    listed = older.select_related("study", "requested_by", "withdrawal__withdrawn_by")
    rows = list(listed.prefetch_related("deposits")[: PER_PAGE + 1])
    published = found.published().count()
    context = {
        "study": study,
        "build": _build(underway) if underway else None,
        "rows": [_row(release) for release in rows[:PER_PAGE]],
        "older": rows[PER_PAGE - 1].number if len(rows) > PER_PAGE else None,
        "is_first": not before,
        "can_compare": published > 1,
        "may_publish": Right.PUBLISH in rights_in(request.user, study),
        "can_publish": study.state != Study.State.DRAFT and underway is None,
    }
    return render(request, "dashboard/releases.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(Right.PUBLISH)
def withdraw(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Mark a release as withdrawn, after a page that says what that means."""
    release = published_release(study.slug, number)
    failure = ""
    if request.method == "POST":
        try:
            withdraw_release(
                release=release,
                reason=request.POST.get("reason", ""),
                by=signed_in(request),
                now=timezone.now(),
            )
            messages.success(request, _("Release %(number)s is withdrawn.") % {"number": number})
            return redirect("dashboard:releases", slug=study.slug)
        except PublishingError as error:
            failure = str(error)
    context = {
        "study": study,
        "release": release,
        "failure": failure,
        "reason": request.POST.get("reason", ""),
        "longest": LONGEST_REASON,
        "deposits": Deposit.objects.outside().filter(release=release),
        "samples": release.baseline_samples.select_related("study"),
    }
    return render(request, "dashboard/withdraw_release.html", context, status=422 if failure else 200)


def _row(release: Release) -> dict[str, Any]:
    published = release.state == Release.State.PUBLISHED
    rule = FILTERS.get(release.filter_name)
    place = [release.study.slug, release.number]
    return {
        "release": release,
        "published": published,
        "failed": release.state == Release.State.FAILED,
        "filter": rule.shown(release.votes_per_story)[0] if rule else release.filter_name,
        "validates": bool(rule and rule.validates),
        "url": reverse("publishing:release", args=place) if published else "",
        "archives": [(kind, reverse("publishing:archive", args=[*place, kind])) for kind in ARCHIVES]
        if published
        else [],
        "withdrawn": release.withdrawn,
    }


def _build(release: Release) -> dict[str, Any]:
    """How far the build is, as the page shows it."""
    found = progress.latest(release)
    standing, sign = progress.standing_of(release, found, now=timezone.now())
    return {
        "release": release,
        "standing": standing.value,
        "sign": sign,
        "step": [*Stage].index(found.stage) + 1 if found else None,
        "steps": len(Stage),
        "label": STAGES[found.stage] if found else "",
        "done": found.done if found else None,
        "total": found.total if found else None,
        "remaining": _told(*found.remaining) if found and found.remaining else "",
    }


def _told(low: float, high: float) -> str:
    """A range of seconds in whole minutes."""
    least, most = int(low // 60), ceil(high / 60)
    if most <= 1:
        return _("less than a minute")
    if least == 0:
        return _("at most %(most)s minutes") % {"most": most}
    return ngettext("%(least)s to %(most)s minute", "%(least)s to %(most)s minutes", most) % {
        "least": least,
        "most": most,
    }
