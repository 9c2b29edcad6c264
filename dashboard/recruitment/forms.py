"""Forms for campaigns, decisions about submissions, and payments."""

from dataclasses import fields
from decimal import Decimal
from typing import Any, ClassVar

from django import forms
from django.core.validators import MaxLengthValidator, MinLengthValidator, MinValueValidator
from django.template.loader import render_to_string
from django.utils.translation import gettext, gettext_lazy as _

from annotation.models import Story, Study
from annotation.strata import stories_of_design
from dashboard.recruitment.amounts_due import CameBy
from dashboard.recruitment.queries import MANY, cached
from dashboard.settings.forms import RowForm, choose, line, number, prose
from recruitment.actions import CampaignSettings
from recruitment.models import Campaign
from recruitment.offers import has_one_posting
from recruitment.pay import fair_reward
from recruitment.places import seats_needed
from recruitment.platforms import Platform, platform_named, platform_of

SETTINGS = {term.name for term in fields(CampaignSettings)} - {"platform", "purpose", "countries"}
DEPENDENT = ("description", "seats", "reward", "minutes_expected", "minutes_allowed")
"""Fields that change with the number of stories in a submission, unless a researcher has edited them."""
SEATS_OF_A_TEST = 100
"""People of the published procedure's qualification round."""
MINUTES_OF_A_TEST = 10
MINUTES_OF_A_STORY = Decimal(1)
SEATS_PER_HIT = 3
"""The number in the published procedure. From 10 on, Mechanical Turk charged twice the fee."""
OF_A_TEST = {
    "seats": (
        _("Participants"),
        _("How many participants may take the test. In the published procedure: 100."),
    ),
    "auto_approves": (
        _("Approve confirmed tests automatically"),
        _("Everybody who hands in the test is paid, whether they pass or not."),
    ),
}
"""Labels and help texts that differ for the test."""
DESCRIPTION = "dashboard/recruitment/campaign_description.txt"
TITLE = 128
"""Characters of a title on a platform."""
LONGEST_NOTE = 1000
"""Characters of a note about a mismatch or a payment."""


def _title(study: Study, *, is_test: bool) -> str:
    """Return the study's title with the kind of work, since participants see several in one list."""
    kind = gettext("(test)") if is_test else gettext("(stories)")
    return f"{study.title[: TITLE - len(kind) - 1].rstrip()} {kind}"


def _suggestions(study: Study, stories: int) -> dict[str, Any]:
    """Return the values that depend on the number of stories in one assignment; 0 for the test."""
    minutes = MINUTES_OF_A_STORY * stories if stories else Decimal(MINUTES_OF_A_TEST)
    expected = max(1, int(minutes))
    return {
        "description": render_to_string(DESCRIPTION, {"stories": stories, "minutes": expected}).strip(),
        "seats": _seats(study, stories) if stories else SEATS_OF_A_TEST,
        "reward": fair_reward(study, minutes=minutes),
        "minutes_expected": expected,
        "minutes_allowed": max(30, expected * 3),
    }


def _seats(study: Study, stories: int) -> int:
    """Return the seats needed for every story to get its votes; cached for a minute in large studies."""

    def needed(study: Study) -> int:
        return max(1, seats_needed(study, stories_per_visit=stories))

    wanting = Story.objects.filter(study=study, has_free_slot=True)[: MANY + 1].count()
    return cached(study, f"seats:{stories}", needed, size=wanting)


