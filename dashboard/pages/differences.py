"""What a platform and we do not agree on, with what can be done about each; and every payment."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import User
from annotation.models import Enrollment, Study
from annotation.rights import Right, rights_in, signed_in, study_page
from annotation.rules import pseudonym
from dashboard.pages.comparing import number_in
from dashboard.pages.work import is_test, rejection_form, valid
from dashboard.recruiting import figures
from dashboard.recruiting.forms import DecisionForm, RemedyForm
from dashboard.recruiting.large import asked_once_more
from dashboard.recruiting.narrowing import Narrowing, differences_narrowed, payments_narrowed
from dashboard.recruiting.tested import TestResult, results_of
from dashboard.spreadsheets import csv_stream
from recruitment import actions
from recruitment.actions.differences import NOTED_AT_ONCE
from recruitment.actions.payments import can_be_asked_again
from recruitment.errors import CannotSettle, RecruitmentError
from recruitment.marketplace import Status
from recruitment.models import Campaign, Difference, Payment
from recruitment.platforms import abilities_of
from recruitment.reconciliation.cases import cases_of, person_of_difference, visit_of_difference
from recruitment.reconciliation.remedies import PAYING, Case, Way, ways_of

ON_A_PAGE = 50


@never_cache
@require_safe
@study_page()
def differences(request: HttpRequest, study: Study) -> HttpResponse:
    """Every difference that nobody has dealt with, with what can be done about it."""
    narrowing = differences_narrowed(study, request.GET)
    found = figures.open_differences(study).filter(narrowing.rows)
    page = Paginator(found, ON_A_PAGE).get_page(request.GET.get("page"))
    cases = cases_of(list(page))
    enrolled = _enrolled(study, list(page))
    tests = results_of(study, enrolled)
    comparisons = list(study.campaigns.exclude(state=Campaign.State.DRAFT).order_by("-number"))
    context = {
        "study": study,
        "page": page,
        "narrowing": narrowing,
        **_alike(narrowing, found, page),
        "rows": [_row(study, difference, cases[difference.pk], enrolled, tests) for difference in page],
        "comparisons": comparisons,
        "agrees": all(one.synced_at and not one.sync_problem for one in comparisons),
        "may_change": Right.CHANGE in rights_in(request.user, study),
    }
    return render(request, "dashboard/differences.html", context)


def _alike(narrowing: Narrowing, found: QuerySet[Difference], page: Page[Difference]) -> dict[str, Any]:
    """How many of one kind can be noted with the same words, and the newest of them that is on the list."""
    number = page.paginator.count
    if "kind" not in narrowing.chosen or number < 2:
        return {}
    return {"alike": number, "at_once": min(number, NOTED_AT_ONCE), "newest": found.latest("pk").pk}


@require_POST
@study_page(post=Right.CHANGE)
def settle_alike(request: HttpRequest, study: Study) -> HttpResponse:
    """Note how all that are on a narrowed list were dealt with, with the same words."""
    narrowing = differences_narrowed(study, request.POST)
    try:
        number = actions.settle_alike(
            study=study,
            kind=narrowing.chosen.get("kind", ""),
            campaign_number=number_in(narrowing.chosen.get("campaign")),
            newest=number_in(request.POST.get("newest")) or 0,
            how=request.POST.get("how", "").replace("\0", ""),
            by=signed_in(request),
            now=timezone.now(),
        )
        said = ngettext("%(number)s is noted, in the log.", "%(number)s are noted, each in the log.", number)
        messages.success(request, said % {"number": number})
    except RecruitmentError as error:
        messages.error(request, str(error))
    return redirect(f"{reverse('dashboard:differences', args=[study.slug])}?{narrowing.query}")


@require_POST
@study_page(post=Right.CHANGE)
def settle(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Deal with one: let its votes count, approve, reject or pay the work, or note what was done."""
    needed = ("campaign__study", "submission__annotator", "submission__visit__session")
    difference = get_object_or_404(
        Difference.objects.select_related(*needed, "visit__session", "visit__enrollment__annotator"),
        pk=number,
        campaign__study=study,
    )
    way, amount = request.POST.get("way", ""), request.POST.get("amount", "")
    is_bonus = way in (Way.BONUS, Way.OTHER_BONUS)
    question = asked_once_more(request, difference.campaign, amount) if is_bonus else None
    if question:
        return question
    try:
        _settle(difference, way, request, by=signed_in(request))
        messages.success(request, _("Dealt with, and written in the log."))
    except RecruitmentError as error:
        messages.error(request, str(error))
    return redirect("dashboard:differences", slug=study.slug)


