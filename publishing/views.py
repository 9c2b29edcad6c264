"""Public pages of releases: read-only, for anybody."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import condition, require_safe

from annotation.downloads import RELEASES, download
from annotation.models import Study
from publishing import pages
from publishing.access import download_prefix, published_file, published_files, published_release
from publishing.actions import COUNTS
from publishing.card.citing import CITATION_PATH
from publishing.card.contents import load_snippet
from publishing.files.directory import MANIFEST, FileFacts, file_facts
from publishing.files.rows import layout_for
from publishing.files.tar import tar_of
from publishing.files.zip import zip_of
from publishing.filters import get_filter
from publishing.models import Deposit, Release, ReleaseFile

ARCHIVES = {"tar": (tar_of, "application/x-tar"), "zip": (zip_of, "application/zip")}
CROISSANT_PATH = "croissant.json"
AT_ONCE = 1 << 20
"""Bytes; a smaller file is with the proxy, or in the network's buffers, at once."""


def release_list(study: Study | None = None) -> list[dict[str, Any]]:
    """The published releases (of one study, or of all) as pages show them, the newest first."""
    found = Release.objects.published().select_related("study", "withdrawal")
    found = found.order_by("-published_at", "-pk")
    return [_shown(release) for release in (found.filter(study=study) if study else found)]


@require_safe
def releases(request: HttpRequest) -> HttpResponse:
    """Every published release."""
    return render(request, "publishing/releases.html", {"releases": release_list()})


@require_safe
def release(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """One release: its card, how to get it, load it and cite it."""
    found = published_release(slug, number)
    files = _files(found)
    urls = {file["path"]: file["url"] for file in files}
    context = {
        "release": _shown(found),
        "files": files,
        "croissant_url": urls.get(CROISSANT_PATH),
        "citation_url": urls.get(CITATION_PATH),
        "manifest_sha256": found.manifest_sha256,
        "deposits": Deposit.objects.for_everybody().filter(release=found),
        "card": pages.card_of(found, urls),
        "citation": pages.citation_of(found),
        "unpacked": f"{slug}-{number}",
        "archive_name": f"{download_prefix(found)}.tar",
        "load_snippet": load_snippet(layout_for(found.study.protocol_name), directory=f"{slug}-{number}"),
        "newer": _standing(found, number__gt=number) if found.withdrawn else None,
        "older": _standing(found, number__lt=number) if found.withdrawn else None,
    }
    return render(request, "publishing/release.html", context)


def _etag(request: HttpRequest, slug: str, number: int, path: str) -> str:
    return f'"{published_file(slug, number, path).sha256}"'


@require_safe
@condition(etag_func=_etag)
def file(request: HttpRequest, slug: str, number: int, path: str) -> HttpResponseBase:
    """One file of a release, as it was published. Its ETag is its SHA-256."""
    found = published_file(slug, number, path)
    if not found.is_there:
        return _away(request, found.release)
    size = found.place.stat().st_size
    if size > AT_ONCE:
        response = download(
            request,
            _pieces(found.place),
            kind=RELEASES,
            name=found.download_name,
            media_type=found.content_type,
        )
        if response.status_code == 200:
            response["Content-Length"] = str(size)
        return response
    return FileResponse(
        open(found.place, "rb"),
        as_attachment=True,
        filename=found.download_name,
        content_type=found.content_type,
    )


def _pieces(place: Path) -> Iterator[bytes]:
    with open(place, "rb") as file:
        while piece := file.read(AT_ONCE):
            yield piece


@require_safe
def archive(request: HttpRequest, slug: str, number: int, kind: str) -> HttpResponseBase:
    """The whole release in one file, with the directory that MANIFEST and ``load_dataset`` expect."""
    found = published_release(slug, number)
    if kind not in ARCHIVES:
        raise Http404("There is no such archive.")
    files = published_files(found)
    if not all(file.is_there for file in files):
        return _away(request, found)
    name = f"{slug}-{number}"
    pieces, content_type = ARCHIVES[kind]
    paths = [file.path for file in files]
    archive_name = f"{download_prefix(found)}.{kind}"
    sent = pieces(found.directory, paths, name)
    return download(request, sent, kind=RELEASES, name=archive_name, media_type=content_type)


def _away(request: HttpRequest, release: Release) -> HttpResponse:
    """What whoever asks for files reads while they are not in their place."""
    context = {"release": _shown(release)}
    return render(request, "publishing/away.html", context, status=503)


def _shown(release: Release) -> dict[str, Any]:
    return {
        "title": release.title,
        "number": release.number,
        "url": reverse("publishing:release", args=[release.study.slug, release.number]),
        "published_at": release.published_at,
        "rehearsal": release.environment == "rehearsal",
        "withdrawn": release.withdrawn,
        "counts": {name: getattr(release, name) for name in COUNTS},
        "filter": release.filter_name,
        "validated": get_filter(release.filter_name).validates,
        "votes_per_story": release.votes_per_story,
        "archives": [
            (kind, reverse("publishing:archive", args=[release.study.slug, release.number, kind]))
            for kind in ARCHIVES
        ],
    }


def _standing(release: Release, **numbered: int) -> dict[str, Any] | None:
    """The newest release of the study that stands and is so numbered, as pages show it.

    Of the same filter: one that keeps stories by another rule is no substitute.
    """
    alike = Release.objects.standing().filter(study=release.study_id, filter_name=release.filter_name)
    found = alike.filter(**numbered)
    newest = found.select_related("study", "withdrawal").order_by("-number").first()
    return _shown(newest) if newest else None


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
