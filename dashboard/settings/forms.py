"""Forms to create, change and clone a study, and to upload its stories."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.core.validators import validate_slug
from django.utils.translation import gettext, gettext_lazy as _

from accounts.models import Environment
from annotation.actions.studies import SETTINGS, usual_settings
from annotation.intake import QUESTIONS
from annotation.models import Story, Study
from annotation.protocols import all_protocols
from annotation.protocols.base import Protocol
from annotation.rights import Right
from dashboard.settings.sample_study import SAMPLE_PROTOCOL
from recruitment.platforms import unfinished_work_excludes

EXAMPLES = "examples-"
MOST_CONFIGURATION_MB = 10
SAMPLE_TEST, OWN_TEST, NO_TEST = "sample", "own", "none"
TESTS = (
    (SAMPLE_TEST, _("Our test: five sample stories with an answer key")),
    (OWN_TEST, _("Your own test, which you add later")),
    (NO_TEST, _("No test: everybody who consents gets stories")),
)


RIGHTS_IN_WORDS = {
    Right.LOOK: _("See the study: its stories, the votes under pseudonyms, all figures"),
    Right.REVIEW: _("Judge answers and stories: reviews and expert decisions"),
    Right.AUDIT: _("Read and export the log"),
    Right.CHANGE: _("Change the study: settings, stories, key, participants, open and close it"),
    Right.PUBLISH: _("Publish a release"),
    Right.MANAGE: _("Decide who belongs to the study, and in which role"),
}


def choose(form: forms.Form, name: str, choices: Iterable[tuple[Any, Any]]) -> None:
    """Give a field the choices that are known only when the form is made."""
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    field.choices = list(choices)


class RowForm(forms.ModelForm):  # type: ignore[type-arg]  # not subscriptable at run time
    """Base of forms whose fields the model describes. The row itself is changed by an action alone."""

    def _post_clean(self) -> None:
        """Check each value by the model; the whole is checked by the action that takes it."""
        for field in self._meta.model._meta.fields:
            try:
                if field.name in (self._meta.fields or ()) and field.name in self.cleaned_data:
                    field.clean(self.cleaned_data[field.name], None)
            except ValidationError as error:
                self.add_error(field.name, error)


def prose(
    label: Any, help_text: Any = "", *, rows: int = 4, required: bool = False, **options: Any
) -> forms.CharField:
    """Return a field for a text of several lines."""
    widget = forms.Textarea(attrs={"rows": rows, "class": "text"})
    return forms.CharField(label=label, help_text=help_text, required=required, widget=widget, **options)


def line(label: Any, longest: int, help_text: Any = "", **attrs: Any) -> forms.CharField:
    widget = forms.TextInput(attrs=attrs)
    return forms.CharField(label=label, max_length=longest, help_text=help_text, widget=widget)


def number(label: Any, within: tuple[int, int], help_text: Any = "", **options: Any) -> forms.IntegerField:
    """Return a field for a whole number within these bounds."""
    least, most = within
    return forms.IntegerField(label=label, min_value=least, max_value=most, help_text=help_text, **options)


def one_of(label: Any, choices: Any, help_text: Any = "", **options: Any) -> forms.ChoiceField:
    """Return a field of radio buttons."""
    widget = forms.RadioSelect
    return forms.ChoiceField(label=label, choices=choices, help_text=help_text, widget=widget, **options)


def _slug(**options: Any) -> forms.CharField:
    return forms.CharField(
        label=_("Short name"),
        max_length=60,
        validators=[validate_slug],
        required=False,
        help_text=_(
            "For addresses: letters, digits, - and _. It never changes. Empty: it is made from the title."
        ),
        **options,
    )


def _environment() -> forms.ChoiceField:
    return one_of(
        _("Real study or test run"),
        (
            (Environment.LIVE, _("A real study: answers are data")),
            (Environment.REHEARSAL, _("A test run: to try things out; its answers are never used")),
        ),
        _("This cannot change later. To turn a test run into a real study, clone it."),
        initial=Environment.LIVE,
    )


class SettingsForm(RowForm):
    """Settings of a study, described on the model; the defaults are those of the published procedure."""

    protocol = forms.ChoiceField(
        label=_("Protocol"),
        choices=lambda: [(protocol.name, str(protocol.title)) for protocol in all_protocols().values()],
        help_text=_("The form that participants fill in."),
    )

    intake_questions = forms.MultipleChoiceField(
        label=_("Questions about participants"),
        choices=[(name, asked.label) for name, asked in QUESTIONS.items()],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=Study._meta.get_field("intake_questions").help_text,
    )

    class Meta:
        model = Study
        fields = tuple(name for name in SETTINGS if name != "serving_seed")
        widgets: ClassVar[Any] = {
            "description": forms.Textarea(attrs={"rows": 4}),
            "serving_order": forms.RadioSelect,
            "option_order": forms.RadioSelect,
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not unfinished_work_excludes():
            self.fields["incomplete_after"].widget = forms.HiddenInput()

    def clean_description(self) -> str:
        """Normalise the text's line ends."""
        description: str = self.cleaned_data["description"]
        return description.replace("\r\n", "\n")

    def fix(self, fixed: Mapping[str, str]) -> None:
        """Show these settings as read-only; ``fixed`` has the reasons."""
        for name, reason in fixed.items():
            if name in self.fields:
                self.fields[name].disabled = True
                self.fields[name].help_text = reason


