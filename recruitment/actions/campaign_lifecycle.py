"""Bring a campaign on its platform to the wanted state: published, paused, resumed or ended.

The wanted state is stored first. A worker then acts, posting by posting, and stores each result, so a later
worker continues where one was killed, and nothing is done twice. A campaign is paused or ended only once the
platform has confirmed it for every posting.
"""

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from uuid import uuid5

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from accounts.models import User, locked
from annotation import actions as annotation_actions
from annotation.locks import alone
from annotation.models import Event, Study
from recruitment.errors import CannotRecruit
from recruitment.marketplace import (
    MOST_SILENT,
    Group,
    Marketplace,
    MarketplaceError,
    OnOffer,
    PostingRequest,
    Refused,
    Unreachable,
)
from recruitment.models import Campaign, Posting
from recruitment.offers import has_one_posting, offer_of, reference_of
from recruitment.places import concurrent_visits, has_story_for_newcomers
from recruitment.platforms import platform_of
from recruitment.queue import CARRY_OUT_TASK, PUBLISH, RECONCILE_TASK, queue_or_fail, queue_soon

logger = logging.getLogger(__name__)
State = Campaign.State


@transaction.atomic
def pause_campaign(*, campaign: Campaign, by: User | None, now: datetime) -> Campaign:
    """Have a worker stop new people from beginning until the campaign is resumed.

    Raise :class:`CannotRecruit` unless it is live.
    """
    return _request_state(campaign, State.PAUSING, only_from=(State.LIVE,), by=by, now=now)


@transaction.atomic
def resume_campaign(*, campaign: Campaign, by: User | None, now: datetime) -> Campaign:
    """Have a worker reopen the campaign for as many days as it was offered at first.

    Raise :class:`CannotRecruit` unless it is paused, here or on the platform, or the days on offer are over.
    """
    campaign = lock_campaign(campaign)
    wanted_from = [State.PAUSED, State.PAUSING]
    is_paused_there = campaign.platform_offer == OnOffer.PAUSED
    if campaign.is_over(now=now) or is_paused_there:
        wanted_from.append(State.LIVE)
    if is_paused_there:  # or they would be taken for open, and left as they are
        campaign.postings.filter(state=Posting.State.MADE).update(state=Posting.State.PAUSED)
    return extend_offer(campaign=campaign, only_from=wanted_from, by=by, now=now)


@transaction.atomic
def end_campaign(*, campaign: Campaign, by: User | None, now: datetime) -> Campaign:
    """Have a worker close the campaign for good. People at work can hand in, and are compared and paid.

    Also while it is published, if the platform refuses part of it. Raise :class:`CannotRecruit`
    for a draft, and for one that is ended or being ended.
    """
    wanted_from = (State.CREATING, State.LIVE, State.PAUSING, State.PAUSED)
    return _request_state(campaign, State.ENDING, only_from=wanted_from, by=by, now=now)


@transaction.atomic
def extend_offer(
    *, campaign: Campaign, only_from: Iterable[Campaign.State], by: User | None, now: datetime
) -> Campaign:
    """Have a worker create missing postings, and restart the days on offer for all of them."""
    campaign = _request_state(campaign, State.CREATING, only_from=only_from, by=by, now=now)
    if campaign.offered_until:
        campaign.offered_until = now + timedelta(days=campaign.days_open)
        campaign.save(update_fields=["offered_until"])
    return campaign


@transaction.atomic
def pause_without_stories(*, now: datetime) -> list[Campaign]:
    """Pause campaigns without a story for new visits, and resume them when there is one.

    Return the campaigns that changed. A researcher's own pause stays.
    """
    campaigns = Campaign.objects.select_related("study").filter(
        purpose=Campaign.Purpose.STORIES, study__state=Study.State.OPEN
    )
    changed = []
    for campaign in campaigns.filter(Q(state=State.LIVE) | Q(state=State.PAUSED, waits_for_stories=True)):
        is_live, has_story = campaign.state == State.LIVE, has_story_for_newcomers(campaign.study)
        if is_live and not has_story:
            pausing = _request_state(
                campaign, State.PAUSING, only_from=(State.LIVE,), by=None, now=now, waits_for_stories=True
            )
            changed.append(pausing)
        elif has_story and not is_live:
            changed.append(extend_offer(campaign=campaign, only_from=(State.PAUSED,), by=None, now=now))
    return changed


