"""Filters of the lists of payments and mismatches."""

from collections.abc import Mapping
from typing import Any, ClassVar
from urllib.parse import urlencode

from django import forms
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from annotation.models import Study
from dashboard.settings.forms import choose
from recruitment.models import Mismatch, Payment

UNDERWAY = "underway"
STAND_FOR = {UNDERWAY: Payment.UNSETTLED}
"""Choices that stand for several values."""
_ALL = ("", _("all"))


class ListFilter(forms.Form):
    """A form sent by GET; values that no field offers are ignored."""

    campaign = forms.TypedChoiceField(label=_("Campaign"), required=False, coerce=int)
    columns: ClassVar[dict[str, str]]
    """The column that each field filters."""

    def __init__(self, study: Study, asked: Mapping[str, str]) -> None:
        super().__init__(asked, auto_id="only-%s")
        numbers = study.campaigns.order_by("number").values_list("number", flat=True)
        choose(self, "campaign", [_ALL, *((number, number) for number in numbers)])
        self.is_valid()  # an invalid choice is in no cleaned data

    @property
    def chosen(self) -> dict[str, Any]:
        """Return the chosen values by field name."""
        return {name: value for name, value in self.cleaned_data.items() if value}

    def query(self, **place: Any) -> str:
        """Return the chosen values, with a place in the list if given, as a query string; may be empty."""
        return urlencode(place | self.chosen)

    def rows(self) -> Q:
        """Return the condition that selects the rows."""
        wanted = self.chosen.items()
        return Q(**{f"{self.columns[name]}__in": STAND_FOR.get(value, (value,)) for name, value in wanted})


class PaymentFilter(ListFilter):
    """Filter payments by campaign, kind and state; ``underway`` selects everything that is not settled."""

    kind = forms.ChoiceField(label=_("What"), required=False, choices=[_ALL, *Payment.Kind.choices])
    state = forms.ChoiceField(
        label=_("State"), required=False, choices=[_ALL, (UNDERWAY, _("on its way")), *Payment.State.choices]
    )
    columns: ClassVar = {"campaign": "submission__campaign__number", "kind": "kind", "state": "state"}


class MismatchFilter(ListFilter):
    """Filter mismatches by campaign and kind."""

    kind = forms.ChoiceField(label=_("What"), required=False, choices=[_ALL, *Mismatch.Kind.choices])
    columns: ClassVar = {"campaign": "campaign__number", "kind": "kind"}
