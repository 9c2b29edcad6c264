"""Releases: the list with the build in progress, the data statement, publishing, and withdrawing."""

import json
from dataclasses import asdict
from math import ceil
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy

from annotation.models import Study
from annotation.numbers import number_in
from annotation.protocols.instructions import sections_of
from annotation.reasons import LONGEST_STATEMENT
from annotation.rights import Right, by_and_now, form_page, granted, read_page
from dashboard.figures import store
from dashboard.http import ErrorsAsMessages, ErrorsInForm, render_form
from dashboard.releases.recruited import recruited
from dashboard.settings.configuration_export import test_of
from dashboard.settings.forms import prose
from publishing import previews, progress
from publishing.actions.published import withdraw_release as record_withdrawal
from publishing.actions.releases import request_release
from publishing.actions.statements import describe_data
from publishing.card.html import rendered
from publishing.data_statement import creators_of, doi_of
from publishing.errors import UnknownFilter
from publishing.facts import Statement
from publishing.files.directory import content_type
from publishing.files.rows import MACHINE_VALIDATION_JSON
from publishing.filters import ONE_OF_EACH, filters_for
from publishing.machine_validation import warnings
from publishing.models import DataStatement, Deposit, Release
from publishing.queries import planned_filter, statement_of
from publishing.steps import Stage
from publishing.study_filters import filter_for, filters_of
from publishing.views import ARCHIVES, published_release
from tomannot import clock

PER_PAGE = 20


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
        "releases": rows[:PER_PAGE],
        "first": request.path if before else "",
        "next": f"?before={rows[PER_PAGE - 1].number}" if len(rows) > PER_PAGE else "",
        "archives": ARCHIVES,
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


class WithdrawalForm(forms.Form):
    """The public reason for withdrawing a release."""

    reason = prose(
        gettext_lazy("Reason"),
        gettext_lazy("It is public for good. Say what is wrong and which part of the data is affected."),
        required=True,
        max_length=LONGEST_STATEMENT,
    )


