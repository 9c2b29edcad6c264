"""Move a study's campaigns with the study, so that nobody is sent to a study that is not open.

People have to return work that they cannot do, which harms their record on Mechanical Turk; Prolific forbids
turning anybody away.
"""

from collections.abc import Callable

from annotation import actions as annotation_actions
from annotation.models import Event, Study
from recruitment.models import Campaign
from recruitment.offers import reference_of

OPEN, PAUSE, CLOSE = "open", "pause", "close"
STUDY_MOVES: dict[str, Callable[..., Study]] = {
    OPEN: annotation_actions.open_study,
    PAUSE: annotation_actions.pause_study,
    CLOSE: annotation_actions.close_study,
}
_STOPPED = (Event.Type.STUDY_PAUSED, Event.Type.STUDY_CLOSED)
_GOES = (Campaign.State.CREATING, Campaign.State.LIVE)
_RESTS = (Campaign.State.PAUSING, Campaign.State.PAUSED)


def linked_campaigns(study: Study, move: str) -> list[tuple[Campaign, bool]]:
    """Return the campaigns that can be paused or resumed with the study, in the order of their numbers.

    With each comes whether it is proposed: for resuming, those that were paused together with the study are.
    """
    if move != OPEN:
        live = study.campaigns.filter(state=Campaign.State.LIVE).order_by("number")
        return [(campaign, True) for campaign in live]
    stopped = study.events.filter(type__in=_STOPPED).order_by("-pk").first()
    resting = study.campaigns.filter(state__in=_RESTS).select_related("study").order_by("number")
    changed = study.events.filter(type=Event.Type.CAMPAIGN_CHANGED, at=stopped.at) if stopped else None
    together = set(changed.values_list("subject", flat=True)) if changed is not None else set()
    return [(campaign, reference_of(campaign) in together) for campaign in resting]


def turning_away(study: Study) -> list[Campaign]:
    """Return the campaigns that offer work although the study lets nobody in."""
    if study.state == Study.State.OPEN:
        return []
    return list(study.campaigns.filter(state__in=_GOES).order_by("number"))
