"""The work that was handed in for a campaign, with what was paid for it and what can be decided."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.models import PlatformIdentity, User
from annotation.models import Study
from annotation.rights import Right, rights_in, signed_in, study_page
from annotation.rules import pseudonym
from dashboard.pages.comparing import number_in
from dashboard.recruiting import figures
from dashboard.recruiting.forms import BonusForm, OneBonusForm, RejectionForm
from dashboard.recruiting.large import asked_once_more
from dashboard.recruiting.tested import TestResult, results_of
from recruitment import actions
from recruitment.errors import CannotPay, RecruitmentError
from recruitment.models import Campaign, Payment, Submission
from recruitment.models.payments import NEVER_APPROVED
from recruitment.platforms import abilities_of
from recruitment.queueing import now_or_never

ON_A_PAGE = 50
HELD = gettext_lazy("Written down. The platform hears of it in ten minutes; until then you can take it back.")
STILL_ASKED = gettext_lazy(
    "Prolific still shows the person your request to return the work, and who returns it is not paid: write "
    "to them that it is settled."
)
SEND_AGAIN_TASK = "recruitment.tasks.send_again"


@never_cache
@require_safe
@study_page()
def work(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Every piece of work that the platform lists as handed in; what waits for a decision first."""
    campaign = get_object_or_404(Campaign.objects.select_related("study"), study=study, number=number)
    after = request.GET.get("after", "")
    only = number_in(request.GET.get("only"))
    page = figures.work_page(campaign, after=after, only=only, size=ON_A_PAGE)
    tests = results_of(study, [found.annotator_id for found in page.rows]) if is_test(campaign) else {}
    context = {
        "study": study,
        "campaign": campaign,
        "next": f"after={page.next}" if page.next else "",
        "is_first": not (after or only),
        "rows": [_row(study, submission, tests.get(submission.annotator_id)) for submission in page.rows],
        "abilities": abilities_of(campaign.platform, campaign.environment),
        "may_change": Right.CHANGE in rights_in(request.user, study),
    }
    return render(request, "dashboard/work.html", context)


