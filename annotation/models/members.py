"""Who belongs to a study, and in which role."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.models.studies import Study


class Membership(models.Model):
    """A researcher's role in one study. ``annotation.rights`` says what it allows."""

    class Role(models.TextChoices):
        OWNER = "owner", _("owner")
        RESEARCHER = "researcher", _("researcher")
        REVIEWER = "reviewer", _("reviewer")
        AUDITOR = "auditor", _("auditor")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role)
    added_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    added_at = models.DateTimeField()

    class Meta:
        ordering = ("study", "added_at", "pk")
        constraints = [
            models.UniqueConstraint(fields=["study", "user"], name="one_role_per_person_and_study"),
            models.CheckConstraint(
                condition=models.Q(role__in=["owner", "researcher", "reviewer", "auditor"]),
                name="membership_has_a_known_role",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user}: {self.get_role_display()} of {self.study}"
