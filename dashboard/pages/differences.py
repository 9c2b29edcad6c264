"""What a platform and we do not agree on, with what can be done about each; and every payment."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from annotation.models import Study
from annotation.rights import Right, rights_in, signed_in, study_page
from annotation.rules import pseudonym
from dashboard.pages.work import decide_about, rejection_form
from dashboard.recruiting import figures
from dashboard.recruiting.forms import DecisionForm
from dashboard.spreadsheets import csv_stream
from recruitment import actions
from recruitment.actions.payments import can_be_asked_again
from recruitment.errors import RecruitmentError
from recruitment.models import Difference, Payment, Submission

ON_A_PAGE = 50
WAYS = ("settle", "confirm", "approve", "reject")


@never_cache
@require_safe
@study_page()
def differences(request: HttpRequest, study: Study) -> HttpResponse:
    """Every difference that nobody has dealt with."""
    page = Paginator(figures.open_differences(study), ON_A_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "page": page,
        "rows": [_row(study, difference) for difference in page],
        "may_change": Right.CHANGE in rights_in(request.user, study),
    }
    return render(request, "dashboard/differences.html", context)


@require_POST
@study_page(post=Right.CHANGE)
def settle(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Deal with one: let its votes count, approve or reject the work, or note what was done elsewhere."""
    difference = get_object_or_404(
        Difference.objects.select_related("campaign__study", "submission", "visit__session"),
        pk=number,
        campaign__study=study,
    )
    way = request.POST.get("way", "")
    form = DecisionForm(request.POST)
    try:
        if way not in WAYS or not form.is_valid():
            messages.error(request, _("Say in a few words how this was dealt with. Nothing was changed."))
        else:
            _settle(difference, way, form.cleaned_data["how"], request, by=signed_in(request))
            messages.success(request, _("Dealt with, and written in the log."))
    except RecruitmentError as error:
        messages.error(request, str(error))
    return redirect("dashboard:differences", slug=study.slug)


@never_cache
@require_safe
@study_page()
def payments(request: HttpRequest, study: Study) -> HttpResponse:
    """Every payment with its state, the newest first."""
    found = (
        Payment.objects.filter(submission__campaign__study=study)
        .select_related("submission__campaign", "requested_by")
        .order_by("-pk")
    )
    page = Paginator(found, ON_A_PAGE).get_page(request.GET.get("page"))
    may_change = Right.CHANGE in rights_in(request.user, study)
    context = {
        "study": study,
        "page": page,
        "rows": [
            {
                "payment": payment,
                "pseudonym": pseudonym(study.pseudonym_key, payment.submission.annotator_id),
                "can_be_sent_again": may_change and can_be_asked_again(payment),
            }
            for payment in page
        ],
        "sums": [
            (campaign, figures.money_of(campaign), figures.to_send_again(campaign))
            for campaign in study.campaigns.order_by("number")
        ],
        "may_change": may_change,
    }
    return render(request, "dashboard/payments.html", context)


@require_safe
@study_page()
def payments_file(request: HttpRequest, study: Study) -> HttpResponseBase:
    """The payments as a table, under pseudonyms."""
    return csv_stream(f"{study.slug}-payments", figures.PAYMENT_COLUMNS, figures.payment_rows(study))


def _settle(difference: Difference, way: str, how: str, request: HttpRequest, *, by: User | None) -> None:
    now = timezone.now()
    if way == "confirm":
        actions.confirm_by_hand(difference=difference, how=how, by=by, now=now)
        return
    if way in ("approve", "reject"):
        submission = difference.submission
        if submission is None:
            raise RecruitmentError(_("The platform does not list this work, so it cannot be decided there."))
        decide_about(submission, way, request, by=by)
    actions.settle_difference(difference=difference, how=how, by=by, now=now)


def _row(study: Study, difference: Difference) -> dict[str, Any]:
    submission, visit = difference.submission, difference.visit
    visit = visit or (submission.visit if submission else None)
    annotator_id = submission.annotator_id if submission else visit.enrollment.annotator_id if visit else None
    is_undecided = bool(submission and submission.status == Submission.Status.SUBMITTED)
    return {
        "difference": difference,
        "pseudonym": pseudonym(study.pseudonym_key, annotator_id) if annotator_id else "",
        "has_work_here": bool(visit and visit.session),
        "session": visit.session if visit else None,
        "submission": submission,
        "is_undecided": is_undecided,
        "pays_too": is_undecided and difference.campaign.approves_by_itself,
        "rejection": rejection_form(difference.campaign),
        "decision": DecisionForm(),
    }
