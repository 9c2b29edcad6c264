"""The forms in which a study is made, changed and cloned, and its stories are uploaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django import forms
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.validators import RegexValidator, validate_slug
from django.utils.functional import lazy
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from accounts.models import Environment
from annotation.actions import StudySettings
from annotation.models import Story
from annotation.protocols import all_protocols
from dashboard.samples import SAMPLE_PROTOCOL

USUAL = StudySettings(title="", contact="")
"""The settings of the published procedure."""
MOST_CONFIGURATION_MB = 10
SAMPLE_TEST, OWN_TEST, NO_TEST = "sample", "own", "none"
TESTS = (
    (SAMPLE_TEST, _("They take our test: five sample stories with their answer key")),
    (OWN_TEST, _("They take a test of yours, which you add afterwards")),
    (NO_TEST, _("Nothing: everybody who agrees is given stories")),
)


def _protocols() -> list[tuple[str, str]]:
    return [(protocol.name, str(protocol.title)) for protocol in all_protocols().values()]


class StudyForm(forms.Form):
    """A form whose fields look and are described like all of ours; errors stand at the field."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            if not isinstance(field.widget, forms.RadioSelect):
                field.widget.attrs["class"] = "text"

    def refuse(self, problems: Mapping[str, str]) -> None:
        """Say what an action found wrong, at the fields where there are such."""
        for name, text in problems.items():
            self.add_error(name if name in self.fields else None, text)


def _slug(**options: Any) -> forms.CharField:
    return forms.CharField(
        label=_("Short name"),
        max_length=60,
        validators=[validate_slug],
        help_text=_("For addresses: letters, digits, - and _. It never changes."),
        **options,
    )


def _environment() -> forms.ChoiceField:
    return forms.ChoiceField(
        label=_("Real study or rehearsal"),
        choices=(
            (Environment.LIVE, _("A real study: what people answer is data")),
            (Environment.REHEARSAL, _("A rehearsal: to try things out; its answers never become data")),
        ),
        initial=Environment.LIVE,
        widget=forms.RadioSelect,
        help_text=_(
            "This never changes. Of a rehearsal that went well you make the real study by cloning it."
        ),
    )