@never_cache
@require_safe
@study_page()
def payments(request: HttpRequest, study: Study) -> HttpResponse:
    """Every payment, or those that the address names, with its state, the newest first."""
    narrowing = payments_narrowed(study, request.GET)
    found = (
        Payment.objects.filter(narrowing.rows, submission__campaign__study=study)
        .select_related("submission__campaign", "submission__annotator", "requested_by")
        .order_by("-pk")
    )
    before = number_in(request.GET.get("before"))
    listed = list((found.filter(pk__lt=before) if before else found)[: ON_A_PAGE + 1])
    shown = listed[:ON_A_PAGE]
    money = figures.kept(study, "money", figures.money_by_campaign, size=figures.size_of(study))
    to_send_again = figures.to_send_again(study)
    may_change = Right.CHANGE in rights_in(request.user, study)
    context = {
        "study": study,
        "next": narrowing.further(before=shown[-1].pk) if len(listed) > ON_A_PAGE else "",
        "narrowing": narrowing,
        "is_first": not before,
        "rows": _payment_rows(study, shown, may_change=may_change),
        "forgotten": figures.unpaid_and_forgotten(study),
        "sums": [
            (campaign, money.get(campaign.pk, figures.NO_MONEY), to_send_again[campaign.pk])
            for campaign in study.campaigns.order_by("number")
        ],
        "may_change": may_change,
    }
    return render(request, "dashboard/payments.html", context)


def _payment_rows(study: Study, shown: list[Payment], *, may_change: bool) -> list[dict[str, Any]]:
    again = can_be_asked_again(shown)
    return [
        {
            "payment": payment,
            "pseudonym": pseudonym(study.pseudonym_key, payment.submission.annotator_id),
            "can_be_sent_again": may_change and payment.pk in again,
            "is_forgotten": payment.submission.annotator.erased_at is not None,
            "has_trouble": payment.state != Payment.State.DONE and bool(payment.problem),
        }
        for payment in shown
    ]


@require_POST
@study_page(post=Right.CHANGE)
def paid_outside(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Note that what the platform refused to pay was paid in another way."""
    payment = get_object_or_404(
        Payment.objects.select_related("submission"), pk=number, submission__campaign__study=study
    )
    try:
        actions.note_paid_outside(
            payment=payment, reason=request.POST.get("reason", ""), by=signed_in(request), now=timezone.now()
        )
        messages.success(request, _("Noted: it counts among what was paid."))
    except RecruitmentError as error:
        messages.error(request, str(error))
    return redirect("dashboard:payments", slug=study.slug)


@require_safe
@study_page()
def payments_file(request: HttpRequest, study: Study) -> HttpResponseBase:
    """The payments, or those that the address names, as a table, under pseudonyms."""
    rows = figures.payment_rows(study, payments_narrowed(study, request.GET).rows)
    return csv_stream(request, f"{study.slug}-payments", figures.PAYMENT_COLUMNS, rows)


def _settle(difference: Difference, way: str, request: HttpRequest, *, by: User) -> None:
    now = timezone.now()
    if way in PAYING:
        said = valid(RemedyForm(request.POST))
        actions.pay_for_difference(difference=difference, way=Way(way), by=by, now=now, **said)
        return
    form = DecisionForm(request.POST)
    if way not in [*Way] or not form.is_valid():
        raise CannotSettle(_("Say in a few words how this was dealt with. Nothing was changed."))
    how = form.cleaned_data["how"]
    if way == Way.CONFIRM:
        actions.confirm_by_hand(difference=difference, how=how, by=by, now=now)
        return
    if way == Way.OVERTURN:
        actions.overturn_for_difference(difference=difference, how=how, by=by, now=now)
    elif way == Way.APPROVE:
        actions.approve_for_difference(difference=difference, how=how, by=by, now=now)
    elif way == Way.REJECT:
        said = valid(rejection_form(difference.campaign, request.POST))
        actions.reject_for_difference(
            difference=difference,
            how=how,
            reason=said["reason"],
            category=said.get("category", ""),
            leave_group=said.get("leave_group", False),
            by=by,
            now=now,
        )
    else:
        actions.settle_difference(difference=difference, how=how, by=by, now=now)


def _enrolled(study: Study, differences: list[Difference]) -> set[int]:
    """Whom of those concerned the study knows: the others have work on the platform, and nothing here."""
    people = [person_of_difference(difference).pk for difference in differences]
    known = Enrollment.objects.filter(study=study, annotator__in=people)
    return set(known.values_list("annotator", flat=True))


def _row(
    study: Study, difference: Difference, case: Case, enrolled: set[int], tests: dict[int, TestResult]
) -> dict[str, Any]:
    visit = visit_of_difference(difference)
    campaign = difference.campaign
    person = person_of_difference(difference).pk
    return {
        "difference": difference,
        "pseudonym": pseudonym(study.pseudonym_key, person),
        "is_enrolled": person in enrolled,
        "session": visit.session if visit else None,
        "is_test": is_test(campaign),
        "test": tests.get(person),
        "submission": difference.submission,
        "ways": ways_of(case),
        "is_forgotten": case.is_forgotten,
        "pays_too": case.status == Status.SUBMITTED and case.decision is None and campaign.approves_by_itself,
        "abilities": abilities_of(campaign.platform, campaign.environment),
        "rejection": rejection_form(campaign),
    }
