"""The data statement, and publishing a release: choose the filter, look at the preview, decide."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy

from annotation.models import Study
from annotation.rights import Right, by_and_now, form_page, read_page, rights_in
from dashboard.figures import store
from dashboard.http import ErrorsAsMessages, render_form
from dashboard.releases.recruited import recruited
from dashboard.settings.configuration_export import test_of
from dashboard.settings.forms import StudyForm, prose
from publishing import previews
from publishing.actions import releases
from publishing.actions.data_statement import describe_data
from publishing.card.html import rendered
from publishing.data_statement import creators_of, doi_of
from publishing.errors import InvalidStatement
from publishing.facts import Statement
from publishing.files.directory import content_type
from publishing.filters import ONE_OF_EACH, filters_for, find_filter
from publishing.models import DataStatement
from publishing.queries import planned_filter, statement_of
from tomannot import clock


def _line(label: Any, help_text: Any) -> forms.CharField:
    return forms.CharField(label=label, help_text=help_text, required=False)


class StatementForm(StudyForm):
    """The data statement, a field for each of its items. ``publishing.data_statement`` has the rules."""

    creators = prose(
        gettext_lazy("Creators"),
        gettext_lazy(
            "Who made the dataset, one per line, in the order in which they want to be cited. People as "
            "“Family, Given”; a name without a comma is taken for that of a group. Appears in the citation "
            "and in CITATION.cff."
        ),
    )
    motivation = prose(
        gettext_lazy("Why the data were made"),
        gettext_lazy("The question that they should answer. Appears near the top of the card."),
    )
    platform = prose(
        gettext_lazy("Where people came from"),
        gettext_lazy("The platform or list, and whom you invited. Appears in the steps of the procedure."),
    )
    demographics = prose(
        gettext_lazy("The people who voted"),
        gettext_lazy(
            "What you asked them about themselves, as totals that identify nobody; or that you did not "
            "ask. Appears on the card and in croissant.json."
        ),
    )
    sensitive_information = prose(
        gettext_lazy("Sensitive information"),
        gettext_lazy(
            "Whether the stories could hurt or expose somebody. Appears on the card and in croissant.json."
        ),
    )
    biases = prose(
        gettext_lazy("Known biases"),
        gettext_lazy("What the stories leave out or show one-sidedly. On the card and in croissant.json."),
    )
    limits = prose(
        gettext_lazy("Known limits"),
        gettext_lazy("What the data cannot show. On the card and in croissant.json."),
    )
    intended_use = prose(
        gettext_lazy("Intended use"),
        gettext_lazy("What the data are for, and what they are not for. On the card and in croissant.json."),
    )
    social_impact = prose(
        gettext_lazy("Social impact"),
        gettext_lazy("Whom the data could help or harm. On the card and in croissant.json."),
    )
    url = _line(
        gettext_lazy("Web address"),
        gettext_lazy("A page about the project. Appears in the citation and in croissant.json."),
    )
    doi = _line(
        gettext_lazy("DOI"),
        gettext_lazy("For the next release only, like 10.5281/zenodo.1234567. Appears in its citation."),
    )

    def statement(self) -> Statement:
        said = {name: value.replace("\r\n", "\n") for name, value in self.cleaned_data.items()}
        return Statement(**said | {"creators": creators_of(said["creators"]), "doi": doi_of(said["doi"])})


@form_page(post=Right.CHANGE)
def data_statement(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the data statement. A POST saves a new version."""
    may_change = Right.CHANGE in rights_in(request.user, study)
    said = statement_of(study, at=clock.now())
    initial = asdict(said) | {"creators": "\n".join(said.creators)}
    form = StatementForm(request.POST if request.method == "POST" else None, initial=initial)
    for field in form.fields.values():
        field.disabled = not may_change
    if request.method == "POST" and form.is_valid():
        try:
            describe_data(study=study, statement=form.statement(), **by_and_now(request))
            messages.success(
                request, _("Saved. The next release includes it; earlier releases do not change.")
            )
            return redirect("dashboard:data_statement", slug=study.slug)
        except InvalidStatement as error:
            form.refuse(error.problems)
    standing = DataStatement.objects.of(study, at=clock.now())
    context = {"form": form, "may_change": may_change, "standing": standing}
    return render_form(request, "dashboard/releases/data_statement.html", context)


