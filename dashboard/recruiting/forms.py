"""The forms in which researchers recruit, decide about work and pay."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.core.validators import MaxLengthValidator, MinLengthValidator, RegexValidator
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from annotation.models import Story, Study
from dashboard.recruiting.figures import MANY, kept
from dashboard.study_forms import StudyForm
from recruitment.actions import CampaignSettings
from recruitment.campaigns import (
    MOST_SEATS,
    SEATS_OF_A_TEST,
    fair_reward,
    has_one_posting,
    seats_needed,
)
from recruitment.models import Campaign
from recruitment.prolific.payloads import REVIEW_DAYS

MTURK = "mturk"
MINUTES_OF_A_TEST = 10
MINUTES_OF_A_STORY = Decimal(1)
STORIES_PER_VISIT = {"mturk": 1, "prolific": 20}
SEATS_PER_HIT = 3
"""As the published procedure has it; from 10 on Mechanical Turk charged twice the fee."""
ONLY_MTURK = ("masters_only", "keywords", "days_open", "days_to_review")
"""Prolific offers a study until its places are taken, and approves after a time of its own."""
OF_A_TEST = {
    "seats": (
        _("People"),
        _("How many may take the test. Filled in: as many as in the published procedure."),
    ),
    "approves_by_itself": (
        _("Approve confirmed tests without asking me"),
        _("Everybody who hands the test in is paid, whether they pass or not."),
    ),
}
"""What the form says in other words where people take a test."""


TITLE = 128
"""Characters of a title on a platform."""


def _title(study: Study, *, is_test: bool) -> str:
    """The study's title with what the work is, since people see both in one list."""
    kind = gettext("(test)") if is_test else gettext("(stories)")
    return f"{study.title[: TITLE - len(kind) - 1].rstrip()} {kind}"


def _description(stories: int, *, minutes: int) -> str:
    """What the work is, for those who do it; not the study's description, which is written for researchers.

    ``stories``: in one piece of work; 0 for the test.
    """
    takes = ngettext("It takes about %(n)s minute.", "It takes about %(n)s minutes.", minutes) % {
        "n": minutes
    }
    if not stories:
        before = gettext("You read short instructions and answer a few questions about some test stories.")
        after = gettext("The test is paid, whether you pass it or not. Who passes is offered more stories.")
        return f"{before} {takes} {after}"
    before = ngettext(
        "You read %(n)s short story and answer a few questions about it.",
        "You read %(n)s short stories and answer a few questions about each.",
        stories,
    ) % {"n": stories}
    return f"{before} {takes}"


def _seats(study: Study, stories: int) -> int:
    """What it takes until every story has its votes; where there are many, as it was a minute ago."""

    def needed(study: Study) -> int:
        return max(1, seats_needed(study, stories_per_visit=stories))

    wanting = Story.objects.filter(study=study, has_free_slot=True)[: MANY + 1].count()
    return kept(study, f"seats:{stories}", needed, size=wanting)


