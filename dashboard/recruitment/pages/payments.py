"""Every payment of a study: the list, the table, and retrying what was refused or waits."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from annotation.models import Study
from annotation.rights import Right, by_and_now, read_page, rights_in, signed_in, write_page
from annotation.rules import pseudonym
from dashboard.csv_files import csv_stream
from dashboard.http import ErrorsAsMessages, number_in
from dashboard.recruitment import queries as queries
from dashboard.recruitment.forms import PaymentFilter
from recruitment import actions
from recruitment.models import Campaign, Payment
from recruitment.queue import queue_or_fail

ON_A_PAGE = 50
RETRY_TASK = "recruitment.tasks.retry_campaign"


@read_page()
def payments(request: HttpRequest, study: Study) -> HttpResponse:
    """List the payments that the address selects, the newest first, with sums by campaign."""
    selected = PaymentFilter(study, request.GET)
    found = (
        Payment.objects.filter(selected.rows(), submission__campaign__study=study)
        .select_related("submission__campaign", "submission__annotator", "requested_by")
        .order_by("-pk")
    )
    before = number_in(request.GET.get("before"))
    listed = list((found.filter(pk__lt=before) if before else found)[: ON_A_PAGE + 1])
    shown = listed[:ON_A_PAGE]
    may_change = Right.CHANGE in rights_in(request.user, study)
    context = {
        "next": selected.query(before=shown[-1].pk) if len(listed) > ON_A_PAGE else "",
        "list_filter": selected,
        "is_first": not before,
        "rows": _rows(study, shown, may_change=may_change),
        "forgotten": queries.unpaid_to_forgotten(study),
        "sums": queries.sums_by_campaign(study),
        "may_change": may_change,
    }
    return render(request, "dashboard/recruitment/payments.html", context)


def _rows(study: Study, shown: list[Payment], *, may_change: bool) -> list[dict[str, Any]]:
    refused = Payment.objects.filter(pk__in=[payment.pk for payment in shown])
    retryable = set(refused.retryable().values_list("pk", flat=True))
    return [
        {
            "payment": payment,
            "pseudonym": pseudonym(study.pseudonym_key, payment.submission.annotator_id),
            "can_be_retried": may_change and payment.pk in retryable,
            "is_forgotten": payment.submission.annotator.erased_at is not None,
            "has_trouble": payment.state != Payment.State.DONE and bool(payment.problem),
        }
        for payment in shown
    ]


@read_page()
def payments_file(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Stream the payments that the address selects as CSV, under pseudonyms."""
    rows = queries.payment_rows(study, PaymentFilter(study, request.GET).rows())
    return csv_stream(request, f"{study.slug}-payments", [*queries.PAYMENT_COLUMNS], rows)


@write_page(Right.CHANGE)
def retry_payment(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Retry a payment that the platform refused."""
    payment = _payment(study, number)
    with ErrorsAsMessages(request):
        actions.retry_payment(payment=payment, **by_and_now(request))
        messages.success(request, _("Recorded, and sent to the platform."))
    return redirect("dashboard:payments", slug=study.slug)


@write_page(Right.CHANGE)
def retry_payments(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Have a worker retry every payment of a campaign that was refused or waits."""
    campaign = get_object_or_404(Campaign, study=study, number=number)
    with ErrorsAsMessages(request):
        queue_or_fail(RETRY_TASK, campaign.pk, signed_in(request).pk)
        messages.success(request, _("A worker sends them now. This can take a few minutes."))
    return redirect("dashboard:payments", slug=study.slug)


@write_page(Right.CHANGE)
def note_external_payment(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Record that a payment which the platform refused was made in another way."""
    payment, reason = _payment(study, number), request.POST.get("reason", "")
    with ErrorsAsMessages(request):
        actions.record_external_payment(payment=payment, reason=reason, **by_and_now(request))
        messages.success(request, _("Recorded as paid."))
    return redirect("dashboard:payments", slug=study.slug)


def _payment(study: Study, number: int) -> Payment:
    payments = Payment.objects.select_related("submission")
    return get_object_or_404(payments, pk=number, submission__campaign__study=study)
