"""Forms below the join link: amounts due, external payments, and looking up a completion code."""

from typing import Any

from django import forms
from django.utils.translation import gettext, gettext_lazy as _

from annotation.models import Study
from dashboard.recruitment.amounts_due import CameBy
from dashboard.recruitment.forms import LONGEST_NOTE
from dashboard.settings.forms import StudyForm, line, prose


class TableOfPaymentsForm(StudyForm):
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


class OnePaymentForm(StudyForm):
    """An external payment of one participant, and how it was made."""

    who = line(_("Their code or pseudonym"), 60, autocomplete="off")
    paid = line(None, 10, _("Entries cannot be changed. To correct a mistake, enter a negative amount."))
    reason = line(_("How you paid them"), LONGEST_NOTE)

    def __init__(self, study: Study, **options: Any) -> None:
        super().__init__(**options)
        self.fields["paid"].label = gettext("Amount in %(currency)s") % {"currency": study.currency}


class CameByForm(StudyForm):
    """Select the rows of the table of amounts due by how participants arrived."""

    came_by = forms.ChoiceField(
        label=_("Participants"), required=False, choices=[("", _("everybody")), *CameBy.choices]
    )


class PlatformIdsForm(StudyForm):
    """Select the rows of the table of amounts due by ids of a platform."""

    participants = prose(
        _("Amounts due to these participants"),
        _("Ids from the platform’s list, one per line."),
        rows=3,
        required=True,
    )


class CodeForm(StudyForm):
    """A completion code to look up, and optionally whose it should be."""

    code = line(_("Code"), 40, autocomplete="off")
    participant = forms.CharField(
        label=_("Participant’s id on the platform (optional; checks that the code is theirs)"),
        max_length=100,
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
