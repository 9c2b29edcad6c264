"""The audit log of a study: who did what, and when; and the same as files."""

from __future__ import annotations

import json
from collections.abc import Iterator
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
from django.views.decorators.http import require_safe

from accounts.models import User
from annotation.downloads import EXPORTS, download
from annotation.models import Enrollment, Event, Study
from annotation.rights import Right, signed_in, study_page
from dashboard.log import (
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
from dashboard.persons import ids_of_checks, story_address
from dashboard.queries import enrollment_called
from dashboard.spreadsheets import ROWS_AT_ONCE, csv_stream
from qualification.experts import closed_texts

PAGE = 50
ALL = "all"
DECIDED = "decided"
LAST_DAY = date.max - timedelta(days=1)
"""The end of a day is the beginning of the next, which has to exist."""


class LogForm(forms.Form):
    """Which events to show. Everything may be left empty."""

    show = forms.ChoiceField(
        label=gettext_lazy("How much of it"),
        required=False,
        choices=(
            (DECIDED, gettext_lazy("what colleagues and the system decided")),
            (ALL, gettext_lazy("that, and every answer")),
        ),
    )
    kind = forms.ChoiceField(label=gettext_lazy("What happened"), required=False)
    who = forms.ModelChoiceField(
        User.objects.none(), label=gettext_lazy("Which colleague"), required=False, to_field_name="username"
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
            (_("What colleagues and the system decided"), [(one.value, one.label) for one in DECISIONS]),
            (_("What people do who answer"), [(one.value, one.label) for one in EVERYDAY]),
        ]
        who.queryset, who.empty_label = researchers_in(study), _("anybody")
        for name, field in self.fields.items():
            field.widget.attrs |= {"class": "text", "autocomplete": "off"}
            if name in ("since", "until"):
                field.widget.input_type = "date"
                field.widget.format = "%Y-%m-%d"

    def clean_person(self) -> Enrollment | None:
        """Whom the pseudonym stands for in this study."""
        said = self.cleaned_data["person"].strip()
        found = enrollment_called(self.study, said) if said else None
        if said and found is None:
            raise forms.ValidationError(_("Nobody in this study has this pseudonym."))
        return found

    def clean(self) -> dict[str, Any]:
        """The two days in their order."""
        said = self.cleaned_data
        if said.get("since") and said.get("until") and said["until"] < said["since"]:
            self.add_error("until", _("This day is before the first one."))
        return said

    def chosen(self, *, show: str, closed: frozenset[str]) -> LogFilter:
        """The filter that a valid form stands for; the last day is included.

        ``show``: how much of it where that is not said. ``closed``: texts that the reader answers blind.
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


@require_safe
@study_page(Right.AUDIT)
def log(request: HttpRequest, study: Study) -> HttpResponse:
    """A page of the log, the newest first."""
    form = LogForm(study, request.GET)
    if not form.is_valid():
        return render(request, "dashboard/log.html", {"study": study, "form": form}, status=400)
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
        "study": study,
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
    return render(request, "dashboard/log.html", context)


@require_safe
@study_page(Right.AUDIT)
def log_file(request: HttpRequest, study: Study, kind: str) -> HttpResponseBase:
    """All events that pass the same filter, as CSV or as JSON lines; a stream. Without one: the whole log."""
    form = LogForm(study, request.GET)
    if not form.is_valid():
        raise BadRequest("The filter of the log cannot be read.")
    chosen = form.chosen(show=ALL, closed=closed_texts(signed_in(request)))
    rows = (row_of(study, event) for event in stream_of(study, chosen))
    name = f"{study.slug}-log"
    if kind == "csv":
        return csv_stream(request, name, COLUMNS, rows)
    if kind == "jsonl":
        media_type = "application/jsonl; charset=utf-8"
        return download(request, _lines(rows), kind=EXPORTS, name=f"{name}.jsonl", media_type=media_type)
    raise Http404("The log is there as csv and as jsonl.")


def _row(study: Study, event: Event, story_id: str) -> dict[str, Any]:
    address = story_address(study, story_id) if story_id else ""
    return {"event": event, "story_id": story_id, "address": address, **row_of(study, event)}


def _lines(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    """JSON lines, some hundred at a time: a piece per line would be slow to send."""
    lines: list[str] = []
    for row in rows:
        lines.append(json.dumps(row, ensure_ascii=False) + "\n")
        if len(lines) == ROWS_AT_ONCE:
            yield "".join(lines)
            lines.clear()
    yield "".join(lines)


def _before(request: HttpRequest, study: Study) -> Event | None:
    """The last event of the page before; 404 for a number that is no event of this study."""
    asked = request.GET.get("before")
    if not asked:
        return None
    if not asked.isdecimal() or len(asked) > 18:
        raise Http404("There is no such place in the log.")
    return get_object_or_404(Event, study=study, pk=int(asked))


def _begin(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
