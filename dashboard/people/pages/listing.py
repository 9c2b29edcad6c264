"""The list of a study's participants."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.models import Study
from annotation.rights import read_page
from dashboard.figures import flags
from dashboard.people.listing import ANY, STATES, STEPS, Search, people_page

TESTS = {
    "passed": gettext_lazy("passed"),
    "failed": gettext_lazy("not passed"),
    "begun": gettext_lazy("begun"),
}


class SearchForm(forms.Form):
    """Filters of the list."""

    name = forms.CharField(label=gettext_lazy("Pseudonym, or a part of it"), required=False, max_length=100)
    state = forms.ChoiceField(label=gettext_lazy("State"), required=False)
    step = forms.ChoiceField(label=gettext_lazy("Progress"), required=False)
    flag = forms.ChoiceField(label=gettext_lazy("Flag"), required=False)
    before = forms.IntegerField(required=False, min_value=1, max_value=2**62, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [flags.FAILS_CHECKS, flags.TOO_FAST, flags.STRAIGHT_LINING, flags.ALWAYS_ALONE]
        self._choose("state", STATES)
        self._choose("step", list(STEPS.items()))
        self._choose("flag", [(ANY, _("any flag")), *((name, flags.title(name)) for name in names)])
        self.fields["name"].widget.attrs["autocomplete"] = "off"

    def search(self) -> Search:
        """Return the valid filters; invalid ones are ignored."""
        self.is_valid()
        given = {name: value for name, value in self.cleaned_data.items() if value}
        return Search(**given | {"name": given.get("name", "").strip().lower()})

    def _choose(self, name: str, choices: Sequence[tuple[str, str | Promise]]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", _("everybody")), *choices]


@read_page()
def people(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a page of the list. A search for a whole pseudonym leads to its participant at once."""
    form = SearchForm(request.GET)
    search = form.search()
    page = people_page(study, search)
    if len(page.rows) == 1 and page.rows[0].pseudonym == search.name:
        return redirect("dashboard:person", slug=study.slug, pseudonym=search.name)
    wanted = {name: value for name, value in form.cleaned_data.items() if value and name != "before"}
    context = {
        "form": form,
        "page": page,
        "rows": [
            (row, TESTS.get(row.test, ""), [flags.title(flag) for flag in row.flags]) for row in page.rows
        ],
        "has_test": study.gate != Study.Gate.NOT_REQUIRED,
        "next": "?" + urlencode(wanted | {"before": page.next}) if page.next else "",
        "first": "?" + urlencode(wanted) if search.before else "",
        "is_filtered": bool(wanted),
    }
    return render(request, "dashboard/people/people.html", context)
