"""Stories that participants could not judge, as a page and as CSV."""

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

from annotation.models import Skip, Story, Study
from annotation.rights import read_page
from annotation.rules import is_skipped_often
from dashboard.csv_files import csv_stream
from publishing.files.rows import SKIP_COLUMNS
from publishing.streaming import skip_rows

SHOWN = 200
"""Stories on the page, the most skipped first; the file has all skips."""


@read_page()
def skips(request: HttpRequest, study: Study) -> HttpResponse:
    """Count the skips of each story by reason, and of hidden checks together."""
    stories = Skip.objects.by_story(study)
    rows = [
        row
        | {
            "often": is_skipped_often(skips=row["skips"], votes_per_story=study.votes_per_story),
            "by_reason": [(reason.label, row[reason]) for reason in Skip.Reason],
        }
        for row in stories[:SHOWN]
    ]
    in_force = Skip.objects.in_force().filter(assignment__story__study=study)
    context = {
        "rows": rows,
        "reasons": Skip.Reason.labels,
        "more": max(0, stories.count() - SHOWN),
        "total": Skip.objects.reported(study).count(),
        "checks": in_force.filter(assignment__story__role=Story.Role.CHECK).count(),
    }
    return render(request, "dashboard/quality/skips.html", context)


@read_page()
def skips_file(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Stream every skip of a main story as CSV, as in a release."""
    return csv_stream(request, f"{study.slug}-skips", list(SKIP_COLUMNS), skip_rows(study))
