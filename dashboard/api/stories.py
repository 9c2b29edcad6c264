"""Stories: the list, bringing a file in, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.conf import settings
from django.core.files.uploadedfile import TemporaryUploadedFile
from django.http import Http404
from django.urls import reverse
from django.utils import timezone
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import BaseParser
from rest_framework.response import Response

from annotation import actions
from annotation.models import ImportProblem, Story, StoryImport
from dashboard.api import inputs, outputs
from dashboard.api.base import Scope, StudyView, absolute, accepted
from dashboard.api.described import BODY, LOCATION, described
from dashboard.pages.importing import DECISIONS
from dashboard.stories import ListedStory, Search, story_page

_PIECE = 1 << 20


class StoryFileParser(BaseParser):
    """A story file as the body of a request, kept on disk while it comes in."""

    suffix: ClassVar[str]

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> TemporaryUploadedFile:
        """The file, at its beginning; its name says of which kind it is."""
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
    """The same under its other name."""

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
        {200: outputs.StoriesOut},
        403,
        404,
        409,
        422,
        operation="listStories",
        says="The main stories of a study, with their verdicts so far",
        query=inputs.StoryPage,
    )
    def get(self, request: Any, slug: str) -> Response:
        """By their ids, a page at a time."""
        asked = self.read(inputs.StoryPage, query=True)
        size = asked.pop("limit")
        page = story_page(self.study, Search(**asked), size=size)
        rows = [outputs.StoryOut(_shown(row)).data for row in page.rows]
        return Response({"results": rows, "next": self.next_page(page.next or None)})

    @described(
        {202: outputs.ImportOut},
        403,
        404,
        *BODY,
        operation="importStories",
        says="Import a story file, or have it checked",
        takes={parser.media_type: bytes for parser in parser_classes},
        query=inputs.Upload,
        headers=(LOCATION,),
    )
    def post(self, request: Any, slug: str) -> Response:
        """A whole file or nothing of it, and the same stories twice are once: it can be sent again."""
        asked = self.read(inputs.Upload, query=True)
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
                now=timezone.now(),
            )
        address = reverse("api:import", args=[slug, job.pk])
        return accepted(outputs.ImportOut(job).data, absolute(request, address))


class ImportsView(StudyView):
    """``studies/<slug>/imports/``"""

    scopes: ClassVar[Any] = {"GET": Scope.STORIES_READ}

    @described(
        {200: outputs.ImportsOut},
        403,
        404,
        422,
        operation="listImports",
        says="What was brought in, or tried",
        query=inputs.NumberPage,
    )
    def get(self, request: Any, slug: str) -> Response:
        """The newest first, a page at a time."""
        asked = self.read(inputs.NumberPage, query=True)
        found = StoryImport.objects.filter(study=self.study).order_by("-pk")
        found = found.filter(pk__lt=asked["after"]) if "after" in asked else found
        rows = list(found[: asked["limit"] + 1])
        make = lambda job: outputs.ImportOut(job).data  # noqa: E731
        return Response(self.page(rows, make, size=asked["limit"], last=lambda job: job.pk))


class _ImportView(StudyView):
    def job(self, number: int) -> StoryImport:
        """The import of this study. Raises ``Http404``."""
        found = StoryImport.objects.select_related("study").filter(study=self.study, pk=number).first()
        if found is None:
            raise Http404("The study has no such import.")
        return found


class ImportView(_ImportView):
    """``studies/<slug>/imports/<number>/``"""

    scopes: ClassVar[Any] = {"GET": Scope.STORIES_READ, "POST": Scope.STORIES_WRITE}

    @described({200: outputs.ImportOut}, 403, 404, operation="getImport", says="What came of a file")
    def get(self, request: Any, slug: str, number: int) -> Response:
        """Its state, and how many stories it had."""
        return Response(outputs.ImportOut(self.job(number)).data)

    @described(
        {200: outputs.ImportOut},
        403,
        404,
        409,
        *BODY,
        operation="decideImport",
        says="Import a file that was checked, or drop it",
        takes=inputs.Decision,
    )
    def post(self, request: Any, slug: str, number: int) -> Response:
        """Deciding the same twice is once."""
        job = self.job(number)
        decide = DECISIONS[self.read(inputs.Decision)["decision"]]
        job = decide(story_import=job, by=self.user, now=timezone.now())
        return Response(outputs.ImportOut(job).data)


class ImportProblemsView(_ImportView):
    """``studies/<slug>/imports/<number>/problems/``"""

    scopes: ClassVar[Any] = {"GET": Scope.STORIES_READ}

    @described(
        {200: outputs.ImportProblemsOut},
        403,
        404,
        422,
        operation="listImportProblems",
        says="What is wrong with a file, by line",
        query=inputs.NumberPage,
    )
    def get(self, request: Any, slug: str, number: int) -> Response:
        """In the order in which they were found, which is that of the file; a page at a time."""
        asked = self.read(inputs.NumberPage, query=True)
        found = ImportProblem.objects.filter(story_import=self.job(number)).order_by("pk")
        rows = list(found.filter(pk__gt=asked.get("after", 0))[: asked["limit"] + 1])
        make = lambda problem: outputs.ImportProblemOut(problem).data  # noqa: E731
        return Response(self.page(rows, make, size=asked["limit"], last=lambda problem: problem.pk))


def _shown(row: ListedStory) -> dict[str, Any]:
    names = outputs.StoryOut.Meta.fields
    story = {name: getattr(row.story, name) for name in names if hasattr(row.story, name)}
    verdict = {"verdict": row.verdict.outcome, "reason": row.verdict.reason}
    return story | verdict | {"votes": row.votes, "findings": row.findings}
