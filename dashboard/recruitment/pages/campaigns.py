"""Campaigns: the list, drafting one, its page, and starting or stopping it on its platform."""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

from django.contrib import messages
from django.db.models import TextChoices
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _, gettext_lazy, ngettext, pgettext_lazy

from accounts.models import Environment, PlatformIdentity, User
from annotation.models import Study
from annotation.rights import Right, by_and_now, form_page, granted, read_page, write_page
from dashboard.http import ErrorsAsMessages, ErrorsInForm, render_form
from dashboard.recruitment import queries
from dashboard.recruitment.forms import CampaignForm, SeatsForm
from dashboard.recruitment.study_state import turning_away
from recruitment import actions
from recruitment.errors import CannotRecruit
from recruitment.links import campaign_address
from recruitment.marketplace import Marketplace, MarketplaceError, NotConfigured, OnOffer
from recruitment.models import Campaign, Grant, Posting, Submission
from recruitment.offers import offer_of
from recruitment.pay import hourly_pay_of
from recruitment.places import free_places
from recruitment.platforms import PLATFORMS, is_shown, marketplace_of, platform_named, platform_of
from recruitment.reconciliation.queries import to_approve, to_top_up
from tomannot import clock


def _start(*, campaign: Campaign, by: User, now: datetime) -> Campaign:
    return actions.start_campaign(
        campaign=campaign, marketplace=marketplace_of(campaign, is_quick=True), by=by, now=now
    )


class Move(TextChoices):
    """A button on a campaign's page."""

    START = "start", gettext_lazy("Start on the platform")
    CONTINUE = "continue", gettext_lazy("Continue now")
    ASK = "ask", gettext_lazy("Compare with the platform now")
    PAUSE = "pause", pgettext_lazy("a campaign", "Pause")
    RESUME = "resume", gettext_lazy("Resume")
    END = "end", gettext_lazy("End permanently")


MOVES: dict[str, Callable[..., Campaign]] = {
    Move.START: _start,
    Move.PAUSE: actions.pause_campaign,
    Move.RESUME: actions.resume_campaign,
    Move.END: actions.end_campaign,
}
PAYS: dict[str, Callable[..., int]] = {"top_up": actions.top_up_all, "approve": actions.approve_all}
OFFERED = {
    Campaign.State.DRAFT: (Move.START,),
    Campaign.State.CREATING: (Move.CONTINUE, Move.END),
    Campaign.State.LIVE: (Move.ASK, Move.PAUSE, Move.END),
    Campaign.State.PAUSING: (Move.CONTINUE, Move.RESUME, Move.END),
    Campaign.State.PAUSED: (Move.ASK, Move.RESUME, Move.END),
    Campaign.State.ENDING: (Move.CONTINUE,),
    Campaign.State.ENDED: (Move.ASK,),
}
"""Buttons on a campaign's page, by its state."""


@read_page()
def recruitment(request: HttpRequest, study: Study) -> HttpResponse:
    """List the study's campaigns and the platforms for new ones."""
    is_rehearsal = study.environment == Environment.REHEARSAL
    platforms = [
        {
            "value": name,
            "label": PlatformIdentity.Platform(name).label,
            "notes": platform_named(name).notes,
            "is_closed": not platform_named(name).still_exists(study.environment),
        }
        for name in PLATFORMS
        if is_shown(name, study.environment)
    ]
    context = {
        "campaigns": queries.campaigns_of(study, now=clock.now()),
        "turning_away": turning_away(study),
        "platforms": platforms,
        "is_rehearsal": is_rehearsal,
        "asks_for_test": study.gate != Study.Gate.NOT_REQUIRED,
        "votes_waiting": queries.votes_waiting(study),
        "mismatches": queries.open_mismatches(study).count(),
    }
    return render(request, "dashboard/recruitment/recruitment.html", context)


@form_page(Right.CHANGE)
def new_campaign(request: HttpRequest, study: Study, platform: str, purpose: str) -> HttpResponse:
    """Draft a campaign. Nothing is sent to the platform."""
    if platform not in PLATFORMS or purpose not in Campaign.Purpose.values:
        raise Http404
    data = request.POST if request.method == "POST" else None
    form = CampaignForm.of(study, platform=platform, purpose=purpose, data=data)
    return _save_or_show(request, study, form, partial(actions.create_campaign, study=study))


