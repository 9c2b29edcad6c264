"""The design of a study: its strata, and the load of each."""

from __future__ import annotations

import pgtrigger
from django.db import models
from django.db.models import Q

from accounts.triggers import CHANGE, before, refuse_if
from annotation.design import MOST_PER_STRATUM
from annotation.models.studies import Study

_STUDY_WAS_OPENED = refuse_if(
    """EXISTS (SELECT FROM annotation_study s
               WHERE s.id IN (NEW.study_id, OLD.study_id) AND s.state <> 'draft')""",
    "pgtrigger: Cannot change the design of a study that has been opened",
)


class Stratum(models.Model):
    """A kind of items in a study, and how many of them one annotator answers."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="strata", db_index=False)
    name = models.CharField(max_length=100)
    load = models.PositiveSmallIntegerField()

    class Meta:
        verbose_name_plural = "strata"
        ordering = ("study", "name")
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="one_stratum_per_name_in_a_study"),
            models.CheckConstraint(
                condition=Q(load__gte=1, load__lte=MOST_PER_STRATUM), name="load_of_a_stratum_is_positive"
            ),
        ]
        triggers = [before("design_is_settled_in_the_draft", pgtrigger.Insert | CHANGE, _STUDY_WAS_OPENED)]

    def __str__(self) -> str:
        return f"{self.load} of {self.name}"
