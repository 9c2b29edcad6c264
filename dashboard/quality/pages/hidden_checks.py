"""Hidden checks: their rules, their accepted answers, and how many people fail them."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation import actions
from annotation.actions.enrollments import LONGEST_REASON
from annotation.errors import AnnotationError, InvalidCheckKeys, InvalidStudy
from annotation.models import CheckKey, Story, Study
from annotation.rights import Right, by_and_now, form_page, rights_in, signed_in
from dashboard.qualification.acceptable_options import AcceptableForm, closed_notice
from dashboard.quality.forms import CheckRulesForm, CheckTable
from dashboard.quality.hidden_checks import (
    ShownCheck,
    accepted_by,
    checks_of,
    consequences_of,
    too_few_checks,
)
from dashboard.responses import ErrorsAsMessages, render_form
from qualification.experts import closed_texts
from tomannot import clock


@form_page(post=Right.CHANGE)
def hidden_checks(request: HttpRequest, study: Study) -> HttpResponse:
    """List the hidden checks and how people fare. A POST changes their rules."""
    form = CheckRulesForm.of(study, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            actions.change_check_rules(study=study, rules=form.rules(), **by_and_now(request))
            messages.success(request, _("Saved. The rules apply from each participant’s next story on."))
            if few := too_few_checks(study):
                messages.warning(request, few)
            return redirect("dashboard:hidden_checks", slug=study.slug)
        except InvalidStudy as error:
            form.refuse(error.problems)
    shown = checks_of(study)
    may_change = Right.CHANGE in rights_in(request.user, study)
    for field in form.fields.values():
        field.disabled = not may_change
    context = {
        "form": form,
        "may_change": may_change,
        "checks": shown,
        "usable": sum(check.state == CheckKey.State.IN_USE for check in shown),
        "missing": sum(check.key is None for check in shown),
        **consequences_of(study),
    }
    return render_form(request, "dashboard/quality/hidden_checks.html", context)


@form_page(Right.CHANGE)
def hidden_check(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Show one hidden check. A POST sets its accepted answers, excludes it, or uses it again."""
    found = next(iter(checks_of(study, pk=number)), None)
    if found is None:
        raise Http404("This study has no such check.")
    if found.story.text_hash in closed_texts(signed_in(request)):
        messages.info(request, closed_notice())
        return redirect("dashboard:hidden_checks", slug=study.slug)
    key_is_sent = request.method == "POST" and request.POST.get("do") == "key"
    form = _form(found, request.POST if key_is_sent else None)
    if request.method == "POST" and (not key_is_sent or form.is_valid()):
        return _decide(request, found, form)
    context = {
        "check": found,
        "parts": found.story.parts,
        "form": form,
        "is_final": found.answered > 0,
        "accepted": _in_words(found.story, dict(form.initial)) if found.key else [],
        "longest": LONGEST_REASON,
    }
    return render_form(request, "dashboard/quality/hidden_check.html", context)


def _form(found: ShownCheck, data: Any) -> AcceptableForm:
    initial = accepted_by(found.key)[found.key.pk] if found.key else None
    return AcceptableForm(found.story, data, initial=initial)


def _decide(request: HttpRequest, found: ShownCheck, form: AcceptableForm) -> HttpResponse:
    by, now, story = signed_in(request), clock.now(), found.story
    with ErrorsAsMessages(request, AnnotationError):
        if request.POST.get("do") == "leave_out":
            reason = request.POST.get("reason", "")
            actions.leave_out_check(story=story, reason=reason, by=by, now=now)
            messages.success(
                request, _("The check is left out. It is no longer used and counts against nobody.")
            )
        elif request.POST.get("do") == "take_in":
            actions.reuse_check(story=story, by=by, now=now)
            messages.success(request, _("The check is in use again."))
        elif request.POST.get("do") == "key":
            actions.set_check_key(story=story, accepted=form.acceptable(), by=by, now=now)
            messages.success(request, _("Saved. The check is in use."))
    return redirect("dashboard:hidden_check", slug=story.study.slug, number=story.pk)


def _in_words(story: Story, accepted: dict[str, list[str]]) -> list[dict[str, Any]]:
    """Return the labels of the accepted options, in the order of the form."""
    return [
        {"title": cell.title, "options": cell.labels_of(accepted.get(cell.field, []))} for cell in story.cells
    ]


@form_page(Right.CHANGE)
def hidden_check_keys(request: HttpRequest, study: Study) -> HttpResponse:
    """Set the accepted answers of several hidden checks. A POST saves the changed rows, all or none."""
    sent = request.POST if request.method == "POST" else None
    table = CheckTable(study, closed=closed_texts(signed_in(request)), data=sent)
    if sent is not None and table.is_valid():
        try:
            made = actions.set_check_keys(proposed=table.proposed(), **by_and_now(request))
            messages.success(request, _saved_message(len(made)))
            return redirect("dashboard:hidden_checks", slug=study.slug)
        except InvalidCheckKeys as refused:
            table.refuse(refused.problems)
    context = {"table": table, "problems": table.problems}
    return render_form(request, "dashboard/quality/hidden_check_keys.html", context, errors=sent is not None)


def _saved_message(saved: int) -> str:
    if not saved:
        return _("Nothing was changed.")
    text = ngettext(
        "Saved. %(n)s check has these known answers and is in use.",
        "Saved. %(n)s checks have these known answers and are in use.",
        saved,
    )
    return text % {"n": saved}
