"""Researchers, annotators, and the separate table of annotators' identities on platforms."""

from typing import Any

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.schema import Row, check, optional, optional_time, unique


def locked(row: Row, *related: str) -> Row:
    """Lock a row against other writers, and return it as it is now, with the ``related`` rows."""
    rows = type(row)._default_manager.select_for_update(of=("self",), no_key=True)
    return (rows.select_related(*related) if related else rows).get(pk=row.pk)


class Environment(models.TextChoices):
    """Live data or a test run. A study has one environment, and only rows of the same one count in it."""

    LIVE = "live", _("live")
    REHEARSAL = "rehearsal", _("test run")


class User(AbstractUser):
    """A researcher. Signs in with a password; annotators never do."""

    class Meta(AbstractUser.Meta):
        pass


def researcher(related_name: str = "+", **options: Any) -> models.ForeignKey[User | None, User | None]:
    """Return a field for the researcher who did something; None for a command or the system."""
    return optional(User, related_name, **options)


class Annotator(models.Model):
    """A person as the studies know them. Contains nothing that identifies them."""

    created_at = models.DateTimeField()
    erased_at = optional_time()

    def __str__(self) -> str:
        return f"annotator {self.pk}"


class ForgottenIdentity(models.Model):
    """A keyed hash of an erased annotator's id, which reveals neither the id nor the annotator.

    It recognises people who come back, so that nobody votes twice on a story. It has a day but no time and
    no counting key: nothing here leads to the moment at which somebody was erased.
    """

    digest = models.CharField(max_length=64, primary_key=True)
    day = models.DateField()

    class Meta:
        verbose_name_plural = "forgotten identities"

    def __str__(self) -> str:
        return f"forgotten on {self.day}"


class PlatformIdentity(models.Model):
    """An annotator's id on a crowd platform. No other table has it; erasing an annotator deletes it here."""

    class Platform(models.TextChoices):
        LINK = "link", _("personal link")
        EMAIL = "email", _("e-mail")
        PROLIFIC = "prolific", "Prolific"
        MTURK = "mturk", "Mechanical Turk"

    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="identities")
    platform = models.CharField(max_length=20, choices=Platform)
    environment = models.CharField(max_length=20, choices=Environment)
    person = models.CharField(max_length=200, help_text=_("The person's id on the platform."))
    language = models.CharField(max_length=10, blank=True, help_text=_("The language of mails."))
    created_at = models.DateTimeField()
    confirmed_at = optional_time(_("When the person confirmed the e-mail address."))

    class Meta:
        verbose_name_plural = "platform identities"
        constraints = [
            # An unconfirmed address is only a claim: it must not keep its real owner out.
            unique(
                "one_annotator_per_platform_person",
                ["platform", "environment", "person"],
                ~Q(platform="email") | Q(confirmed_at__isnull=False),
            ),
            unique(
                "one_address_per_annotator",
                ["annotator", "environment"],
                Q(platform="email", confirmed_at__isnull=False),
            ),
            # A replacement waits next to the confirmed address until it is confirmed, too.
            unique(
                "one_claimed_address_per_annotator",
                ["annotator", "environment"],
                Q(platform="email", confirmed_at__isnull=True),
            ),
            check("only_addresses_are_confirmed", Q(platform="email") | Q(confirmed_at=None)),
            check("platform_person_is_named", ~Q(person="")),
        ]

    def __str__(self) -> str:
        return f"{self.get_platform_display()} identity of annotator {self.annotator_id}"
