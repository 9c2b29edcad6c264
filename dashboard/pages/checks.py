"""Hidden checks: how often they come, what is accepted about each, and how many people fail it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation import actions
from annotation.actions.enrollments import LONGEST_REASON
from annotation.errors import AnnotationError, InvalidStudy
from annotation.models import CheckKey, Study
from annotation.rights import Right, rights_in, signed_in, study_page
from dashboard.acceptable import AcceptableForm
from dashboard.check_forms import CheckRulesForm
from dashboard.checks import ShownCheck, accepted_by, checks_of, consequences_of, too_few_checks
from dashboard.pages.qualification_round import closed
from qualification.experts import closed_texts


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(post=Right.CHANGE)
def checks(request: HttpRequest, study: Study) -> HttpResponse:
    """The study's checks with how people fare; a POST changes how often they come and what comes of it."""
    form = CheckRulesForm.of(study, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            by, now = signed_in(request), timezone.now()
            actions.change_check_rules(study=study, rules=form.rules(), by=by, now=now)
            messages.success(request, _("Saved. It holds from the next story that somebody is given."))
            if few := too_few_checks(study):
                messages.warning(request, few)
            return redirect("dashboard:checks", slug=study.slug)
        except InvalidStudy as error:
            form.refuse(error.problems)
    shown = checks_of(study)
    may_change = Right.CHANGE in rights_in(request.user, study)
    for field in form.fields.values():
        field.disabled = not may_change
    context = {
        "study": study,
        "form": form,
        "may_change": may_change,
        "checks": shown,
        "usable": sum(check.state == CheckKey.State.IN_USE for check in shown),
        "missing": sum(check.key is None for check in shown),
        **consequences_of(study),
    }
    return render(request, "dashboard/checks.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(Right.CHANGE)
def check(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """One check: its text, the accepted options, how people fare, and leaving it out or taking it in."""
    found = next(iter(checks_of(study, pk=number)), None)
    if found is None:
        raise Http404("This study has no such check.")
    if found.story.text_hash in closed_texts(signed_in(request)):
        messages.info(request, closed())
        return redirect("dashboard:checks", slug=study.slug)
    key_is_sent = request.method == "POST" and request.POST.get("do") == "key"
    form = _form(found, request.POST if key_is_sent else None)
    if request.method == "POST" and (not key_is_sent or form.is_valid()):
        return _decide(request, found, form)
    protocol, item = study.protocol, found.story.item
    context = {
        "study": study,
        "check": found,
        "parts": protocol.parts(item),
        "form": form,
        "is_final": found.answered > 0,
        "accepted": _in_words(form, dict(form.initial)) if found.key else [],
        "longest": LONGEST_REASON,
    }
    return render(request, "dashboard/check.html", context, status=422 if form.errors else 200)


def _form(found: ShownCheck, data: Any) -> AcceptableForm:
    initial = accepted_by(found.key)[found.key.pk] if found.key else None
    return AcceptableForm(found.story.study.protocol, found.story.item, data, initial=initial)


def _decide(request: HttpRequest, found: ShownCheck, form: AcceptableForm) -> HttpResponse:
    by, now, story = signed_in(request), timezone.now(), found.story
    try:
        if request.POST.get("do") == "leave_out":
            reason = request.POST.get("reason", "")
            actions.leave_out_check(story=story, reason=reason, by=by, now=now)
            messages.success(request, _("Left out. Nobody is given it, and it is held against nobody."))
        elif request.POST.get("do") == "take_in":
            actions.take_in_check(story=story, by=by, now=now)
            messages.success(request, _("The check is in use again."))
        elif request.POST.get("do") == "key":
            actions.set_check_key(story=story, accepted=form.acceptable(), by=by, now=now)
            messages.success(request, _("Saved. The check is in use."))
    except AnnotationError as error:
        messages.error(request, str(error))
    return redirect("dashboard:check", slug=story.study.slug, number=story.pk)


def _in_words(form: AcceptableForm, accepted: dict[str, list[str]]) -> list[dict[str, Any]]:
    """The accepted options as people read them, in the order of the form."""
    return [
        {
            "title": form.fields[cell.name].label,
            "options": [
                label
                for key, label in form.fields[cell.name].choices  # type: ignore[attr-defined]
                if key in accepted.get(cell.name, [])
            ],
        }
        for cell in form.cells
    ]
