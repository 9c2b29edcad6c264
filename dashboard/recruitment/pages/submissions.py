"""The submissions of a campaign, what can be decided, and their ids on the platform; and every payment.

Ids travel in request and response bodies only, since addresses are logged and kept in histories.
"""

from typing import Any
from uuid import uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _, gettext_lazy

from annotation.models import Study
from annotation.numbers import number_in
from annotation.rights import Right, by_and_now, read_page, signed_in, write_page
from annotation.rules import pseudonym
from dashboard.http import ErrorsAsMessages, csv_stream
from dashboard.recruitment import queries
from dashboard.recruitment.decisions import confirmation_of_large_bonus, decide_about, rejection_form, valid
from dashboard.recruitment.forms import OneBonusForm, OutsideForm
from dashboard.recruitment.list_filters import PaymentFilter
from dashboard.recruitment.queries import newest_attempts, submissions_page
from qualification.models import Attempt
from recruitment import actions
from recruitment.models import Campaign, Mismatch, Payment, Submission, Visit
from recruitment.platforms import platform_of
from recruitment.queue import queue_or_fail

ON_A_PAGE = 50
HELD = gettext_lazy("Recorded. We tell the platform in ten minutes; until then you can undo it.")
RECORDED = gettext_lazy("Recorded. The platform will be told in a moment.")


