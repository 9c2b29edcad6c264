"""All votes of a study as a file, sent while it is being read."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, ClassVar

from django.http import StreamingHttpResponse
from rest_framework.response import Response

from dashboard.api import inputs
from dashboard.api.base import Scope, StudyView
from dashboard.api.described import described
from dashboard.spreadsheets import ROWS_AT_ONCE, csv_stream
from dashboard.votes import csv_columns, csv_rows, json_rows, votes_of
from publishing.files import jsonl


class JsonLinesView(StudyView):
    """``studies/<slug>/votes.jsonl``"""

    scopes: ClassVar[Any] = {"GET": Scope.VOTES_READ}

    @described(
        {(200, "application/jsonl"): str},
        403,
        404,
        409,
        422,
        operation="exportVotes",
        says="Every vote of a study as JSON lines; docs/api.md has the fields",
        query=inputs.VotesSince,
    )
    def get(self, request: Any, slug: str) -> StreamingHttpResponse | Response:
        """A stream. One that is cut off ends without its last chunk, which clients tell as an error."""
        since = self.read(inputs.VotesSince, query=True).get("since")
        rows = json_rows(votes_of(self.study, since=since), self.study.protocol.questions)
        response = StreamingHttpResponse(_lines(rows), content_type="application/jsonl; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="{slug}-votes.jsonl"'
        return response


class CsvView(StudyView):
    """``studies/<slug>/votes.csv``"""

    scopes: ClassVar[Any] = {"GET": Scope.VOTES_READ}

    @described(
        {(200, "text/csv"): str},
        403,
        404,
        409,
        422,
        operation="exportVotesAsCsv",
        says="The same as CSV, in which no text is a formula",
        query=inputs.VotesSince,
    )
    def get(self, request: Any, slug: str) -> StreamingHttpResponse | Response:
        """A stream, as that of JSON lines."""
        since = self.read(inputs.VotesSince, query=True).get("since")
        questions = self.study.protocol.questions
        rows = csv_rows(votes_of(self.study, since=since), questions)
        return csv_stream(f"{slug}-votes", csv_columns(questions), rows)


def _lines(rows: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """Some hundred lines at a time: a piece per line would be slow to send."""
    while piece := b"".join(jsonl.line(row) for row in islice(rows, ROWS_AT_ONCE)):
        yield piece