def sync_now(*, campaign: Campaign) -> None:
    """Have a worker continue towards the campaign's wanted state, or compare it with its platform, at once.

    Raise :class:`NotQueued`, and :class:`CannotRecruit` for a draft.
    """
    if campaign.state == State.DRAFT:
        raise CannotRecruit(_("This campaign is a draft: the platform knows nothing of it yet."))
    queue_or_fail(CARRY_OUT_TASK if campaign.state in Campaign.UNDERWAY else RECONCILE_TASK, campaign.pk)


def _request_state(
    campaign: Campaign,
    state: Campaign.State,
    *,
    only_from: Iterable[Campaign.State],
    by: User | None,
    now: datetime,
    waits_for_stories: bool = False,
) -> Campaign:
    campaign = lock_campaign(campaign)
    check_state(campaign, *only_from)
    campaign.waits_for_stories = waits_for_stories
    _set_state(campaign, state, by=by, now=now)
    queue_soon(CARRY_OUT_TASK, campaign.pk)
    return campaign


def carry_out(*, campaign: Campaign, marketplace: Marketplace, now: datetime) -> Campaign:
    """Bring the platform to the campaign's wanted state. Calling it again continues from there.

    One worker at a time: another returns at once. The same worker also does what is requested meanwhile.
    When the platform refuses or does not answer, its message is stored on the campaign and raised.
    """
    campaign = _reload(campaign)
    while campaign.state in Campaign.UNDERWAY:
        with alone(PUBLISH, campaign.pk) as nobody_else:
            if not nobody_else:
                return campaign
            _take_step(_reload(campaign), marketplace, now=now)
        campaign = _reload(campaign)  # without the lock: a worker that it turned away has stored its request
    return campaign


def record_problem(*, campaign: Campaign, problem: str) -> None:
    """Note on a campaign why its wanted state is not reached."""
    Campaign.objects.filter(pk=campaign.pk).update(problem=problem)


def _take_step(campaign: Campaign, marketplace: Marketplace, *, now: datetime) -> None:
    try:
        if campaign.state == State.CREATING:
            _publish(campaign, marketplace, now=now)
        elif campaign.state == State.PAUSING:
            _stop_each(campaign, [Posting.State.MADE], marketplace.pause, Posting.State.PAUSED)
            _mark_done(campaign, State.PAUSED, now=now)
        elif campaign.state == State.ENDING:
            _end_postings(campaign, marketplace, now=now)
    except MarketplaceError as error:
        if _is_unchanged(campaign):
            record_problem(campaign=campaign, problem=str(error))
            raise


def _publish(campaign: Campaign, marketplace: Marketplace, *, now: datetime) -> None:
    _ensure_groups(campaign, marketplace)
    if not campaign.remote_id:
        _store_remote_id(campaign, "remote_id", marketplace.prepare(offer_of(campaign)))
    limit_concurrency(campaign=campaign, marketplace=marketplace)
    for posting in campaign.postings.order_by("number"):
        if not _is_unchanged(campaign):
            return
        if posting.state == Posting.State.WANTED:
            _create_posting(campaign, posting, marketplace, now=now)
        else:
            _update_posting(campaign, posting, marketplace, now=now)
    _mark_done(campaign, State.LIVE, now=now)