class NewStudyForm(SettingsForm):
    """Everything that a new study needs, except its stories."""

    test = one_of(
        _("Test before the stories"),
        TESTS,
        _("In the published procedure, 19 of 100 people passed the test."),
    )
    consent = prose(
        _("Consent text"),
        _(
            "What participants agree to. This is an example: adapt it to your participants, your pay and "
            "your ethics board. A blank line starts a new paragraph; {contact} becomes the address above."
        ),
        rows=14,
        required=True,
    )
    slug = _slug()
    environment = _environment()
    field_order = ("title", "slug", "environment")

    @classmethod
    def of(cls, data: Any = None, *, consent: str) -> "NewStudyForm":
        """Return the form filled with the defaults and this consent text."""
        usual = {name: value for name, value in usual_settings().items() if name in cls.base_fields}
        chosen = {"consent": consent, "test": SAMPLE_TEST, "environment": Environment.LIVE}
        return cls(data, initial=usual | chosen)

    def clean(self) -> dict[str, Any]:
        """Refuse the sample test for every protocol but its own."""
        given = super().clean() or self.cleaned_data
        if given.get("test") == SAMPLE_TEST and given.get("protocol") != SAMPLE_PROTOCOL:
            self.add_error("test", gettext("Our test is for another protocol. Choose one of the others."))
        return given


def filled_in(consent: str, contact: str) -> str:
    return consent.replace("\r\n", "\n").replace("{contact}", contact)


class ConsentForm(forms.Form):
    """A new version of the consent text."""

    consent = prose(
        _("New version"),
        _("A blank line starts a new paragraph. Participants who agreed to an older one are asked again."),
        rows=14,
        required=True,
    )


class InstructionsForm(forms.Form):
    """A study's own instructions, examples and texts."""

    page = prose(
        _("Instructions"),
        _("Keep it to one short page. A blank line starts a paragraph; a line “# Title” starts a section."),
        rows=20,
        required=True,
    )
    before_test = prose(_("Before the test"), _("Shown above the rules of the test."))
    thanks = prose(_("At the end"), _("Shown to participants who stop or have finished."))

    def __init__(self, protocol: Protocol, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for question in protocol.questions:
            self.fields[f"{EXAMPLES}{question.key}"] = prose(
                _("Examples: %(question)s") % {"question": question.title},
                _(
                    "Lines “Label: text” for what is shown, then “Answer: …” and “Why: …”. A blank line "
                    "starts the next example."
                ),
                rows=16,
            )

        self.order_fields(["page", *(name for name in self.fields if name.startswith(EXAMPLES))])

    def texts(self) -> dict[str, Any]:
        """Return the valid form as arguments of ``set_instructions``."""
        own = {name: self.cleaned_data[name] for name in self.base_fields}
        named = [name for name in self.fields if name.startswith(EXAMPLES)]
        return own | {"examples": {name.removeprefix(EXAMPLES): self.cleaned_data[name] for name in named}}


class CloneForm(forms.Form):
    """Title, short name and environment of a clone."""

    title = forms.CharField(label=_("Title"), max_length=200, help_text=_("Shown at the top of every page."))
    slug = _slug()
    environment = _environment()
    stories = forms.BooleanField(
        label=_("Take the main stories, too"),
        required=False,
        help_text=_("They are imported in the background, each under the id it has here."),
    )


class _FileForm(forms.Form):
    most_mb: int

    def clean_file(self) -> "UploadedFile[Any]":
        """Refuse a file that is too large."""
        file: UploadedFile[Any] = self.cleaned_data["file"]
        if (file.size or 0) > self.most_mb * 1_000_000:
            raise forms.ValidationError(
                gettext("The file is larger than %(most)s MB.") % {"most": self.most_mb}
            )
        return file


class ConfigurationForm(_FileForm):
    """An uploaded configuration file of a study."""

    most_mb = MOST_CONFIGURATION_MB
    slug = _slug()
    file = forms.FileField(
        label=_("Configuration file"),
        widget=forms.FileInput(attrs={"accept": ".json,application/json"}),
        help_text=_("A JSON file like the one that a study’s page “Configuration” offers for download."),
    )


class UploadForm(_FileForm):
    """A file of stories to check before anything is saved."""

    most_mb = settings.IMPORT_MAX_MB
    file = forms.FileField(
        label=_("File"),
        widget=forms.FileInput(attrs={"accept": ".jsonl,.ndjson,.json,.csv"}),
        help_text=_("One story per line as JSON, or CSV with a header."),
    )
    role = one_of(
        _("What the stories are for"),
        (
            (Story.Role.MAIN, _("For annotation")),
            (Story.Role.QUALIFICATION, _("For the qualification test or practice")),
            (Story.Role.QUIZ, _("Questions of a comprehension quiz")),
            (Story.Role.CHECK, _("Hidden checks with known answers")),
        ),
        initial=Story.Role.MAIN,
    )
    license = forms.CharField(
        label=_("Licence of the file"),
        required=False,
        max_length=100,
        help_text=_("If the stories come from elsewhere, such as CC-BY-4.0. Releases name it."),
    )
