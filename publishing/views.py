"""Public pages of releases: read-only, for anybody."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import condition, require_safe

from annotation.models import Study
from publishing import card
from publishing.access import published_file, published_release
from publishing.actions import COUNTS
from publishing.files.directory import MANIFEST, FileFacts, file_facts
from publishing.files.rows import layout_for
from publishing.files.tar import tar_of
from publishing.models import Release, ReleaseFile


def release_list(study: Study | None = None) -> list[dict[str, Any]]:
    """The published releases (of one study, or of all) as pages show them, the newest first."""
    found = Release.objects.published().select_related("study").order_by("-published_at", "-pk")
    return [_shown(release) for release in (found.filter(study=study) if study else found)]


@require_safe
def releases(request: HttpRequest) -> HttpResponse:
    """Every published release."""
    return render(request, "publishing/releases.html", {"releases": release_list()})


@require_safe
def release(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """One release: what is in it, how to get it, load it and cite it."""
    found = published_release(slug, number)
    context = {
        "release": _shown(found),
        "files": _files(found),
        "archive_url": reverse("publishing:archive", args=[slug, number]),
        "dropped_reasons": found.dropped_reasons.all(),
        "citation": card.citation(slug, found.study.title, number, found.requested_at.year),
        "load_snippet": card.load_snippet(layout_for(found.study.protocol_name)),
    }
    return render(request, "publishing/release.html", context)


def _etag(request: HttpRequest, slug: str, number: int, path: str) -> str:
    return f'"{published_file(slug, number, path).sha256}"'


@require_safe
@condition(etag_func=_etag)
def file(request: HttpRequest, slug: str, number: int, path: str) -> HttpResponseBase:
    """One file of a release, as it was published. Its ETag is its SHA-256."""
    found = published_file(slug, number, path)
    response = FileResponse(
        open(found.place, "rb"),  # noqa: SIM115 (the response closes it)
        as_attachment=True,
        filename=found.download_name,
        content_type=found.content_type,
    )
    response["X-Content-Type-Options"] = "nosniff"
    return response


@require_safe
def archive(request: HttpRequest, slug: str, number: int) -> HttpResponseBase:
    """The whole release as one tar file, with the directory that MANIFEST and ``load_dataset`` expect."""
    found = published_release(slug, number)
    name = f"{slug}-{number}"
    response = StreamingHttpResponse(tar_of(found.directory, name), content_type="application/x-tar")
    response["Content-Disposition"] = f'attachment; filename="{name}.tar"'
    response["X-Content-Type-Options"] = "nosniff"
    return response


def _shown(release: Release) -> dict[str, Any]:
    return {
        "study": release.study,
        "number": release.number,
        "url": reverse("publishing:release", args=[release.study.slug, release.number]),
        "published_at": release.published_at,
        "rehearsal": release.environment == "rehearsal",
        "counts": {name: getattr(release, name) for name in COUNTS},
        "filter": release.filter_name,
        "license": release.study.license,
    }


def _files(release: Release) -> list[dict[str, Any]]:
    files: list[ReleaseFile | FileFacts] = [*release.files.all()]
    with suppress(FileNotFoundError):  # the page stands even when the files are being restored
        files.append(file_facts(release.directory, MANIFEST))
    return [
        {
            "path": file.path,
            "size": file.size,
            "sha256": file.sha256,
            "url": reverse("publishing:file", args=[release.study.slug, release.number, file.path]),
        }
        for file in files
    ]
