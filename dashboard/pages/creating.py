"""Making a study: from a form, from a configuration file, or as the clone of another."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import Environment
from annotation.errors import AnnotationError, ImportRefused, InvalidStudy, StudyExists
from annotation.models import Study
from annotation.protocols import UnknownProtocol
from annotation.rights import CREATE, Right, researchers_page, signed_in, study_page
from dashboard import actions
from dashboard.configuration import InvalidConfiguration, StudyConfiguration, parse_configuration
from dashboard.exporting import configuration_of
from dashboard.preview import preview_of, study_of
from dashboard.samples import sample_consent
from dashboard.study_forms import SAMPLE_TEST, CloneForm, ConfigurationForm, NewStudyForm, StudyForm
from publishing.errors import PublishingError
from qualification.errors import InvalidKey, QualificationError
from qualification.experts import is_closed_in

REFUSALS = (AnnotationError, PublishingError, QualificationError)
"""What the steps of making a study may refuse, besides the configuration itself."""


def makers_page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A page for people who may make studies; others who are signed in are refused (403)."""

    @functools.wraps(view)
    def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not signed_in(request).has_perm(CREATE):
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return page


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_page
@makers_page
def new_study(request: HttpRequest) -> HttpResponse:
    """A form with what is usual filled in, beside what people will see."""
    form = NewStudyForm.of(request.POST if request.method == "POST" else None, consent=sample_consent())
    if form.is_valid():
        made = _make(request, form, form.cleaned_data["slug"], _configuration(form))
        if made:
            return redirect("dashboard:set_up", slug=made.slug)
    context = {"form": form, "preview": _preview(form)}
    return render(request, "dashboard/new_study.html", context, status=422 if form.errors else 200)


@require_POST
@researchers_page
@makers_page
def preview_new(request: HttpRequest) -> HttpResponse:
    """What people will see of the study in a form that may not be complete yet."""
    form = NewStudyForm.of(request.POST, consent="")
    return render(request, "dashboard/preview_new.html", {"preview": _preview(form)})


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_page
@makers_page
def study_from_file(request: HttpRequest) -> HttpResponse:
    """Make a study of an uploaded configuration file, or say everything that is wrong with it."""
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
                return redirect("dashboard:set_up", slug=made.slug)
    context = {"form": form, "problems": problems}
    status = 422 if form.errors or problems else 200
    return render(request, "dashboard/study_from_file.html", context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(Right.CHANGE)
@makers_page
def clone(request: HttpRequest, study: Study) -> HttpResponse:
    """Make another study with the same configuration; real, unless it is to be a rehearsal."""
    ending = "real" if study.environment == Environment.REHEARSAL else "copy"
    usual = {"title": study.title, "slug": f"{study.slug[:55]}-{ending}"}
    if is_closed_in(study, signed_in(request)):
        return _closed(request, study)
    form = CloneForm(request.POST if request.method == "POST" else None, initial=usual)
    if form.is_valid():
        try:
            document = configuration_of(study, now=timezone.now()) | {
                "title": form.cleaned_data["title"],
                "rehearsal": form.cleaned_data["environment"] == Environment.REHEARSAL,
            }
        except UnknownProtocol as error:
            form.add_error(None, str(error))
        else:
            config = parse_configuration(json.dumps(document).encode(), name=f"{study.slug}.json")
            made = _make(request, form, form.cleaned_data["slug"], config)
            if made:
                return redirect("dashboard:set_up", slug=made.slug)
    context = {"study": study, "form": form}
    return render(request, "dashboard/clone_study.html", context, status=422 if form.errors else 200)


@require_safe
@study_page(Right.CHANGE)
def configuration(request: HttpRequest, study: Study) -> HttpResponse:
    """Everything that was decided about the study as one file, with the answer key."""
    if is_closed_in(study, signed_in(request)):
        return _closed(request, study)
    try:
        document = configuration_of(study, now=timezone.now())
    except UnknownProtocol as error:
        messages.error(request, str(error))
        return redirect("dashboard:set_up", slug=study.slug)
    content = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    response = HttpResponse(content, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="{study.slug}.json"'
    return response


def _closed(request: HttpRequest, study: Study) -> HttpResponse:
    messages.error(
        request,
        _("The configuration holds a key of stories that you have still to answer as an expert."),
    )
    return redirect("dashboard:set_up", slug=study.slug)


def _make(request: HttpRequest, form: StudyForm, slug: str, config: StudyConfiguration) -> Study | None:
    """The study; None when something was refused, which the form then says."""
    try:
        made = actions.create_study(slug=slug, config=config, by=signed_in(request), now=timezone.now())
    except StudyExists as error:
        form.add_error("slug", str(error))
    except InvalidStudy as error:
        form.refuse(error.problems or {"": str(error)})
    except ImportRefused as error:
        for problem in error.problems:
            form.add_error(None, str(problem))
    except InvalidKey as error:
        for text in error.problems:
            form.add_error(None, text)
    except REFUSALS as error:
        form.add_error(None, str(error))
    else:
        messages.success(request, _("“%(title)s” is created, as a draft.") % {"title": made.title})
        return made
    return None


def _configuration(form: NewStudyForm) -> StudyConfiguration:
    sample = (actions.sample_round(),) if form.cleaned_data["test"] == SAMPLE_TEST else ()
    return StudyConfiguration(
        settings=form.settings(),
        consent=form.consent_text(),
        rounds=sample,
        rehearsal=form.cleaned_data["environment"] == Environment.REHEARSAL,
    )


def _preview(form: NewStudyForm) -> dict[str, Any]:
    if form.is_bound:
        study, consent = study_of(form)
    else:
        study, consent = study_of(NewStudyForm.of(form.initial, consent=""))
    return preview_of(study, consent=consent)
