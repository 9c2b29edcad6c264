"""A study's campaigns when it lets people in or stops: moved with it, so that nobody comes for nothing.

Whoever accepts work of a study that lets nobody in has to give it back, which is held against them on
Mechanical Turk; on Prolific nobody may be turned away at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from annotation import actions as annotation_actions
from annotation.models import Event, Study
from recruitment.campaigns import reference_of
from recruitment.models import Campaign

OPEN, PAUSE, CLOSE = "open", "pause", "close"
STUDY_MOVES: dict[str, Callable[..., Study]] = {
    OPEN: annotation_actions.open_study,
    PAUSE: annotation_actions.pause_study,
    CLOSE: annotation_actions.close_study,
}
_STOPPED = (Event.Type.STUDY_PAUSED, Event.Type.STUDY_CLOSED)
_GOES = (Campaign.State.CREATING, Campaign.State.LIVE)
_RESTS = (Campaign.State.PAUSING, Campaign.State.PAUSED)


@dataclass(frozen=True, slots=True)
class AlongWith:
    """A campaign that can move with its study; ``proposed``: what is ticked before anybody has chosen."""

    campaign: Campaign
    proposed: bool


def along_with(study: Study, move: str) -> list[AlongWith]:
    """The campaigns that can be paused with the study, or resumed with it, by their numbers.

    Proposed to be resumed are those that were paused at the moment in which the study stopped.
    """
    if move != OPEN:
        live = study.campaigns.filter(state=Campaign.State.LIVE).order_by("number")
        return [AlongWith(campaign, proposed=True) for campaign in live]
    stopped = study.events.filter(type__in=_STOPPED).order_by("-pk").first()
    resting = study.campaigns.filter(state__in=_RESTS).select_related("study").order_by("number")
    changed = study.events.filter(type=Event.Type.CAMPAIGN_CHANGED, at=stopped.at) if stopped else None
    together = set(changed.values_list("subject", flat=True)) if changed is not None else set()
    return [AlongWith(campaign, proposed=reference_of(campaign) in together) for campaign in resting]


def turning_away(study: Study) -> list[Campaign]:
    """Campaigns that offer work to people whom their study does not let in."""
    if study.state == Study.State.OPEN:
        return []
    return list(study.campaigns.filter(state__in=_GOES).order_by("number"))
