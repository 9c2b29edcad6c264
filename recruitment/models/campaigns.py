"""Campaigns and their postings on crowd platforms."""

import uuid
from datetime import datetime, timedelta

import pgtrigger
from django.contrib.postgres.fields import ArrayField
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import Environment, PlatformIdentity, researcher
from accounts.schema import (
    before,
    between,
    check,
    fixed,
    flag,
    optional_text,
    optional_time,
    refuse_if,
    unique,
)
from annotation.models import Study
from recruitment.marketplace import OnOffer

_SAME_ENVIRONMENT = refuse_if(
    """NOT EXISTS (SELECT FROM annotation_study s
                   WHERE s.id = NEW.study_id AND s.environment = NEW.environment)""",
    "a campaign is live in a live study and a rehearsal in a rehearsal",
)
GRACE = timedelta(minutes=10)
"""Time after the platform's limit in which a visit still gets stories."""


MOST_SEATS = 1_000_000


class Campaign(models.Model):
    """A call for people on one platform: for the qualification test, or for the stories.

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

    UNDERWAY = (State.CREATING, State.PAUSING, State.ENDING)
    """States that are requested and not reached yet: a worker is at it, or a sweep sends one."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="campaigns")
    number = models.PositiveSmallIntegerField()
    platform = models.CharField(max_length=20, choices=PlatformIdentity.Platform)
    environment = models.CharField(max_length=20, choices=Environment)
    purpose = models.CharField(max_length=10, choices=Purpose)
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    title = models.CharField(
        _("Title"), max_length=128, help_text=_("Participants read it in the platform’s list.")
    )
    description = models.CharField(
        _("Description"),
        max_length=2000,
        help_text=_(
            "Describe the task in a few sentences: what to do, how long it takes, what happens next."
        ),
    )
    keywords = models.CharField(
        _("Keywords"),
        max_length=1000,
        blank=True,
        help_text=_("Separated by commas; some platforms search by them."),
    )
    stories_per_visit = models.PositiveSmallIntegerField(
        _("Stories per submission"),
        default=0,
        help_text=_("How many stories a participant answers for one reward."),
    )
    seats = models.PositiveIntegerField(
        _("Places"),
        validators=between(1, MOST_SEATS),
        help_text=_(
            "How many submissions you offer in total. The suggestion covers all votes still needed, "
            "including hidden checks."
        ),
    )
    seats_per_posting = models.PositiveSmallIntegerField(
        _("People per HIT"),
        validators=between(1, 1000),
        help_text=_("From 10 on Mechanical Turk charged another 20 %."),
    )
    reward = models.DecimalField(
        _("Reward per submission"),
        max_digits=8,
        decimal_places=2,
        help_text=_("The suggestion is the expected time at the study’s hourly rate."),
    )
    screen_out_reward = models.DecimalField(
        _("Reward if the test is not passed"),
        max_digits=8,
        decimal_places=2,
        null=True,
        blank=True,
        help_text=_(
            "Empty: everybody gets the reward. Otherwise less than it, and still fair for the time: the "
            "platform pays this automatically and offers the place again. Name both in the description."
        ),
    )
    currency = models.CharField(
        _("Currency"),
        max_length=3,
        default="USD",
        validators=[RegexValidator(r"^[A-Z]{3}$", _("Three capital letters, like USD."))],
    )
    minutes_expected = models.PositiveSmallIntegerField(_("Expected minutes"), validators=between(1, 1000))
    minutes_allowed = models.PositiveIntegerField(
        _("Minutes allowed"),
        validators=between(1, 10_000),
        help_text=_("After this time the platform offers the place to somebody else."),
    )
    days_open = models.PositiveSmallIntegerField(_("Days on offer"), default=7, validators=between(1, 365))
    days_to_review = models.PositiveSmallIntegerField(
        _("Days to decide about submissions"),
        default=14,
        validators=between(1, 30),
        help_text=_("After this time the platform approves and pays automatically."),
    )
    counts_unconfirmed = models.BooleanField(
        _("Count votes before the platform has confirmed the visit"),
        default=False,
        help_text=_("Faster. Votes of visits that it does not confirm are removed again."),
    )
    auto_approves = models.BooleanField(
        _("Approve confirmed submissions automatically"),
        default=True,
        help_text=_("You can still exclude poor votes from the data, but they are paid."),
    )
    approved_percent = models.PositiveSmallIntegerField(
        _("Approval rate of earlier work, at least (%)"), null=True, blank=True, validators=between(0, 100)
    )
    approved_work = models.PositiveIntegerField(
        _("Approved earlier submissions, at least"), null=True, blank=True, validators=between(0, 1_000_000)
    )
    countries = ArrayField(models.CharField(max_length=2), default=list, blank=True)
    masters_only = models.BooleanField(
        _("Only “Masters” (Mechanical Turk charged another 5 %)"), default=False
    )
    remote_id = optional_text(64, _("The platform’s own: a HIT type, a Prolific study."))
    qualified_group = optional_text(64, _("The platform’s group of people who passed the test."))
    incomplete_group = optional_text(64, _("The platform’s group of people who left work unfinished."))
    completion_code = models.CharField(max_length=40, blank=True)
    screen_out_code = models.CharField(max_length=40, blank=True)
    problem = models.TextField(blank=True, help_text=_("What the platform said last, if it refused."))
    sync_problem = models.TextField(
        blank=True, db_default="", help_text=_("Why the last comparison with the platform failed, if it did.")
    )
    platform_offer = models.CharField(
        max_length=10,
        choices=OnOffer,
        blank=True,
        default=OnOffer.OPEN,
        db_default="",
        help_text=_("Whether people can begin on the platform, as it said when it was last asked."),
    )
    platform_offer_since = optional_time(_("When it was first noticed that nobody new can begin there."))
    waits_for_stories = flag(_("Paused automatically because no story was left; it resumes when one is."))
    concurrency_limit = models.PositiveIntegerField(
        null=True, blank=True, help_text=_("How many people the platform lets work at the same time.")
    )
    created_by = researcher()
    created_at = models.DateTimeField()
    started_at = optional_time()
    ended_at = optional_time()
    synced_at = optional_time(_("When the platform was last asked."))
    offered_until = optional_time(_("When the offer ends by itself; empty where it does not."))

    class Meta:
        ordering = ("study", "number")
        constraints = [
            unique("one_campaign_per_number_in_a_study", ["study", "number"]),
            check("campaign_is_on_a_platform", Q(platform__in=["mturk", "prolific"])),
            check(
                "campaign_asks_for_a_test_or_for_stories",
                Q(purpose="test", stories_per_visit=0) | Q(purpose="stories", stories_per_visit__gte=1),
            ),
            check("campaign_asks_and_pays", Q(seats__gte=1, seats_per_posting__gte=1, reward__gt=0)),
            check(
                "campaign_screens_out_of_the_test_for_less",
                Q(screen_out_reward=None)
                | Q(purpose="test", screen_out_reward__gt=0, screen_out_reward__lt=models.F("reward")),
            ),
            check(
                "platform_offer_stopped_at_a_time",
                Q(platform_offer="", platform_offer_since=None)
                | ~Q(platform_offer="") & Q(platform_offer_since__isnull=False),
            ),
            check(
                "campaign_allows_the_time_it_takes",
                Q(minutes_expected__gte=1, minutes_allowed__gte=models.F("minutes_expected")),
            ),
        ]
        triggers = [
            before("campaign_is_of_the_studys_environment", pgtrigger.Insert, _SAME_ENVIRONMENT),
            fixed("campaign_stays_where_it_is", ["study", "number", "platform", "environment", "purpose"]),
        ]

    def __str__(self) -> str:
        return f"{self.study} campaign {self.number}"

    @property
    def is_test(self) -> bool:
        """True if the campaign offers the test, not stories."""
        return self.purpose == Campaign.Purpose.TEST

    @property
    def time_allowed(self) -> timedelta:
        return timedelta(minutes=self.minutes_allowed)

    def is_over(self, *, now: datetime) -> bool:
        """Return True if its days on offer have passed: it is live, but nobody new can begin."""
        return self.offered_until is not None and self.offered_until <= now


class Posting(models.Model):
    """A unit that people take on the platform: a HIT with its seats, or a whole Prolific study.

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
    first_asked_at = optional_time(_("When the platform was first asked to make it."))
    remote_id = optional_text(64, _("The HIT, or the Prolific study."))
    made_at = optional_time()
    synced_at = optional_time(_("When the platform last said what was done in it."))
    offered_until = optional_time(_("As the campaign’s, as far as the platform has been told."))

    class Meta:
        ordering = ("campaign", "number")
        constraints = [
            unique("one_posting_per_number", ["campaign", "number"]),
            unique("one_posting_per_remote_id", ["campaign", "remote_id"], ~Q(remote_id="")),
            check(
                "posting_is_made_or_wanted",
                Q(state="wanted", remote_id="", made_at=None)
                | ~Q(state="wanted") & ~Q(remote_id="") & Q(made_at__isnull=False),
            ),
        ]
        indexes = [models.Index(fields=["remote_id"], name="postings_by_remote_id")]

    def __str__(self) -> str:
        return f"{self.campaign} posting {self.number}"
