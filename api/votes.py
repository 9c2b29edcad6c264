"""Export all votes of a study as a streamed file."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar

from django.http import StreamingHttpResponse
from rest_framework.exceptions import Throttled
from rest_framework.response import Response

from accounts import streaming
from annotation.downloads import EXPORTS
from api import requests
from api.base import Scope, StudyView
from api.openapi import described
from dashboard.csv_files import csv_pieces, json_pieces
from dashboard.stories.votes_export import csv_columns, csv_rows, json_rows, questions_of, votes_of


class Export(StudyView):
    """Base of the two formats."""

    scopes: ClassVar[Any] = {"GET": Scope.VOTES_READ}

    def answer(self, pieces: Iterator[bytes], suffix: str, media_type: str) -> StreamingHttpResponse:
        """Return the file; for HEAD only its headers. Raise ``Throttled``."""
        sent = iter(()) if self.request.method == "HEAD" else self._limited(pieces)
        response = StreamingHttpResponse(sent, content_type=f"{media_type}; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="{self.study.slug}-votes.{suffix}"'
        return response

    def _limited(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        sent = streaming.limited(pieces, EXPORTS, f"token {self.token.pk}")
        if sent is None:
            raise Throttled(
                streaming.TRY_AGAIN_SECONDS,
                f"Too many exports at the same time: at most {streaming.PER_READER} per token and "
                f"{streaming.PER_INSTALLATION} in all. Finish one before you start the next.",
            )
        return sent


class JsonLinesView(Export):
    """``studies/<slug>/votes.jsonl``"""

    @described(
        {(200, "application/jsonl"): str},
        409,
        operation="exportVotes",
        says="All votes of a study as JSON lines; docs/api.md lists the fields",
        query=requests.VotesSince,
    )
    def get(self, request: Any, slug: str) -> StreamingHttpResponse | Response:
        """A stream. If it is cut off, its last chunk is missing, which clients report as an error."""
        since = self.read(requests.VotesSince, query=True).get("since")
        rows = json_rows(votes_of(self.study, since=since), self.study.protocol.questions)
        return self.answer(json_pieces(rows), "jsonl", "application/jsonl")


class CsvView(Export):
    """``studies/<slug>/votes.csv``"""

    @described(
        {(200, "text/csv"): str},
        409,
        operation="exportVotesAsCsv",
        says="All votes of a study as CSV, safe from formula injection",
        query=requests.VotesSince,
    )
    def get(self, request: Any, slug: str) -> StreamingHttpResponse | Response:
        """A stream, like the export as JSON lines."""
        since = self.read(requests.VotesSince, query=True).get("since")
        # The questions are read before the first byte, so that a missing protocol is a refusal, not a cut.
        return self.answer(self._pieces(questions_of(self.study), since), "csv", "text/csv")

    def _pieces(self, keys: list[str], since: datetime | None) -> Iterator[bytes]:
        rows = csv_rows(votes_of(self.study, since=since), keys)
        yield from (piece.encode() for piece in csv_pieces(csv_columns(keys), rows))