@form_page(Right.PUBLISH)
def withdraw_release(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Explain what withdrawing means. A POST marks the release as withdrawn."""
    release = published_release(study.slug, number)
    form = WithdrawalForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with ErrorsInForm(form, at="reason"):
            record_withdrawal(release=release, **form.cleaned_data, **by_and_now(request))
            messages.success(request, _("Release %(number)s is withdrawn.") % {"number": number})
            return redirect("dashboard:releases", slug=study.slug)
    context = {
        "release": release,
        "form": form,
        "deposits": Deposit.objects.started_or_done().filter(release=release),
        "samples": release.baseline_samples.select_related("study"),
    }
    return render_form(request, "dashboard/releases/withdraw_release.html", context)


def _build(release: Release) -> dict[str, Any]:
    found = progress.latest(release)
    standing, sign = progress.build_standing(release, found, now=clock.now())
    return {
        "release": release,
        "standing": standing,
        "sign": sign,
        "progress": found,
        "step": [*Stage].index(found.stage) + 1 if found else None,
        "steps": len(Stage),
        "minutes": (int(found.remaining[0] // 60), ceil(found.remaining[1] / 60))
        if found and found.remaining
        else None,
    }


class StatementForm(forms.Form):
    """The data statement, a field for each of its items. ``publishing.data_statement`` has the rules."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for section in sections_of(render_to_string("dashboard/releases/statement_fields.txt")):
            name, field = section.title, prose(*section.paragraphs)
            if name in ("url", "doi"):
                field.widget = forms.TextInput()
            self.fields[name] = field

    def statement(self) -> Statement:
        said = {name: value.replace("\r\n", "\n") for name, value in self.cleaned_data.items()}
        return Statement(**said | {"creators": creators_of(said["creators"]), "doi": doi_of(said["doi"])})


@form_page(post=Right.CHANGE)
def data_statement(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the data statement. A POST saves a new version."""
    may_change = Right.CHANGE in granted(request)
    said = statement_of(study, at=clock.now())
    initial = asdict(said) | {"creators": "\n".join(said.creators)}
    form = StatementForm(request.POST if request.method == "POST" else None, initial=initial)
    for field in form.fields.values():
        field.disabled = not may_change
    if form.is_valid():
        with ErrorsInForm(form):
            describe_data(study=study, statement=form.statement(), **by_and_now(request))
            messages.success(
                request, _("Saved. The next release includes it; earlier releases do not change.")
            )
            return redirect("dashboard:data_statement", slug=study.slug)
    standing = DataStatement.objects.of(study, at=clock.now())
    context = {"form": form, "standing": standing}
    return render_form(request, "dashboard/releases/data_statement.html", context)


@form_page(Right.PUBLISH)
def publish(request: HttpRequest, study: Study) -> HttpResponse:
    """Choose the filter of a release to preview. A POST requests the release; a Celery worker builds it."""
    if request.method == "POST":
        name = request.POST.get("filter", planned_filter(study))
        if "previewed" not in request.POST:  # only the preview asks
            preview = reverse("dashboard:preview_release", args=[study.slug])
            return redirect(f"{preview}?{urlencode({'filter': name})}")
        with ErrorsAsMessages(request):
            release = request_release(
                study=study,
                **by_and_now(request),
                filter_name=name,
                test=test_of(study) if "publish_test" in request.POST else None,
                recruited=recruited(study),
            )
            messages.success(request, _("Release %(number)s is being built.") % {"number": release.number})
        return redirect("dashboard:releases", slug=study.slug)
    found, underway = store.refreshed(study, now=clock.now())
    context = {
        "figures": found,
        "underway": underway,
        "selects": study.protocol.resolution == "filter",
        "verdicts": found.document["verdicts"] if found and found.document else None,
        "filters": _choices(study, found),
        "is_described": statement_of(study, at=clock.now()) != Statement(),
    }
    return render(request, "dashboard/releases/publish.html", context)


@read_page(Right.PUBLISH)
def preview_release(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the next release as it would be, to those who may publish it, and ask whether to."""
    option = ONE_OF_EACH if "one_of_each" in request.GET else ""
    name = request.GET.get("filter", planned_filter(study))
    try:
        rule, now = filter_for(study, name + option), clock.now()
    except UnknownFilter as error:
        raise Http404(str(error)) from error
    found = previews.get_or_request(study, rule.name, now=now)
    urls = {
        path: reverse("dashboard:preview_chart", args=[study.slug, rule.name, path])
        for path in (found.charts if found else ())
    }
    context = {
        "rule": rule,
        "preview": found,
        "has_test": study.gate == Study.Gate.READY,
        "card": rendered(found.card, urls.get) if found and not found.failure else None,
        "statement": [
            (field.label, getattr(found.statement, name) if found else "")
            for name, field in StatementForm().fields.items()
        ],
    }
    return render(request, "dashboard/releases/preview_release.html", context)


@read_page(Right.PUBLISH)
def preview_chart(request: HttpRequest, study: Study, name: str, path: str) -> HttpResponse:
    found = previews.latest(study, name)
    if found is None:  # it is kept for minutes only
        return redirect("dashboard:preview_release", slug=study.slug)
    if path not in found.charts:
        raise Http404("The preview has no such chart.")
    return HttpResponse(found.charts[path], content_type=content_type(path))


def _choices(study: Study, found: store.Figures | None) -> list[dict[str, Any]]:
    """Return the filters to choose from, with what each would keep if the figures are known."""
    rows = found.document["filters"]["filters"] if found and found.document else []
    by_name = {row["name"]: row for row in rows}
    planned = planned_filter(study).removesuffix(ONE_OF_EACH)
    return [
        {
            "rule": rule,
            "sentence": rule.localized_rule(study.votes_per_story),
            "checked": rule.name == planned,
            **by_name.get(rule.name, {}),
        }
        for rule in filters_of(study, filters_for(study.protocol_name)).values()
    ]
