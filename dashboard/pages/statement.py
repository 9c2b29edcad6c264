"""The data statement: what only the researchers can say about their data, and where it will appear."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from annotation.models import Study
from annotation.rights import Right, rights_in, signed_in, study_page
from publishing.errors import InvalidStatement
from publishing.facts import Statement
from publishing.models import DataStatement
from publishing.queries import statement_of
from publishing.statement.actions import describe_data
from publishing.statement.rules import creators_of, doi_of


def _prose(label: Any, help_text: Any) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": 4, "class": "text"})
    return forms.CharField(label=label, help_text=help_text, required=False, widget=widget)


def _line(label: Any, help_text: Any) -> forms.CharField:
    widget = forms.TextInput(attrs={"class": "text"})
    return forms.CharField(label=label, help_text=help_text, required=False, widget=widget)


class StatementForm(forms.Form):
    """One field per item of a statement; the rules are those of ``publishing.statement``."""

    creators = _prose(
        gettext_lazy("Creators"),
        gettext_lazy(
            "Who made the dataset, one per line, in the order in which they want to be cited. People as "
            "“Family, Given”; a name without a comma is taken for that of a group. Appears in the citation "
            "and in CITATION.cff."
        ),
    )
    motivation = _prose(
        gettext_lazy("Why the data were made"),
        gettext_lazy("Which question they are to answer. Appears near the top of the card."),
    )
    platform = _prose(
        gettext_lazy("Where people came from"),
        gettext_lazy("The platform or list, and whom you invited. Appears in the steps of the procedure."),
    )
    demographics = _prose(
        gettext_lazy("The people who voted"),
        gettext_lazy(
            "What you asked them about themselves, in sums that point to nobody; or that you did not ask. "
            "Appears on the card and in croissant.json."
        ),
    )
    sensitive_information = _prose(
        gettext_lazy("Sensitive information"),
        gettext_lazy(
            "Whether the stories could hurt or expose somebody. Appears on the card and in croissant.json."
        ),
    )
    biases = _prose(
        gettext_lazy("Known biases"),
        gettext_lazy(
            "Whom and what the stories leave out or show in one way. On the card and in croissant.json."
        ),
    )
    limits = _prose(
        gettext_lazy("Known limits"),
        gettext_lazy("What the data cannot show. On the card and in croissant.json."),
    )
    intended_use = _prose(
        gettext_lazy("Intended use"),
        gettext_lazy("What the data are for, and what they are not for. On the card and in croissant.json."),
    )
    url = _line(
        gettext_lazy("Web address"),
        gettext_lazy("A page about the project. Appears in the citation and in croissant.json."),
    )
    doi = _line(
        gettext_lazy("DOI"),
        gettext_lazy("If you have reserved one, like 10.5281/zenodo.1234567. Appears in the citation."),
    )

    def statement(self) -> Statement:
        """The statement in a form that is valid so far."""
        said = {name: value.replace("\r\n", "\n") for name, value in self.cleaned_data.items()}
        return Statement(**said | {"creators": creators_of(said["creators"]), "doi": doi_of(said["doi"])})


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(post=Right.CHANGE)
def statement(request: HttpRequest, study: Study) -> HttpResponse:
    """Show what is stated about the data, and take a new version of it."""
    may_change = Right.CHANGE in rights_in(request.user, study)
    form = _form(request, study, may_change=may_change)
    if request.method == "POST" and form.is_valid():
        try:
            describe_data(study=study, statement=form.statement(), by=signed_in(request), now=timezone.now())
            messages.success(request, _("Saved. The next release says so; earlier ones stay as they are."))
            return redirect("dashboard:statement", slug=study.slug)
        except InvalidStatement as error:
            for name, problem in error.problems.items():
                form.add_error(name, problem)
    standing = DataStatement.objects.of(study, at=timezone.now())
    context = {"study": study, "form": form, "may_change": may_change, "standing": standing}
    return render(request, "dashboard/statement.html", context, status=400 if form.errors else 200)


def _form(request: HttpRequest, study: Study, *, may_change: bool) -> StatementForm:
    """The form with what was posted, or else with what is stated now."""
    said = statement_of(study, at=timezone.now())
    initial = asdict(said) | {"creators": "\n".join(said.creators)}
    form = StatementForm(request.POST if request.method == "POST" else None, initial=initial)
    for field in form.fields.values():
        field.disabled = not may_change
    return form
