"""What a worker needs to know to decide about a piece of work, before they have accepted it."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from annotation.models import ConsentText
from annotation.protocols.base import Protocol
from recruitment.arriving.admission import lets_in
from recruitment.models import Campaign


def preview_context(campaign: Campaign) -> dict[str, Any]:
    """Everything about the work, and an example of the protocol's own: no story of the study's."""
    protocol: Protocol = campaign.study.protocol
    consent = ConsentText.objects.filter(study=campaign.study_id).order_by("version").last()
    examples = protocol.instructions.examples
    return {
        "study": campaign.study,
        "campaign": campaign,
        "lets_somebody_in": lets_in(study_state=campaign.study.state, campaign_state=campaign.state),
        "is_test": campaign.purpose == Campaign.Purpose.TEST,
        "hourly": hourly_pay(campaign.reward, campaign.minutes_expected),
        "questions": protocol.questions,
        "example_parts": max((example.parts for example in examples), key=len, default=()),
        "consent": consent,
        "countries": ", ".join(campaign.countries),
    }


def hourly_pay(reward: Decimal, minutes: int) -> Decimal:
    """What a reward comes to in an hour, for work that takes so many minutes; to the cent."""
    return (reward * 60 / minutes).quantize(Decimal("0.01"), ROUND_HALF_UP)