class CampaignForm(StudyForm):
    """What is offered to people on a platform."""

    title = forms.CharField(
        label=_("Title"), max_length=TITLE, help_text=_("What people read in the platform’s list of work.")
    )
    description = forms.CharField(
        label=_("Description"),
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("What the work is, in a few sentences. Say how long it takes and what happens after."),
    )
    keywords = forms.CharField(
        label=_("Keywords"),
        max_length=1000,
        required=False,
        help_text=_("Separated by commas; for the platforms that search by them."),
    )
    stories_per_visit = forms.IntegerField(
        label=_("Stories in one piece of work"),
        min_value=1,
        help_text=_("How many stories a person answers for one reward."),
    )
    seats = forms.IntegerField(
        label=_("Pieces of work"),
        min_value=1,
        max_value=MOST_SEATS,
        help_text=_(
            "How many are offered in all. Filled in: as many as the votes still wanted take, with the hidden "
            "checks that come among them."
        ),
    )
    seats_per_posting = forms.IntegerField(
        label=_("People per HIT"),
        min_value=1,
        max_value=1000,
        help_text=_("From 10 on Mechanical Turk charged another 20 %."),
    )
    reward = forms.DecimalField(
        label=_("Reward for one piece of work"),
        max_digits=8,
        decimal_places=2,
        help_text=_("Filled in: what the expected time comes to at the study’s hourly rate."),
    )
    currency = forms.CharField(
        label=_("Currency"),
        max_length=3,
        validators=[RegexValidator(r"^[A-Z]{3}$", _("Three capital letters, like USD."))],
    )
    minutes_expected = forms.IntegerField(label=_("Minutes it takes"), min_value=1, max_value=1000)
    minutes_allowed = forms.IntegerField(
        label=_("Minutes allowed"),
        min_value=1,
        max_value=10_000,
        help_text=_("After this the platform gives the work to somebody else."),
    )
    days_open = forms.IntegerField(label=_("Days on offer"), min_value=1, max_value=365)
    days_to_review = forms.IntegerField(
        label=_("Days to decide about work"),
        min_value=1,
        max_value=30,
        help_text=_("After this the platform pays by itself."),
    )
    approved_percent = forms.IntegerField(
        label=_("Share of earlier work approved, at least (%)"), min_value=0, max_value=100, required=False
    )
    approved_work = forms.IntegerField(
        label=_("Earlier work approved, at least"), min_value=0, max_value=1_000_000, required=False
    )
    countries = forms.CharField(
        label=_("Countries"), required=False, help_text=_("Codes like US, GB; empty: everywhere.")
    )
    masters_only = forms.BooleanField(
        label=_("Only “Masters” (Mechanical Turk charged another 5 %)"), required=False
    )
    counts_at_once = forms.BooleanField(
        label=_("Count votes before the platform has confirmed the visit"),
        required=False,
        help_text=_("Faster, and taken back for visits that it does not confirm."),
    )
    approves_by_itself = forms.BooleanField(
        label=_("Approve confirmed work without asking me"),
        required=False,
        help_text=_("Poor work can still be left out of the data; it is paid all the same."),
    )

    def __init__(self, data: Any, *, platform: str, purpose: str, initial: dict[str, Any]) -> None:
        super().__init__(data, initial=initial)
        self.platform, self.purpose = platform, purpose
        for name in self._not_asked():
            del self.fields[name]
        if purpose == Campaign.Purpose.TEST:
            for name, (label, help_text) in OF_A_TEST.items():
                self.fields[name].label, self.fields[name].help_text = label, help_text
        for field in self.fields.values():
            if isinstance(field, forms.BooleanField):
                field.widget.attrs.pop("class", None)

    def _not_asked(self) -> list[str]:
        """Fields that mean nothing to this platform, or for this purpose."""
        is_test = self.purpose == Campaign.Purpose.TEST
        names = ["stories_per_visit", "counts_at_once"] if is_test else []
        if has_one_posting(self.platform, self.purpose):
            names.append("seats_per_posting")
        return names if self.platform == MTURK else [*names, *ONLY_MTURK]

    @classmethod
    def of(cls, study: Study, *, platform: str, purpose: str, data: Any = None) -> CampaignForm:
        """The form, filled with the published procedure and what the study's pay comes to."""
        is_test = purpose == Campaign.Purpose.TEST
        stories = 0 if is_test else min(STORIES_PER_VISIT[platform], study.story_cap)
        minutes = Decimal(MINUTES_OF_A_TEST) if is_test else MINUTES_OF_A_STORY * stories
        is_mturk = platform == MTURK
        initial = {
            "title": _title(study, is_test=is_test),
            "description": _description(stories, minutes=max(1, int(minutes))),
            "keywords": "reading, stories, judgement, short",
            "stories_per_visit": stories,
            "seats": SEATS_OF_A_TEST if is_test else _seats(study, stories),
            "seats_per_posting": SEATS_OF_A_TEST if is_test else SEATS_PER_HIT,
            "reward": fair_reward(study, minutes=minutes),
            "currency": study.currency,
            "minutes_expected": max(1, int(minutes)),
            "minutes_allowed": max(30, int(minutes) * 3),
            "days_open": 7,
            "days_to_review": 14,
            "approved_percent": 98 if is_mturk else None,
            "approved_work": 10_000 if is_mturk else None,
            "countries": "US" if is_mturk else "",
            "approves_by_itself": True,
        }
        return cls(data, platform=platform, purpose=purpose, initial=initial)

    @classmethod
    def changing(cls, campaign: Campaign, *, data: Any = None) -> CampaignForm:
        """The form, filled with what a draft says now."""
        initial = {name: getattr(campaign, name) for name in cls.base_fields}
        initial["countries"] = ", ".join(campaign.countries)
        return cls(data, platform=campaign.platform, purpose=campaign.purpose, initial=initial)

    def clean_countries(self) -> tuple[str, ...]:
        """The codes, in capitals."""
        given = self.cleaned_data["countries"].replace(",", " ").split()
        return tuple(code.upper() for code in given)

    def refuse_lines(self, problems: str) -> None:
        """Say what an action found wrong, a line for each."""
        for problem in problems.splitlines():
            self.add_error(None, problem)

    def settings(self) -> CampaignSettings:
        """The campaign in a valid form. Where there is one posting, all seats are in it."""
        given = dict(self.cleaned_data)
        given.setdefault("seats_per_posting", given["seats"])
        given.setdefault("days_to_review", REVIEW_DAYS)
        return CampaignSettings(platform=self.platform, purpose=self.purpose, **given)


