"""Stories: list them, import a file, follow the import; and all votes of a study as a streamed file."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.http import Http404, StreamingHttpResponse
from rest_framework.exceptions import Throttled, ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.response import Response
from rest_framework.reverse import reverse

from accounts import download_slots
from annotation import actions
from annotation.downloads import EXPORTS
from annotation.models import ImportProblem, Story, StoryImport
from api import requests, responses
from api.base import Scope, StudyView
from api.openapi import LOCATION, operation
from dashboard.http import csv_pieces, json_pieces
from dashboard.stories.queries import Search, story_page
from dashboard.stories.votes_export import csv_columns, csv_rows, json_rows, questions_of, votes_of
from tomannot import clock

_PIECE = 1 << 20
SUFFIXES = {"application/jsonl": ".jsonl", "application/x-ndjson": ".jsonl", "text/csv": ".csv"}
"""File endings of story files by media type: one story per line as JSON, or CSV with commas and a header."""
DECISIONS = {"import": actions.import_checked, "cancel": actions.cancel_import}


class StoryFileParser(BaseParser):
    """Read a story file from the body of a request into a temporary file."""

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> TemporaryUploadedFile:
        """Return the file, rewound. Its suffix tells the format."""
        file = TemporaryUploadedFile(f"upload{SUFFIXES[self.media_type]}", media_type, 0, None)
        while piece := stream.read(_PIECE):
            file.write(piece)
        file.size = file.tell()
        file.seek(0)
        return file


class StoriesView(StudyView):
    parser_classes: ClassVar[Any] = [
        type("StoryFile", (StoryFileParser,), {"media_type": kind}) for kind in SUFFIXES
    ]
    largest = settings.IMPORT_MAX_MB * 1_000_000

    @operation("listStories", Scope.STORIES_READ, {200: responses.StoriesOut}, 409, query=requests.StoryPage)
    def get(self, request: Any, slug: str) -> Response:
        """The main stories of a study, with their verdicts so far. Ordered by id, paginated."""
        asked = self.read(requests.StoryPage, query=True)
        size = asked.pop("limit")
        page = story_page(self.study, Search(**asked), size=size)
        rows = responses.StoryOut(page.rows, many=True).data
        return Response({"results": rows, "next": self.next_page(page.next or None)})

    @operation(
        "importStories",
        Scope.STORIES_WRITE,
        {202: responses.ImportOut},
        takes=dict.fromkeys(SUFFIXES, bytes),
        query=requests.Upload,
        headers=(LOCATION,),
    )
    def post(self, request: Any, slug: str) -> Response:
        """Import a story file, or check it.

        All or nothing. Stories that exist already are left unchanged, so a request can be repeated.
        """
        asked = self.read(requests.Upload, query=True)
        file = request.data
        if not isinstance(file, TemporaryUploadedFile) or not file.size:
            raise ValidationError({"body": "Send a file with one story per line as the body."})
        file.name = asked.get("name") or file.name
        with file:
            job = actions.queue_import(
                study=self.study,
                file=file,
                role=Story.Role(asked["role"]),
                dry_run=asked["dry_run"],
                by=self.user,
                now=clock.now(),
            )
        address = reverse("api:import", args=[slug, job.pk], request=request)
        return Response(responses.ImportOut(job).data, status=202, headers={"Location": address})


class ImportsView(StudyView):
    @operation("listImports", Scope.STORIES_READ, {200: responses.ImportsOut}, query=requests.NumberPage)
    def get(self, request: Any, slug: str) -> Response:
        """The imports and checks of files. Newest first, paginated."""
        found = StoryImport.objects.filter(study=self.study)
        return self.page(found, responses.ImportOut, requests.NumberPage, by="-pk")


class _ImportView(StudyView):
    def job(self, number: int) -> StoryImport:
        """Return the study's import with this number. Raise ``Http404``."""
        found = StoryImport.objects.select_related("study").filter(study=self.study, pk=number).first()
        if found is None:
            raise Http404("The study has no such import.")
        return found


class ImportView(_ImportView):
    @operation("getImport", Scope.STORIES_READ, {200: responses.ImportOut})
    def get(self, request: Any, slug: str, number: int) -> Response:
        """The outcome of an import. Its state and its number of stories."""
        return Response(responses.ImportOut(self.job(number)).data)

    @operation("decideImport", Scope.STORIES_WRITE, {200: responses.ImportOut}, 409, takes=requests.Decision)
    def post(self, request: Any, slug: str, number: int) -> Response:
        """Import a file that was checked, or drop it. Repeating a decision changes nothing."""
        job = self.job(number)
        decide = DECISIONS[self.read(requests.Decision)["decision"]]
        job = decide(story_import=job, by=self.user, now=clock.now())
        return Response(responses.ImportOut(job).data)


class ImportProblemsView(_ImportView):
    @operation(
        "listImportProblems",
        Scope.STORIES_READ,
        {200: responses.ImportProblemsOut},
        query=requests.NumberPage,
    )
    def get(self, request: Any, slug: str, number: int) -> Response:
        """The problems of a file, by line. In the order of the file, paginated."""
        found = ImportProblem.objects.filter(story_import=self.job(number))
        return self.page(found, responses.ImportProblemOut, requests.NumberPage, by="pk")


class Export(StudyView):
    def answer(self, pieces: Iterator[bytes], suffix: str, media_type: str) -> StreamingHttpResponse:
        """Return the file; for HEAD only its headers. Raise ``Throttled``."""
        is_head, reader = self.request.method == "HEAD", f"token {self.token.pk}"
        sent = iter(()) if is_head else download_slots.limited(pieces, EXPORTS, reader)
        if sent is None:
            raise Throttled(
                download_slots.TRY_AGAIN_SECONDS,
                f"Too many exports at the same time: at most {download_slots.PER_READER} per token and "
                f"{download_slots.PER_INSTALLATION} in all. Finish one before you start the next.",
            )
        response = StreamingHttpResponse(sent, content_type=f"{media_type}; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="{self.study.slug}-votes.{suffix}"'
        return response


class JsonLinesView(Export):
    @operation(
        "exportVotes", Scope.VOTES_READ, {(200, "application/jsonl"): str}, 409, query=requests.VotesSince
    )
    def get(self, request: Any, slug: str) -> StreamingHttpResponse | Response:
        """All votes of a study as JSON lines; docs/api.md lists the fields.

        A stream. If it is cut off, its last chunk is missing, which clients report as an error.
        """
        since = self.read(requests.VotesSince, query=True).get("since")
        rows = json_rows(votes_of(self.study, since=since), self.study.protocol.questions)
        return self.answer(json_pieces(rows), "jsonl", "application/jsonl")


class CsvView(Export):
    @operation("exportVotesAsCsv", Scope.VOTES_READ, {(200, "text/csv"): str}, 409, query=requests.VotesSince)
    def get(self, request: Any, slug: str) -> StreamingHttpResponse | Response:
        """All votes of a study as CSV, safe from formula injection.

        A stream, like the export as JSON lines.
        """
        since = self.read(requests.VotesSince, query=True).get("since")
        # The questions are read before the first byte, so that a missing protocol is a refusal, not a cut.
        keys = questions_of(self.study)
        pieces = csv_pieces(csv_columns(keys), csv_rows(self.study, keys, since=since))
        return self.answer((piece.encode() for piece in pieces), "csv", "text/csv")
