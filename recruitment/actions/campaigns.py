"""Putting a study on a platform, and taking it off again.

What the platform is asked for is written down before it is asked, posting by posting, so that a run that
was cut off goes on where it was and nothing is made twice.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid5

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from accounts.models import PlatformIdentity, User
from annotation import actions as annotation_actions
from annotation.models import Event, Study
from recruitment.campaigns import is_one_posting, offer_of, problems_of, reference_of
from recruitment.codes import new_code
from recruitment.errors import CannotRecruit
from recruitment.marketplace import Group, Marketplace, MarketplaceError, PostingRequest, Refused
from recruitment.models import Campaign, Posting
from recruitment.queueing import now_or_never, soon

State = Campaign.State
PUT_UP_TASK = "recruitment.tasks.put_up"
RECONCILE_TASK = "recruitment.tasks.reconcile"


@dataclass(frozen=True, slots=True)
class CampaignSettings:
    """What a researcher decides about a campaign, by the names of its fields."""

    platform: str
    purpose: str
    title: str
    description: str
    reward: Decimal
    seats: int
    seats_per_posting: int
    minutes_expected: int
    minutes_allowed: int
    stories_per_visit: int = 0
    keywords: str = ""
    currency: str = "USD"
    days_open: int = 7
    days_to_review: int = 14
    counts_at_once: bool = False
    approves_by_itself: bool = True
    approved_percent: int | None = None
    approved_work: int | None = None
    countries: tuple[str, ...] = ()
    masters_only: bool = False


@transaction.atomic
def create_campaign(*, study: Study, settings: CampaignSettings, by: User | None, now: datetime) -> Campaign:
    """Draft a campaign; nothing is on the platform yet. Raises :class:`CannotRecruit` with every problem."""
    study = _lock_study(study)
    found = problems_of(settings, study)
    if found:
        raise CannotRecruit("\n".join(found))
    last = Campaign.objects.filter(study=study).aggregate(last=Max("number"))["last"] or 0
    values = _values(settings)
    if settings.platform == PlatformIdentity.Platform.PROLIFIC:
        values |= {"completion_code": new_code(), "screen_out_code": new_code()}
    campaign = Campaign.objects.create(
        study=study,
        environment=study.environment,
        number=last + 1,
        created_by=by,
        created_at=now,
        **values,
    )
    _record(campaign, Event.Type.CAMPAIGN_CREATED, by=by, now=now, note=f"{settings.platform}")
    return campaign


@transaction.atomic
def change_campaign(
    *, campaign: Campaign, settings: CampaignSettings, by: User | None, now: datetime
) -> Campaign:
    """Change a draft. Raises :class:`CannotRecruit`, also once anything has been asked of the platform."""
    campaign = _lock(campaign)
    found = problems_of(settings, campaign.study)
    if campaign.state != State.DRAFT:
        found = [_("This campaign is on the platform already: make another one instead of changing it.")]
    elif (campaign.platform, campaign.purpose) != (settings.platform, settings.purpose):
        found = [_("A campaign stays on its platform, and for what it is; make another one.")]
    if found:
        raise CannotRecruit("\n".join(found))
    for name, value in _values(settings).items():
        setattr(campaign, name, value)
    campaign.save()
    _record(campaign, Event.Type.CAMPAIGN_CHANGED, by=by, now=now, note="settings")
    return campaign


def _values(settings: CampaignSettings) -> dict[str, Any]:
    """The fields of a campaign. On Prolific it is one study, to which all seats belong."""
    values = asdict(settings) | {"countries": list(settings.countries)}
    if settings.platform == PlatformIdentity.Platform.PROLIFIC:
        values["seats_per_posting"] = settings.seats
    return values


def start_campaign(
    *, campaign: Campaign, marketplace: Marketplace, by: User | None, now: datetime
) -> Campaign:
    """Have a campaign put on the platform, if the account holds what it costs.

    Raises :class:`CannotRecruit` with the sums when it does not, when the study is not open, or when the
    campaign is no draft; and the errors of ``recruitment.marketplace``.
    """
    estimate = marketplace.estimate(offer_of(campaign))
    if estimate.currency != campaign.currency:
        raise CannotRecruit(
            _("The account pays in %(theirs)s, the campaign says %(ours)s. Nothing was created.")
            % {"theirs": estimate.currency, "ours": campaign.currency}
        )
    balance = marketplace.balance()
    if balance is not None and balance < estimate.total:
        raise CannotRecruit(
            _("This costs %(total)s %(currency)s, and the account holds %(balance)s. Nothing was created.")
            % {"total": estimate.total, "currency": estimate.currency, "balance": balance}
        )
    return _plan_postings(campaign, estimate.total, by=by, now=now)


@transaction.atomic
def _plan_postings(campaign: Campaign, cost: Decimal, *, by: User | None, now: datetime) -> Campaign:
    campaign = _lock(campaign)
    if campaign.state != State.DRAFT:
        raise CannotRecruit(_("This campaign has been started already."))
    if campaign.study.state != Study.State.OPEN:
        raise CannotRecruit(_("Open the study first: people who come are turned away until then."))
    Posting.objects.bulk_create(
        Posting(campaign=campaign, number=number, seats=seats)
        for number, seats in enumerate(offer_of(campaign).postings, start=1)
    )
    campaign.state, campaign.started_at, campaign.problem = State.CREATING, now, ""
    campaign.save(update_fields=["state", "started_at", "problem"])
    note = f"{campaign.seats} seats, up to {cost} {campaign.currency} with fees"
    _record(campaign, Event.Type.CAMPAIGN_CHANGED, by=by, now=now, note=note)
    soon(PUT_UP_TASK, campaign.pk)
    return campaign


def put_up(*, campaign: Campaign, marketplace: Marketplace, now: datetime) -> Campaign:
    """Make on the platform what is not there yet; called again, it goes on where it was.

    What the platform says when it refuses stands on the campaign afterwards, and is raised.
    """
    if campaign.state != State.CREATING:
        return campaign
    try:
        _make_groups(campaign, marketplace)
        if not campaign.remote_id:
            _keep(campaign, remote_id=marketplace.prepare(offer_of(campaign)))
        for posting in campaign.postings.order_by("number"):
            if posting.state == Posting.State.WANTED:
                _post(campaign, posting, marketplace, now=now)
            elif is_one_posting(campaign):
                _widen(campaign, posting, marketplace)
    except MarketplaceError as error:
        _keep(campaign, problem=str(error))
        raise
    return _is_up(campaign, now=now)


def _make_groups(campaign: Campaign, marketplace: Marketplace) -> None:
    """Our groups there: of those who passed the study's test, and of those who left work unfinished."""
    if not campaign.qualified_group and campaign.study.gate != Study.Gate.NOT_REQUIRED:
        group = marketplace.ensure_group(Group.QUALIFIED, reference=campaign.study.slug)
        _keep(campaign, qualified_group=group)
    # On Prolific people may return work at any time without it being held against them.
    if not campaign.incomplete_group and campaign.platform != PlatformIdentity.Platform.PROLIFIC:
        group = marketplace.ensure_group(Group.INCOMPLETE, reference=campaign.study.slug)
        _keep(campaign, incomplete_group=group)


