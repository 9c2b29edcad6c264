"""All votes of a study as a file, sent while it is being read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar

from django.http import StreamingHttpResponse
from rest_framework.exceptions import Throttled
from rest_framework.response import Response

from accounts import streams
from annotation.downloads import EXPORTS
from dashboard.api import inputs
from dashboard.api.base import Scope, StudyView
from dashboard.api.described import described
from dashboard.spreadsheets import csv_pieces
from dashboard.votes import csv_columns, csv_rows, json_pieces, json_rows, questions_of, votes_of


class Export(StudyView):
    """All votes of a study as one file."""

    scopes: ClassVar[Any] = {"GET": Scope.VOTES_READ}

    def answer(self, pieces: Iterator[bytes], suffix: str, media_type: str) -> StreamingHttpResponse:
        """The file; for HEAD only what is said about it. Raises ``Throttled``."""
        sent = iter(()) if self.request.method == "HEAD" else self._limited(pieces)
        response = StreamingHttpResponse(sent, content_type=f"{media_type}; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="{self.study.slug}-votes.{suffix}"'
        return response

    def _limited(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        sent = streams.limited(pieces, EXPORTS, f"token {self.token.pk}")
        if sent is None:
            raise Throttled(
                streams.TRY_AGAIN_SECONDS,
                f"Too many exports are being read: {streams.PER_READER} at a time with one token, and "
                f"{streams.PER_INSTALLATION} of all. Read one to its end, then ask for the next.",
            )
        return sent


class JsonLinesView(Export):
    """``studies/<slug>/votes.jsonl``"""

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
        return self.answer(json_pieces(rows), "jsonl", "application/jsonl")


class CsvView(Export):
    """``studies/<slug>/votes.csv``"""

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
        # Asked for before the first byte: a study whose form is not installed is refused, not cut off.
        return self.answer(self._pieces(questions_of(self.study), since), "csv", "text/csv")

    def _pieces(self, keys: list[str], since: datetime | None) -> Iterator[bytes]:
        rows = csv_rows(votes_of(self.study, since=since), keys)
        yield from (piece.encode() for piece in csv_pieces(csv_columns(keys), rows))