class CampaignForm(RowForm):
    """The offer of a campaign on a platform."""

    countries = forms.CharField(
        label=_("Countries"), required=False, help_text=_("Country codes like US, GB. Empty: everywhere.")
    )
    suggested_for = forms.IntegerField(min_value=0, required=False, widget=forms.HiddenInput)
    """The number of stories for which the page suggested places, reward and times."""

    class Meta:
        model = Campaign
        fields: ClassVar = [field.name for field in Campaign._meta.fields if field.name in SETTINGS]
        widgets: ClassVar = {"description": forms.Textarea(attrs={"rows": 4})}

    def __init__(
        self,
        data: Any,
        *,
        study: Study,
        platform: str,
        purpose: str,
        initial: dict[str, Any],
        draft: Campaign | None = None,
    ) -> None:
        super().__init__(data, initial=initial, instance=draft)
        self.initial["suggested_for"] = self.initial["stories_per_visit"]
        self.study, self.platform, self.purpose = study, platform, purpose
        for name in self._unused_fields():
            del self.fields[name]
        if purpose == Campaign.Purpose.TEST:
            for name, (label, help_text) in OF_A_TEST.items():
                self.fields[name].label, self.fields[name].help_text = label, help_text
        else:  # 0 stands for a test
            self.fields["stories_per_visit"].validators.append(MinValueValidator(1))
            self.fields["stories_per_visit"].widget.attrs["min"] = 1

    def _unused_fields(self) -> set[str]:
        is_test = self.purpose == Campaign.Purpose.TEST
        of_stories = ["stories_per_visit", "counts_unconfirmed", "suggested_for"]
        names = of_stories if is_test else ["screen_out_reward"]
        if has_one_posting(Campaign(platform=self.platform, purpose=self.purpose)):
            names.append("seats_per_posting")
        return {*names, *platform_named(self.platform).unused_fields}

    @classmethod
    def of(cls, study: Study, *, platform: str, purpose: str, data: Any = None) -> "CampaignForm":
        """Return the form for a new campaign, filled with the published procedure and the study's pay."""
        is_test = purpose == Campaign.Purpose.TEST
        defaults = platform_named(platform).defaults
        usual = stories_of_design(study) or min(defaults["stories_per_visit"], study.story_cap)
        stories = 0 if is_test else usual
        initial = _suggestions(study, stories) | {
            **defaults,
            "title": _title(study, is_test=is_test),
            "keywords": "reading, stories, judgement, short",
            "stories_per_visit": stories,
            "seats_per_posting": SEATS_OF_A_TEST if is_test else SEATS_PER_HIT,
            "currency": study.currency,
        }
        return cls(data, study=study, platform=platform, purpose=purpose, initial=initial)

    @classmethod
    def changing(cls, campaign: Campaign, *, data: Any = None) -> "CampaignForm":
        """Return the form for a draft, filled with its settings."""
        return cls(
            data,
            study=campaign.study,
            platform=campaign.platform,
            purpose=campaign.purpose,
            initial={"countries": ", ".join(campaign.countries)},
            draft=campaign,
        )

    def clean(self) -> dict[str, Any]:
        """Show the form again after the number of stories changed, with the dependent values recomputed."""
        found = self.cleaned_data
        stories, before = found.get("stories_per_visit"), found.pop("suggested_for", None)
        if stories is None or before is None or not before or stories == before or self.errors:
            return found
        shown = self.initial if before == self.initial["stories_per_visit"] else {}
        old = _suggestions(self.study, before) | {name: shown[name] for name in DEPENDENT if name in shown}
        new = {
            name: value
            for name, value in _suggestions(self.study, stories).items()
            if not self.fields[name].has_changed(old[name], self.data.get(name))
        }
        fitting = {name: str(value) for name, value in new.items() if value is not None}
        self.data = {**dict(self.data.items()), **fitting, "suggested_for": str(stories)}
        self.add_error(
            "stories_per_visit",
            _("Places, reward, times and description now fit this number. Check them, and save again."),
        )
        return found

    def clean_countries(self) -> tuple[str, ...]:
        """Return the country codes in capitals."""
        given = self.cleaned_data["countries"].replace(",", " ").split()
        return tuple(code.upper() for code in given)

    def settings(self) -> CampaignSettings:
        """Return a valid form's campaign settings. A platform with one posting gets all seats in it."""
        given = dict(self.cleaned_data)
        given.setdefault("seats_per_posting", given["seats"])
        review_days = platform_named(self.platform).review_days
        if review_days is not None:
            given.setdefault("days_to_review", review_days)
        return CampaignSettings(platform=self.platform, purpose=self.purpose, **given)


class SeatsForm(forms.Form):
    """A number of submissions to add to the offer."""

    more = number(_("Additional places"), (1, 100_000))
    offered = forms.IntegerField(min_value=1, max_value=2_147_483_647, widget=forms.HiddenInput)
    """Places offered when the page was shown; a second press with the same number does nothing."""


class BonusForm(forms.Form):
    """The amount and reason of a bonus. Pass ``campaign`` to render it."""

    amount = forms.DecimalField(
        max_digits=8,
        decimal_places=2,
        min_value=Decimal("0.01"),
        widget=forms.TextInput(attrs={"inputmode": "decimal"}),
    )
    reason = line(None, 2000)

    def __init__(
        self, data: Any = None, *, campaign: Campaign | None = None, is_outside: bool = False, **options: Any
    ) -> None:
        super().__init__(data, **options)
        if campaign is None:
            return
        self.fields["amount"].label = gettext("Amount in %(currency)s") % {"currency": campaign.currency}
        if is_outside:
            self.fields["reason"].label = _("How you paid them, and why not through the platform")
        elif platform_of(campaign).shows_bonus_reason:
            self.fields["reason"].label = _("Reason (the participant reads it)")
        else:
            self.fields["reason"].label = _("Reason (for the log; the platform does not pass it on)")