@require_POST
@study_page(post=Right.CHANGE)
def decide(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Approve a piece of work, reject it, or pay a bonus for it."""
    submission = get_object_or_404(
        Submission.objects.select_related("campaign__study"), pk=number, campaign__study=study
    )
    way, amount = request.POST.get("way", ""), request.POST.get("amount", "")
    question = asked_once_more(request, submission.campaign, amount) if way == "bonus" else None
    if question:
        return question
    try:
        decide_about(submission, way, request, by=signed_in(request))
        messages.success(
            request, str(HELD) if way == "reject" else _("Written down, and sent to the platform.")
        )
    except RecruitmentError as error:
        messages.error(request, str(error))
    return redirect("dashboard:work", slug=study.slug, number=submission.campaign.number)


@require_POST
@study_page(post=Right.CHANGE)
def send_again(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Ask once more for a payment that the platform refused."""
    payment = get_object_or_404(
        Payment.objects.select_related("submission"), pk=number, submission__campaign__study=study
    )
    try:
        actions.ask_again(payment=payment, by=signed_in(request), now=timezone.now())
        messages.success(request, _("Written down, and sent to the platform."))
    except RecruitmentError as error:
        messages.error(request, str(error))
    return redirect("dashboard:payments", slug=study.slug)


@require_POST
@study_page(post=Right.CHANGE)
def take_back(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Take a rejection back that has not been carried out."""
    payment = get_object_or_404(
        Payment.objects.select_related("submission__campaign"), pk=number, submission__campaign__study=study
    )
    try:
        if request.POST.get("way") == "approve":
            actions.approve_instead(payment=payment, by=signed_in(request), now=timezone.now())
            messages.success(request, _("Taken back, and approved."))
        else:
            actions.withdraw_rejection(payment=payment, by=signed_in(request), now=timezone.now())
            messages.success(request, _("Taken back: the work waits for a decision again."))
        if payment.tries and payment.submission.platform == PlatformIdentity.Platform.PROLIFIC:
            messages.warning(request, str(STILL_ASKED))
    except RecruitmentError as error:
        messages.error(request, str(error))
    return redirect("dashboard:work", slug=study.slug, number=payment.submission.campaign.number)


@require_POST
@study_page(post=Right.CHANGE)
def send_all_again(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Have a worker send everything of a campaign again that waits for better times or was refused."""
    campaign = get_object_or_404(Campaign, study=study, number=number)
    try:
        now_or_never(SEND_AGAIN_TASK, campaign.pk, signed_in(request).pk)
        messages.success(request, _("A worker sends it now. It can take a few minutes."))
    except RecruitmentError as error:
        messages.error(request, str(error))
    return redirect("dashboard:payments", slug=study.slug)


def decide_about(submission: Submission, way: str, request: HttpRequest, *, by: User | None) -> None:
    """What a form of the page says about a piece of work. Raises :class:`RecruitmentError`."""
    now = timezone.now()
    if way == "approve":
        actions.approve(submission=submission, by=by, now=now)
    elif way == "bonus":
        said = valid(OneBonusForm(request.POST))
        actions.give_bonus(submission=submission, by=by, now=now, **said)
    elif way == "overturn":
        votes_count = "votes_count" in request.POST
        actions.overturn_rejection(submission=submission, votes_count=votes_count, by=by, now=now)
    elif way == "reject":
        said = valid(rejection_form(submission.campaign, request.POST))
        actions.reject(
            submission=submission,
            reason=said["reason"],
            category=said.get("category", ""),
            leave_group=said.get("leave_group", False),
            by=by,
            now=now,
        )
    else:
        raise CannotPay(_("Say what is to be done with this work. Nothing was changed."))


def is_test(campaign: Campaign) -> bool:
    """Whether people come for the test and not for stories."""
    return campaign.purpose == Campaign.Purpose.TEST


def rejection_form(campaign: Campaign, data: Any = None) -> RejectionForm:
    """The form of a rejection, with what its platform asks for."""
    abilities = abilities_of(campaign.platform, campaign.environment)
    return RejectionForm(
        data,
        is_test=is_test(campaign),
        categories=abilities.rejection_categories,
        shortest=abilities.shortest_rejection,
        longest=abilities.longest_rejection,
    )


def valid(form: BonusForm | RejectionForm) -> dict[str, Any]:
    """What a form says. Raises :class:`CannotPay` with everything that is wrong in it."""
    if not form.is_valid():
        raise CannotPay(" ".join(str(error) for errors in form.errors.values() for error in errors))
    return form.cleaned_data


def _row(study: Study, submission: Submission, test: TestResult | None) -> dict[str, Any]:
    visit = submission.visit
    minutes = None
    if visit and visit.handed_in_at:
        minutes = (visit.handed_in_at - visit.arrived_at).total_seconds() / 60
    payments = list(submission.payments.all())
    decided = [payment for payment in payments if payment.kind == Payment.Kind.APPROVAL]
    overturned = {payment.pk for payment in payments if payment.kind == Payment.Kind.OVERTURN}
    return {
        "submission": submission,
        "pseudonym": pseudonym(study.pseudonym_key, submission.annotator_id),
        "session": visit.session if visit else None,
        "is_test": is_test(submission.campaign),
        "test": test,
        "minutes": minutes,
        "payments": payments,
        "waits": submission.waits,  # type: ignore[attr-defined]  # annotated by work_page
        "may_have_bonus": submission.status in (Submission.Status.APPROVED, *NEVER_APPROVED)
        or any(payment.state != Payment.State.FAILED for payment in decided),
        "token": uuid4(),
        "rejection": rejection_form(submission.campaign),
        "may_overturn": submission.status == Submission.Status.REJECTED
        and submission.annotator.erased_at is None
        and not any(
            (one.pk in overturned and one.state != Payment.State.FAILED) or one.repeats_id in overturned
            for one in payments
        ),
    }
