"""The page on which stories are given to participants by name, and their progress with these."""

from uuid import uuid4

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _, gettext_lazy

from annotation.actions import GivenRow, give_items, take_items_back
from annotation.models import Enrollment, Study
from annotation.rights import Right, by_and_now, form_page, write_page
from dashboard.http import ErrorsInForm, form_token, render_form
from dashboard.people.listing import given_to_nobody, progress_of
from dashboard.queries import get_enrollment
from dashboard.settings.forms import prose


class ItemsForm(forms.Form):
    """Lines of story ids, each with its participant, or all for one."""

    person = forms.CharField(
        label=gettext_lazy("Participant"),
        help_text=gettext_lazy("A pseudonym, or a confirmed e-mail address. Empty: each line names its own."),
        required=False,
        max_length=200,
    )
    stories = prose(
        gettext_lazy("Stories"),
        gettext_lazy("A line per story: its id, or “id,participant” as in a CSV file with these columns."),
        rows=8,
        required=True,
    )

    def clean_stories(self) -> list[GivenRow]:
        rows, everybody = [], self.cleaned_data.get("person", "")
        lines = self.cleaned_data["stories"].strip("\ufeff").splitlines()
        for line, text in enumerate(lines, start=1):
            story_id, comma, person = text.strip().replace(";", ",").replace("\t", ",").rpartition(",")
            if everybody or not comma:
                story_id, person = text, everybody
            row = GivenRow(line, story_id.strip(' "'), person.strip(' "').lower())
            if text.strip() and (line > 1 or row.story_id not in ("id", "story_id")):
                rows.append(row)
        return rows


@form_page(post=Right.CHANGE)
def given_items(request: HttpRequest, study: Study) -> HttpResponse:
    """Show who was given stories, and how many of them are answered. A POST gives more."""
    form = ItemsForm(
        request.POST if request.method == "POST" else None, initial={"person": request.GET.get("to", "")}
    )
    if form.is_valid():
        with ErrorsInForm(form, "stories"):
            rows, token = form.cleaned_data["stories"], form_token(request)
            people = give_items(study=study, rows=rows, token=token, **by_and_now(request))
            said = _("Stories given: %(stories)s. Participants who get them first: %(people)s.")
            messages.success(request, said % {"stories": len(rows), "people": people})
            return redirect("dashboard:given_items", slug=study.slug)
    context = {
        "form": form,
        "people": progress_of(Enrollment.objects.filter(study=study)),
        "to_nobody": given_to_nobody(study),
        "token": form_token(request) or uuid4(),
    }
    return render_form(request, "dashboard/people/given_items.html", context)


@write_page(Right.CHANGE)
def take_back(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponse:
    """Take back what a participant was given and has not begun."""
    stories = take_items_back(enrollment=get_enrollment(study, pseudonym), **by_and_now(request))
    messages.success(request, _("Stories taken back: %(stories)s.") % {"stories": stories})
    return redirect("dashboard:given_items", slug=study.slug)
