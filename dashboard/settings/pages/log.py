"""The audit log of a study, as a page and as files, newest first: filtered, by page, or as a stream.

A page begins after an event, not after a number of them, and every filter has an index in the order of the
log (``annotation.models.Event``). So every page costs the same, even among millions of votes.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from django import forms
from django.core.exceptions import BadRequest
from django.core.validators import MaxValueValidator
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.translation import gettext as _, gettext_lazy

from accounts.models import User
from annotation.models import Enrollment, Event, Study, Vote
from annotation.numbers import number_in
from annotation.rights import Right, read_page, signed_in
from dashboard.http import csv_stream, json_stream
from dashboard.people.detail import ids_of_checks
from dashboard.settings.forms import choose
from qualification.experts import closed_texts

_VOTE = re.compile(r"vote \d{1,18}")
AT_ONCE = 2000
"""Events that a stream has in memory."""
EVERYDAY = (
    Event.Type.CONSENT_GIVEN,
    Event.Type.CONSENT_DECLINED,
    Event.Type.ATTEMPT_STARTED,
    Event.Type.ATTEMPT_SUBMITTED,
    Event.Type.VISIT_ARRIVED,
    Event.Type.VOTE_SUBMITTED,
    Event.Type.VOTE_CHANGED,
    Event.Type.CHECK_FAILED,
)
"""Everyday events of participants. The other kinds are decisions of members and the system."""
DECISIONS = tuple(kind for kind in Event.Type if kind not in EVERYDAY)
COLUMNS = ("number", "at", "kind", "who", "annotator", "subject", "note")


def events_of(study: Study, chosen: Q, *, before: Event | None = None) -> QuerySet[Event]:
    """The study's ``chosen`` events, the newest first; with ``before``, only older ones than it."""
    found = Event.objects.filter(chosen, study=study).select_related("actor", "enrollment")
    found = found.order_by("-at", "-pk")
    if before:
        # The first condition is implied by the second, and is the one that an index can begin at.
        found = found.filter(Q(at__lte=before.at), Q(at__lt=before.at) | Q(pk__lt=before.pk))
    return found


def newest(
    study: Study, chosen: Q, size: int, *, decisions: bool, before: Event | None = None
) -> list[Event]:
    """Return the first ``size`` of :func:`events_of`, or of its ``decisions``.

    Among millions of votes, decisions may be far apart. So the newest of each kind are read from the end of
    its index, and merged.
    """
    if not decisions:
        return list(events_of(study, chosen, before=before)[:size])
    kinds = [
        events_of(study, chosen & Q(type=kind), before=before).values_list("at", "id")[:size]
        for kind in DECISIONS
    ]
    found = kinds[0].union(*kinds[1:], all=True).order_by("-at", "-id")[:size]
    return list(events_of(study, Q()).filter(pk__in=[number for _at, number in found]))


def stories_of(study: Study, events: Sequence[Event]) -> dict[int, str]:
    """Return, by the number of each event about a vote, the id of its story. One query."""
    about = {event.pk: int(event.subject[5:]) for event in events if _VOTE.fullmatch(event.subject)}
    votes = Vote.objects.filter(pk__in=about.values(), assignment__enrollment__study=study)
    stories = dict(votes.values_list("pk", "assignment__story__story_id"))
    return {event: stories[vote] for event, vote in about.items() if vote in stories}


def stream_of(study: Study, chosen: Q, *, decisions: bool) -> Iterator[Event]:
    """Stream all events of :func:`newest` with :data:`AT_ONCE` in memory at a time.

    Each batch starts after the last event read, so no cursor or transaction stays open while a slow client
    downloads. Events never change, and new ones come at the other end.
    """
    last: Event | None = None
    while True:
        batch = newest(study, chosen, AT_ONCE, decisions=decisions, before=last)
        yield from batch
        if len(batch) < AT_ONCE:
            return
        last = batch[-1]


