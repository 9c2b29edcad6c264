"""Carry out what a researcher's form says about a submission; ask again before a large bonus."""

from decimal import Decimal
from typing import Any

from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from annotation.rights import by_and_now
from dashboard.http import form_token
from dashboard.recruitment.forms import BonusForm, OneBonusForm, RejectionForm
from recruitment import actions
from recruitment.errors import CannotPay
from recruitment.marketplace import MarketplaceError
from recruitment.models import Campaign, Payment, Submission
from recruitment.platforms import marketplace_of, platform_of

MANY_REWARDS = 3
"""Ask again before a bonus of more than this many rewards: it may lack its decimal point."""


def rejection_form(campaign: Campaign, data: Any = None, *, number: int = 0) -> RejectionForm:
    """Return the form of a rejection, with the fields that the campaign's platform asks for.

    ``number`` makes the fields' ids unique on a page with several of these forms.
    """
    platform, auto_id = platform_of(campaign), f"rejection-{number}-%s"
    return RejectionForm(data, is_test=campaign.is_test, platform=platform, auto_id=auto_id)


def valid(form: Form) -> dict[str, Any]:
    """Return the form's cleaned data. Raise :class:`CannotPay` with every error if it is invalid."""
    if not form.is_valid():
        raise CannotPay(" ".join(str(error) for errors in form.errors.values() for error in errors))
    return form.cleaned_data


def decide_about(submission: Submission, way: str, request: HttpRequest) -> None:
    """Carry out the posted decision about a submission. Raise :class:`DomainError` if it is refused."""
    by = by_and_now(request)
    if way == "approve":
        actions.approve(submission=submission, **by)
    elif way == "bonus":
        actions.give_bonus(submission=submission, **by, **valid(OneBonusForm(request.POST)))
    elif way == "overturn":
        votes_count = "votes_count" in request.POST
        actions.overturn_rejection(submission=submission, votes_count=votes_count, **by)
    elif way == "reject":
        rejection = valid(rejection_form(submission.campaign, request.POST))
        actions.reject(submission=submission, **by, **rejection)
    else:
        raise CannotPay(_("Choose what to do with this submission. Nothing was changed."))


def confirmation_of_large_bonus(request: HttpRequest, campaign: Campaign) -> HttpResponse | None:
    """Return a page that asks the researcher to confirm a large bonus; None if there is nothing to confirm.

    The page sends the same form again with ``sure``. The form itself refuses malformed amounts.
    """
    token = form_token(request)
    is_known = token is not None and Payment.objects.filter(request_token=token).exists()
    form = BonusForm(request.POST)
    form.is_valid()
    amount = form.cleaned_data.get("amount")
    if is_known or "sure" in request.POST or amount is None:
        return None
    platform = platform_of(campaign)
    fee = platform.bonus_fee(amount)
    total, balance = amount + (fee or 0), _balance(campaign)
    is_too_much = balance is not None and total > balance
    if not (amount > MANY_REWARDS * campaign.reward or is_too_much):
        return None
    context = {
        "study": campaign.study,
        "campaign": campaign,
        "amount": amount,
        "fee": fee,
        "total": total,
        "fee_note": platform.bonus_fee_note,
        "balance": balance,
        "is_too_much": is_too_much,
        "fields": [(name, value) for name, value in request.POST.items() if name != "csrfmiddlewaretoken"],
    }
    return render(request, "dashboard/recruitment/large_bonus.html", context)


def _balance(campaign: Campaign) -> Decimal | None:
    try:
        return marketplace_of(campaign, is_quick=True).balance()
    except MarketplaceError:  # the payment is then retried later, like any other
        return None