class OneBonusForm(BonusForm):
    """A bonus with the page's idempotency token, so that pressing twice pays once."""

    token = forms.UUIDField(
        widget=forms.HiddenInput,
        error_messages=dict.fromkeys(
            ("required", "invalid"), _("Reload the page and enter the bonus again. Nothing was paid.")
        ),
    )


class RemedyForm(BonusForm):
    """The way to pay a participant whose work cannot be approved."""

    votes_count = forms.BooleanField(
        label=_("Count the votes, too, where the slots are still free"), required=False
    )


def _note(label: Any, help_text: Any) -> forms.CharField:
    missing = {"required": _("Say in a few words how you dealt with this. Nothing was changed.")}
    return forms.CharField(label=label, max_length=LONGEST_NOTE, help_text=help_text, error_messages=missing)


class DecisionForm(forms.Form):
    """The note on a mismatch: the researcher's decision in words."""

    how = _note(_("How you dealt with it"), _("A few words for the log."))


class SimilarForm(forms.Form):
    """The note on all mismatches of a list."""

    how = _note(
        _("How you dealt with all of these"),
        _(
            "The log records your note for each of them. Nothing is paid or sent. Votes of unproven "
            "submissions no longer count."
        ),
    )


class RejectionForm(forms.Form):
    """The reasons for a rejection."""

    reason = prose(_("Reason (the participant reads it)"), rows=4, required=True)
    category = forms.ChoiceField(label=_("Kind of reason"), required=False)
    leave_group = forms.BooleanField(
        label=_("Remove them from the group of those who passed, too: they are offered no more stories"),
        required=False,
        initial=True,
    )
    use_required_attribute = False  # the form has buttons for other decisions, too

    def __init__(self, data: Any, *, is_test: bool, platform: Platform, auto_id: str) -> None:
        super().__init__(data, auto_id=auto_id)
        if not is_test:
            del self.fields["leave_group"]
        self.fields["reason"].validators += [
            MinLengthValidator(platform.shortest_rejection),
            MaxLengthValidator(platform.longest_rejection),
        ]
        self.fields["reason"].widget.attrs["maxlength"] = platform.longest_rejection
        if platform.rejection_categories:
            choose(self, "category", platform.rejection_categories.items())
            self.fields["category"].required = True
        else:
            del self.fields["category"]


class OutsideForm(forms.Form):
    """The note on a payment made outside the platform, after the platform refused it."""

    reason = line(_("How you paid them, and why not through the platform"), LONGEST_NOTE)


class TableOfPaymentsForm(forms.Form):
    """External payments in a table, and how they were made."""

    table = forms.FileField(
        label=_("The table, with the amounts that you paid now in the column “paid”"),
        help_text=_(
            "Rows without an amount are skipped. If a payment to somebody in the table was recorded after "
            "you downloaded it, the whole table is refused."
        ),
        widget=forms.FileInput(attrs={"accept": ".csv,text/csv"}),
    )
    reason = line(_("How you paid participants"), LONGEST_NOTE)


class OnePaymentForm(forms.Form):
    """An external payment of one participant, and how it was made."""

    who = line(_("Their code or pseudonym"), 60, autocomplete="off")
    paid = line(None, 10, _("Entries cannot be changed. To correct a mistake, enter a negative amount."))
    reason = line(_("How you paid them"), LONGEST_NOTE)

    def __init__(self, study: Study, data: Any = None, **options: Any) -> None:
        super().__init__(data, **options)
        self.fields["paid"].label = gettext("Amount in %(currency)s") % {"currency": study.currency}


class CameByForm(forms.Form):
    """Select the rows of the table of amounts due by how participants arrived."""

    came_by = forms.ChoiceField(
        label=_("Participants"), required=False, choices=[("", _("everybody")), *CameBy.choices]
    )


class PlatformIdsForm(forms.Form):
    """Select the rows of the table of amounts due by ids of a platform."""

    participants = prose(
        _("Amounts due to these participants"),
        _("Ids from the platform’s list, one per line."),
        rows=3,
        required=True,
    )


class CodeForm(forms.Form):
    """A completion code to look up, and optionally whose it should be."""

    code = line(_("Code"), 40, autocomplete="off")
    participant = forms.CharField(
        label=_("Participant’s id on the platform (optional; checks that the code is theirs)"),
        max_length=100,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