def _post(campaign: Campaign, posting: Posting, marketplace: Marketplace, *, now: datetime) -> None:
    asked = _note_asked(posting, now=now)
    if asked is None:
        return
    request = PostingRequest(posting.number, posting.seats, posting.request_token, asked)
    remote_id = marketplace.post(offer_of(campaign), campaign.remote_id, request)
    if not _note_made(posting, remote_id, now=now):
        marketplace.end(campaign.remote_id, [remote_id])


def _widen(campaign: Campaign, posting: Posting, marketplace: Marketplace) -> None:
    """Bring a posting to its seats. The token is that of this number of seats, and of no other."""
    token = uuid5(posting.request_token, str(posting.seats))
    marketplace.widen(campaign.remote_id, posting.remote_id, seats=posting.seats, token=token)


@transaction.atomic
def _note_asked(posting: Posting, *, now: datetime) -> datetime | None:
    """Since when it is asked for; None when the campaign has been ended meanwhile."""
    if _lock(posting.campaign).state != State.CREATING:
        return None
    Posting.objects.filter(pk=posting.pk, first_asked_at=None).update(first_asked_at=now)
    posting.refresh_from_db(fields=["first_asked_at"])
    return posting.first_asked_at


@transaction.atomic
def _note_made(posting: Posting, remote_id: str, *, now: datetime) -> bool:
    """Whether it is still wanted: the campaign may have been ended while the platform made it."""
    known = _lock(posting.campaign).state
    state = Posting.State.ENDED if known == State.ENDED else Posting.State.MADE
    waiting = Posting.objects.filter(pk=posting.pk, state=Posting.State.WANTED)
    waiting.update(state=state, remote_id=remote_id, made_at=now)
    return known == State.CREATING


@transaction.atomic
def _keep(campaign: Campaign, **values: str) -> None:
    for name, value in values.items():
        setattr(campaign, name, value)
    campaign.save(update_fields=list(values))


@transaction.atomic
def _is_up(campaign: Campaign, *, now: datetime) -> Campaign:
    campaign = _lock(campaign)
    if campaign.state == State.CREATING:
        campaign.state, campaign.problem = State.LIVE, ""
        campaign.save(update_fields=["state", "problem"])
        _record(campaign, Event.Type.CAMPAIGN_CHANGED, by=None, now=now, note="on the platform")
    return campaign


