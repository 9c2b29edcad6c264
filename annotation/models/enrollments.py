"""Annotators in a study, and those excluded from it."""

import secrets
from functools import reduce
from operator import or_

import pgtrigger
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import Annotator, Environment
from accounts.schema import before, check, final, flag, optional, optional_text, optional_time, unique
from annotation import ordering
from annotation.intake import FEWEST_IN_GROUP, QUESTIONS
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


def _random_number() -> int:
    return secrets.randbits(48)


class Enrollment(models.Model):
    """One annotator in one study. Only an enrollment in the right state is served stories."""

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
    pseudonym = models.CharField(
        max_length=26,
        db_collation="C",  # so that the index of the constraint also finds beginnings
        editable=False,
        help_text=_("The name that votes are published under. Differs from study to study."),
    )
    environment = models.CharField(max_length=20, choices=Environment)
    state = models.CharField(max_length=20, choices=State, default=State.INVITED)
    consent = optional(ConsentText)
    consented_at = optional_time()
    link_version = models.PositiveIntegerField(
        default=1, help_text=_("The version that valid personal links are signed with.")
    )
    link_nonce = models.BigIntegerField(
        default=_random_number,
        editable=False,
        help_text=_("Random. A restored database reuses numbers, so links sign this value, too."),
    )
    suspension_reason = optional_text(300, _("Shown to the annotator while they are suspended."))
    stories_submitted = models.PositiveIntegerField(
        default=0, help_text=_("Answered, or skipped within the allowance. Maintained by annotation.actions.")
    )
    stories_skipped = models.PositiveIntegerField(
        default=0, help_text=_("All skips in force. Maintained by annotation.actions.")
    )
    order_key_reached = models.BigIntegerField(
        null=True, blank=True, help_text=_("Place of their newest story in an order of their own.")
    )
    given_items = flag(_("Stories were given to them by name, so these are looked for first."))
    warned_after = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text=_("Number of answered stories at which they were warned about failed hidden checks."),
    )
    checks_from = models.PositiveIntegerField(
        default=0, help_text=_("Hidden checks among this many first stories no longer count against them.")
    )
    language = optional_text(10, _("The language they chose for the pages; empty: the browser’s."))
    working_since = optional_time(_("When the current stretch of work without a long break began."))
    last_submitted_at = optional_time()
    created_at = models.DateTimeField()
    state_changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            unique("one_enrollment_per_annotator_and_study", ["study", "annotator"]),
            unique("one_enrollment_per_pseudonym_and_study", ["study", "pseudonym"]),
            check(
                "pseudonym_is_annotator_and_16_hex_digits", Q(pseudonym__regex=r"^annotator-[0-9a-f]{16}$")
            ),
            check(
                "nobody_goes_on_without_consent",
                Q(state__in=["invited", "declined", "withdrawn"])
                | Q(consent__isnull=False, consented_at__isnull=False),
            ),
            check(
                "suspended_people_are_told_why",
                Q(state="suspended") & ~Q(suspension_reason="")
                | ~Q(state="suspended") & Q(suspension_reason=""),
            ),
        ]
        triggers = [
            before("only_those_admitted_go_on", pgtrigger.Insert | pgtrigger.UpdateOf("state"), _ADMITTED),
            final(
                "pseudonym_is_final",
                pgtrigger.UpdateOf("pseudonym"),
                condition=pgtrigger.Q(old__pseudonym__df=pgtrigger.F("new__pseudonym")),
            ),
        ]

    def __str__(self) -> str:
        return f"annotator {self.annotator_id} in {self.study}"

    @property
    def link_key(self) -> str:
        """The value that this person's links and open pages sign; it changes when links are revoked."""
        return f"{self.link_version}x{self.link_nonce:x}"

    @property
    def order_seed(self) -> int | None:
        """Return the seed of their start in the serving order; None in a study with one order for all."""
        own = self.study.serving_order == Study.ServingOrder.OWN and not self.study.stratum_field
        return ordering.order_seed(self.study.pseudonym_key, self.pk) if own else None

    @property
    def option_seed(self) -> int | None:
        """Return the seed of their order of options; None in a study with one order for all."""
        drawn = self.study.option_order == Study.OptionOrder.PERSON
        return ordering.option_seed(self.study.pseudonym_key, self.pk) if drawn else None

    @property
    def skips_left(self) -> int:
        """Return how many more skips are paid."""
        return max(0, self.study.skip_allowance - self.stories_skipped)


_OPTIONS = {name: Q(option="") | Q(option__regex=asked.pattern) for name, asked in QUESTIONS.items()}


class IntakeAnswer(models.Model):
    """A participant's answer about themselves, shown only in counts. Deleted with their personal data."""

    enrollment = models.ForeignKey(
        Enrollment, on_delete=models.PROTECT, related_name="intake_answers", db_index=False
    )
    question = models.CharField(max_length=20, choices=[(name, name) for name in QUESTIONS])
    option = models.CharField(max_length=20, blank=True, help_text=_("Empty: they prefer not to say."))

    class Meta:
        constraints = [
            unique("one_intake_answer_per_person_and_question", ["enrollment", "question"]),
            check(
                "intake_answer_is_an_option",
                reduce(or_, (Q(question=name) & is_option for name, is_option in _OPTIONS.items())),
            ),
        ]
        triggers = [final("intake_answer_is_final", pgtrigger.Update)]

    def __str__(self) -> str:
        return f"{self.question} of {self.enrollment}"


class IntakeGroup(models.Model):
    """The people of a study who gave one answer about themselves, or one of several. Counted once."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="intake_groups")
    question = models.CharField(max_length=20)
    option = models.CharField(max_length=20)
    people = models.PositiveIntegerField()

    class Meta:
        constraints = [
            unique("one_intake_group_per_option", ["study", "question", "option"]),
            check("intake_group_is_large", Q(people__gte=FEWEST_IN_GROUP)),
        ]
        triggers = [final("intake_group_is_final")]

    def __str__(self) -> str:
        return f"{self.question} {self.option} in {self.study}"


class Exclusion(models.Model):
    """An annotator who may not join a study, for example because they saw its stories in another."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="exclusions")
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="exclusions")
    reason = models.CharField(max_length=200)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [unique("one_exclusion_per_annotator_and_study", ["study", "annotator"])]
        triggers = [final("exclusion_is_final")]

    def __str__(self) -> str:
        return f"annotator {self.annotator_id} not in {self.study}"