@form_page(Right.PUBLISH)
def publish(request: HttpRequest, study: Study) -> HttpResponse:
    """Choose the filter of a release to preview. A POST requests the release; a Celery worker builds it."""
    if request.method == "POST":
        name = request.POST.get("filter", planned_filter(study))
        if "previewed" not in request.POST:  # only the preview asks
            preview = reverse("dashboard:preview_release", args=[study.slug])
            return redirect(f"{preview}?{urlencode({'filter': name})}")
        with ErrorsAsMessages(request):
            release = releases.request_release(
                study=study,
                **by_and_now(request),
                filter_name=name,
                test=test_of(study) if "publish_test" in request.POST else None,
                recruited=recruited(study),
            )
            messages.success(request, _("Release %(number)s is being built.") % {"number": release.number})
        return redirect("dashboard:releases", slug=study.slug)
    found, underway = store.refreshed(study, now=clock.now())
    context = {
        "figures": found,
        "underway": underway,
        "selects": study.protocol.resolution == "filter",
        "verdicts": found.document["verdicts"] if found and found.document else None,
        "filters": _choices(study, found),
        "is_described": statement_of(study, at=clock.now()) != Statement(),
    }
    return render(request, "dashboard/releases/publish.html", context)


@read_page(Right.PUBLISH)
def preview_release(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the next release as it would be, to those who may publish it, and ask whether to."""
    option = ONE_OF_EACH if "one_of_each" in request.GET else ""
    name = request.GET.get("filter", planned_filter(study))
    rule, now = find_filter(name + option), clock.now()
    if rule is None:
        raise Http404("There is no such filter.")
    found = previews.get_or_request(study, rule.name, now=now)
    urls = {
        path: reverse("dashboard:preview_chart", args=[study.slug, rule.name, path])
        for path in (found.charts if found else ())
    }
    context = {
        "name": rule.name,  # a filter can be called, and a template would
        "validates": rule.validates,
        "title": rule.localized(study.votes_per_story)[0],
        "one_of_each": rule.one_of_each,
        "selects": rule.selects,
        "preview": found,
        "has_test": study.gate == Study.Gate.READY,
        "card": rendered(found.card, urls.get) if found and not found.failure else None,
        "statement": [
            (field.label, getattr(found.statement, name) if found else "")
            for name, field in StatementForm.base_fields.items()
        ],
    }
    return render(request, "dashboard/releases/preview_release.html", context)


@read_page(Right.PUBLISH)
def preview_chart(request: HttpRequest, study: Study, name: str, path: str) -> HttpResponse:
    """Send a chart of the preview."""
    found = previews.latest(study, name)
    if found is None:  # it is kept for minutes only
        return redirect("dashboard:preview_release", slug=study.slug)
    if path not in found.charts:
        raise Http404("The preview has no such chart.")
    return HttpResponse(found.charts[path], content_type=content_type(path))


def _choices(study: Study, found: store.Figures | None) -> list[dict[str, Any]]:
    """Return the filters to choose from, with what each would keep if the figures are known."""
    rows = found.document["filters"]["filters"] if found and found.document else []
    by_name = {row["name"]: row for row in rows}
    planned = planned_filter(study).removesuffix(ONE_OF_EACH)
    return [
        {
            "name": rule.name,
            "title": title,
            "rule": sentence,
            "validates": rule.validates,
            "checked": rule.name == planned,
            "kept": by_name.get(rule.name, {}).get("kept"),
            "dropped": by_name.get(rule.name, {}).get("dropped"),
        }
        for rule in filters_for(study.protocol_name).values()
        for title, sentence in [rule.localized(study.votes_per_story)]
    ]
