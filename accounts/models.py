"""Who people are: researchers, annotators, and annotators' identities on platforms, kept apart."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class Environment(models.TextChoices):
    """Whether rows are the real thing. A study has one, and only rows of the same one count in it."""

    LIVE = "live", _("live")
    REHEARSAL = "rehearsal", _("rehearsal")


class User(AbstractUser):
    """A researcher. Signs in with a password; annotators never do."""

    class Meta(AbstractUser.Meta):
        pass


class Annotator(models.Model):
    """A person as the studies know them. Carries nothing that says who it is."""

    created_at = models.DateTimeField()
    erased_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"annotator {self.pk}"


class ForgottenIdentity(models.Model):
    """An id of somebody who asked to be forgotten, as a keyed hash that says neither whose nor which it was.

    By it they are known if they come back, so that nobody votes twice on a story. There is a day and no
    time, and no number that counts up: nothing here leads to the moment at which somebody was erased.
    """

    digest = models.CharField(max_length=64, primary_key=True)
    day = models.DateField()

    class Meta:
        verbose_name_plural = "forgotten identities"

    def __str__(self) -> str:
        return f"forgotten on {self.day}"


class PlatformIdentity(models.Model):
    """An annotator's id on a crowd platform. The only table that says so; erasing a person empties it."""

    class Platform(models.TextChoices):
        LINK = "link", _("personal link")
        EMAIL = "email", _("e-mail")
        PROLIFIC = "prolific", "Prolific"
        MTURK = "mturk", "Mechanical Turk"

    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="identities")
    platform = models.CharField(max_length=20, choices=Platform)
    environment = models.CharField(max_length=20, choices=Environment)
    person = models.CharField(max_length=200, help_text=_("The platform's id of the person."))
    language = models.CharField(max_length=10, blank=True, help_text=_("In which mails are written."))
    created_at = models.DateTimeField()
    confirmed_at = models.DateTimeField(
        null=True, blank=True, help_text=_("When an e-mail address proved to be the person's.")
    )

    class Meta:
        verbose_name_plural = "platform identities"
        constraints = [
            # An address that nobody has confirmed is only a claim: it must not keep its owner out.
            models.UniqueConstraint(
                fields=["platform", "environment", "person"],
                condition=~Q(platform="email") | Q(confirmed_at__isnull=False),
                name="one_annotator_per_platform_person",
            ),
            models.UniqueConstraint(
                fields=["annotator", "environment"],
                condition=Q(platform="email", confirmed_at__isnull=False),
                name="one_address_per_annotator",
            ),
            # An address that is to replace it waits beside it until it is confirmed.
            models.UniqueConstraint(
                fields=["annotator", "environment"],
                condition=Q(platform="email", confirmed_at__isnull=True),
                name="one_claimed_address_per_annotator",
            ),
            models.CheckConstraint(
                condition=Q(platform="email") | Q(confirmed_at=None), name="only_addresses_are_confirmed"
            ),
            models.CheckConstraint(condition=~Q(person=""), name="platform_person_is_named"),
        ]

    def __str__(self) -> str:
        return f"{self.get_platform_display()} identity of annotator {self.annotator_id}"
