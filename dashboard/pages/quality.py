"""How far people agree, what is kept of which stories, and the figures of each person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.models import User
from annotation.models import CheckResult, Study, Vote
from annotation.queries import RECENT, choices_in_words, recent_votes
from annotation.rights import Right, rights_in, signed_in, study_page
from dashboard.figures import kept, shown
from dashboard.queries import enrollment_called
from dashboard.recruiting.earned import earned_by
from dashboard.recruiting.groups import memberships_of
from dashboard.spreadsheets import csv_file
from qualification.experts import closed_texts

FIGURES = ("agreement", "retention", "people")


@require_safe
@study_page()
def quality(request: HttpRequest, study: Study) -> HttpResponse:
    """Agreement before the filter, retention, and everybody's figures with what is worth a look."""
    found, underway = kept.refreshed(study, now=timezone.now())
    context: dict[str, Any] = {"study": study, "figures": found, "underway": underway}
    if found and found.document:
        document = found.document
        median = document["everybody"]["median_seconds"]
        places = Paginator(range(kept.people_count(study)), kept.PEOPLE_AT_ONCE)
        page = places.get_page(request.GET.get("page"))
        context |= {
            "document": document,
            "agreement": shown.agreement_rows(study, document),
            "page": page,
            "people": [shown.person_row(study, median, row) for row in kept.people_on(study, page.number)],
            "questions": [str(question.title) for question in study.protocol.questions],
        }
    return render(request, "dashboard/quality.html", context)


@require_safe
@study_page()
def quality_file(request: HttpRequest, study: Study, table: str) -> HttpResponse:
    """One of the tables as CSV: ``agreement``, ``retention`` or ``people``.

    Before there are any figures it leads to the page, which waits for them.
    """
    if table not in FIGURES:
        raise Http404("There is no such table.")
    found = kept.latest(study)
    document = found.document if found else None
    if document is None:
        return redirect("dashboard:quality", slug=study.slug)
    if table == "people":
        columns, rows = _people_table(study, document)
    else:
        columns, rows = (_agreement_table if table == "agreement" else _retention_table)(study, document)
    return csv_file(f"{study.slug}-{table}", columns, rows)


@require_safe
@study_page()
def person(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponse:
    """One person's figures, the evidence of each flag, and their newest answers."""
    enrollment = enrollment_called(study, pseudonym)
    if enrollment is None:
        raise Http404("Nobody in this study has this pseudonym.")
    found, underway = kept.refreshed(study, now=timezone.now())
    document = found.document if found else None
    own = kept.person(study, pseudonym)
    page = _page_number(request)
    votes, more = recent_votes(enrollment, page=page)
    results = _results(votes, signed_in(request))
    context = {
        "study": study,
        "pseudonym": pseudonym,
        "enrollment": enrollment,
        "may_exclude": Right.CHANGE in rights_in(request.user, study),
        "memberships": memberships_of(enrollment),
        "earned": earned_by(enrollment),
        "figures": found,
        "underway": underway,
        "everybody": document["everybody"] if document else None,
        "person": _person(study, document, own) if document and own else None,
        "answers": [_answer(study, vote, results.get(vote.pk)) for vote in votes],
        "page": page,
        "more": more,
        "first": RECENT * (page - 1) + 1,
    }
    return render(request, "dashboard/person.html", context)


def _results(votes: Sequence[Vote], reader: User) -> dict[int, bool]:
    """Which of these votes answer a hidden check, and whether they passed; but for what is closed."""
    found = CheckResult.objects.filter(vote__in=votes).values_list("vote", "passed", "key__story__text_hash")
    closed = closed_texts(reader) if found else frozenset()
    return {vote: passed for vote, passed, text in found if text not in closed}


def story_address(study: Study, story_id: str) -> str:
    """The researchers' page about a story."""
    try:
        return reverse("dashboard:story", args=[study.slug, story_id])
    except NoReverseMatch:
        return ""


def _person(study: Study, document: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """The person's figures, with the stories that are evidence as (story id, address)."""
    row = shown.person_row(study, document["everybody"]["median_seconds"], own)
    for flag in row["flagged"]:
        flag["stories"] = [(story_id, story_address(study, story_id)) for story_id in flag["evidence"]]
    return row


def _page_number(request: HttpRequest) -> int:
    asked = request.GET.get("page", "")
    return max(1, int(asked)) if asked.isdecimal() and len(asked) < 7 else 1


def _answer(study: Study, vote: Vote, passed: bool | None) -> dict[str, Any]:
    """``passed``: the hidden check that the vote answers; None for any other story."""
    story_id = vote.assignment.story.story_id
    return {
        "vote": vote,
        "story_id": story_id,
        "address": story_address(study, story_id),
        "state": vote.assignment.get_state_display(),
        "words": choices_in_words(study.protocol, vote),
        "passed": passed,
    }


def _agreement_table(study: Study, document: dict[str, Any]) -> tuple[list[str], list[dict[str, Any]]]:
    bounds = [f"{name}_{end}" for name in shown.COEFFICIENTS for end in ("low", "high")]
    columns = ["question", "stories", "categories", *shown.COEFFICIENTS, *bounds, "undefined"]
    rows = []
    for row in shown.agreement_rows(study, document):
        line = {"question": row["key"], "stories": row["stories"], "categories": row["categories"]}
        for cell in row["cells"]:
            low, high = cell["interval"] or (None, None)
            name = cell["name"]
            line |= {name: cell["value"], f"{name}_low": low, f"{name}_high": high}
        said = dict.fromkeys(cell["undefined"] for cell in row["cells"] if cell["undefined"])
        rows.append({**line, "undefined": " ".join(said)})
    return columns, rows


def _retention_table(study: Study, document: dict[str, Any]) -> tuple[list[str], list[dict[str, Any]]]:
    statistics = document["statistics"]
    columns = ["by", "name", "generated", "complete", "kept", "dropped", "incomplete", "retention"]
    columns += ["unique_x", "unique_y", "unique_z"]
    found = {"scenario": statistics["by_scenario"], "generator_model": statistics["by_generator_model"]}
    return columns, [{"by": by, **row} for by, names in found.items() for row in shown.retention_rows(names)]


def _people_table(study: Study, document: dict[str, Any]) -> tuple[list[str], list[dict[str, Any]]]:
    people, median = kept.people(study), document["everybody"]["median_seconds"]
    shares = {
        f"{question.key}_{option}": (question.key, option)
        for question in study.protocol.questions
        for option in dict.fromkeys(
            [
                *(option.key for option in question.options),
                *sorted({option for row in people for option in row["options"].get(question.key, {})}),
            ]
        )
    }
    plain = ["pseudonym", "votes", "median_seconds", "agreement", "compared", "alone", "alone_share"]
    plain += ["same_share", "same_share_others"]
    rows = [
        {
            **{name: row[name] for name in plain},
            "pay": shown.hourly_pay(study.pay_rate, median, row["median_seconds"]),
            **{
                name: row["options"].get(question, {}).get(option, 0.0)
                for name, (question, option) in shares.items()
            },
            "checks_answered": row["checks"]["answered"],
            "checks_failed": row["checks"]["failed"],
            "flags": " ".join(row["flags"]),
        }
        for row in people
    ]
    return [*plain, "pay", *shares, "checks_answered", "checks_failed", "flags"], rows
