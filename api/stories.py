"""Stories: list them, import a file, and follow the import."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.http import Http404
from django.urls import reverse
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.response import Response

from annotation import actions
from annotation.models import ImportProblem, Story, StoryImport
from api import requests, responses
from api.base import Scope, StudyView, absolute, accepted
from api.openapi import LOCATION, described
from dashboard.stories.queries import Search, story_page
from tomannot import clock

_PIECE = 1 << 20


DECISIONS = {"import": actions.import_checked, "cancel": actions.cancel_import}


class StoryFileParser(BaseParser):
    """Read a story file from the body of a request into a temporary file."""

    suffix: ClassVar[str]

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> TemporaryUploadedFile:
        """Return the file, rewound. Its suffix tells the format."""
        file = TemporaryUploadedFile(f"upload{self.suffix}", media_type or self.media_type, 0, None)
        while piece := stream.read(_PIECE):
            file.write(piece)
        file.size = file.tell()
        file.seek(0)
        return file


class JsonLines(StoryFileParser):
    """One story per line as JSON."""

    media_type, suffix = "application/jsonl", ".jsonl"


class NewlineJson(StoryFileParser):
    """JSON lines under their other media type."""

    media_type, suffix = "application/x-ndjson", ".jsonl"


class CommaSeparated(StoryFileParser):
    """CSV with commas and a header."""

    media_type, suffix = "text/csv", ".csv"


class StoriesView(StudyView):
    """``studies/<slug>/stories/``"""

    scopes: ClassVar[Any] = {"GET": Scope.STORIES_READ, "POST": Scope.STORIES_WRITE}
    parser_classes: ClassVar[Any] = [JsonLines, NewlineJson, CommaSeparated]
    largest = settings.IMPORT_MAX_MB * 1_000_000

    @described(
        {200: responses.StoriesOut},
        409,
        operation="listStories",
        says="The main stories of a study, with their verdicts so far",
        query=requests.StoryPage,
    )
    def get(self, request: Any, slug: str) -> Response:
        """Ordered by id, paginated."""
        asked = self.read(requests.StoryPage, query=True)
        size = asked.pop("limit")
        page = story_page(self.study, Search(**asked), size=size)
        rows = responses.StoryOut(page.rows, many=True).data
        return Response({"results": rows, "next": self.next_page(page.next or None)})

    @described(
        {202: responses.ImportOut},
        operation="importStories",
        says="Import a story file, or check it",
        takes={parser.media_type: bytes for parser in parser_classes},
        query=requests.Upload,
        headers=(LOCATION,),
    )
    def post(self, request: Any, slug: str) -> Response:
        """All or nothing. Stories that exist already are left unchanged, so a request can be repeated."""
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
        address = reverse("api:import", args=[slug, job.pk])
        return accepted(responses.ImportOut(job).data, absolute(request, address))


class ImportsView(StudyView):
    """``studies/<slug>/imports/``"""

    scopes: ClassVar[Any] = {"GET": Scope.STORIES_READ}

    @described(
        {200: responses.ImportsOut},
        operation="listImports",
        says="The imports and checks of files",
        query=requests.NumberPage,
    )
    def get(self, request: Any, slug: str) -> Response:
        """Newest first, paginated."""
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
    """``studies/<slug>/imports/<number>/``"""

    scopes: ClassVar[Any] = {"GET": Scope.STORIES_READ, "POST": Scope.STORIES_WRITE}

    @described({200: responses.ImportOut}, operation="getImport", says="What came of a file")
    def get(self, request: Any, slug: str, number: int) -> Response:
        """The import's state and its number of stories."""
        return Response(responses.ImportOut(self.job(number)).data)

    @described(
        {200: responses.ImportOut},
        409,
        operation="decideImport",
        says="Import a file that was checked, or drop it",
        takes=requests.Decision,
    )
    def post(self, request: Any, slug: str, number: int) -> Response:
        """Repeating a decision changes nothing."""
        job = self.job(number)
        decide = DECISIONS[self.read(requests.Decision)["decision"]]
        job = decide(story_import=job, by=self.user, now=clock.now())
        return Response(responses.ImportOut(job).data)


class ImportProblemsView(_ImportView):
    """``studies/<slug>/imports/<number>/problems/``"""

    scopes: ClassVar[Any] = {"GET": Scope.STORIES_READ}

    @described(
        {200: responses.ImportProblemsOut},
        operation="listImportProblems",
        says="What is wrong with a file, by line",
        query=requests.NumberPage,
    )
    def get(self, request: Any, slug: str, number: int) -> Response:
        """In the order of the file, paginated."""
        found = ImportProblem.objects.filter(story_import=self.job(number))
        return self.page(found, responses.ImportProblemOut, requests.NumberPage, by="pk")
