"""Campaigns on a double of Mechanical Turk, and people who come from there."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.conf import settings as django_settings
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone

from accounts.actions import recognise
from accounts.models import PlatformIdentity
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Study
from recruitment import actions
from recruitment.actions import CampaignSettings
from recruitment.models import Campaign, Visit
from recruitment.mturk.marketplace import MechanicalTurk
from tests import builders
from tests.annotation.pages import Browser
from tests.doubles.mturk.server import KEY_ID, SECRET, MTurkDouble
from tests.worlds import built_once

SUBMIT_TO = "https://www.mturk.com"
WORKER = "A1WORKER"
ASSIGNMENT = "3ASSIGNMENT0"
SETTINGS: dict[str, Any] = {
    "platform": "mturk",
    "title": "Read short stories",
    "description": "Two sentences each, and four questions.",
    "reward": Decimal("0.50"),
    "seats": 6,
    "seats_per_posting": 3,
    "minutes_expected": 2,
    "minutes_allowed": 20,
}


def publish_campaign(study: Study, *, purpose: str = "stories", **settings: Any) -> Campaign:
    """A campaign that is on a double of Mechanical Turk, which is needed no more once it is there."""
    now = timezone.now()
    visits = {"stories_per_visit": 2} if purpose == "stories" else {}
    chosen = CampaignSettings(**SETTINGS | visits | settings, purpose=purpose)
    campaign = actions.create_campaign(study=study, settings=chosen, by=None, now=now)
    environment = {"live": "production", "rehearsal": "sandbox"}[study.environment]
    with MTurkDouble(environment=environment) as double:
        platform = marketplace(double, study.environment)
        campaign = actions.start_campaign(campaign=campaign, marketplace=platform, by=None, now=now)
        return actions.carry_out(campaign=campaign, marketplace=platform, now=now)


@built_once
def qualifying_study(*campaigns: str) -> Study:
    """Four stories for those who pass a test of one, with a campaign for each purpose."""
    study = builders.make_study(stories=4, qualification=1, pay_rate=15)
    for purpose in campaigns:
        publish_campaign(study, purpose=purpose, **({"seats_per_posting": 6} if purpose == "test" else {}))
    return study


def marketplace(double: MTurkDouble, environment: str) -> MechanicalTurk:
    return MechanicalTurk(environment=environment, key_id=KEY_ID, secret=SECRET, endpoint=double.url)


def hit_of(campaign: Campaign, number: int = 1) -> str:
    return campaign.postings.get(number=number).remote_id


def address(campaign: Campaign, **changes: str | None) -> str:
    """The path and parameters by which an accepted HIT is opened; None leaves a parameter out."""
    given: dict[str, str | None] = {
        "assignmentId": ASSIGNMENT,
        "hitId": hit_of(campaign),
        "workerId": WORKER,
        "turkSubmitTo": SUBMIT_TO,
        **changes,
    }
    path = reverse("recruitment:campaign", args=[campaign.study.slug, campaign.number])
    return f"{path}?{urlencode({name: value for name, value in given.items() if value is not None})}"


def come(campaign: Campaign, **changes: str | None) -> Browser:
    """A browser in which a worker has opened an accepted HIT."""
    browser = Browser()
    browser.open(address(campaign, **changes))
    return browser


def qualified_worker(study: Study, worker: str = WORKER) -> Enrollment:
    """A worker who has passed the study's test, or agreed to take part where there is none."""
    now = timezone.now()
    annotator = recognise(
        platform=PlatformIdentity.Platform.MTURK, environment=study.environment, person=worker, now=now
    )
    person = builders.consent(annotation_actions.enroll(study=study, annotator=annotator, now=now))
    if study.gate != Study.Gate.NOT_REQUIRED:
        person = builders.take_test(person)
    return person


def answer(browser: Browser) -> HttpResponse:
    """Answer the story that is open."""
    return browser.press("Save and continue", **builders.ALL_YES)


def newest_visit() -> Visit:
    return Visit.objects.select_related("session", "enrollment", "campaign", "posting").latest("pk")


def allow_frames(settings: Any, origin: str) -> None:
    """Let a double's pages show ours, and take work in, as Mechanical Turk's own do."""
    settings.FRAME_ANCESTORS = [*django_settings.FRAME_ANCESTORS, origin]
    sites = django_settings.MTURK_SUBMIT_HOSTS
    settings.MTURK_SUBMIT_HOSTS = {name: [*hosts, origin] for name, hosts in sites.items()}
