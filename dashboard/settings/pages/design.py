"""The page of a study's design: its strata with their loads, and which items and participants are short."""

import re
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Count, F, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _, gettext_lazy

from annotation.actions import set_design
from annotation.design import fills_exactly, people_needed
from annotation.errors import InvalidStudy
from annotation.models import LIVING, Enrollment, Study
from annotation.rights import Right, by_and_now, form_page
from annotation.rules import unserved_in_words
from annotation.strata import fill_of_strata, unserved_strata
from dashboard.http import render_form
from dashboard.settings.forms import StudyForm, choose, prose

MOST_SHORT = 200
"""Participants listed at most."""


class DesignForm(StudyForm):
    """The column that divides the items, and a line for each stratum."""

    by_column = forms.ChoiceField(label=gettext_lazy("Column"), required=False)
    load = prose(
        gettext_lazy("Items per participant"),
        gettext_lazy("A line per stratum: “false belief: 10”. Empty: no design."),
    )

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = {stored: own for own, stored in study.protocol.columns.items()}
        choose(self, "by_column", [(name, names.get(name, name)) for name in Study.StratumField.values])

    def clean_load(self) -> dict[str, int]:
        load = {}
        for line in filter(None, map(str.strip, self.cleaned_data["load"].splitlines())):
            name, colon, number = line.rpartition(":")
            if not colon or not re.fullmatch(r"\s*\d{1,4}\s*", number) or name.strip() in load:
                raise ValidationError(_("“%(line)s” is not a stratum with its number.") % {"line": line[:80]})
            load[name.strip()] = int(number)
        return load


@form_page(post=Right.CHANGE)
def design(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the design and what is short. A POST sets the design of a draft."""
    load = "\n".join(f"{stratum.name}: {stratum.load}" for stratum in study.strata.all())
    initial = {"by_column": study.stratum_field, "load": load}
    form = DesignForm(study, request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            set_design(study=study, **form.cleaned_data, **by_and_now(request))
            messages.success(request, _("The design is saved."))
            return redirect("dashboard:design", slug=study.slug)
        except InvalidStudy as error:
            form.refuse(error.problems)
    strata = [each for each in fill_of_strata(study) if each.load]
    context = {
        "form": form if study.state == Study.State.DRAFT else None,
        "strata": [
            each._asdict() | {"newcomers": people_needed(most=each.most, free=each.free, load=each.load)}
            for each in strata
        ],
        "unserved": [unserved_in_words(*stratum) for stratum in unserved_strata(study)],
        "is_exact": fills_exactly([each.participants for each in strata]),
        "people": _people_short(study)[:MOST_SHORT],
        "total": sum(study.strata.values_list("load", flat=True)),
    }
    return render_form(request, "dashboard/settings/design.html", context, errors=form.errors)


def _people_short(study: Study) -> Any:
    """Return the participants who began, and hold or gave fewer answers than their load."""
    load = sum(study.strata.values_list("load", flat=True))
    theirs = Q(assignments__stratum__isnull=False)
    begun = Enrollment.objects.filter(study=study).annotate(
        items=Count("assignments", filter=theirs),
        there=Count("assignments", filter=theirs & Q(assignments__state__in=LIVING)),
    )
    return begun.filter(items__gt=0, there__lt=load).annotate(lacking=load - F("there")).order_by("pk")
