"""The audit log of a study, as a page and as files."""

from datetime import date, datetime, time, timedelta
from typing import Any

from django import forms
from django.core.exceptions import BadRequest
from django.core.validators import MaxValueValidator
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import User
from annotation.models import Enrollment, Event, Study
from annotation.rights import Right, read_page, signed_in
from dashboard.csv_files import csv_stream, json_stream
from dashboard.parameters import number_in
from dashboard.people.detail import ids_of_checks, story_address
from dashboard.queries import find_enrollment
from dashboard.settings.log import (
    COLUMNS,
    DECISIONS,
    EVERYDAY,
    LogFilter,
    newest,
    researchers_in,
    row_of,
    stories_of,
    stream_of,
)
from qualification.experts import closed_texts

PAGE = 50
ALL = "all"
DECIDED = "decided"
LAST_DAY = date.max - timedelta(days=1)
"""The end of a day is the beginning of the next, which has to exist."""


class LogForm(forms.Form):
    """Filters of the log, all optional."""

    show = forms.ChoiceField(
        label=gettext_lazy("Events"),
        required=False,
        choices=(
            (DECIDED, gettext_lazy("decisions of members and the system")),
            (ALL, gettext_lazy("decisions and every answer")),
        ),
    )
    kind = forms.ChoiceField(label=gettext_lazy("Event"), required=False)
    who = forms.ModelChoiceField(
        User.objects.none(), label=gettext_lazy("Member"), required=False, to_field_name="username"
    )
    person = forms.CharField(label=gettext_lazy("Annotator’s pseudonym"), required=False, max_length=100)
    since = forms.DateField(label=gettext_lazy("From (day, UTC)"), required=False)
    until = forms.DateField(
        label=gettext_lazy("To (day, UTC)"), required=False, validators=[MaxValueValidator(LAST_DAY)]
    )

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study
        kind, who = self.fields["kind"], self.fields["who"]
        assert isinstance(kind, forms.ChoiceField)
        assert isinstance(who, forms.ModelChoiceField)
        kind.choices = [
            ("", _("everything")),
            (_("Decisions of members and the system"), [(one.value, one.label) for one in DECISIONS]),
            (_("Participants’ actions"), [(one.value, one.label) for one in EVERYDAY]),
        ]
        who.queryset, who.empty_label = researchers_in(study), _("anybody")
        for name, field in self.fields.items():
            field.widget.attrs |= {"class": "text", "autocomplete": "off"}
            if name in ("since", "until"):
                field.widget.input_type = "date"
                field.widget.format = "%Y-%m-%d"

    def clean_person(self) -> Enrollment | None:
        """Return the enrollment with the pseudonym."""
        said = self.cleaned_data["person"].strip()
        found = find_enrollment(self.study, said) if said else None
        if said and found is None:
            raise forms.ValidationError(_("Nobody in this study has this pseudonym."))
        return found

    def clean(self) -> dict[str, Any]:
        """Require the two days to be in order."""
        said = self.cleaned_data
        if said.get("since") and said.get("until") and said["until"] < said["since"]:
            self.add_error("until", _("This day is before the first one."))
        return said

    def chosen(self, *, show: str, closed: frozenset[str]) -> LogFilter:
        """Return the filter of a valid form; its last day is included.

        ``show``: the default extent. ``closed``: texts that the reader answers blind.
        """
        said = self.cleaned_data
        return LogFilter(
            decisions=(said["show"] or show) == DECIDED,
            kind=said["kind"],
            who=said["who"],
            person=said["person"],
            since=_begin(said["since"]) if said["since"] else None,
            until=_begin(said["until"] + timedelta(days=1)) if said["until"] else None,
            closed=ids_of_checks(self.study, closed),
        )


@read_page(Right.AUDIT)
def log(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a page of the log, the newest events first."""
    form = LogForm(study, request.GET)
    if not form.is_valid():
        return render(request, "dashboard/settings/log.html", {"form": form}, status=400)
    closed = closed_texts(signed_in(request))
    chosen = form.chosen(show=DECIDED, closed=closed)
    found = newest(study, chosen, PAGE + 1, before=_before(request, study))
    stories = stories_of(study, found[:PAGE])
    asked = request.GET.copy()
    asked.pop("before", None)
    other, same = asked.copy(), asked.copy()
    other["show"] = ALL if chosen.decisions else DECIDED
    same["show"] = DECIDED if chosen.decisions else ALL
    context = {
        "form": form,
        "rows": [_row(study, event, stories.get(event.pk, "")) for event in found[:PAGE]],
        "can_switch": not (chosen.kind or chosen.who or chosen.person),
        "decisions": chosen.decisions,
        "other": other.urlencode(),
        "same": same.urlencode(),
        "leaves_out": bool(closed),
        "is_newest": "before" not in request.GET,
        "asked": asked.urlencode(),
        "older": found[PAGE - 1].pk if len(found) > PAGE else None,
    }
    return render(request, "dashboard/settings/log.html", context)


@read_page(Right.AUDIT)
def log_file(request: HttpRequest, study: Study, kind: str) -> HttpResponseBase:
    """Stream all events that pass the filter, as CSV or JSON lines. Without a filter: the whole log."""
    form = LogForm(study, request.GET)
    if not form.is_valid():
        raise BadRequest("The filter of the log cannot be read.")
    chosen = form.chosen(show=ALL, closed=closed_texts(signed_in(request)))
    rows = (row_of(study, event) for event in stream_of(study, chosen))
    name = f"{study.slug}-log"
    if kind == "csv":
        return csv_stream(request, name, COLUMNS, rows)
    if kind == "jsonl":
        return json_stream(request, name, rows)
    raise Http404("The log is there as csv and as jsonl.")


def _row(study: Study, event: Event, story_id: str) -> dict[str, Any]:
    address = story_address(study, story_id) if story_id else ""
    return {"event": event, "story_id": story_id, "address": address, **row_of(study, event)}


def _before(request: HttpRequest, study: Study) -> Event | None:
    """Return the last event of the page before. Raise 404 unless it is an event of this study."""
    asked = request.GET.get("before")
    if not asked:
        return None
    return get_object_or_404(Event, study=study, pk=number_in(asked))


def _begin(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