def row_of(event: Event) -> dict[str, Any]:
    """Return an event as the page and the files show it, with participants under their pseudonyms."""
    return {
        "number": event.pk,
        "at": event.at.isoformat(),
        "kind": event.type,
        "who": event.actor.get_username() if event.actor else None,
        "annotator": event.enrollment.pseudonym if event.enrollment else None,
        "subject": event.subject,
        "note": event.note,
    }


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
    person = forms.CharField(label=gettext_lazy("Participant’s pseudonym"), required=False, max_length=100)
    since = forms.DateField(label=gettext_lazy("From (day, UTC)"), required=False)
    until = forms.DateField(
        label=gettext_lazy("To (day, UTC)"), required=False, validators=[MaxValueValidator(LAST_DAY)]
    )

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study
        who = self.fields["who"]
        assert isinstance(who, forms.ModelChoiceField)
        kinds = [
            ("", _("everything")),
            (_("Decisions of members and the system"), [(one.value, one.label) for one in DECISIONS]),
            (_("Participants’ actions"), [(one.value, one.label) for one in EVERYDAY]),
        ]
        choose(self, "kind", kinds)
        did = Event.objects.filter(study=study, actor=OuterRef("pk"))  # current member or not
        who.queryset, who.empty_label = User.objects.filter(Exists(did)).order_by("username"), _("anybody")
        for name, field in self.fields.items():
            field.widget.attrs["autocomplete"] = "off"
            if name in ("since", "until"):
                field.widget.input_type = "date"
                field.widget.format = "%Y-%m-%d"

    def clean_person(self) -> Enrollment | None:
        said = self.cleaned_data["person"].strip()
        found = self.study.enrollments.filter(pseudonym=said).first() if said else None
        if said and found is None:
            raise forms.ValidationError(_("Nobody in this study has this pseudonym."))
        return found

    def clean(self) -> dict[str, Any]:
        """Require the two days to be in order."""
        said = self.cleaned_data
        if said.get("since") and said.get("until") and said["until"] < said["since"]:
            self.add_error("until", _("This day is before the first one."))
        return said

    @property
    def is_narrowed(self) -> bool:
        """True if the valid form asks for events of one kind, member or participant: all of them, then."""
        return any(self.cleaned_data[name] for name in ("kind", "who", "person"))

    def shows_decisions(self, *, usual: str) -> bool:
        """Return True if the valid form asks for decisions alone. ``usual``: what it shows unasked."""
        return not self.is_narrowed and (self.cleaned_data["show"] or usual) == DECIDED

    def chosen(self, *, closed: frozenset[str]) -> Q:
        """Return the condition of a valid form; its last day is included.

        ``closed``: texts that the reader answers blind. Failures of hidden checks with these are left out,
        since they reveal the accepted answers.
        """
        said = self.cleaned_data
        wanted = {
            "type": said["kind"],
            "actor": said["who"],
            "enrollment": said["person"],
            "at__gte": said["since"] and _begin(said["since"]),
            "at__lt": said["until"] and _begin(said["until"] + timedelta(days=1)),
        }
        chosen = Q(**{name: value for name, value in wanted.items() if value})
        hidden = ids_of_checks(self.study, closed)
        return chosen & ~Q(type=Event.Type.CHECK_FAILED, note__in=list(hidden)) if hidden else chosen


@read_page(Right.AUDIT)
def log(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a page of the log, the newest events first."""
    form = LogForm(study, request.GET)
    if not form.is_valid():
        return render(request, "dashboard/settings/log.html", {"form": form}, status=400)
    closed = closed_texts(signed_in(request))
    decisions = form.shows_decisions(usual=DECIDED)
    last = request.GET.get("before")  # the last event of the page before
    before = get_object_or_404(Event, study=study, pk=number_in(last)) if last else None
    found = newest(study, form.chosen(closed=closed), PAGE + 1, decisions=decisions, before=before)
    stories = stories_of(study, found[:PAGE])
    context = {
        "form": form,
        "rows": [
            {"event": event, "story_id": stories.get(event.pk), **row_of(event)} for event in found[:PAGE]
        ],
        "can_switch": not form.is_narrowed,
        "decisions": decisions,
        "leaves_out": bool(closed),
        "is_newest": "before" not in request.GET,
        "older": found[PAGE - 1].pk if len(found) > PAGE else None,
    }
    return render(request, "dashboard/settings/log.html", context)


@read_page(Right.AUDIT)
def log_file(request: HttpRequest, study: Study, kind: str) -> HttpResponseBase:
    """Stream all events that pass the filter, as CSV or JSON lines. Without a filter: the whole log."""
    form = LogForm(study, request.GET)
    if not form.is_valid():
        raise BadRequest("The filter of the log cannot be read.")
    chosen = form.chosen(closed=closed_texts(signed_in(request)))
    events = stream_of(study, chosen, decisions=form.shows_decisions(usual=ALL))
    rows = (row_of(event) for event in events)
    name = f"{study.slug}-log"
    if kind == "csv":
        return csv_stream(request, name, COLUMNS, rows)
    if kind == "jsonl":
        return json_stream(request, name, rows)
    raise Http404("The log is there as csv and as jsonl.")


def _begin(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
