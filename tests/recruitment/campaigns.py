"""Campaigns for tests, made as the product makes them: through actions only."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.utils import timezone

from annotation.models import Study
from recruitment import actions
from recruitment.marketplace import Status, Work
from recruitment.models import Campaign, Mismatch, Submission
from tests.doubles.mturk.server import MTurkDouble

STORIES = actions.CampaignSettings(
    platform="mturk",
    purpose="stories",
    title="Judge short stories",
    description="Read a story of two sentences and answer four questions about it.",
    keywords="reading, stories",
    reward=Decimal("0.25"),
    seats=9,
    seats_per_posting=3,
    stories_per_visit=1,
    minutes_expected=1,
    minutes_allowed=30,
)
"""A campaign of the published procedure: a story in each piece of work, three people to a HIT."""
TEST = replace(
    STORIES, purpose="test", stories_per_visit=0, seats=12, seats_per_posting=12, minutes_expected=10
)


def make_campaign(
    study: Study, settings: actions.CampaignSettings = STORIES, *, now: datetime | None = None, **changes: Any
) -> Campaign:
    """A draft of a campaign with these settings."""
    settings = replace(settings, **changes)
    return actions.create_campaign(study=study, settings=settings, by=None, now=now or timezone.now())


def stranger_on_a_platform(study: Study) -> Mismatch:
    """Work that somebody handed in on Prolific, of which nothing is here."""
    campaign = make_campaign(study, platform="prolific")
    work = Work(remote_id="a-session", person="5f3a9c0de1", status=Status.SUBMITTED)
    now = timezone.now()
    submission = actions.reconciliation.record_submission(campaign=campaign, work=work, now=now)
    assert isinstance(submission, Submission)
    actions.settlement.settle_without_visit(submission_id=submission.pk, now=now)
    return Mismatch.objects.get(submission=submission)


def start(campaign: Campaign, platform: Any) -> Campaign:
    now = timezone.now()
    return actions.start_campaign(campaign=campaign, marketplace=platform, by=None, now=now)


def publish_campaign(campaign: Campaign, platform: Any, now: datetime | None = None) -> Campaign:
    found = Campaign.objects.select_related("study").get(pk=campaign.pk)
    return actions.carry_out(campaign=found, marketplace=platform, now=now or timezone.now())


def ask(act: Any, campaign: Campaign, **more: Any) -> Campaign:
    """What a researcher asks for; a worker has not done it yet."""
    found = Campaign.objects.select_related("study").get(pk=campaign.pk)
    asked: Campaign = act(campaign=found, by=None, now=timezone.now(), **more)
    return asked


def seats_there(double: MTurkDouble) -> list[int]:
    return sorted(hit.max_assignments for hit in double.world.hits.values())


def open_hits(double: MTurkDouble) -> int:
    return sum(hit.expires > double.world.now() for hit in double.world.hits.values())