class SeatsForm(StudyForm):
    """How many pieces of work more are offered."""

    more = forms.IntegerField(label=_("Pieces of work more"), min_value=1, max_value=100_000)
    offered = forms.IntegerField(min_value=1, max_value=2_147_483_647, widget=forms.HiddenInput)
    """How many the page said that there are: pressed twice, the form asks for more once."""


class BonusForm(StudyForm):
    """What somebody is paid on top."""

    amount = forms.DecimalField(label=_("Amount"), max_digits=8, decimal_places=2, min_value=Decimal("0.01"))
    reason = forms.CharField(label=_("Reason"), max_length=2000)


class OneBonusForm(BonusForm):
    """The same with the token that the page was made with: pressed twice, it asks for one bonus."""

    token = forms.UUIDField(
        error_messages=dict.fromkeys(
            ("required", "invalid"), _("Load the page again, and ask for the bonus there. Nothing was paid.")
        )
    )


class RemedyForm(BonusForm):
    """How somebody is paid whose work cannot be approved."""

    votes_count = forms.BooleanField(required=False)


class DecisionForm(StudyForm):
    """What a researcher does about a difference, in words."""

    how = forms.CharField(
        label=_("How it was dealt with"),
        max_length=1000,
        help_text=_("A few words; kept in the log."),
    )


class RejectionForm(StudyForm):
    """Why somebody is not paid."""

    reason = forms.CharField(
        label=_("Reason, which the person reads"), widget=forms.Textarea(attrs={"rows": 4})
    )
    category = forms.ChoiceField(label=_("Kind of reason"), required=False)
    leave_group = forms.BooleanField(required=False)

    def __init__(
        self,
        data: Any,
        *,
        is_test: bool,
        categories: tuple[tuple[str, str], ...],
        shortest: int,
        longest: int,
    ) -> None:
        super().__init__(data)
        if not is_test:
            del self.fields["leave_group"]
        self.fields["reason"].validators += [MinLengthValidator(shortest), MaxLengthValidator(longest)]
        if categories:
            self.fields["category"].choices = categories  # type: ignore[attr-defined]
            self.fields["category"].required = True
        else:
            del self.fields["category"]
