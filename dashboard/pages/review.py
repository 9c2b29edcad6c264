"""The review queue: samples of people's answers, judged one at a time without seeing whose they are."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import Count, Exists, OuterRef, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_safe

from annotation import actions, rules
from annotation.actions.exclusions import LONGEST_REASON
from annotation.actions.reviewing import MOST_PEOPLE, MOST_PER_PERSON
from annotation.errors import AnnotationError
from annotation.models import ReviewItem, ReviewSample, SpotCheck, Study, Vote
from annotation.queries import choices_in_words
from annotation.rights import Right, rights_in, signed_in, study_page

SHOWN = 20
"""Samples on the page, the newest first."""
BUTTONS = (
    (SpotCheck.Decision.ACCEPT, "1", gettext_lazy("Accept")),
    (SpotCheck.Decision.UNCOUNTED, "2", gettext_lazy("Accept, but do not count")),
    (SpotCheck.Decision.REJECT, "3", gettext_lazy("Reject")),
)
"""Decision, key, and what its button says."""


class SampleForm(forms.Form):
    """How many answers of how many people to draw, and which."""

    kind = forms.ChoiceField(label=gettext_lazy("Which answers"), choices=ReviewSample.Kind)
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


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(post=Right.REVIEW)
def review(request: HttpRequest, study: Study) -> HttpResponse:
    """The samples that were drawn and how far each is judged; a POST draws another."""
    form = SampleForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            sample = actions.draw_sample(
                study=study, **form.cleaned_data, by=signed_in(request), now=timezone.now()
            )
            return redirect("dashboard:review_sample", slug=study.slug, number=sample.pk)
        except AnnotationError as error:
            messages.error(request, str(error))
            return redirect("dashboard:review", slug=study.slug)
    judged = Count("items", filter=Q(items__spot_checks__isnull=False), distinct=True)
    samples = ReviewSample.objects.filter(study=study).select_related("drawn_by")
    context = {
        "study": study,
        "form": form,
        "samples": samples.annotate(size=Count("items", distinct=True), judged=judged)[:SHOWN],
        "may_review": Right.REVIEW in rights_in(request.user, study),
    }
    return render(request, "dashboard/review.html", context, status=400 if form.errors else 200)


@require_safe
@study_page()
def sample(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """To the first answer of a sample that nobody has judged; at the end, what was decided."""
    drawn = get_object_or_404(ReviewSample.objects.select_related("drawn_by"), study=study, pk=number)
    waiting = drawn.items.filter(~Exists(SpotCheck.objects.filter(item=OuterRef("pk")))).first()
    if waiting and "list" not in request.GET:
        return redirect("dashboard:review_item", slug=study.slug, number=number, position=waiting.position)
    items = list(
        drawn.items.select_related("vote__assignment__story", "vote__assignment__enrollment")
        .prefetch_related("spot_checks__by")
        .order_by("position")
    )
    context = {"study": study, "sample": drawn, "rows": [_row(study, item) for item in items]}
    return render(request, "dashboard/review_sample.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(post=Right.REVIEW)
def item(request: HttpRequest, study: Study, number: int, position: int) -> HttpResponse:
    """One answer with its story: to be judged, or judged, and then also whose it is."""
    found = get_object_or_404(
        ReviewItem.objects.select_related(
            "sample", "vote__assignment__story", "vote__assignment__enrollment"
        ),
        sample__study=study,
        sample=number,
        position=position,
    )
    if request.method == "POST":
        return _judge(request, study, found)
    protocol, vote = study.protocol, found.vote
    decided = list(SpotCheck.objects.filter(vote__assignment=vote.assignment_id).select_related("by"))
    checks = [check for check in decided if check.item_id == found.pk]
    context = {
        "study": study,
        "item": found,
        "parts": protocol.parts(protocol.parse(vote.assignment.story.content)),
        "words": choices_in_words(protocol, vote),
        "checks": checks,
        "seen": decided[-1].pk if decided else 0,
        "of": found.sample.items.count(),
        "row": _row(study, found) if checks else None,
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


def _row(study: Study, item: ReviewItem) -> dict[str, Any]:
    """An answer as it is listed: whose it is only once it has been judged."""
    assignment = item.vote.assignment
    checks = list(item.spot_checks.all())
    if not checks:
        return {"item": item, "check": None}
    return {
        "item": item,
        "check": checks[-1],
        "story_id": assignment.story.story_id,
        "pseudonym": rules.pseudonym(study.pseudonym_key, assignment.enrollment.annotator_id),
        "state": assignment.get_state_display(),
    }
