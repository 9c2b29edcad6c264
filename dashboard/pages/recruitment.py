"""Recruitment: which campaigns run where, what one would cost, and putting one on its platform."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import Environment, PlatformIdentity, User
from annotation.models import Study
from annotation.rights import Right, rights_in, signed_in, study_page
from dashboard.recruiting import figures
from dashboard.recruiting.doors import turning_away
from dashboard.recruiting.forms import CampaignForm, SeatsForm
from recruitment import actions
from recruitment.campaigns import offer_of
from recruitment.errors import CannotRecruit, RecruitmentError
from recruitment.links import campaign_address
from recruitment.marketplace import Marketplace, MarketplaceError, NotConfigured
from recruitment.models import Campaign, PaymentOrder, Posting
from recruitment.platforms import abilities_of, marketplace_of
from recruitment.reconciliation.queries import hourly_pay_of, to_approve, to_top_up


def _start(*, campaign: Campaign, by: User, now: datetime) -> Campaign:
    return actions.start_campaign(
        campaign=campaign, marketplace=marketplace_of(campaign, is_quick=True), by=by, now=now
    )


PLATFORMS = (PlatformIdentity.Platform.PROLIFIC, PlatformIdentity.Platform.MTURK)
MOVES: dict[str, Callable[..., Campaign]] = {
    "start": _start,
    "pause": actions.pause_campaign,
    "resume": actions.resume_campaign,
    "end": actions.end_campaign,
}
ORDERS: dict[str, Callable[..., PaymentOrder]] = {
    "top_up": actions.order_top_ups,
    "approve": actions.order_approvals,
}
OFFERED = {
    Campaign.State.DRAFT: ("start",),
    Campaign.State.CREATING: ("continue", "end"),
    Campaign.State.LIVE: ("ask", "pause", "end"),
    Campaign.State.PAUSING: ("continue", "resume", "end"),
    Campaign.State.PAUSED: ("ask", "resume", "end"),
    Campaign.State.ENDING: ("continue",),
    Campaign.State.ENDED: ("ask",),
}
"""What a researcher can do with a campaign, by its state."""


@never_cache
@require_safe
@study_page()
def recruitment(request: HttpRequest, study: Study) -> HttpResponse:
    """The study's campaigns, and the ways in which people can come."""
    is_rehearsal = study.environment == Environment.REHEARSAL
    platforms = [
        {"value": platform, "label": platform.label, "abilities": abilities_of(platform, study.environment)}
        for platform in PLATFORMS
    ]
    context = {
        "study": study,
        "campaigns": figures.campaigns_of(study, now=timezone.now()),
        "turning_away": turning_away(study),
        "platforms": platforms,
        "is_rehearsal": is_rehearsal,
        "asks_for_test": study.gate != Study.Gate.NOT_REQUIRED,
        "votes_waiting": figures.votes_waiting(study),
        "differences": figures.open_differences(study).count(),
        "may_change": Right.CHANGE in rights_in(request.user, study),
    }
    return render(request, "dashboard/recruitment.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@study_page(Right.CHANGE)
def new_campaign(request: HttpRequest, study: Study, platform: str, purpose: str) -> HttpResponse:
    """The form of a new campaign. A POST drafts it; nothing is asked of the platform."""
    if platform not in PLATFORMS or purpose not in Campaign.Purpose.values:
        raise Http404
    data = request.POST if request.method == "POST" else None
    form = CampaignForm.of(study, platform=platform, purpose=purpose, data=data)
    if form.is_valid():
        try:
            campaign = actions.create_campaign(
                study=study, settings=form.settings(), by=signed_in(request), now=timezone.now()
            )
            return redirect("dashboard:campaign", slug=study.slug, number=campaign.number)
        except RecruitmentError as error:
            form.refuse_lines(str(error))
    return _form_page(request, study, form)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@study_page(Right.CHANGE)
def change_campaign(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """The form of a draft. Nothing of it is on the platform yet, so everything but its purpose can change."""
    draft = _campaign(study, number)
    form = CampaignForm.changing(draft, data=request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            actions.change_campaign(
                campaign=draft, settings=form.settings(), by=signed_in(request), now=timezone.now()
            )
            return redirect("dashboard:campaign", slug=study.slug, number=number)
        except RecruitmentError as error:
            form.refuse_lines(str(error))
    return _form_page(request, study, form, draft)


def _form_page(
    request: HttpRequest, study: Study, form: CampaignForm, draft: Campaign | None = None
) -> HttpResponse:
    context = {
        "study": study,
        "form": form,
        "draft": draft,
        "platform": PlatformIdentity.Platform(form.platform),
        "is_test": form.purpose == Campaign.Purpose.TEST,
        "abilities": abilities_of(form.platform, study.environment),
    }
    return render(request, "dashboard/new_campaign.html", context, status=422 if form.errors else 200)


@never_cache
@require_safe
@study_page()
def campaign(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """One campaign: what it offers and costs, how far it is, what can be done.

    htmx asks for nothing but how far the payments are that are being written.
    """
    found = _campaign(study, number)
    orders = figures.orders_underway(found, now=timezone.now())
    if getattr(request, "htmx", False):
        if not orders:  # they are written: the sums have changed, too
            return HttpResponse(headers={"HX-Refresh": "true"})
        return render(request, "dashboard/_payment_orders.html", {"orders": orders, "campaign": found})
    context = {
        "study": study,
        "campaign": found,
        "turning_away": [one for one in turning_away(study) if one == found],
        "address": campaign_address(found),
        "abilities": abilities_of(found.platform, found.environment),
        "postings": found.postings.count(),
        "made": found.postings.exclude(remote_id="").count(),
        "orders": orders,
        **_work_and_money(found),
        "seats_form": SeatsForm(initial={"offered": found.seats}),
        "still_open": found.postings.filter(state=Posting.State.MADE).count(),
        "is_over": found.state == Campaign.State.LIVE and found.is_over(now=timezone.now()),
        "moves": _offered(found),
        "may_change": Right.CHANGE in rights_in(request.user, study),
    }
    if found.state == Campaign.State.DRAFT and context["may_change"]:
        context |= _cost(found)
    return render(request, "dashboard/campaign.html", context)


def _work_and_money(found: Campaign) -> dict[str, Any]:
    """Sums over all work, of a big campaign at most a minute old."""
    numbers = figures.numbers_by_status(found)
    fee = abilities_of(found.platform, found.environment).bonus_fee
    size = sum(numbers.values())
    hourly = figures.kept(found, "hourly", hourly_pay_of, size=size)
    wanting = figures.kept(found, "to_top_up", _number_to_top_up, size=size)
    return {
        "visits": figures.kept(found, "visits", figures.visits_by_state, size=size),
        "submissions": figures.in_words(numbers),
        "money": figures.kept(found, "money", figures.money_of, size=size),
        "hourly": hourly,
        "low_pay": figures.low_pay(found, hourly),
        "to_top_up": wanting,
        "top_ups": hourly.top_up * wanting if hourly else 0,
        "top_ups_with_fees": fee and hourly and (hourly.top_up + fee(hourly.top_up)) * wanting,
        "to_approve": to_approve(found).count(),
        "refused_grants": figures.refused_grants(found),
        "differences": found.differences.filter(settled_at=None).count(),
    }


def _number_to_top_up(found: Campaign) -> int:
    return to_top_up(found).count()


def _offered(found: Campaign) -> tuple[str, ...]:
    """What can be done with the campaign: one whose days on offer are over can be offered anew."""
    moves = OFFERED[Campaign.State(found.state)]
    is_live = found.state == Campaign.State.LIVE
    is_over = found.is_over(now=timezone.now()) or found.offer_there == Campaign.OfferThere.PAUSED
    return ("resume", *moves) if is_live and is_over else moves


@require_POST
@study_page(post=Right.CHANGE)
def discard_campaign(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Delete a draft."""
    try:
        actions.discard_campaign(campaign=_campaign(study, number), by=signed_in(request), now=timezone.now())
    except RecruitmentError as error:
        messages.error(request, str(error))
        return redirect("dashboard:campaign", slug=study.slug, number=number)
    messages.success(request, _("The draft of campaign %(number)s is discarded.") % {"number": number})
    return redirect("dashboard:recruitment", slug=study.slug)


@require_POST
@study_page(post=Right.CHANGE)
def move_campaign(request: HttpRequest, study: Study, number: int, move: str) -> HttpResponse:
    """Start, pause, resume or end a campaign, go on with putting it up, or ask the platform now."""
    found = _campaign(study, number)
    now = timezone.now()
    try:
        if move in MOVES:
            moved = MOVES[move](campaign=found, by=signed_in(request), now=now)
            messages.success(request, _("The campaign: %(state)s.") % {"state": moved.get_state_display()})
        elif move in ORDERS:
            order = ORDERS[move](campaign=found, by=signed_in(request), now=now)
            messages.success(request, _said_of(order))
        elif move == "widen":
            _widen(request, found)
        elif move in ("continue", "ask"):
            actions.look_again(campaign=found)
            messages.success(request, _("The platform is being asked. Look again in a moment."))
        else:
            raise Http404
    except (RecruitmentError, MarketplaceError) as error:
        messages.error(request, str(error))
    return redirect("dashboard:campaign", slug=study.slug, number=number)


def _said_of(order: PaymentOrder) -> str:
    said = (
        ngettext(
            "%(number)s piece of work is being approved.",
            "%(number)s pieces of work are being approved.",
            order.wanted,
        )
        if order.kind == PaymentOrder.Kind.APPROVAL
        else ngettext(
            "%(number)s piece of work is being topped up.",
            "%(number)s pieces of work are being topped up.",
            order.wanted,
        )
    )
    return said % {"number": order.wanted}


def _widen(request: HttpRequest, found: Campaign) -> None:
    form = SeatsForm(request.POST)
    if not form.is_valid():
        raise CannotRecruit(_("Say how many pieces of work more are to be offered: at least one."))
    actions.add_seats(
        campaign=found,
        marketplace=marketplace_of(found, is_quick=True),
        more=form.cleaned_data["more"],
        offered=form.cleaned_data["offered"],
        by=signed_in(request),
        now=timezone.now(),
    )
    messages.success(request, _("They are being put on the platform. Look again in a moment."))


def _cost(found: Campaign) -> dict[str, Any]:
    """What the draft would cost, or why that cannot be said."""
    try:
        marketplace: Marketplace = marketplace_of(found, is_quick=True)
        return {"estimate": marketplace.estimate(offer_of(found)), "balance": marketplace.balance()}
    except NotConfigured as error:
        return {"not_configured": str(error), "rewards": found.seats * found.reward}
    except MarketplaceError as error:
        return {"no_estimate": str(error)}


def _campaign(study: Study, number: int) -> Campaign:
    return get_object_or_404(Campaign.objects.select_related("study"), study=study, number=number)