def limit_concurrency(*, campaign: Campaign, marketplace: Marketplace) -> None:
    """Let no more people work at once than find stories, on a platform that can limit them.

    An offer stands without the limit if the platform refuses it; the next comparison asks again.
    """
    if campaign.purpose != Campaign.Purpose.STORIES or not platform_of(campaign).limits_concurrency:
        return
    most = concurrent_visits(campaign)
    if most != campaign.concurrency_limit:
        try:
            marketplace.limit_concurrency(campaign.remote_id, most)
        except Refused as error:
            logger.warning("Campaign %s: no limit of people at once: %s", campaign.pk, error)
            return
        Campaign.objects.filter(pk=campaign.pk).update(concurrency_limit=most)
        campaign.concurrency_limit = most


def _ensure_groups(campaign: Campaign, marketplace: Marketplace) -> None:
    for group, name, is_needed in (
        (Group.QUALIFIED, "qualified_group", campaign.study.gate != Study.Gate.NOT_REQUIRED),
        (Group.INCOMPLETE, "incomplete_group", platform_of(campaign).excludes_unfinished),
    ):
        if is_needed and not getattr(campaign, name):
            made = marketplace.ensure_group(group, reference=campaign.study.slug)
            _store_remote_id(campaign, name, made)


def _create_posting(campaign: Campaign, posting: Posting, marketplace: Marketplace, *, now: datetime) -> None:
    is_first, asked_at = _record_request(posting, now=now)
    request = PostingRequest(posting.number, posting.seats, posting.request_token, asked_at)
    try:
        remote_id = marketplace.post(offer_of(campaign), campaign.remote_id, request)
    except MarketplaceError as error:
        if is_first and not error.maybe_done:  # or the end of the campaign would look for it, and make it
            Posting.objects.filter(pk=posting.pk, state=Posting.State.WANTED).update(first_asked_at=None)
        raise
    _record_posting(posting, remote_id, until=campaign.offered_until, now=now)


def _update_posting(campaign: Campaign, posting: Posting, marketplace: Marketplace, *, now: datetime) -> None:
    """Give an existing posting its seats and its time, and open it."""
    if has_one_posting(campaign):
        # One token per number of seats.
        token = uuid5(posting.request_token, str(posting.seats))
        marketplace.widen(campaign.remote_id, posting.remote_id, seats=posting.seats, token=token)
    until = campaign.offered_until
    is_short = until is not None and (posting.offered_until is None or posting.offered_until < until)
    if posting.state == Posting.State.PAUSED or is_short:
        end = until or now + timedelta(days=campaign.days_open)
        marketplace.resume(campaign.remote_id, posting.remote_id, until=end)
        Posting.objects.filter(pk=posting.pk).update(state=Posting.State.MADE, offered_until=until)


def _end_postings(campaign: Campaign, marketplace: Marketplace, *, now: datetime) -> None:
    silence = _find_unconfirmed_postings(campaign, marketplace, now=now)
    _stop_each(campaign, [Posting.State.MADE, Posting.State.PAUSED], marketplace.end, Posting.State.ENDED)
    if silence is not None:
        raise silence
    _mark_done(campaign, State.ENDED, now=now)


def _stop_each(
    campaign: Campaign, states: list[Posting.State], stop: Callable[[str, str], None], becomes: Posting.State
) -> None:
    """Stop every posting in these states, and write down for each that it is stopped.

    One that fails keeps no other from being stopped, unless nothing answers; the last failure is raised.
    """
    failure: MarketplaceError | None = None
    silent = 0
    for posting in campaign.postings.filter(state__in=states).order_by("number"):
        if not _is_unchanged(campaign):
            return
        try:
            stop(campaign.remote_id, posting.remote_id)
        except MarketplaceError as error:
            failure, silent = error, silent + 1 if isinstance(error, Unreachable) else 0
            if silent == MOST_SILENT:
                break
        else:
            silent = 0
            Posting.objects.filter(pk=posting.pk).update(state=becomes)
    if failure is not None:
        raise failure


