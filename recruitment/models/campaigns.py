"""What is put on a crowd platform so that people come."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta

import pgtrigger
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import Environment, PlatformIdentity
from annotation.models import Study

_SAME_ENVIRONMENT = """
    IF NOT EXISTS (SELECT FROM annotation_study s
                   WHERE s.id = NEW.study_id AND s.environment = NEW.environment) THEN
        RAISE EXCEPTION 'a campaign is live in a live study and a rehearsal in a rehearsal';
    END IF;
    RETURN NEW;
"""
GRACE = timedelta(minutes=10)
"""How long after the platform's time for a piece of work ours still gives out stories in it."""


class Campaign(models.Model):
    """One call for people on one platform: for the qualification test, or for the stories.

    A rehearsal runs on the platform's sandbox, or on a double; it never touches what is live.
    """

    class Purpose(models.TextChoices):
        TEST = "test", _("qualification test")
        STORIES = "stories", _("stories")

    class State(models.TextChoices):
        DRAFT = "draft", _("draft: nothing is on the platform")
        CREATING = "creating", _("being put on the platform")
        LIVE = "live", _("people can come")
        PAUSING = "pausing", _("is being paused")
        PAUSED = "paused", _("paused")
        ENDING = "ending", _("is being ended")
        ENDED = "ended", _("ended")

    class OfferThere(models.TextChoices):
        OPEN = "", _("people can begin")
        PAUSED = "paused", _("paused there")
        OVER = "over", _("every place is taken, or it was ended there")

    UNDERWAY = (State.CREATING, State.PAUSING, State.ENDING)
    """What is wanted of it is not done on the platform yet: a worker is at it, or a sweep sends one."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="campaigns")
    number = models.PositiveSmallIntegerField()
    platform = models.CharField(max_length=20, choices=PlatformIdentity.Platform)
    environment = models.CharField(max_length=20, choices=Environment)
    purpose = models.CharField(max_length=10, choices=Purpose)
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    title = models.CharField(max_length=128)
    description = models.CharField(max_length=2000)
    keywords = models.CharField(max_length=1000, blank=True)
    seats = models.PositiveIntegerField(
        help_text=_("Pieces of work wanted: people for a test, visits for stories.")
    )
    seats_per_posting = models.PositiveSmallIntegerField(
        help_text=_("People who may take the same HIT; from 10 on Mechanical Turk charged more.")
    )
    stories_per_visit = models.PositiveSmallIntegerField(default=0, help_text=_("0 for a test."))
    reward = models.DecimalField(max_digits=8, decimal_places=2, help_text=_("For one piece of work."))
    currency = models.CharField(max_length=3, default="USD")
    minutes_expected = models.PositiveSmallIntegerField(help_text=_("What people are told it takes."))
    minutes_allowed = models.PositiveIntegerField(help_text=_("After this the platform takes it back."))
    days_open = models.PositiveSmallIntegerField(default=7, help_text=_("How long the platform offers it."))
    days_to_review = models.PositiveSmallIntegerField(
        default=14, help_text=_("After this the platform pays by itself.")
    )
    counts_at_once = models.BooleanField(
        default=False, help_text=_("Votes count before the platform has confirmed the visit.")
    )
    approves_by_itself = models.BooleanField(
        default=True, help_text=_("Confirmed work is approved without a researcher’s word.")
    )
    approved_percent = models.PositiveSmallIntegerField(null=True, blank=True)
    approved_work = models.PositiveIntegerField(null=True, blank=True)
    countries = ArrayField(models.CharField(max_length=2), default=list, blank=True)
    masters_only = models.BooleanField(default=False)
    remote_id = models.CharField(
        max_length=64, blank=True, help_text=_("The platform’s own: a HIT type, a Prolific study.")
    )
    qualified_group = models.CharField(
        max_length=64, blank=True, help_text=_("The platform’s group of people who passed the test.")
    )
    incomplete_group = models.CharField(
        max_length=64, blank=True, help_text=_("The platform’s group of people who left work unfinished.")
    )
    completion_code = models.CharField(max_length=40, blank=True)
    screen_out_code = models.CharField(max_length=40, blank=True)
    problem = models.TextField(blank=True, help_text=_("What the platform said last, if it refused."))
    sync_problem = models.TextField(
        blank=True, db_default="", help_text=_("Why the last comparison with the platform failed, if it did.")
    )
    offer_there = models.CharField(
        max_length=10,
        choices=OfferThere,
        blank=True,
        default=OfferThere.OPEN,
        db_default="",
        help_text=_("Whether people can begin on the platform, as it said when it was last asked."),
    )
    offer_there_since = models.DateTimeField(
        null=True, blank=True, help_text=_("When it was first noticed that nobody new can begin there.")
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    synced_at = models.DateTimeField(null=True, blank=True, help_text=_("When the platform was last asked."))
    offered_until = models.DateTimeField(
        null=True, blank=True, help_text=_("When the offer ends by itself; empty where it does not.")
    )

    class Meta:
        ordering = ("study", "number")
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="one_campaign_per_number_in_a_study"),
            models.CheckConstraint(
                condition=Q(platform__in=["mturk", "prolific"]), name="campaign_is_on_a_platform"
            ),
            models.CheckConstraint(
                condition=Q(purpose="test", stories_per_visit=0)
                | Q(purpose="stories", stories_per_visit__gte=1),
                name="campaign_asks_for_a_test_or_for_stories",
            ),
            models.CheckConstraint(
                condition=Q(seats__gte=1, seats_per_posting__gte=1, reward__gt=0),
                name="campaign_asks_and_pays",
            ),
            models.CheckConstraint(
                condition=Q(offer_there="", offer_there_since=None)
                | ~Q(offer_there="") & Q(offer_there_since__isnull=False),
                name="campaign_is_stopped_there_since_a_time",
            ),
            models.CheckConstraint(
                condition=Q(minutes_expected__gte=1, minutes_allowed__gte=models.F("minutes_expected")),
                name="campaign_allows_the_time_it_takes",
            ),
        ]
        triggers = [
            pgtrigger.Trigger(
                name="campaign_is_of_the_studys_environment",
                operation=pgtrigger.Insert,
                when=pgtrigger.Before,
                func=_SAME_ENVIRONMENT,
            ),
            pgtrigger.ReadOnly(
                name="campaign_stays_where_it_is",
                fields=["study", "number", "platform", "environment", "purpose"],
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study} campaign {self.number}"

    @property
    def time_allowed(self) -> timedelta:
        return timedelta(minutes=self.minutes_allowed)

    def is_over(self, *, now: datetime) -> bool:
        """Whether its days on offer have passed: it is up, but nobody new can begin."""
        return self.offered_until is not None and self.offered_until <= now


class Posting(models.Model):
    """One thing on the platform that people take: a HIT with its seats, or a whole Prolific study.

    It is wanted here before it is made there, with a token by which a repeated request is known as one.
    """

    class State(models.TextChoices):
        WANTED = "wanted", _("not on the platform yet")
        MADE = "made", _("on the platform")
        PAUSED = "paused", _("nobody new can take it for now")
        ENDED = "ended", _("nobody new can take it")

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="postings")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.WANTED)
    seats = models.PositiveSmallIntegerField()
    request_token = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    first_asked_at = models.DateTimeField(
        null=True, blank=True, help_text=_("When the platform was first asked to make it.")
    )
    remote_id = models.CharField(max_length=64, blank=True, help_text=_("The HIT, or the Prolific study."))
    made_at = models.DateTimeField(null=True, blank=True)
    synced_at = models.DateTimeField(
        null=True, blank=True, help_text=_("When the platform last said what was done in it.")
    )
    offered_until = models.DateTimeField(
        null=True, blank=True, help_text=_("As the campaign’s, as far as the platform has been told.")
    )

    class Meta:
        ordering = ("campaign", "number")
        constraints = [
            models.UniqueConstraint(fields=["campaign", "number"], name="one_posting_per_number"),
            models.UniqueConstraint(
                fields=["campaign", "remote_id"], condition=~Q(remote_id=""), name="one_posting_per_remote_id"
            ),
            models.CheckConstraint(
                condition=Q(state="wanted", remote_id="", made_at=None)
                | ~Q(state="wanted") & ~Q(remote_id="") & Q(made_at__isnull=False),
                name="posting_is_made_or_wanted",
            ),
        ]
        indexes = [models.Index(fields=["remote_id"], name="postings_by_remote_id")]

    def __str__(self) -> str:
        return f"{self.campaign} posting {self.number}"
