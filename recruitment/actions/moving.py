"""Bringing a campaign's copy on its platform to what is wanted of it: put up, paused, resumed, ended.

What is wanted is written down first. A worker then does it, posting by posting, and writes down after each
that it is done: one that was cut off is followed by one that goes on where it was, and nothing is done or
made twice. A campaign is paused or ended only once the platform has said so of every posting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from uuid import uuid5

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import PlatformIdentity, User
from annotation import actions as annotation_actions
from annotation.locks import alone
from annotation.models import Event, Study
from recruitment.campaigns import is_one_posting, offer_of, reference_of
from recruitment.errors import CannotRecruit
from recruitment.locks import PUT_UP
from recruitment.marketplace import Group, Marketplace, MarketplaceError, PostingRequest, Refused, Unreachable
from recruitment.models import Campaign, Posting
from recruitment.queueing import now_or_never, soon

State = Campaign.State
CARRY_OUT_TASK = "recruitment.tasks.carry_out"
RECONCILE_TASK = "recruitment.tasks.reconcile"
PATIENCE = 3
"""After so many postings in a row about which the platform does not answer, the next run goes on."""


# -- what is wanted


@transaction.atomic
def pause_campaign(*, campaign: Campaign, by: User | None, now: datetime) -> Campaign:
    """Have a worker let nobody new begin until it is resumed.

    Raises :class:`CannotRecruit` unless it is up.
    """
    return _want(campaign, State.PAUSING, only_from=(State.LIVE,), by=by, now=now)


@transaction.atomic
def resume_campaign(*, campaign: Campaign, by: User | None, now: datetime) -> Campaign:
    """Have a worker let people begin again, for as many days as were on offer at first.

    Raises :class:`CannotRecruit` unless it is paused, here or on the platform, or the days on offer are over.
    """
    campaign = lock_campaign(campaign)
    wanted_from = [State.PAUSED, State.PAUSING]
    is_paused_there = campaign.offer_there == Campaign.OfferThere.PAUSED
    if campaign.is_over(now=now) or is_paused_there:
        wanted_from.append(State.LIVE)
    if is_paused_there:  # or they would be taken for open, and left as they are
        campaign.postings.filter(state=Posting.State.MADE).update(state=Posting.State.PAUSED)
    return go_on(campaign=campaign, only_from=wanted_from, by=by, now=now)


@transaction.atomic
def end_campaign(*, campaign: Campaign, by: User | None, now: datetime) -> Campaign:
    """Have a worker let nobody new begin, for good. Who works may hand in, and is still compared and paid.

    Also while it is put up, for one that the platform refuses to make whole. Raises :class:`CannotRecruit`
    for a draft, and for one that is ended or being ended.
    """
    wanted_from = (State.CREATING, State.LIVE, State.PAUSING, State.PAUSED)
    return _want(campaign, State.ENDING, only_from=wanted_from, by=by, now=now)


@transaction.atomic
def go_on(
    *, campaign: Campaign, only_from: Iterable[Campaign.State], by: User | None, now: datetime
) -> Campaign:
    """Have a worker make what is not on the platform yet, and offer everything for the days on offer anew."""
    campaign = _want(campaign, State.CREATING, only_from=only_from, by=by, now=now)
    if campaign.offered_until:
        campaign.offered_until = now + timedelta(days=campaign.days_open)
        campaign.save(update_fields=["offered_until"])
    return campaign


def look_again(*, campaign: Campaign) -> None:
    """Have a worker go on with what is wanted of the campaign, or compare it with its platform, at once.

    Raises :class:`NotQueued`, and :class:`CannotRecruit` for a draft.
    """
    if campaign.state == State.DRAFT:
        raise CannotRecruit(_("This campaign is a draft: nothing of it is on the platform."))
    now_or_never(CARRY_OUT_TASK if campaign.state in Campaign.UNDERWAY else RECONCILE_TASK, campaign.pk)


def _want(
    campaign: Campaign,
    state: Campaign.State,
    *,
    only_from: Iterable[Campaign.State],
    by: User | None,
    now: datetime,
) -> Campaign:
    campaign = lock_campaign(campaign)
    check_state(campaign, *only_from)
    _set_state(campaign, state, by=by, now=now)
    soon(CARRY_OUT_TASK, campaign.pk)
    return campaign


# -- doing it


def carry_out(*, campaign: Campaign, marketplace: Marketplace, now: datetime) -> Campaign:
    """Do on the platform what is wanted of a campaign; called again, it goes on where it was.

    One worker at a time: another returns at once. What comes to be wanted meanwhile is done by the same
    worker. What the platform says when it refuses or does not answer stands on the campaign afterwards, and
    is raised.
    """
    campaign = _as_it_is(campaign)
    while campaign.state in Campaign.UNDERWAY:
        with alone(PUT_UP, campaign.pk) as nobody_else:
            if not nobody_else:
                return campaign
            _take_step(_as_it_is(campaign), marketplace, now=now)
        campaign = _as_it_is(campaign)  # after the lock is gone: who was turned away by it has come before
    return campaign


def note_problem(*, campaign: Campaign, problem: str) -> None:
    """Keep on a campaign why what is wanted of it is not done."""
    Campaign.objects.filter(pk=campaign.pk).update(problem=problem)


def _take_step(campaign: Campaign, marketplace: Marketplace, *, now: datetime) -> None:
    steps: dict[str, Callable[..., None]] = {
        State.CREATING: _put_up,
        State.PAUSING: _pause,
        State.ENDING: _end,
    }
    step = steps.get(campaign.state)
    if step is None:
        return
    try:
        step(campaign, marketplace, now=now)
    except MarketplaceError as error:
        if _is_still(campaign):
            note_problem(campaign=campaign, problem=str(error))
            raise


def _put_up(campaign: Campaign, marketplace: Marketplace, *, now: datetime) -> None:
    _make_groups(campaign, marketplace)
    if not campaign.remote_id:
        _keep(campaign, "remote_id", marketplace.prepare(offer_of(campaign)))
    for posting in campaign.postings.order_by("number"):
        if not _is_still(campaign):
            return
        if posting.state == Posting.State.WANTED:
            _post(campaign, posting, marketplace, now=now)
        else:
            _offer(campaign, posting, marketplace, now=now)
    _is_done(campaign, State.LIVE, now=now)


def _make_groups(campaign: Campaign, marketplace: Marketplace) -> None:
    """Our groups there: of those who passed the study's test, and of those who left work unfinished."""
    if not campaign.qualified_group and campaign.study.gate != Study.Gate.NOT_REQUIRED:
        group = marketplace.ensure_group(Group.QUALIFIED, reference=campaign.study.slug)
        _keep(campaign, "qualified_group", group)
    # On Prolific people may return work at any time without it being held against them.
    if not campaign.incomplete_group and campaign.platform != PlatformIdentity.Platform.PROLIFIC:
        group = marketplace.ensure_group(Group.INCOMPLETE, reference=campaign.study.slug)
        _keep(campaign, "incomplete_group", group)


