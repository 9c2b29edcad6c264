"""Forms about releases: the human baseline and the data statement."""

from __future__ import annotations

import secrets
from typing import Any

from django import forms
from django.core.validators import validate_slug
from django.utils.translation import gettext_lazy as _

from dashboard.releases.human_baseline import BaselinePlan, Viewers, Who, newest_consent
from dashboard.settings.forms import StudyForm, prose
from publishing.data_statement import creators_of, doi_of
from publishing.facts import Statement
from publishing.models import Release

MOST_PER_SCENARIO = 1000
WHO = (
    (Who.QUALIFIED, _("Participants qualified in the released study")),
    (Who.ANYONE, _("Everybody who is invited")),
)
"""Only ``manage.py draw_baseline`` can give the study a round of its own, from a file."""
VIEWERS = (
    (Viewers.AUTO, _("Exclude them if enough others remain")),
    (Viewers.EXCLUDE, _("Exclude them")),
    (Viewers.ADMIT, _("They may take part")),
)


class BaselineForm(StudyForm):
    """The settings of a human baseline, drawn from a release."""

    title = forms.CharField(label=_("Title"), max_length=200, help_text=_("Shown at the top of every page."))
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
        label=_("Seed"), min_value=0, max_value=2**53, help_text=_("The same seed draws the same stories.")
    )
    who = forms.ChoiceField(
        label=_("Who may answer"), choices=WHO, initial=Who.QUALIFIED, widget=forms.RadioSelect
    )
    viewers = forms.ChoiceField(
        label=_("Participants who were shown these stories in the released study"),
        choices=VIEWERS,
        initial=Viewers.AUTO,
        widget=forms.RadioSelect,
        help_text=_("They have read both actions and thought about them."),
    )
    consent = forms.CharField(
        label=_("Consent text"),
        widget=forms.Textarea(attrs={"rows": 10}),
        help_text=_("This is the released study's text. Adapt it to answering questions."),
    )

    @classmethod
    def of(cls, release: Release, data: Any = None) -> BaselineForm:
        """Return the form for a sample of this release, filled with the usual values."""
        study = release.study
        usual = {
            "title": _("%(study)s: questions") % {"study": study.title},
            "slug": f"{study.slug}-{release.number}-baseline"[:60],
            "seed": secrets.randbits(32),
            "consent": newest_consent(study),
        }
        return cls(data, initial=usual)

    def plan(self) -> BaselinePlan:
        given = self.cleaned_data
        chosen = {"who": Who(given["who"]), "viewers": Viewers(given["viewers"])}
        return BaselinePlan(**given | chosen)


def _line(label: Any, help_text: Any) -> forms.CharField:
    return forms.CharField(label=label, help_text=help_text, required=False)


class StatementForm(StudyForm):
    """The data statement, a field for each of its items. ``publishing.data_statement`` has the rules."""

    creators = prose(
        _("Creators"),
        _(
            "Who made the dataset, one per line, in the order in which they want to be cited. People as "
            "“Family, Given”; a name without a comma is taken for that of a group. Appears in the citation "
            "and in CITATION.cff."
        ),
    )
    motivation = prose(
        _("Why the data were made"),
        _("The question that they should answer. Appears near the top of the card."),
    )
    platform = prose(
        _("Where people came from"),
        _("The platform or list, and whom you invited. Appears in the steps of the procedure."),
    )
    demographics = prose(
        _("The people who voted"),
        _(
            "What you asked them about themselves, as totals that identify nobody; or that you did not "
            "ask. Appears on the card and in croissant.json."
        ),
    )
    sensitive_information = prose(
        _("Sensitive information"),
        _("Whether the stories could hurt or expose somebody. Appears on the card and in croissant.json."),
    )
    biases = prose(
        _("Known biases"),
        _("What the stories leave out or show one-sidedly. On the card and in croissant.json."),
    )
    limits = prose(_("Known limits"), _("What the data cannot show. On the card and in croissant.json."))
    intended_use = prose(
        _("Intended use"),
        _("What the data are for, and what they are not for. On the card and in croissant.json."),
    )
    social_impact = prose(
        _("Social impact"), _("Whom the data could help or harm. On the card and in croissant.json.")
    )
    url = _line(
        _("Web address"), _("A page about the project. Appears in the citation and in croissant.json.")
    )
    doi = _line(
        _("DOI"), _("For the next release only, like 10.5281/zenodo.1234567. Appears in its citation.")
    )

    def statement(self) -> Statement:
        said = {name: value.replace("\r\n", "\n") for name, value in self.cleaned_data.items()}
        return Statement(**said | {"creators": creators_of(said["creators"]), "doi": doi_of(said["doi"])})
