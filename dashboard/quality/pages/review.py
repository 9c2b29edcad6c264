"""Review: samples of answers, judged one at a time without seeing whose they are, and their results."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.paginator import Paginator
from django.db.models import Count, Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext_lazy

from annotation import actions
from annotation.actions.reviews import MOST_PEOPLE, MOST_PER_PERSON
from annotation.models import Enrollment, ReviewItem, ReviewSample, SpotCheck, Study, Vote
from annotation.queries import choices_in_words
from annotation.reasons import LONGEST_REASON
from annotation.rights import Right, by_and_now, form_page, read_page, write_page
from dashboard.figures import store
from dashboard.http import ErrorsAsMessages, csv_file, render_form
from dashboard.queries import get_enrollment
from dashboard.settings.forms import number
from publishing.statistics.intervals import wilson

Decision = SpotCheck.Decision


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of the decisions about a sample, or about one person in it."""

    accepted: int
    uncounted: int
    rejected: int

    @property
    def judged(self) -> int:
        return self.accepted + self.uncounted + self.rejected

    @property
    def rejected_share(self) -> float | None:
        """Return the share in 0..1, or None before anything is judged."""
        return self.rejected / self.judged if self.judged else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return Wilson's 95 % interval of the rejected share."""
        return wilson(self.rejected, self.judged)


def counted(decisions: Iterable[str]) -> Tally:
    found = list(decisions)
    return Tally(
        *(found.count(decision) for decision in (Decision.ACCEPT, Decision.UNCOUNTED, Decision.REJECT))
    )


def tallies(samples: Sequence[ReviewSample]) -> dict[int, Tally]:
    """Return, by sample, counts of the last decisions about its answers, from any sample. Two queries."""
    items = list(ReviewItem.objects.filter(sample__in=samples).values_list("sample", "vote__assignment"))
    standing = standing_checks({assignment for _, assignment in items})
    found: dict[int, list[str]] = {sample.pk: [] for sample in samples}
    for sample, assignment in items:
        if assignment in standing:
            found[sample].append(standing[assignment].decision)
    return {sample: counted(decisions) for sample, decisions in found.items()}


def standing_checks(assignments: Collection[int]) -> dict[int, SpotCheck]:
    """Return the last decision about each judged assignment. One query."""
    checks = SpotCheck.objects.filter(vote__assignment__in=assignments).order_by("pk")
    return {check.vote.assignment_id: check for check in checks.select_related("vote", "by")}


def by_person(judged: Iterable[tuple[ReviewItem, SpotCheck]]) -> dict[str, Tally]:
    """Count the decisions about judged answers by pseudonym."""
    decisions: dict[str, list[str]] = defaultdict(list)
    for item, check in judged:
        decisions[item.vote.assignment.enrollment.pseudonym].append(check.decision)
    return {pseudonym: counted(found) for pseudonym, found in decisions.items()}


COLUMNS = ("position", "flag", "decision", "reason", "by", "at", "story_id", "annotator", "state")
SHOWN = 20
"""Samples on a page, unfinished ones first, then the newest."""
OF_A_PERSON = 10
"""Answers drawn of one person at a time."""


@form_page(post=Right.REVIEW)
def review(request: HttpRequest, study: Study) -> HttpResponse:
    """List the samples and how far each is judged. A POST draws another."""
    form = SampleForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with ErrorsAsMessages(request):
            flagged = Enrollment.objects.filter(study=study, pseudonym__in=store.flagged(study))
            is_of_flagged = form.cleaned_data["among"] == Among.FLAGGED
            of = list(flagged.values_list("pk", flat=True)) if is_of_flagged else None
            sample = actions.draw_sample(study=study, **form.cleaned_data, of=of, **by_and_now(request))
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
    with ErrorsAsMessages(request):
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
    rows = [_line(item, check) for item, check in _rows(drawn)]
    return csv_file(f"{study.slug}-sample-{drawn.pk}", COLUMNS, rows)


@read_page()
def sample(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Redirect to the first unjudged answer of a sample; when all are judged, show the decisions."""
    drawn = get_object_or_404(ReviewSample.objects.select_related("drawn_by"), study=study, pk=number)
    waiting = drawn.items.all().waiting().first()
    if waiting and "list" not in request.GET:
        return redirect("dashboard:review_item", slug=study.slug, number=number, position=waiting.position)
    rows = _rows(drawn)
    judged = [(item, check) for item, check in rows if check]  # the others must not name the annotator
    tally, people = counted(check.decision for _item, check in judged), sorted(by_person(judged).items())
    context = {"sample": drawn, "rows": rows, "tally": tally, "people": people}
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
        "assignment": vote.assignment if checks else None,
        "whose": vote.assignment.enrollment.pseudonym if found.sample.among == Among.PERSON else "",
        "newer": Vote.objects.filter(assignment=vote.assignment_id, revision__gt=vote.revision).exists(),
        "longest": LONGEST_REASON,
    }
    return render(request, "dashboard/quality/review_item.html", context)


def _judge(request: HttpRequest, study: Study, found: ReviewItem) -> HttpResponse:
    with ErrorsAsMessages(request, ValueError):
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


def _rows(drawn: ReviewSample) -> list[tuple[ReviewItem, SpotCheck | None]]:
    """Return the answers of a sample, each with the last decision about it."""
    items = drawn.items.select_related("vote__assignment__story", "vote__assignment__enrollment")
    listed = list(items.order_by("position"))
    standing = standing_checks({item.vote.assignment_id for item in listed})
    return [(item, standing.get(item.vote.assignment_id)) for item in listed]


def _line(item: ReviewItem, check: SpotCheck | None) -> dict[str, Any]:
    """Return a row of the file; an unjudged answer has only its position."""
    if check is None:
        return dict.fromkeys(COLUMNS) | {"position": item.position}
    assignment = item.vote.assignment
    return {
        "position": item.position,
        "flag": item.flag,
        "decision": check.decision,
        "reason": check.reason,
        "by": check.by.get_username() if check.by else "",
        "at": check.at.isoformat(),
        "story_id": assignment.story.story_id,
        "annotator": assignment.enrollment.pseudonym,
        "state": assignment.state,
    }


Among = ReviewSample.Among


class SampleForm(forms.Form):
    """The answers to draw: which, of how many people, and how many of each."""

    kind = forms.ChoiceField(label=gettext_lazy("Which answers"), choices=ReviewSample.Kind)
    among = forms.ChoiceField(
        label=gettext_lazy("Whose"),
        choices=[(one.value, one.label) for one in (Among.EVERYBODY, Among.FLAGGED)],
        required=False,
    )
    people = number(gettext_lazy("Maximum number of participants drawn"), (1, MOST_PEOPLE), initial=20)
    per_person = number(gettext_lazy("Answers of each at most"), (1, MOST_PER_PERSON), initial=5)

    def clean_among(self) -> ReviewSample.Among:
        return Among(self.cleaned_data["among"] or Among.EVERYBODY)