def _post(campaign: Campaign, posting: Posting, marketplace: Marketplace, *, now: datetime) -> None:
    is_first, asked_at = _note_asked(posting, now=now)
    request = PostingRequest(posting.number, posting.seats, posting.request_token, asked_at)
    try:
        remote_id = marketplace.post(offer_of(campaign), campaign.remote_id, request)
    except MarketplaceError as error:
        if is_first and not error.maybe_done:  # or the end of the campaign would look for it, and make it
            Posting.objects.filter(pk=posting.pk, state=Posting.State.WANTED).update(first_asked_at=None)
        raise
    _note_made(posting, remote_id, until=campaign.offered_until, now=now)


def _offer(campaign: Campaign, posting: Posting, marketplace: Marketplace, *, now: datetime) -> None:
    """Bring a posting that is there to its seats and its time, and let people begin."""
    if is_one_posting(campaign):
        # The token is that of this number of seats, and of no other.
        token = uuid5(posting.request_token, str(posting.seats))
        marketplace.widen(campaign.remote_id, posting.remote_id, seats=posting.seats, token=token)
    until = campaign.offered_until
    is_short = until is not None and (posting.offered_until is None or posting.offered_until < until)
    if posting.state == Posting.State.PAUSED or is_short:
        end = until or now + timedelta(days=campaign.days_open)
        marketplace.resume(campaign.remote_id, [posting.remote_id], until=end)
        Posting.objects.filter(pk=posting.pk).update(state=Posting.State.MADE, offered_until=until)


def _pause(campaign: Campaign, marketplace: Marketplace, *, now: datetime) -> None:
    _stop_each(campaign, [Posting.State.MADE], marketplace.pause, Posting.State.PAUSED)
    _is_done(campaign, State.PAUSED, now=now)


def _end(campaign: Campaign, marketplace: Marketplace, *, now: datetime) -> None:
    silence = _find_half_made(campaign, marketplace, now=now)
    _stop_each(campaign, [Posting.State.MADE, Posting.State.PAUSED], marketplace.end, Posting.State.ENDED)
    if silence is not None:
        raise silence
    _is_done(campaign, State.ENDED, now=now)


