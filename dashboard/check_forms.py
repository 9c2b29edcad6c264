"""The form in which a study's hidden checks are set."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from annotation.checks import FEWEST_BETWEEN, MOST_BETWEEN, CheckRules
from annotation.models import Study
from dashboard.study_forms import StudyForm


class CheckRulesForm(StudyForm):
    """How often people meet a check, and what share of failed ones has consequences."""

    every = forms.IntegerField(
        label=_("One check in each so many stories of a person"),
        min_value=0,
        max_value=MOST_BETWEEN,
        help_text=format_lazy(
            _("0: none. 20 is usual. At least {least}, so that there are places to hide in."),
            least=FEWEST_BETWEEN,
        ),
    )
    minimum = forms.IntegerField(
        label=_("Nothing comes of fewer answered checks than"),
        min_value=1,
        max_value=MOST_BETWEEN,
        help_text=_("One failed check is no pattern; 3 is usual."),
    )
    warn_percent = forms.IntegerField(
        label=_("Warn at a share of failed checks of (percent)"),
        min_value=1,
        max_value=100,
        required=False,
        help_text=_(
            "The person reads once, beside their next story, which questions to look at again. "
            "Empty: nobody is warned."
        ),
    )
    suspend_percent = forms.IntegerField(
        label=_("Suspend at a share of failed checks of (percent)"),
        min_value=1,
        max_value=100,
        required=False,
        help_text=_(
            "The person is given no more stories and reads why; you can let them go on. "
            "Empty: nobody is suspended."
        ),
    )

    @classmethod
    def of(cls, study: Study, data: Any = None) -> CheckRulesForm:
        return cls(data, initial=asdict(study.check_rules))

    def rules(self) -> CheckRules:
        """What a valid form says."""
        return CheckRules(**self.cleaned_data)
