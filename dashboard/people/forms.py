"""Forms of decisions about one participant."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _, ngettext

from annotation.reasons import LONGEST_REASON
from dashboard.settings.forms import line, prose


def _text(label: Any, help_text: Any = "", **options: Any) -> forms.CharField:
    return prose(label, help_text, rows=3, required=True, max_length=LONGEST_REASON, **options)


def _message(initial: Any) -> forms.CharField:
    help_text = _("They read it when they return. Do not accuse them.")
    return _text(_("Message to the participant"), help_text, initial=initial)


class ReasonForm(forms.Form):
    """The reason for letting a participant continue."""

    reason = _text(_("Reason"), _("For the log. The participant does not see it."))


class SuspendForm(ReasonForm):
    """The reason for a suspension, and the text that the participant reads."""

    shown_reason = _message(
        _(
            "We have paused your part in this study and would like to talk with you about it. What you gave "
            "is kept and credited. Please write to us."
        )
    )


class ExcludeForm(ReasonForm):
    """The reason for excluding a participant's votes, and the text that the participant reads."""

    shown_reason = _message(
        _(
            "We have stopped collecting answers from you in this study. What you gave is kept and credited. "
            "If you have a question about this, please write to us."
        )
    )


class ReadmitForm(forms.Form):
    """The reason for readmitting an excluded participant."""

    reason = _text(_("Reason for readmitting"))


class RetakeForm(forms.Form):
    """The reason for letting a participant retake the test, and whether somebody else took it."""

    somebody_else = forms.BooleanField(label=_("Somebody else used their id"), required=False)
    reason = line(_("Reason, for the log"), LONGEST_REASON)
    seen = forms.IntegerField(widget=forms.HiddenInput)
    """The participant's newest step when the page was shown."""

    def __init__(self, data: Any, retaking: dict[str, Any]) -> None:
        super().__init__(data, initial={"seen": retaking["seen"], "somebody_else": retaking["two_visits"]})
        self.fields["somebody_else"].help_text = ngettext(
            "%(visits)s unconfirmed visit is given up, the void attempts are not paid, and the participant "
            "is asked for consent again.",
            "%(visits)s unconfirmed visits are given up, the void attempts are not paid, and the participant "
            "is asked for consent again.",
            retaking["unproven"],
        ) % {"visits": retaking["unproven"]}