@read_page()
def submissions(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """List the submissions of a campaign, those that wait for a decision first."""
    campaign = get_object_or_404(Campaign.objects.select_related("study"), study=study, number=number)
    after = request.GET.get("after", "")
    only = number_in(request.GET.get("only"))
    rows, following = submissions_page(campaign, after=after, only=only, size=ON_A_PAGE)
    tests = newest_attempts(study, [found.annotator_id for found in rows]) if campaign.is_test else {}
    context = {
        "campaign": campaign,
        "first": request.path if after or only else "",
        "next": f"?after={following}" if following else "",
        "rows": [_row(campaign, submission, tests.get(submission.annotator_id)) for submission in rows],
        "platform": platform_of(campaign),
    }
    return render(request, "dashboard/recruitment/submissions.html", context)


@write_page(Right.CHANGE)
def decide_submission(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Approve a submission, reject it, or pay a bonus for it."""
    submission = get_object_or_404(
        Submission.objects.select_related("campaign__study"), pk=number, campaign__study=study
    )
    campaign, way = submission.campaign, request.POST.get("way", "")
    if way == "bonus" and (question := confirmation_of_large_bonus(request, campaign)):
        return question
    with ErrorsAsMessages(request):
        decide_about(submission, way, request)
        messages.success(request, str(HELD if way == "reject" else RECORDED))
    return redirect("dashboard:submissions", slug=study.slug, number=campaign.number)


@write_page(Right.CHANGE)
def undo_rejection(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Undo a rejection that the platform has not carried out yet; optionally approve instead."""
    payment = get_object_or_404(
        Payment.objects.select_related("submission__campaign"), pk=number, submission__campaign__study=study
    )
    campaign = payment.submission.campaign
    with ErrorsAsMessages(request):
        if request.POST.get("way") == "approve":
            actions.approve_instead(payment=payment, **by_and_now(request))
            messages.success(request, _("The rejection is undone, and the submission approved."))
        else:
            actions.withdraw_rejection(payment=payment, **by_and_now(request))
            messages.success(
                request, _("The rejection is undone. The submission waits for a decision again.")
            )
        warning = platform_of(campaign).words.rejection_withdrawn
        if payment.tries and warning:
            messages.warning(request, str(warning))
    return redirect("dashboard:submissions", slug=study.slug, number=campaign.number)


def _row(campaign: Campaign, submission: Submission, test: Attempt | None) -> dict[str, Any]:
    visit = submission.visit
    minutes = None
    if visit and visit.handed_in_at:
        minutes = (visit.handed_in_at - visit.arrived_at).total_seconds() / 60
    return {
        "submission": submission,
        "pseudonym": pseudonym(campaign.study.pseudonym_key, submission.annotator_id),
        "rejection": rejection_form(campaign, number=submission.pk),
        "test": test,
        "minutes": minutes,
        "bonus": OneBonusForm(
            campaign=campaign, initial={"token": uuid4()}, auto_id=f"bonus-{submission.pk}-%s"
        ),
    }


@write_page(Right.CHANGE)
def find_by_id(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the participant with a platform's id, and their submissions."""
    matches = actions.look_up(
        study=study,
        remote_id=request.POST.get("remote_id", "").replace("\0", "")[:200],
        **by_and_now(request),
    )
    rows = [(match, pseudonym(study.pseudonym_key, match.annotator.pk)) for match in matches]
    return render(request, "dashboard/recruitment/found.html", {"rows": rows})


@write_page(Right.CHANGE)
def mismatch_ids(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Show the platform's ids of a mismatch's submission and participant."""
    found = get_object_or_404(Mismatch, pk=number, campaign__study=study)
    work = found.submission or found.visit
    assert work is not None  # the database asks for one of the two
    return _ids(request, study, work)


@write_page(Right.CHANGE)
def submission_ids(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Show the platform's ids of a submission and its participant."""
    return _ids(request, study, get_object_or_404(Submission, pk=number, campaign__study=study))


def _ids(request: HttpRequest, study: Study, work: Submission | Visit) -> HttpResponse:
    ids = actions.show_ids(work=work, **by_and_now(request))
    assert work.campaign is not None  # the visits and submissions of campaigns alone are shown
    platform = platform_of(work.campaign)
    context = {
        "ids": ids,
        "campaign": work.campaign,
        "words": platform.words,
        "pseudonym": pseudonym(study.pseudonym_key, work.annotator_id),
        "address": platform.work_page(ids["posting"]),
    }
    return render(request, "dashboard/recruitment/ids.html", context)


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
    context = {
        "first": f"?{selected.query()}" if before else "",
        "next": f"?{selected.query(before=shown[-1].pk)}" if len(listed) > ON_A_PAGE else "",
        "list_filter": selected,
        "rows": _rows(study, shown),
        "forgotten": queries.unpaid_to_forgotten(study),
        "sums": queries.sums_by_campaign(study),
    }
    return render(request, "dashboard/recruitment/payments.html", context)


def _rows(study: Study, shown: list[Payment]) -> list[dict[str, Any]]:
    refused = Payment.objects.filter(pk__in=[payment.pk for payment in shown])
    retryable = set(refused.retryable().values_list("pk", flat=True))
    return [
        {
            "payment": payment,
            "pseudonym": pseudonym(study.pseudonym_key, payment.submission.annotator_id),
            "outside": OutsideForm(auto_id=f"outside-{payment.pk}-%s"),
            "can_be_retried": payment.pk in retryable,
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
        messages.success(request, str(RECORDED))
    return redirect("dashboard:payments", slug=study.slug)


@write_page(Right.CHANGE)
def retry_payments(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Have a worker retry every payment of a campaign that was refused or waits."""
    campaign = get_object_or_404(Campaign, study=study, number=number)
    with ErrorsAsMessages(request):
        queue_or_fail("recruitment.tasks.retry_campaign", campaign.pk, signed_in(request).pk)
        messages.success(request, _("A worker sends them now. This can take a few minutes."))
    return redirect("dashboard:payments", slug=study.slug)


@write_page(Right.CHANGE)
def note_external_payment(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Record that a payment which the platform refused was made outside it."""
    payment = _payment(study, number)
    with ErrorsAsMessages(request):
        reason = valid(OutsideForm(request.POST))["reason"]
        actions.record_external_payment(payment=payment, reason=reason, **by_and_now(request))
        messages.success(request, _("Recorded as paid."))
    return redirect("dashboard:payments", slug=study.slug)


def _payment(study: Study, number: int) -> Payment:
    payments = Payment.objects.select_related("submission")
    return get_object_or_404(payments, pk=number, submission__campaign__study=study)
