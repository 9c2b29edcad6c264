"""How people come: join links and visits. Who they are there is in ``accounts.PlatformIdentity``."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import Environment, PlatformIdentity
from annotation.models import Enrollment, Study


class JoinLink(models.Model):
    """One address of a study for everybody: a platform adds the participant's id to it."""

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="join_link")
    parameter = models.CharField(
        max_length=40, help_text=_("The name under which the platform gives the participant's id.")
    )
    source = models.CharField(
        max_length=60,
        help_text=_(
            "Whose ids they are. The same id from the same source is the same person in every study."
        ),
    )
    return_url = models.CharField(
        max_length=500,
        blank=True,
        help_text=_("Where people go at the end; {code} and {participant} are filled in."),
    )
    return_hosts = ArrayField(
        models.CharField(max_length=253),
        default=list,
        blank=True,
        help_text=_("Hosts to which people may be sent."),
    )
    set_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(parameter__regex=r"^[A-Za-z][A-Za-z0-9_]{0,39}$"),
                name="join_link_parameter_is_a_name",
            ),
            models.CheckConstraint(
                condition=Q(return_url="") | Q(return_url__startswith="https://"),
                name="join_link_leads_back_by_https",
            ),
        ]

    def __str__(self) -> str:
        return f"join link of {self.study}"


class Visit(models.Model):
    """One arrival of a person at a study. Every page of the visit carries a token that names it."""

    enrollment = models.ForeignKey(Enrollment, on_delete=models.PROTECT, related_name="visits")
    platform = models.CharField(max_length=20, choices=PlatformIdentity.Platform)
    environment = models.CharField(max_length=20, choices=Environment)
    arrived_at = models.DateTimeField()

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"visit {self.pk}"