def look_again(*, campaign: Campaign) -> None:
    """Have a worker go on with putting the campaign up, or compare it with its platform, at once.

    Raises :class:`NotQueued`, and :class:`CannotRecruit` for a draft.
    """
    if campaign.state == State.DRAFT:
        raise CannotRecruit(_("This campaign is a draft: nothing of it is on the platform."))
    now_or_never(PUT_UP_TASK if campaign.state == State.CREATING else RECONCILE_TASK, campaign.pk)


def pause_campaign(
    *, campaign: Campaign, marketplace: Marketplace, by: User | None, now: datetime
) -> Campaign:
    """Let nobody new begin until it is resumed. Raises :class:`CannotRecruit` unless people can come."""
    _check_state(campaign, State.LIVE)
    marketplace.pause(campaign.remote_id, _remote_ids(campaign))
    return _become(campaign, State.PAUSED, by=by, now=now)


def resume_campaign(
    *, campaign: Campaign, marketplace: Marketplace, by: User | None, now: datetime
) -> Campaign:
    """Let people begin again. Raises :class:`CannotRecruit` unless it is paused."""
    _check_state(campaign, State.PAUSED)
    until = now + timedelta(days=campaign.days_open)
    marketplace.resume(campaign.remote_id, _remote_ids(campaign), until=until)
    if campaign.postings.filter(state=Posting.State.WANTED).exists():
        return go_on(campaign=campaign, by=by, now=now)
    return _become(campaign, State.LIVE, by=by, now=now)


@transaction.atomic
def go_on(*, campaign: Campaign, by: User | None, now: datetime) -> Campaign:
    """Have a worker make what is not on the platform yet."""
    campaign = _become(campaign, State.CREATING, by=by, now=now)
    soon(PUT_UP_TASK, campaign.pk)
    return campaign


def end_campaign(*, campaign: Campaign, marketplace: Marketplace, by: User | None, now: datetime) -> Campaign:
    """Let nobody new begin, for good. Who works may hand in, and is still compared and paid.

    Also while it is put up, for one that the platform refuses to make whole.
    """
    _check_state(campaign, State.CREATING, State.LIVE, State.PAUSED)
    if campaign.state == State.CREATING:
        campaign = _become(campaign, State.PAUSED, by=by, now=now)  # so that nothing more is made
    if campaign.remote_id:
        _find_half_made(campaign, marketplace, now=now)
        marketplace.end(campaign.remote_id, _remote_ids(campaign))
    return _become(campaign, State.ENDED, by=by, now=now)


def _find_half_made(campaign: Campaign, marketplace: Marketplace, *, now: datetime) -> None:
    """Ask again for what may have been made and was never heard of, so that it is ended with the others.

    Not on Prolific, where the posting is the study itself, and ends with it.
    """
    if campaign.platform == PlatformIdentity.Platform.PROLIFIC:
        return
    unheard = campaign.postings.filter(state=Posting.State.WANTED, first_asked_at__isnull=False)
    for posting in unheard.order_by("number"):
        assert posting.first_asked_at is not None
        request = PostingRequest(posting.number, posting.seats, posting.request_token, posting.first_asked_at)
        try:
            remote_id = marketplace.post(offer_of(campaign), campaign.remote_id, request)
        except Refused:
            continue  # then it is not there
        _note_made(posting, remote_id, now=now)


@transaction.atomic
def _become(campaign: Campaign, state: Campaign.State, *, by: User | None, now: datetime) -> Campaign:
    campaign = _lock(campaign)
    campaign.state = state
    campaign.ended_at = now if state == State.ENDED else campaign.ended_at
    campaign.save(update_fields=["state", "ended_at"])
    if state == State.ENDED:
        campaign.postings.filter(state=Posting.State.MADE).update(state=Posting.State.ENDED)
    _record(campaign, Event.Type.CAMPAIGN_CHANGED, by=by, now=now, note=state.value)
    return campaign


def _check_state(campaign: Campaign, *states: Campaign.State) -> None:
    if campaign.state not in states:
        raise CannotRecruit(
            _("This campaign is “%(state)s”, so that is not possible.")
            % {"state": campaign.get_state_display()}
        )


def _remote_ids(campaign: Campaign) -> list[str]:
    made = campaign.postings.exclude(remote_id="").order_by("number")
    return list(made.values_list("remote_id", flat=True))


def _lock(campaign: Campaign) -> Campaign:
    return (
        Campaign.objects.select_for_update(of=("self",), no_key=True)
        .select_related("study")
        .get(pk=campaign.pk)
    )


def _lock_study(study: Study) -> Study:
    return Study.objects.select_for_update(of=("self",), no_key=True).get(pk=study.pk)


def _record(campaign: Campaign, type: Event.Type, *, by: User | None, now: datetime, note: str = "") -> None:
    annotation_actions.record_event(
        study=campaign.study, type=type, by=by, now=now, subject=reference_of(campaign), note=note
    )
