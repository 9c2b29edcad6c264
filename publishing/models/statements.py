"""Data statements, plans, and the samples of human baselines."""

from dataclasses import fields
from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import researcher
from accounts.schema import check, final, unique
from annotation.models import Study
from publishing.facts import Statement
from publishing.models.releases import Release


class DataStatementQuerySet(models.QuerySet["DataStatement"]):
    def of(self, study: Study, *, at: datetime) -> "DataStatement | None":
        """Return the version in force at a moment, or None."""
        return self.filter(study=study, written_at__lte=at).order_by("-version").first()


class DataStatement(models.Model):
    """One version of the researchers' statement about a study's data. Old versions stay.

    A release uses the version in force when it was requested, however often it is built.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="data_statements")
    version = models.PositiveIntegerField()
    creators = models.TextField(blank=True, help_text=_("One name per line."))
    motivation = models.TextField(blank=True)
    platform = models.TextField(blank=True)
    demographics = models.TextField(blank=True)
    ethics = models.TextField(blank=True)
    sensitive_information = models.TextField(blank=True)
    biases = models.TextField(blank=True)
    limits = models.TextField(blank=True)
    intended_use = models.TextField(blank=True)
    social_impact = models.TextField(blank=True)
    url = models.TextField(blank=True)
    doi = models.TextField(blank=True)
    written_by = researcher()
    written_at = models.DateTimeField()

    objects = DataStatementQuerySet.as_manager()

    class Meta:
        ordering = ("study", "-version")
        constraints = [
            unique("one_data_statement_per_version", ["study", "version"]),
            check("data_statements_count_from_one", Q(version__gte=1)),
        ]
        triggers = [final("data_statement_is_final")]

    def __str__(self) -> str:
        return f"{self.study} data statement {self.version}"

    @property
    def statement(self) -> Statement:
        """The statement as a plain value."""
        values = {item.name: getattr(self, item.name) for item in fields(Statement)}
        return Statement(**values | {"creators": tuple(self.creators.splitlines())})


class StudyPlan(models.Model):
    """The study's plan, fixed when it was first opened, before anybody could answer. Never changed."""

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="plan")
    document = models.TextField(help_text=_("The plan as JSON, in the bytes that were hashed."))
    sha256 = models.CharField(max_length=64)
    fixed_at = models.DateTimeField()
    fixed_by = researcher()

    class Meta:
        triggers = [final("plan_is_final")]

    def __str__(self) -> str:
        return f"{self.study} plan {self.sha256[:12]}"


class BaselineSample(models.Model):
    """The source of a multiple-choice study's questions. Never changed."""

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="baseline_sample")
    release = models.ForeignKey(Release, on_delete=models.PROTECT, related_name="baseline_samples")
    per_scenario = models.PositiveIntegerField()
    seed = models.BigIntegerField()
    stories = models.PositiveIntegerField()
    questions = models.PositiveIntegerField()
    short = models.JSONField(
        default=dict, blank=True, help_text=_("Scenarios with fewer stories than wanted, and how many.")
    )
    repeated_cores = models.PositiveIntegerField(
        default=0, help_text=_("Stories beside another severity of the same core.")
    )
    drawn_by = researcher()
    drawn_at = models.DateTimeField()

    class Meta:
        triggers = [final("baseline_sample_is_final")]

    def __str__(self) -> str:
        return f"{self.questions} questions from {self.release}"

    def provenance(self) -> dict[str, Any]:
        """Return what is needed to draw the same sample again, and its size."""
        return {
            "release": {"study": self.release.study.slug, "number": self.release.number},
            "manifest_sha256": self.release.manifest_sha256,
            "per_scenario": self.per_scenario,
            "seed": self.seed,
            "stories": self.stories,
            "questions": self.questions,
            "short": dict(sorted(self.short.items())),
            "repeated_cores": self.repeated_cores,
        }
