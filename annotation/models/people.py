"""People in a study."""

from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import Annotator, Environment
from annotation.models.studies import ConsentText, Study

_ADMITTED = """
    IF NEW.state IN ('invited', 'declined', 'withdrawn') THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF OLD.state NOT IN ('invited', 'declined') THEN
            RETURN NEW;
        END IF;
    END IF;
    IF EXISTS (SELECT FROM annotation_exclusion x
               WHERE x.study_id = NEW.study_id AND x.annotator_id = NEW.annotator_id) THEN
        RAISE EXCEPTION 'this annotator is excluded from the study';
    END IF;
    IF EXISTS (SELECT FROM annotation_study s
               WHERE s.id = NEW.study_id AND s.qualified_through_id IS NOT NULL AND NOT EXISTS (
                   SELECT FROM annotation_enrollment e
                   WHERE e.study_id = s.qualified_through_id AND e.annotator_id = NEW.annotator_id
                     AND e.state = 'qualified' AND e.environment = NEW.environment)) THEN
        RAISE EXCEPTION 'this annotator is not qualified in the study that this one asks for';
    END IF;
    RETURN NEW;
"""


class Enrollment(models.Model):
    """One annotator in one study: the only gate to being served a story."""

    class State(models.TextChoices):
        INVITED = "invited", _("invited")
        DECLINED = "declined", _("declined")
        CONSENTED = "consented", _("consented")
        QUALIFIED = "qualified", _("qualified")
        FAILED = "failed", _("not qualified")
        SUSPENDED = "suspended", _("suspended")
        WITHDRAWN = "withdrawn", _("withdrawn")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="enrollments")
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="enrollments")
    environment = models.CharField(max_length=20, choices=Environment)
    state = models.CharField(max_length=20, choices=State, default=State.INVITED)
    consent = models.ForeignKey(
        ConsentText, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    consented_at = models.DateTimeField(null=True, blank=True)
    link_version = models.PositiveIntegerField(
        default=1, help_text=_("Only addresses signed with this number open the person's place.")
    )
    suspension_reason = models.CharField(
        max_length=300, blank=True, help_text=_("Shown to the person while they are suspended.")
    )
    stories_submitted = models.PositiveIntegerField(default=0, help_text=_("Kept by annotation.actions."))
    warned_after = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text=_("After how many answered stories they were warned about failed hidden checks."),
    )
    checks_from = models.PositiveIntegerField(
        default=0,
        help_text=_("Hidden checks among their first so many stories are not held against them any more."),
    )
    working_since = models.DateTimeField(
        null=True, blank=True, help_text=_("When the current stretch of work without a long break began.")
    )
    last_submitted_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField()
    state_changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "annotator"], name="one_enrollment_per_annotator_and_study"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["invited", "declined", "withdrawn"])
                | Q(consent__isnull=False, consented_at__isnull=False),
                name="nobody_goes_on_without_consent",
            ),
            models.CheckConstraint(
                condition=Q(state="suspended") & ~Q(suspension_reason="")
                | ~Q(state="suspended") & Q(suspension_reason=""),
                name="suspended_people_are_told_why",
            ),
        ]
        triggers = [
            pgtrigger.Trigger(
                name="only_those_admitted_go_on",
                operation=pgtrigger.Insert | pgtrigger.UpdateOf("state"),
                when=pgtrigger.Before,
                func=_ADMITTED,
            ),
        ]

    def __str__(self) -> str:
        return f"annotator {self.annotator_id} in {self.study}"


class Exclusion(models.Model):
    """An annotator who may not take part in a study, such as one who has seen its stories in another."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="exclusions")
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="exclusions")
    reason = models.CharField(max_length=200)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "annotator"], name="one_exclusion_per_annotator_and_study"
            ),
        ]
        triggers = [
            pgtrigger.Protect(name="exclusion_is_final", operation=pgtrigger.Update | pgtrigger.Delete),
        ]

    def __str__(self) -> str:
        return f"annotator {self.annotator_id} not in {self.study}"
