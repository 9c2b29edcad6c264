"""All votes of a study as a file, for who has no API token."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponseBase
from django.views.decorators.http import require_safe

from annotation.downloads import EXPORTS, download
from annotation.models import Study
from annotation.rights import study_page
from dashboard.spreadsheets import csv_stream
from dashboard.votes import csv_columns, csv_rows, json_pieces, json_rows, questions_of, votes_of


@require_safe
@study_page()
def votes_file(request: HttpRequest, study: Study, kind: str) -> HttpResponseBase:
    """Every revision of every vote on main stories, as ``csv`` or ``jsonl``: the same file as the API's."""
    name = f"{study.slug}-votes"
    if kind == "csv":
        keys = questions_of(study)
        return csv_stream(request, name, csv_columns(keys), csv_rows(votes_of(study), keys))
    if kind == "jsonl":
        pieces = json_pieces(json_rows(votes_of(study), study.protocol.questions))
        return download(
            request,
            pieces,
            kind=EXPORTS,
            name=f"{name}.jsonl",
            media_type="application/jsonl; charset=utf-8",
        )
    raise Http404("Votes are there as csv and as jsonl.")
