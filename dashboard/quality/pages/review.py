"""Review: samples of answers, judged one at a time without seeing whose they are."""

from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext_lazy

from annotation import actions
from annotation.actions.enrollments import LONGEST_REASON
from annotation.errors import AnnotationError
from annotation.models import ReviewItem, ReviewSample, SpotCheck, Study, Vote
from annotation.queries import choices_in_words
from annotation.rights import Right, by_and_now, form_page, read_page, write_page
from dashboard.csv_files import csv_file
from dashboard.quality.forms import Among, SampleForm
from dashboard.quality.review import by_person, flagged_people, standing_checks, tallies, tally
from dashboard.queries import get_enrollment
from dashboard.responses import ErrorsAsMessages, render_form

COLUMNS = ("position", "flag", "decision", "reason", "by", "at", "story_id", "annotator", "state")
SHOWN = 20
"""Samples on a page, unfinished ones first, then the newest."""
BUTTONS = (
    (SpotCheck.Decision.ACCEPT, "1", gettext_lazy("Accept")),
    (SpotCheck.Decision.UNCOUNTED, "2", gettext_lazy("Accept, but do not count")),
    (SpotCheck.Decision.REJECT, "3", gettext_lazy("Reject")),
)
"""Decision, keyboard key, button label."""
OF_A_PERSON = 10
"""Answers drawn of one person at a time."""


@form_page(post=Right.REVIEW)
def review(request: HttpRequest, study: Study) -> HttpResponse:
    """List the samples and how far each is judged. A POST draws another."""
    form = SampleForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with ErrorsAsMessages(request, AnnotationError):
            flagged = form.cleaned_data["among"] == Among.FLAGGED
            sample = actions.draw_sample(
                study=study,
                **form.cleaned_data,
                of=flagged_people(study) if flagged else None,
                **by_and_now(request),
            )
            return redirect("dashboard:review_sample", slug=study.slug, number=sample.pk)
        return redirect("dashboard:review", slug=study.slug)
    waiting = ReviewItem.objects.filter(sample=OuterRef("pk")).waiting()
    drawn = ReviewSample.objects.filter(study=study).select_related("drawn_by").annotate(size=Count("items"))
    page = Paginator(drawn.order_by(Exists(waiting).desc(), "-pk"), SHOWN).get_page(request.GET.get("page"))
    samples = list(page)
    found = tallies(samples)
    context = {"form": form, "page": page, "samples": [(sample, found[sample.pk]) for sample in samples]}
    return render_form(request, "dashboard/quality/review.html", context)


@write_page(Right.REVIEW)
def review_person(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponse:
    """Draw random answers of one person, unless some are still unjudged, and show the first."""
    person = get_enrollment(study, pseudonym)
    begun = ReviewItem.objects.filter(
        sample__among=Among.PERSON, vote__assignment__enrollment=person
    ).waiting()
    if waits := begun.order_by("pk").first():
        return redirect("dashboard:review_sample", slug=study.slug, number=waits.sample_id)
    with ErrorsAsMessages(request, AnnotationError):
        sample = actions.draw_sample(
            study=study,
            kind=ReviewSample.Kind.RANDOM,
            among=Among.PERSON,
            of=[person.pk],
            people=1,
            per_person=OF_A_PERSON,
            **by_and_now(request),
        )
        return redirect("dashboard:review_sample", slug=study.slug, number=sample.pk)
    return redirect("dashboard:person", slug=study.slug, pseudonym=pseudonym)


@read_page()
def sample_file(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Return a sample as CSV: each answer and its decision; the annotator only once it is judged."""
    drawn = get_object_or_404(ReviewSample, study=study, pk=number)
    rows = [_line(row) for row in _rows(study, drawn)]
    return csv_file(f"{study.slug}-sample-{drawn.pk}", COLUMNS, rows)


@read_page()
def sample(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Redirect to the first unjudged answer of a sample; when all are judged, show the decisions."""
    drawn = get_object_or_404(ReviewSample.objects.select_related("drawn_by"), study=study, pk=number)
    waiting = drawn.items.all().waiting().first()
    if waiting and "list" not in request.GET:
        return redirect("dashboard:review_item", slug=study.slug, number=number, position=waiting.position)
    rows = _rows(study, drawn)
    context = {"sample": drawn, "rows": rows, "tally": tally(rows), "people": sorted(by_person(rows).items())}
    return render(request, "dashboard/quality/review_sample.html", context)


@form_page(post=Right.REVIEW)
def item(request: HttpRequest, study: Study, number: int, position: int) -> HttpResponse:
    """Show one answer with its story, and the annotator only once it is judged."""
    items = ReviewItem.objects.select_related(
        "sample", "vote__assignment__story", "vote__assignment__enrollment"
    )
    found = get_object_or_404(items, sample__study=study, sample=number, position=position)
    if request.method == "POST":
        return _judge(request, study, found)
    protocol, vote = study.protocol, found.vote
    # Include decisions from other samples: a new decision must take them into account.
    checks = list(SpotCheck.objects.filter(vote__assignment=vote.assignment_id).select_related("by"))
    context = {
        "item": found,
        "parts": protocol.parts(protocol.parse(vote.assignment.story.content)),
        "words": choices_in_words(protocol, vote),
        "checks": checks,
        "seen": checks[-1].pk if checks else 0,
        "of": found.sample.items.count(),
        "row": _row(study, found, checks[-1]) if checks else None,
        "whose": found.vote.assignment.enrollment.pseudonym if found.sample.among == Among.PERSON else "",
        "newer": Vote.objects.filter(assignment=vote.assignment_id, revision__gt=vote.revision).exists(),
        "buttons": BUTTONS,
        "longest": LONGEST_REASON,
    }
    return render(request, "dashboard/quality/review_item.html", context)


def _judge(request: HttpRequest, study: Study, found: ReviewItem) -> HttpResponse:
    with ErrorsAsMessages(request, AnnotationError, ValueError):
        actions.spot_check(
            vote=found.vote,
            item=found,
            decision=SpotCheck.Decision(request.POST.get("decision", "")),
            reason=request.POST.get("reason", ""),
            seen=int(request.POST.get("seen", "")),
            **by_and_now(request),
        )
        return redirect("dashboard:review_sample", slug=study.slug, number=found.sample_id)
    return redirect("dashboard:review_item", slug=study.slug, number=found.sample_id, position=found.position)


def _row(study: Study, item: ReviewItem, check: SpotCheck | None) -> dict[str, Any]:
    """Return a row with the last decision; the annotator is named only once it is judged."""
    assignment = item.vote.assignment
    if check is None:
        return {"item": item, "check": None}
    return {
        "item": item,
        "check": check,
        "story_id": assignment.story.story_id,
        "pseudonym": assignment.enrollment.pseudonym,
        "state": assignment.get_state_display(),
        "assignment_state": assignment.state,
    }


def _rows(study: Study, drawn: ReviewSample) -> list[dict[str, Any]]:
    items = drawn.items.select_related("vote__assignment__story", "vote__assignment__enrollment")
    listed = list(items.order_by("position"))
    standing = standing_checks({item.vote.assignment_id for item in listed})
    return [_row(study, item, standing.get(item.vote.assignment_id)) for item in listed]


def _line(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the file; an unjudged answer has only its position."""
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