@form_page(Right.CHANGE)
def change_campaign(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Change a draft. Everything but its purpose can change, since the platform has not seen it."""
    draft = _campaign(study, number)
    form = CampaignForm.changing(draft, data=request.POST if request.method == "POST" else None)
    return _save_or_show(request, study, form, partial(actions.change_campaign, campaign=draft), draft)


def _save_or_show(
    request: HttpRequest,
    study: Study,
    form: CampaignForm,
    save: Callable[..., Campaign],
    draft: Campaign | None = None,
) -> HttpResponse:
    if form.is_valid():
        with ErrorsInForm(form):
            saved = save(settings=form.settings(), **by_and_now(request))
            return redirect("dashboard:campaign", slug=study.slug, number=saved.number)
    context = {
        "form": form,
        "draft": draft,
        "platform": PlatformIdentity.Platform(form.platform),
        "is_test": form.purpose == Campaign.Purpose.TEST,
        "notes": platform_named(form.platform).notes,
        "is_closed": not platform_named(form.platform).still_exists(study.environment),
        "places": queries.places(study),
    }
    return render_form(request, "dashboard/recruitment/new_campaign.html", context)


@read_page()
def campaign(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Show a campaign: its offer, costs, progress and actions."""
    found = _campaign(study, number)
    context = {
        "campaign": found,
        "turning_away": [one for one in turning_away(study) if one == found],
        "address": campaign_address(found),
        "platform": platform_of(found),
        "is_closed": not platform_of(found).still_exists(found.environment),
        "postings": found.postings.count(),
        "made": found.postings.exclude(remote_id="").count(),
        **_sums(found),
        "places": queries.places(study),
        "free_places": free_places(found),
        "seats_form": SeatsForm(initial={"offered": found.seats}),
        "still_open": found.postings.filter(state=Posting.State.MADE).count(),
        "is_over": found.state == Campaign.State.LIVE and found.is_over(now=clock.now()),
        "moves": _offered(found),
    }
    if found.state == Campaign.State.DRAFT and Right.CHANGE in granted(request):
        context |= _cost(found)
    return render(request, "dashboard/recruitment/campaign.html", context)


def _sums(found: Campaign) -> dict[str, Any]:
    """Return sums over all submissions; those of a large campaign may be a minute old."""
    numbers = queries.counted(found.submissions.all(), "status")
    size = sum(numbers.values())
    hourly = queries.cached(found, "hourly", hourly_pay_of, size=size)
    fee = platform_of(found).bonus_fee(hourly.top_up) if hourly else None
    wanting = queries.cached(found, "to_top_up", lambda one: to_top_up(one).count(), size=size)
    return {
        "visits": queries.cached(found, "visits", queries.visits_by_state, size=size),
        "submissions": queries.labelled(numbers, Submission.Status),
        "ends": queries.cached(found, "ends", queries.ends_of, size=size),
        "money": queries.cached(found, "money", queries.money_of, size=size),
        "hourly": hourly,
        "low_pay": hourly
        and platform_of(found).pay_warning(found.reward, found.currency, hourly.median_seconds),
        "to_top_up": wanting,
        "top_ups": hourly.top_up * wanting if hourly else 0,
        "top_ups_with_fees": None if fee is None or not hourly else (hourly.top_up + fee) * wanting,
        "to_approve": to_approve(found).count(),
        "refused_grants": found.grants.filter(state=Grant.State.FAILED).order_by("-pk"),
        "mismatches": found.mismatches.filter(settled_at=None).count(),
    }


def _offered(found: Campaign) -> tuple[Move, ...]:
    """Return the buttons to show; an expired offer can be resumed."""
    moves = OFFERED[Campaign.State(found.state)]
    is_live = found.state == Campaign.State.LIVE
    is_over = found.is_over(now=clock.now()) or found.platform_offer == OnOffer.PAUSED
    return (Move.RESUME, *moves) if is_live and is_over else moves


@write_page(Right.CHANGE)
def discard_campaign(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Delete a draft."""
    with ErrorsAsMessages(request):
        actions.discard_campaign(campaign=_campaign(study, number), **by_and_now(request))
        messages.success(request, _("The draft of campaign %(number)s is discarded.") % {"number": number})
        return redirect("dashboard:recruitment", slug=study.slug)
    return redirect("dashboard:campaign", slug=study.slug, number=number)


@write_page(Right.CHANGE)
def move_campaign(request: HttpRequest, study: Study, number: int, move: str) -> HttpResponse:
    """Start, pause, resume, end or widen a campaign, pay all its work, or compare with the platform now."""
    found = _campaign(study, number)
    with ErrorsAsMessages(request, MarketplaceError):
        if move in MOVES:
            moved = MOVES[move](campaign=found, **by_and_now(request))
            messages.success(request, _("The campaign: %(state)s.") % {"state": moved.get_state_display()})
        elif move in PAYS:
            paid = PAYS[move](campaign=found, **by_and_now(request))
            messages.success(request, _paid_message(move, paid))
        elif move == "widen":
            _widen(request, found)
        elif move in (Move.CONTINUE, Move.ASK):
            actions.sync_now(campaign=found)
            messages.success(request, _("The platform is being asked. Reload this page in a moment."))
        else:
            raise Http404
    return redirect("dashboard:campaign", slug=study.slug, number=number)


def _paid_message(move: str, number: int) -> str:
    text = (
        ngettext("%(number)s submission is approved.", "%(number)s submissions are approved.", number)
        if move == "approve"
        else ngettext("%(number)s submission is topped up.", "%(number)s submissions are topped up.", number)
    )
    return text % {"number": number}


def _widen(request: HttpRequest, found: Campaign) -> None:
    form = SeatsForm(request.POST)
    if not form.is_valid():
        raise CannotRecruit(_("Enter how many more places to offer, at least one."))
    actions.add_seats(
        campaign=found,
        marketplace=marketplace_of(found, is_quick=True),
        more=form.cleaned_data["more"],
        offered=form.cleaned_data["offered"],
        **by_and_now(request),
    )
    messages.success(request, _("The places are being added on the platform. Reload this page in a moment."))


def _cost(found: Campaign) -> dict[str, Any]:
    try:
        marketplace: Marketplace = marketplace_of(found, is_quick=True)
        estimate = marketplace.estimate(offer_of(found))
    except NotConfigured as error:
        return {"not_configured": str(error), "rewards": found.seats * found.reward}
    except MarketplaceError as error:
        return {"no_answer": str(error)}
    try:
        return {"estimate": estimate, "balance": marketplace.balance()}
    except MarketplaceError as error:
        return {"estimate": estimate, "balance": None, "no_answer": str(error)}


def _campaign(study: Study, number: int) -> Campaign:
    return get_object_or_404(Campaign.objects.select_related("study"), study=study, number=number)
