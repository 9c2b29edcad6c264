"""Ways to create a study: from a form, from a configuration file, or by cloning another."""

import json
from typing import Any

from django.contrib import messages
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.models import Environment
from annotation import rights
from annotation.errors import StudyExists
from annotation.models import Study
from annotation.protocols import UnknownProtocol
from dashboard import actions
from dashboard.http import ErrorsInForm, render_form
from dashboard.queries import suggested_slug
from dashboard.settings.configuration import InvalidConfiguration, StudyConfiguration, parse_configuration
from dashboard.settings.configuration_export import configuration_of
from dashboard.settings.forms import CloneForm, ConfigurationForm, NewStudyForm
from dashboard.settings.preview import preview_of, study_of
from dashboard.settings.sample_study import sample_consent
from qualification.experts import is_closed_in
from tomannot import clock


@require_http_methods(["GET", "HEAD", "POST"])
@rights.researchers_page
@rights.study_creators_page
def new_study(request: HttpRequest) -> HttpResponse:
    """Create a study from a form with defaults, beside a preview for participants."""
    form = NewStudyForm.of(request.POST if request.method == "POST" else None, consent=sample_consent())
    if form.is_valid():
        given = dict(form.cleaned_data)
        made = _make(request, form, given.pop("slug"), actions.chosen_configuration(**given))
        if made:
            return redirect("dashboard:settings", slug=made.slug)
    context = {"form": form, "preview": _preview(form)}
    return render_form(request, "dashboard/settings/new_study.html", context)


@rights.acts
@rights.researchers_page
@rights.study_creators_page
def preview_new(request: HttpRequest) -> HttpResponse:
    """Preview the study of a form, even an incomplete one."""
    form = NewStudyForm.of(request.POST, consent="")
    return render(request, "dashboard/settings/preview.html", {"preview": _preview(form)})


@require_http_methods(["GET", "HEAD", "POST"])
@rights.researchers_page
@rights.study_creators_page
def study_from_file(request: HttpRequest) -> HttpResponse:
    """Create a study from an uploaded configuration file, or show all its problems."""
    posted = request.method == "POST"
    form = ConfigurationForm(request.POST, request.FILES) if posted else ConfigurationForm()
    problems: list[str] = []
    if form.is_valid():
        file = form.cleaned_data["file"]
        try:
            config = parse_configuration(file.read(), name=file.name)
        except InvalidConfiguration as error:
            problems = error.problems
        else:
            made = _make(request, form, form.cleaned_data["slug"], config)
            if made:
                return redirect("dashboard:settings", slug=made.slug)
    context = {"form": form, "problems": problems}
    errors = form.errors or problems
    return render_form(request, "dashboard/settings/study_from_file.html", context, errors=errors)


@rights.form_page(rights.Right.CHANGE)
@rights.study_creators_page
def clone(request: HttpRequest, study: Study) -> HttpResponse:
    """Create another study with the same configuration, live unless a test run is chosen."""
    ending = "real" if study.environment == Environment.REHEARSAL else "copy"
    usual = {"title": study.title, "slug": suggested_slug(f"{study.slug[:45]}-{ending}")}
    if is_closed_in(study, rights.signed_in(request)):
        return _closed(request, study)
    form = CloneForm(request.POST if request.method == "POST" else None, initial=usual)
    if form.is_valid():
        try:
            document = configuration_of(study, now=clock.now()) | {
                "title": form.cleaned_data["title"],
                "rehearsal": form.cleaned_data["environment"] == Environment.REHEARSAL,
            }
        except UnknownProtocol as error:
            form.add_error(None, str(error))
        else:
            config = parse_configuration(json.dumps(document).encode(), name=f"{study.slug}.json")
            made = _make(request, form, form.cleaned_data["slug"], config)
            if made and form.cleaned_data["stories"]:
                actions.copy_stories(source=study, study=made, **rights.by_and_now(request))
                messages.info(request, _("Its stories are being imported."))
            if made:
                return redirect("dashboard:settings", slug=made.slug)
    context = {"form": form}
    return render_form(request, "dashboard/settings/clone_study.html", context)


@rights.read_page(rights.Right.CHANGE)
def configuration(request: HttpRequest, study: Study) -> HttpResponse:
    """Describe the configuration file, with a link to it."""
    return render(request, "dashboard/settings/configuration.html")


@rights.read_page(rights.Right.CHANGE)
def configuration_file(request: HttpRequest, study: Study) -> HttpResponse:
    """Send every decision about the study as one JSON file, the answer keys included."""
    if is_closed_in(study, rights.signed_in(request)):
        return _closed(request, study)
    try:
        document = configuration_of(study, now=clock.now())
    except UnknownProtocol as error:
        messages.error(request, str(error))
        return redirect("dashboard:settings", slug=study.slug)
    content = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    response = HttpResponse(content, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="{study.slug}.json"'
    return response


def _closed(request: HttpRequest, study: Study) -> HttpResponse:
    messages.error(
        request,
        _("The configuration contains the answer key of stories that you still have to answer as an expert."),
    )
    return redirect("dashboard:settings", slug=study.slug)


def _make(request: HttpRequest, form: BaseForm, slug: str, config: StudyConfiguration) -> Study | None:
    with ErrorsInForm(form):
        slug = slug or suggested_slug(config.settings["title"])
        try:
            made = actions.create_study(slug=slug, config=config, **rights.by_and_now(request))
        except StudyExists as error:
            form.add_error("slug", str(error))
        else:
            messages.success(request, _("“%(title)s” is created, as a draft.") % {"title": made.title})
            return made
    return None


def _preview(form: NewStudyForm) -> dict[str, Any]:
    if form.is_bound:
        study, consent = study_of(form)
    else:
        study, consent = study_of(NewStudyForm.of(form.initial, consent=""))
    return preview_of(study, consent=consent)
