"""A study's set-up: what still blocks its opening, its settings, its consent text, its test."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.actions import add_consent_text, change_study
from annotation.actions.settings import fixed_of, settings_of
from annotation.errors import AnnotationError, InvalidStudy
from annotation.models import Study
from annotation.rights import CREATE, Right, rights_in, signed_in, study_page
from dashboard import actions
from dashboard.baseline import newest_consent
from dashboard.checklist import checklist
from dashboard.preview import preview_of
from dashboard.samples import SAMPLE_PROTOCOL
from dashboard.study_forms import NO_TEST, OWN_TEST, SAMPLE_TEST, ConsentForm, SettingsForm
from qualification.errors import QualificationError
from qualification.models import Round


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(post=Right.CHANGE)
def set_up(request: HttpRequest, study: Study) -> HttpResponse:
    """Everything that was decided about the study; a POST changes its settings."""
    form = _form(request, study)
    if request.method == "POST" and form.is_valid():
        changes = {name: form.cleaned_data[name] for name in form.fields}
        try:
            change_study(study=study, changes=changes, by=signed_in(request), now=timezone.now())
            messages.success(request, _("The settings are saved."))
            return redirect("dashboard:set_up", slug=study.slug)
        except InvalidStudy as error:
            form.refuse(error.problems)
    return _page(request, study, form=form)


@require_POST
@study_page(Right.CHANGE)
def consent(request: HttpRequest, study: Study) -> HttpResponse:
    """A new version of the consent text."""
    form = ConsentForm(request.POST)
    if not form.is_valid():
        return _page(request, study, consent_form=form)
    text = form.cleaned_data["consent"].replace("\r\n", "\n").strip()
    if text == newest_consent(study):
        messages.info(request, _("The consent text is as it was."))
    else:
        made = add_consent_text(study=study, text=text, by=signed_in(request), now=timezone.now())
        messages.success(
            request, _("Version %(version)s of the consent text is in force.") % {"version": made.version}
        )
    return redirect("dashboard:set_up", slug=study.slug)


@require_POST
@study_page(Right.CHANGE)
def test(request: HttpRequest, study: Study) -> HttpResponse:
    """Decide what people do before they are given stories."""
    try:
        actions.choose_test(
            study=study, test=request.POST.get("test", ""), by=signed_in(request), now=timezone.now()
        )
        messages.success(request, _("Saved."))
    except (AnnotationError, QualificationError) as error:
        messages.error(request, str(error))
    return redirect("dashboard:set_up", slug=study.slug)


@require_safe
@study_page()
def preview(request: HttpRequest, study: Study) -> HttpResponse:
    """What people see of the study."""
    shown = preview_of(study, consent=newest_consent(study))
    return render(request, "dashboard/preview.html", {"study": study, "preview": shown})


def _form(request: HttpRequest, study: Study) -> SettingsForm:
    form = SettingsForm(request.POST if request.method == "POST" else None, initial=settings_of(study))
    form.fix(fixed_of(study))
    if Right.CHANGE not in rights_in(request.user, study):
        for field in form.fields.values():
            field.disabled = True
    return form


def _page(
    request: HttpRequest,
    study: Study,
    *,
    form: SettingsForm | None = None,
    consent_form: ConsentForm | None = None,
) -> HttpResponse:
    user = signed_in(request)
    wrong = (form and form.errors) or (consent_form and consent_form.errors)
    form = form or SettingsForm(initial=settings_of(study))
    form.fix(fixed_of(study))
    may_change = Right.CHANGE in rights_in(user, study)
    steps = checklist(study)
    context = {
        "study": study,
        "form": form,
        "consent_form": consent_form or ConsentForm(initial={"consent": newest_consent(study)}),
        "consent": newest_consent(study),
        "may_change": may_change,
        "may_clone": may_change and user.has_perm(CREATE),
        "steps": steps,
        "ready": not any(step.is_missing for step in steps),
        "tests": _tests(study),
        "rounds": [round.number for round in Round.objects.active_in(study)],
    }
    return render(request, "dashboard/set_up.html", context, status=422 if wrong else 200)


def _tests(study: Study) -> list[dict[str, Any]]:
    """What can be chosen about the test now: nothing while the study is open or takes people from another."""
    if study.state == Study.State.OPEN or study.qualified_through_id:
        return []
    has_round = Round.objects.active_in(study).exists()
    choices = []
    if study.gate == Study.Gate.NOT_REQUIRED:
        choices.append({"name": OWN_TEST, "label": _("Ask people to pass a test first")})
    else:
        choices.append({"name": NO_TEST, "label": _("Ask for no test")})
    if not has_round and study.protocol_name == SAMPLE_PROTOCOL:
        choices.append({"name": SAMPLE_TEST, "label": _("Use our test of five sample stories")})
    return choices
