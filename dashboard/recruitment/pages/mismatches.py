"""Mismatches between a platform and this site, with what can be done about each."""

from typing import Any

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _, ngettext

from annotation.models import Study
from annotation.numbers import number_in
from annotation.rights import Right, by_and_now, read_page, write_page
from annotation.rules import pseudonym
from dashboard.http import ErrorsAsMessages
from dashboard.recruitment.decisions import confirmation_of_large_bonus, rejection_form, valid
from dashboard.recruitment.forms import DecisionForm, RemedyForm, SimilarForm
from dashboard.recruitment.list_filters import ListFilter, MismatchFilter
from dashboard.recruitment.queries import newest_attempts, open_mismatches
from qualification.models import Attempt
from recruitment import actions
from recruitment.actions.mismatches import NOTED_AT_ONCE
from recruitment.errors import CannotPay
from recruitment.marketplace import NEVER_APPROVED, Status
from recruitment.models import Campaign, Mismatch
from recruitment.platforms import platform_of
from recruitment.reconciliation.remedies import (
    PAYING,
    Case,
    Remedy,
    cases_of,
    person_of_mismatch,
    remedies_of,
    visit_of_mismatch,
)

ON_A_PAGE = 50


@read_page()
def mismatches(request: HttpRequest, study: Study) -> HttpResponse:
    """List the open mismatches that the address selects, with what can be done about each."""
    selected = MismatchFilter(study, request.GET)
    found = open_mismatches(study).filter(selected.rows())
    page = Paginator(found, ON_A_PAGE).get_page(request.GET.get("page"))
    cases = cases_of(list(page))
    people = [person_of_mismatch(mismatch).pk for mismatch in page]
    # The rest never arrived here: they only have a submission on the platform.
    enrolled = set(study.enrollments.filter(annotator__in=people).values_list("annotator", flat=True))
    tests = newest_attempts(study, enrolled)
    comparisons = list(study.campaigns.exclude(state=Campaign.State.DRAFT).order_by("-number"))
    context = {
        "page": page,
        "list_filter": selected,
        **_similar(selected, found, page),
        "rows": [_row(study, mismatch, cases[mismatch.pk], enrolled, tests) for mismatch in page],
        "comparisons": comparisons,
        "agrees": all(one.synced_at and not one.sync_problem for one in comparisons),
    }
    return render(request, "dashboard/recruitment/mismatches.html", context)


def _similar(selected: ListFilter, found: QuerySet[Mismatch], page: Page[Mismatch]) -> dict[str, Any]:
    """Return how many mismatches of the selected kind one note can settle, and the newest of them."""
    number = page.paginator.count
    if "kind" not in selected.chosen or number < 2:
        return {}
    newest, form = found.latest("pk").pk, SimilarForm(auto_id="%s-all")
    return {"similar": number, "at_once": min(number, NOTED_AT_ONCE), "newest": newest, "form": form}


@write_page(Right.CHANGE)
def settle_mismatches(request: HttpRequest, study: Study) -> HttpResponse:
    """Settle every mismatch of a filtered list with one note."""
    selected = MismatchFilter(study, request.POST)
    with ErrorsAsMessages(request):
        number = actions.settle_similar(
            study=study,
            kind=selected.chosen.get("kind", ""),
            campaign_number=selected.chosen.get("campaign"),
            newest=number_in(request.POST.get("newest")),
            how=valid(SimilarForm(request.POST))["how"],
            **by_and_now(request),
        )
        message = ngettext("%(number)s mismatch is settled.", "%(number)s mismatches are settled.", number)
        messages.success(request, message % {"number": number})
    return redirect(f"{reverse('dashboard:mismatches', args=[study.slug])}?{selected.query()}")


@write_page(Right.CHANGE)
def settle_mismatch(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Settle one mismatch: count its votes, decide or pay its submission, or only note what was done."""
    needed = ("campaign__study", "submission__annotator", "submission__visit__session")
    mismatch = get_object_or_404(
        Mismatch.objects.select_related(*needed, "visit__session", "visit__enrollment__annotator"),
        pk=number,
        campaign__study=study,
    )
    way = request.POST.get("way", "")
    if way == Remedy.BONUS and (question := confirmation_of_large_bonus(request, mismatch.campaign)):
        return question
    with ErrorsAsMessages(request):
        _settle(mismatch, way, request)
        messages.success(request, _("The mismatch is settled, and the log says how."))
    return redirect("dashboard:mismatches", slug=study.slug)


def _settle(mismatch: Mismatch, way: str, request: HttpRequest) -> None:
    by = by_and_now(request)
    if way in PAYING:
        payment = valid(RemedyForm(request.POST))
        actions.pay_for_mismatch(mismatch=mismatch, remedy=Remedy(way), **by, **payment)
        return
    if way not in [*Remedy]:
        raise CannotPay(_("Choose what to do with this submission. Nothing was changed."))
    how = valid(DecisionForm(request.POST))["how"]
    if way == Remedy.CONFIRM:
        actions.confirm_manually(mismatch=mismatch, how=how, **by)
    elif way == Remedy.SETTLE:
        actions.settle_mismatch(mismatch=mismatch, how=how, **by)
    else:
        rejection = valid(rejection_form(mismatch.campaign, request.POST)) if way == Remedy.REJECT else {}
        actions.decide_mismatch(mismatch=mismatch, remedy=Remedy(way), how=how, **by, **rejection)


def _row(
    study: Study, mismatch: Mismatch, case: Case, enrolled: set[int], tests: dict[int, Attempt]
) -> dict[str, Any]:
    campaign, ways = mismatch.campaign, remedies_of(case)
    person = person_of_mismatch(mismatch).pk
    return {
        "mismatch": mismatch,
        "pseudonym": pseudonym(study.pseudonym_key, person),
        "is_enrolled": person in enrolled,
        "visit": visit_of_mismatch(mismatch),
        "test": tests.get(person),
        "is_listed": case.status in NEVER_APPROVED,
        "ways": ways,
        "decision": DecisionForm(auto_id=f"decision-{mismatch.pk}-%s"),
        "payments": [
            (
                way,
                RemedyForm(
                    campaign=campaign, is_outside=way == Remedy.OUTSIDE, auto_id=f"{way}-{mismatch.pk}-%s"
                ),
            )
            for way in ways
            if way in PAYING
        ],
        "is_forgotten": case.is_forgotten,
        "pays_too": case.status == Status.SUBMITTED and case.decision is None and campaign.auto_approves,
        "platform": platform_of(campaign),
        "rejection": rejection_form(campaign, number=mismatch.pk),
    }
