"""The review queue: samples of people's answers, judged one at a time without seeing whose they are."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Exists, OuterRef
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import actions, rules
from annotation.actions.exclusions import LONGEST_REASON
from annotation.actions.reviewing import MOST_PEOPLE, MOST_PER_PERSON
from annotation.errors import AnnotationError
from annotation.models import ReviewItem, ReviewSample, SpotCheck, Study, Vote
from annotation.queries import choices_in_words
from annotation.rights import Right, rights_in, signed_in, study_page
from dashboard.queries import enrollment_called
from dashboard.reviewed import by_person, flagged_people, standing_checks, tallies, tally
from dashboard.spreadsheets import csv_file

COLUMNS = ("position", "flag", "decision", "reason", "by", "at", "story_id", "annotator", "state")
SHOWN = 20
"""Samples on a page: those that wait for somebody first, then the newest."""
BUTTONS = (
    (SpotCheck.Decision.ACCEPT, "1", gettext_lazy("Accept")),
    (SpotCheck.Decision.UNCOUNTED, "2", gettext_lazy("Accept, but do not count")),
    (SpotCheck.Decision.REJECT, "3", gettext_lazy("Reject")),
)
"""Decision, key, and what its button says."""


OF_A_PERSON = 10
"""Answers that are drawn of one person at a time."""
Among = ReviewSample.Among


class SampleForm(forms.Form):
    """How many answers of how many people to draw, and which."""

    kind = forms.ChoiceField(label=gettext_lazy("Which answers"), choices=ReviewSample.Kind)
    among = forms.ChoiceField(
        label=gettext_lazy("Whose"),
        choices=[(one.value, one.label) for one in (Among.EVERYBODY, Among.FLAGGED)],
        required=False,
    )
    people = forms.IntegerField(
        label=gettext_lazy("Of how many people at most"), min_value=1, max_value=MOST_PEOPLE, initial=20
    )
    per_person = forms.IntegerField(
        label=gettext_lazy("Answers of each at most"), min_value=1, max_value=MOST_PER_PERSON, initial=5
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs["class"] = "text"

    def clean_among(self) -> ReviewSample.Among:
        """Everybody, unless said otherwise."""
        return Among(self.cleaned_data["among"] or Among.EVERYBODY)


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(post=Right.REVIEW)
def review(request: HttpRequest, study: Study) -> HttpResponse:
    """The samples that were drawn and how far each is judged; a POST draws another."""
    form = SampleForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            flagged = form.cleaned_data["among"] == Among.FLAGGED
            sample = actions.draw_sample(
                study=study,
                **form.cleaned_data,
                of=flagged_people(study) if flagged else None,
                by=signed_in(request),
                now=timezone.now(),
            )
            return redirect("dashboard:review_sample", slug=study.slug, number=sample.pk)
        except AnnotationError as error:
            messages.error(request, str(error))
            return redirect("dashboard:review", slug=study.slug)
    waiting = ReviewItem.objects.filter(sample=OuterRef("pk")).waiting()
    drawn = ReviewSample.objects.filter(study=study).select_related("drawn_by").annotate(size=Count("items"))
    page = Paginator(drawn.order_by(Exists(waiting).desc(), "-pk"), SHOWN).get_page(request.GET.get("page"))
    samples = list(page)
    found = tallies(samples)
    context = {
        "study": study,
        "form": form,
        "page": page,
        "samples": [(sample, found[sample.pk]) for sample in samples],
        "may_review": Right.REVIEW in rights_in(request.user, study),
    }
    return render(request, "dashboard/review.html", context, status=400 if form.errors else 200)


@require_POST
@study_page(Right.REVIEW)
def review_person(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponse:
    """Draw some answers of one person, at random, and lead to the first; or to those that wait already."""
    person = enrollment_called(study, pseudonym)
    if person is None:
        raise Http404("Nobody in this study has this pseudonym.")
    begun = ReviewItem.objects.filter(
        sample__among=Among.PERSON, vote__assignment__enrollment=person
    ).waiting()
    if waits := begun.order_by("pk").first():
        return redirect("dashboard:review_sample", slug=study.slug, number=waits.sample_id)
    try:
        sample = actions.draw_sample(
            study=study,
            kind=ReviewSample.Kind.RANDOM,
            among=Among.PERSON,
            of=[person.pk],
            people=1,
            per_person=OF_A_PERSON,
            by=signed_in(request),
            now=timezone.now(),
        )
        return redirect("dashboard:review_sample", slug=study.slug, number=sample.pk)
    except AnnotationError as error:
        messages.error(request, str(error))
        return redirect("dashboard:person", slug=study.slug, pseudonym=pseudonym)


@require_safe
@study_page()
def sample_file(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """A sample as CSV: each answer with the decision about it; whose it is once it is judged."""
    drawn = get_object_or_404(ReviewSample, study=study, pk=number)
    rows = [_line(row) for row in _rows(study, drawn)]
    return csv_file(f"{study.slug}-sample-{drawn.pk}", COLUMNS, rows)


@require_safe
@study_page()
def sample(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """To the first answer of a sample that nobody has judged; at the end, what was decided."""
    drawn = get_object_or_404(ReviewSample.objects.select_related("drawn_by"), study=study, pk=number)
    waiting = drawn.items.all().waiting().first()
    if waiting and "list" not in request.GET:
        return redirect("dashboard:review_item", slug=study.slug, number=number, position=waiting.position)
    rows = _rows(study, drawn)
    context = {
        "study": study,
        "sample": drawn,
        "rows": rows,
        "tally": tally(rows),
        "people": sorted(by_person(rows).items()),
    }
    return render(request, "dashboard/review_sample.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(post=Right.REVIEW)
def item(request: HttpRequest, study: Study, number: int, position: int) -> HttpResponse:
    """One answer with its story: to be judged, or judged, and then also whose it is."""
    items = ReviewItem.objects.select_related(
        "sample", "vote__assignment__story", "vote__assignment__enrollment"
    )
    found = get_object_or_404(items, sample__study=study, sample=number, position=position)
    if request.method == "POST":
        return _judge(request, study, found)
    protocol, vote = study.protocol, found.vote
    # Also what was decided in another sample: who decides anew must have it in front of them.
    checks = list(SpotCheck.objects.filter(vote__assignment=vote.assignment_id).select_related("by"))
    context = {
        "study": study,
        "item": found,
        "parts": protocol.parts(protocol.parse(vote.assignment.story.content)),
        "words": choices_in_words(protocol, vote),
        "checks": checks,
        "seen": checks[-1].pk if checks else 0,
        "of": found.sample.items.count(),
        "row": _row(study, found, checks[-1]) if checks else None,
        "whose": _pseudonym(study, found) if found.sample.among == Among.PERSON else "",
        "newer": Vote.objects.filter(assignment=vote.assignment_id, revision__gt=vote.revision).exists(),
        "buttons": BUTTONS,
        "longest": LONGEST_REASON,
        "may_review": Right.REVIEW in rights_in(request.user, study),
    }
    return render(request, "dashboard/review_item.html", context)


def _judge(request: HttpRequest, study: Study, found: ReviewItem) -> HttpResponse:
    try:
        actions.spot_check(
            vote=found.vote,
            item=found,
            decision=SpotCheck.Decision(request.POST.get("decision", "")),
            reason=request.POST.get("reason", ""),
            seen=int(request.POST.get("seen", "")),
            by=signed_in(request),
            now=timezone.now(),
        )
        return redirect("dashboard:review_sample", slug=study.slug, number=found.sample_id)
    except ValueError:
        messages.error(request, _("Nothing was saved: the form was not complete. Decide again."))
    except AnnotationError as error:
        messages.error(request, str(error))
    return redirect("dashboard:review_item", slug=study.slug, number=found.sample_id, position=found.position)


def _row(study: Study, item: ReviewItem, check: SpotCheck | None) -> dict[str, Any]:
    """An answer as it is listed, with what was decided last: whose it is only once it has been judged."""
    assignment = item.vote.assignment
    if check is None:
        return {"item": item, "check": None}
    return {
        "item": item,
        "check": check,
        "story_id": assignment.story.story_id,
        "pseudonym": _pseudonym(study, item),
        "state": assignment.get_state_display(),
        "assignment_state": assignment.state,
    }


def _pseudonym(study: Study, item: ReviewItem) -> str:
    return rules.pseudonym(study.pseudonym_key, item.vote.assignment.enrollment.annotator_id)


def _rows(study: Study, drawn: ReviewSample) -> list[dict[str, Any]]:
    """The answers of a sample in its order."""
    items = drawn.items.select_related("vote__assignment__story", "vote__assignment__enrollment")
    listed = list(items.order_by("position"))
    standing = standing_checks({item.vote.assignment_id for item in listed})
    return [_row(study, item, standing.get(item.vote.assignment_id)) for item in listed]


def _line(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the file; what is not judged yet has nothing but its place."""
    check = row["check"]
    if check is None:
        return dict.fromkeys(COLUMNS) | {"position": row["item"].position}
    return {
        "position": row["item"].position,
        "flag": row["item"].flag,
        "decision": check.decision,
        "reason": check.reason,
        "by": check.by.get_username() if check.by else "",
        "at": check.at.isoformat(),
        "story_id": row["story_id"],
        "annotator": row["pseudonym"],
        "state": row["assignment_state"],
    }