def _find_unconfirmed_postings(
    campaign: Campaign, marketplace: Marketplace, *, now: datetime
) -> Unreachable | None:
    """Find postings whose creation was never confirmed, so that they are ended with the others.

    A platform with one posting per campaign is not asked: the posting has the campaign's id. Return why the
    platform does not answer, if it does not: postings that are known to be there are ended all the same.
    """
    unheard = campaign.postings.filter(state=Posting.State.WANTED, first_asked_at__isnull=False)
    for posting in unheard.order_by("number"):
        if platform_of(campaign).has_one_posting:
            _record_posting(posting, campaign.remote_id, until=None, now=now)
            continue
        try:
            _create_posting(campaign, posting, marketplace, now=now)
        except Refused:
            continue  # then it is not there
        except Unreachable as error:
            return error
    return None


def _record_request(posting: Posting, *, now: datetime) -> tuple[bool, datetime]:
    """Note a request for a posting. Return True if it was the first one, and the time of the first one."""
    is_first = Posting.objects.filter(pk=posting.pk, first_asked_at=None).update(first_asked_at=now)
    posting.refresh_from_db(fields=["first_asked_at"])
    assert posting.first_asked_at is not None
    return bool(is_first), posting.first_asked_at


def _record_posting(posting: Posting, remote_id: str, *, until: datetime | None, now: datetime) -> None:
    waiting = Posting.objects.filter(pk=posting.pk, state=Posting.State.WANTED)
    waiting.update(state=Posting.State.MADE, remote_id=remote_id, made_at=now, offered_until=until)


def _store_remote_id(campaign: Campaign, name: str, value: str) -> None:
    """Store the platform's id of something of ours, unless one is stored."""
    Campaign.objects.filter(**{"pk": campaign.pk, name: ""}).update(**{name: value})
    campaign.refresh_from_db(fields=[name])


@transaction.atomic
def _mark_done(campaign: Campaign, state: Campaign.State, *, now: datetime) -> None:
    """Set the state that was wanted, unless something else is wanted by now."""
    stored = lock_campaign(campaign)
    if stored.state == campaign.state:
        _set_state(stored, state, by=None, now=now)


def _set_state(campaign: Campaign, state: Campaign.State, *, by: User | None, now: datetime) -> None:
    """Set the state of a locked campaign, and clear the platform's messages about the state before."""
    campaign.state, campaign.problem = state, ""
    campaign.platform_offer, campaign.platform_offer_since = "", None
    campaign.ended_at = now if state == State.ENDED else campaign.ended_at
    offer = ["platform_offer", "platform_offer_since"]
    campaign.save(update_fields=["state", "problem", "ended_at", "waits_for_stories", *offer])
    note = "on the platform" if state == State.LIVE else state.value
    if state == State.PAUSING and campaign.waits_for_stories:
        note = "pausing: no story is left for those who come"
    record_change(campaign=campaign, type=Event.Type.CAMPAIGN_CHANGED, by=by, now=now, note=note)


def _is_unchanged(campaign: Campaign) -> bool:
    return Campaign.objects.filter(pk=campaign.pk, state=campaign.state).exists()


def _reload(campaign: Campaign) -> Campaign:
    return Campaign.objects.select_related("study").get(pk=campaign.pk)


def check_state(campaign: Campaign, *states: Campaign.State) -> None:
    """Raise :class:`CannotRecruit` unless the campaign is in one of the states."""
    if campaign.state not in states:
        message = _("This campaign is “%(state)s”, so that is not possible.")
        raise CannotRecruit(message % {"state": campaign.get_state_display()})


def lock_campaign(campaign: Campaign) -> Campaign:
    """Lock and return the campaign as stored.

    Raise :class:`CannotRecruit` for a draft that somebody has discarded meanwhile.
    """
    try:
        return locked(campaign, "study")
    except Campaign.DoesNotExist:
        raise CannotRecruit(_("Another member has just discarded this draft. Nothing was changed.")) from None


def record_change(
    *, campaign: Campaign, type: Event.Type, by: User | None, now: datetime, note: str = ""
) -> None:
    """Write into the study's log what has happened to a campaign."""
    annotation_actions.record_event(
        study=campaign.study, type=type, by=by, now=now, subject=reference_of(campaign), note=note
    )