class SettingsForm(StudyForm):
    """What a researcher decides about a study; the defaults are those of the published procedure."""

    title = forms.CharField(
        label=_("Title"), max_length=200, help_text=_("What people read at the top of every page.")
    )
    description = forms.CharField(
        label=_("Description"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("A few sentences in the invitation, on the first page, and in the card of a release."),
    )
    contact = forms.EmailField(
        label=_("Contact"), help_text=_("An e-mail address that people can write to. On every page.")
    )
    protocol = forms.ChoiceField(
        label=_("Protocol"), choices=lazy(_protocols, list), help_text=_("The form that people answer.")
    )
    votes_per_story = forms.IntegerField(
        label=_("Votes per story"),
        min_value=1,
        max_value=99,
        help_text=_("How many people judge each story. In the published procedure: 3."),
    )
    story_cap = forms.IntegerField(
        label=_("Stories per person, at most"),
        min_value=1,
        max_value=1_000_000,
        help_text=_("In the published procedure: 500."),
    )
    lease_minutes = forms.IntegerField(
        label=_("Minutes for a story"),
        min_value=1,
        max_value=10_000,
        help_text=_("How long a story is kept for the person it was shown to."),
    )
    change_hours = forms.IntegerField(
        label=_("Hours in which an answer can be changed"),
        min_value=0,
        max_value=10_000,
        help_text=_("By the person who gave it, until a release is made of it. 0: never."),
    )
    pay_rate = forms.DecimalField(
        label=_("Pay per hour"),
        required=False,
        min_value=0,
        max_digits=8,
        decimal_places=2,
        help_text=_("People read it. Empty: not paid. tomannot does not pay; you or the platform do."),
    )
    currency = forms.CharField(
        label=_("Currency"),
        max_length=3,
        validators=[RegexValidator(r"^[A-Z]{3}$", _("Three capital letters, like USD."))],
        help_text=_("Three capital letters, like USD."),
    )
    license = forms.CharField(
        label=_("Licence of the data"), max_length=60, help_text=_("Of what you will publish, as CC-BY-4.0.")
    )

    def clean_description(self) -> str:
        """The text with the line ends that we store."""
        description: str = self.cleaned_data["description"]
        return description.replace("\r\n", "\n")

    def fix(self, fixed: Mapping[str, str]) -> None:
        """Show these settings as they are, unchangeable; ``fixed`` has the reasons."""
        for name, reason in fixed.items():
            if name in self.fields:
                self.fields[name].disabled = True
                self.fields[name].help_text = reason


class NewStudyForm(SettingsForm):
    """Everything that makes a study but its stories."""

    test = forms.ChoiceField(
        label=_("What people do before they are given stories"),
        choices=TESTS,
        widget=forms.RadioSelect,
        help_text=_("In the published procedure, 19 of 100 people passed the test."),
    )
    consent = forms.CharField(
        label=_("Consent text"),
        widget=forms.Textarea(attrs={"rows": 14}),
        help_text=_(
            "What people agree to. This one is an example: it has to be right for your people, your pay and "
            "your ethics board. A blank line starts a new paragraph; {contact} becomes the address above."
        ),
    )
    slug = _slug()
    environment = _environment()
    field_order = ("title", "slug", "environment")

    @classmethod
    def of(cls, data: Any = None, *, consent: str) -> NewStudyForm:
        """The form, filled with what is usual and with this consent text."""
        usual = {name: value for name, value in asdict(USUAL).items() if name in cls.base_fields}
        chosen = {"consent": consent, "test": SAMPLE_TEST, "environment": Environment.LIVE}
        return cls(data, initial=usual | chosen)

    def clean(self) -> dict[str, Any]:
        """The sample test is a test for one protocol only."""
        given = super().clean() or self.cleaned_data
        if given.get("test") == SAMPLE_TEST and given.get("protocol") != SAMPLE_PROTOCOL:
            self.add_error("test", gettext("Our test is for another protocol. Choose one of the others."))
        return given

    def settings(self) -> StudySettings:
        """The settings in a valid form."""
        names = set(asdict(USUAL)) & set(self.cleaned_data)
        return StudySettings(
            **{name: self.cleaned_data[name] for name in names},
            qualification_required=self.cleaned_data["test"] != NO_TEST,
        )

    def consent_text(self) -> str:
        """The consent text in a valid form, with the contact filled in."""
        return filled_in(self.cleaned_data["consent"], self.cleaned_data["contact"])


def filled_in(consent: str, contact: str) -> str:
    """A consent text with the contact in its place."""
    return consent.replace("\r\n", "\n").replace("{contact}", contact)


class ConsentForm(StudyForm):
    """A new version of the consent text."""

    consent = forms.CharField(
        label=_("New version"),
        widget=forms.Textarea(attrs={"rows": 14}),
        help_text=_(
            "A blank line starts a new paragraph. People who agreed to an older one are asked again."
        ),
    )


class CloneForm(StudyForm):
    """How the copy of a study is called, and whether it is real."""

    title = forms.CharField(
        label=_("Title"), max_length=200, help_text=_("What people read at the top of every page.")
    )
    slug = _slug()
    environment = _environment()


class _FileForm(StudyForm):
    most_mb: int

    def clean_file(self) -> UploadedFile[Any]:
        """The file, when it is not too large to keep."""
        file: UploadedFile[Any] = self.cleaned_data["file"]
        if (file.size or 0) > self.most_mb * 1_000_000:
            raise forms.ValidationError(
                ngettext(
                    "The file is larger than %(most)s MB.",
                    "The file is larger than %(most)s MB.",
                    self.most_mb,
                )
                % {"most": self.most_mb}
            )
        return file


class ConfigurationForm(_FileForm):
    """A study from its configuration file."""

    most_mb = MOST_CONFIGURATION_MB
    slug = _slug()
    file = forms.FileField(
        label=_("Configuration file"),
        widget=forms.FileInput(attrs={"accept": ".json,application/json"}),
        help_text=_("A JSON file that holds everything itself, as the page “Set-up” of a study gives it."),
    )


class UploadForm(_FileForm):
    """Stories to look at before anything is saved."""

    most_mb = settings.IMPORT_MAX_MB
    file = forms.FileField(
        label=_("File"),
        widget=forms.FileInput(attrs={"accept": ".jsonl,.ndjson,.json,.csv"}),
        help_text=_("One story per line as JSON, or CSV with a header."),
    )
    role = forms.ChoiceField(
        label=_("What the stories are for"),
        choices=(
            (Story.Role.MAIN, _("To be judged by people")),
            (Story.Role.QUALIFICATION, _("For the test that people take first")),
            (Story.Role.CHECK, _("Hidden checks with known answers, which come among the others")),
        ),
        initial=Story.Role.MAIN,
        widget=forms.RadioSelect,
    )