def _stop_each(
    campaign: Campaign,
    states: list[Posting.State],
    stop: Callable[[str, list[str]], None],
    becomes: Posting.State,
) -> None:
    """Stop every posting in these states, and write down for each that it is stopped.

    One that fails keeps no other from being stopped, unless nothing answers; the last failure is raised.
    """
    failure: MarketplaceError | None = None
    silent = 0
    for posting in campaign.postings.filter(state__in=states).order_by("number"):
        if not _is_still(campaign):
            return
        try:
            stop(campaign.remote_id, [posting.remote_id])
        except MarketplaceError as error:
            failure, silent = error, silent + 1 if isinstance(error, Unreachable) else 0
            if silent == PATIENCE:
                break
        else:
            silent = 0
            Posting.objects.filter(pk=posting.pk).update(state=becomes)
    if failure is not None:
        raise failure


def _find_half_made(campaign: Campaign, marketplace: Marketplace, *, now: datetime) -> Unreachable | None:
    """Ask again for what may have been made and was never heard of, so that it is ended with the others.

    Not on Prolific, where the posting is the study itself, and is ended by its name. Returns why the
    platform does not answer, if it does not: what is known to be there is to be ended all the same.
    """
    unheard = campaign.postings.filter(state=Posting.State.WANTED, first_asked_at__isnull=False)
    for posting in unheard.order_by("number"):
        if campaign.platform == PlatformIdentity.Platform.PROLIFIC:
            _note_made(posting, campaign.remote_id, until=None, now=now)
            continue
        try:
            _post(campaign, posting, marketplace, now=now)
        except Refused:
            continue  # then it is not there
        except Unreachable as error:
            return error
    return None


# -- what is done


def _note_asked(posting: Posting, *, now: datetime) -> tuple[bool, datetime]:
    """Whether it is asked for for the first time as far as may matter, and since when."""
    is_first = Posting.objects.filter(pk=posting.pk, first_asked_at=None).update(first_asked_at=now)
    posting.refresh_from_db(fields=["first_asked_at"])
    assert posting.first_asked_at is not None
    return bool(is_first), posting.first_asked_at


def _note_made(posting: Posting, remote_id: str, *, until: datetime | None, now: datetime) -> None:
    waiting = Posting.objects.filter(pk=posting.pk, state=Posting.State.WANTED)
    waiting.update(state=Posting.State.MADE, remote_id=remote_id, made_at=now, offered_until=until)


def _keep(campaign: Campaign, name: str, value: str) -> None:
    """Keep what the platform calls something of ours, if nothing is kept there; what is kept stays."""
    Campaign.objects.filter(**{"pk": campaign.pk, name: ""}).update(**{name: value})
    campaign.refresh_from_db(fields=[name])


@transaction.atomic
def _is_done(campaign: Campaign, state: Campaign.State, *, now: datetime) -> None:
    """What was wanted is done, unless something else is wanted by now."""
    found = lock_campaign(campaign)
    if found.state == campaign.state:
        _set_state(found, state, by=None, now=now)


def _set_state(campaign: Campaign, state: Campaign.State, *, by: User | None, now: datetime) -> None:
    """Of a locked campaign. What the platform said about what was wanted before says nothing now."""
    campaign.state, campaign.problem = state, ""
    campaign.offer_there, campaign.offer_there_since = "", None
    campaign.ended_at = now if state == State.ENDED else campaign.ended_at
    campaign.save(update_fields=["state", "problem", "ended_at", "offer_there", "offer_there_since"])
    note = "on the platform" if state == State.LIVE else state.value
    record_change(campaign=campaign, type=Event.Type.CAMPAIGN_CHANGED, by=by, now=now, note=note)


def _is_still(campaign: Campaign) -> bool:
    """Whether the same is wanted of the campaign as when it was read."""
    return Campaign.objects.filter(pk=campaign.pk, state=campaign.state).exists()


def _as_it_is(campaign: Campaign) -> Campaign:
    return Campaign.objects.select_related("study").get(pk=campaign.pk)


def check_state(campaign: Campaign, *states: Campaign.State) -> None:
    """Raise :class:`CannotRecruit` unless the campaign is in one of the states."""
    if campaign.state not in states:
        raise CannotRecruit(
            _("This campaign is “%(state)s”, so that is not possible.")
            % {"state": campaign.get_state_display()}
        )


def lock_campaign(campaign: Campaign) -> Campaign:
    """The campaign as it is, which nobody else changes before the transaction ends.

    Raises :class:`CannotRecruit` for a draft that somebody has discarded meanwhile.
    """
    found = (
        Campaign.objects.select_for_update(of=("self",), no_key=True)
        .select_related("study")
        .filter(pk=campaign.pk)
        .first()
    )
    if found is None:
        raise CannotRecruit(_("Somebody has just discarded this draft. Nothing was changed."))
    return found


def record_change(
    *, campaign: Campaign, type: Event.Type, by: User | None, now: datetime, note: str = ""
) -> None:
    """Write into the study's log what has happened to a campaign."""
    annotation_actions.record_event(
        study=campaign.study, type=type, by=by, now=now, subject=reference_of(campaign), note=note
    )
