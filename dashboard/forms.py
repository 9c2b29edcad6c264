"""The researchers' forms."""

from __future__ import annotations

import secrets
from typing import Any

from django import forms
from django.core.validators import validate_slug
from django.utils.translation import gettext_lazy as _

from dashboard.baseline import BaselinePlan, Viewers, Who, newest_consent
from publishing.models import Release

MOST_PER_SCENARIO = 1000
WHO = (
    (Who.QUALIFIED, _("People who are qualified in the released study")),
    (Who.ANYONE, _("Everybody who is invited")),
)
"""A round of the study's own is given as a file, to ``manage.py draw_baseline``."""
VIEWERS = (
    (Viewers.AUTO, _("Exclude them if enough others remain")),
    (Viewers.EXCLUDE, _("Exclude them")),
    (Viewers.ADMIT, _("They may take part")),
)


class BaselineForm(forms.Form):
    """What a researcher decides about a sample of a release."""

    title = forms.CharField(
        label=_("Title"), max_length=200, help_text=_("What people read at the top of every page.")
    )
    slug = forms.CharField(
        label=_("Short name"),
        max_length=60,
        validators=[validate_slug],
        help_text=_("For addresses and commands: letters, digits, - and _."),
    )
    per_scenario = forms.IntegerField(
        label=_("Stories of each scenario"), min_value=1, max_value=MOST_PER_SCENARIO, initial=5
    )
    votes_per_question = forms.IntegerField(
        label=_("Answers to each question"), min_value=1, max_value=99, initial=3
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2**53,
        help_text=_("Decides which stories are drawn; the same seed draws the same ones."),
    )
    who = forms.ChoiceField(
        label=_("Who may answer"), choices=WHO, initial=Who.QUALIFIED, widget=forms.RadioSelect
    )
    viewers = forms.ChoiceField(
        label=_("People who were shown these stories in the released study"),
        choices=VIEWERS,
        initial=Viewers.AUTO,
        widget=forms.RadioSelect,
        help_text=_("They have read both actions and thought about them."),
    )
    consent = forms.CharField(
        label=_("Consent text"),
        widget=forms.Textarea(attrs={"rows": 10}),
        help_text=_("This is the released study's. It has to be right for answering questions."),
    )

    @classmethod
    def of(cls, release: Release, data: Any = None) -> BaselineForm:
        """The form for a sample of this release, filled with what is usual."""
        study = release.study
        usual = {
            "title": _("%(study)s: questions") % {"study": study.title},
            "slug": f"{study.slug}-{release.number}-baseline"[:60],
            "seed": secrets.randbits(32),
            "consent": newest_consent(study),
        }
        form = cls(data, initial=usual)
        for name, field in form.fields.items():
            if not isinstance(field.widget, forms.RadioSelect):
                field.widget.attrs["class"] = "text"
            if field.help_text:
                field.widget.attrs["aria-describedby"] = f"help-{name}"
        return form

    def plan(self) -> BaselinePlan:
        """The plan that a valid form describes."""
        given = self.cleaned_data
        return BaselinePlan(
            slug=given["slug"],
            title=given["title"],
            seed=given["seed"],
            per_scenario=given["per_scenario"],
            votes_per_question=given["votes_per_question"],
            who=Who(given["who"]),
            viewers=Viewers(given["viewers"]),
            consent=given["consent"],
        )
