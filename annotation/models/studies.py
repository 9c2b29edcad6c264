"""A study, and what people agree to in it."""

from __future__ import annotations

from datetime import timedelta

import pgtrigger
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import Environment
from annotation.checks import FEWEST_BETWEEN, CheckRules
from annotation.protocols import get_protocol
from annotation.protocols.base import Protocol


class Study(models.Model):
    """One annotation campaign."""

    class State(models.TextChoices):
        DRAFT = "draft", _("draft")
        OPEN = "open", _("open")
        PAUSED = "paused", _("paused")
        CLOSED = "closed", _("closed")

    class Gate(models.TextChoices):
        """Whether people must pass a qualification round, and whether there is one to pass."""

        NOT_REQUIRED = "not_required", _("no qualification asked")
        MISSING = "missing", _("qualification asked, no round ready")
        READY = "ready", _("qualification round ready")

    slug = models.SlugField(max_length=60, unique=True)
    title = models.CharField(max_length=200)
    description = models.TextField(blank=True)
    protocol_name = models.CharField(max_length=40)
    protocol_version = models.CharField(max_length=20)
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    environment = models.CharField(max_length=20, choices=Environment, default=Environment.LIVE)
    gate = models.CharField(max_length=20, choices=Gate, default=Gate.MISSING)
    qualified_through = models.ForeignKey(
        "self",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="qualifies_for",
        help_text=_("Only people who are qualified in that study may take part in this one."),
    )
    votes_per_story = models.PositiveSmallIntegerField(default=3)
    story_cap = models.PositiveIntegerField(
        default=500, help_text=_("Most stories one annotator may answer.")
    )
    lease_minutes = models.PositiveSmallIntegerField(
        default=30, help_text=_("How long a story is kept for the person it was shown to.")
    )
    change_hours = models.PositiveSmallIntegerField(
        default=24, help_text=_("How long people may change an answer; 0: never.")
    )
    answers_frozen_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text=_("Answers saved before then are published and cannot change."),
    )
    check_every = models.PositiveSmallIntegerField(
        default=0, help_text=_("One hidden check in each so many stories of a person; 0: none.")
    )
    check_minimum = models.PositiveSmallIntegerField(
        default=3, help_text=_("From how many answered checks on failing them has consequences.")
    )
    check_warn_percent = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text=_("Share of failed checks that warns; empty: none does.")
    )
    check_suspend_percent = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text=_("Share of failed checks that suspends; empty: none does.")
    )
    pay_rate = models.DecimalField(
        max_digits=8, decimal_places=2, null=True, blank=True, help_text=_("Per hour; empty: not paid.")
    )
    currency = models.CharField(max_length=3, default="USD")
    contact = models.EmailField(help_text=_("Shown to annotators."))
    license = models.CharField(max_length=60, default="CC-BY-4.0", help_text=_("Of the published dataset."))
    consent_version = models.PositiveSmallIntegerField(default=0)
    serving_seed = models.PositiveBigIntegerField()
    pseudonym_key = models.CharField(max_length=64, editable=False)
    created_at = models.DateTimeField()
    opened_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = "studies"
        ordering = ("slug",)
        constraints = [
            models.CheckConstraint(
                condition=Q(votes_per_story__gte=1, votes_per_story__lte=99),
                name="study_asks_1_to_99_votes_per_story",
            ),
            models.CheckConstraint(condition=Q(story_cap__gte=1), name="study_cap_is_positive"),
            models.CheckConstraint(condition=Q(lease_minutes__gte=1), name="study_lease_is_positive"),
            models.CheckConstraint(
                condition=Q(check_every=0) | Q(check_every__gte=FEWEST_BETWEEN),
                name="checks_have_places_to_hide",
            ),
            models.CheckConstraint(
                condition=Q(check_minimum__gte=1)
                & (Q(check_warn_percent=None) | Q(check_warn_percent__range=(1, 100)))
                & (Q(check_suspend_percent=None) | Q(check_suspend_percent__range=(1, 100))),
                name="check_thresholds_are_shares",
            ),
            models.CheckConstraint(
                condition=Q(check_warn_percent=None)
                | Q(check_suspend_percent=None)
                | Q(check_warn_percent__lt=models.F("check_suspend_percent")),
                name="checks_warn_before_they_suspend",
            ),
            models.CheckConstraint(
                condition=Q(state="draft", opened_at=None) | (~Q(state="draft") & Q(opened_at__isnull=False)),
                name="study_is_opened_unless_draft",
            ),
            models.CheckConstraint(
                condition=Q(state="closed", closed_at__isnull=False)
                | (~Q(state="closed") & Q(closed_at=None)),
                name="study_closed_at_says_closed",
            ),
            models.CheckConstraint(
                condition=~Q(state="open") | (Q(consent_version__gte=1) & ~Q(gate="missing")),
                name="open_study_has_consent_and_gate",
            ),
            models.CheckConstraint(
                condition=Q(qualified_through=None)
                | (Q(gate="not_required") & ~Q(qualified_through=models.F("pk"))),
                name="qualified_through_another_study_or_here",
            ),
        ]
        triggers = [
            pgtrigger.Protect(
                name="who_may_take_part_is_settled_in_the_draft",
                operation=pgtrigger.UpdateOf("qualified_through_id"),
                condition=pgtrigger.Q(old__qualified_through__df=pgtrigger.F("new__qualified_through"))
                & ~pgtrigger.Q(old__state="draft"),
            ),
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def protocol(self) -> Protocol:
        """The form and rule of this study. Raises ``UnknownProtocol`` when its version is not installed."""
        return get_protocol(self.protocol_name, self.protocol_version)

    @property
    def check_rules(self) -> CheckRules:
        return CheckRules(
            self.check_every, self.check_minimum, self.check_warn_percent, self.check_suspend_percent
        )

    @property
    def lease(self) -> timedelta:
        return timedelta(minutes=self.lease_minutes)


class ConsentText(models.Model):
    """What people agree to. A new text is a new version; old ones stay for those who agreed to them."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="consent_texts")
    version = models.PositiveSmallIntegerField()
    text = models.TextField()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("study", "version")
        constraints = [
            models.UniqueConstraint(fields=["study", "version"], name="one_consent_text_per_version"),
            models.CheckConstraint(condition=~Q(text=""), name="consent_text_says_something"),
        ]
        triggers = [
            pgtrigger.Protect(name="consent_text_is_final", operation=pgtrigger.Update | pgtrigger.Delete),
        ]

    def __str__(self) -> str:
        return f"{self.study} consent {self.version}"
