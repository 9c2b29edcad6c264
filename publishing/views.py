"""Public, read-only pages of releases. Card and citation are read from their files, which never change."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from django.contrib.syndication.views import Feed
from django.db.models import QuerySet
from django.db.models.functions import Coalesce
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import reverse_lazy
from django.utils.feedgenerator import Atom1Feed
from django.utils.translation import gettext, gettext_lazy, ngettext
from django.views.decorators.http import condition, require_safe

from annotation.downloads import RELEASES, download
from annotation.models import Study
from publishing.card import CARD_PATH
from publishing.card.citation import CITATION_PATH, Citation, marked, read_citation
from publishing.card.contents import configs, load_snippet
from publishing.card.croissant import CROISSANT_PATH
from publishing.card.html import RenderedCard, rendered
from publishing.files.archives import tar_of, zip_of
from publishing.files.directory import MANIFEST, content_type, pieces
from publishing.files.rows import layout_for
from publishing.models import Deposit, Release, ReleaseFile
from publishing.queries import asked_questions
from publishing.results import per_item
from tomannot.cache import local as cache

ARCHIVES = {"tar": (tar_of, "application/x-tar"), "zip": (zip_of, "application/zip")}
AT_ONCE = 1 << 20
"""In bytes; smaller files fit into the buffers of proxy and network."""


def release_list(study: Study | None = None) -> QuerySet[Release]:
    """Return the published releases of one study, or of all studies but test runs, newest first."""
    found = Release.objects.published().select_related("study", "withdrawal")
    found = found.order_by("-published_at", "-pk")
    return found.filter(study=study) if study else found.of_people()


@require_safe
def releases(request: HttpRequest) -> HttpResponse:
    return render(request, "publishing/releases.html", {"releases": release_list()})


@require_safe
def release(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Show one release: its card, downloads, code to load it, and citation."""
    found = published_release(slug, number)
    files = published_files(found)
    with suppress(OSError):  # the page works even while files are being restored
        files[-1].size = files[-1].place.stat().st_size
    urls = {file.path: file.url for file in files}
    layout = layout_for(found.study.protocol_name)
    results = per_item(found.study.protocol_name, asked_questions(found.study))
    context = {
        "release": found,
        "archives": ARCHIVES,
        "files": files,
        "croissant_url": urls.get(CROISSANT_PATH),
        "citation_url": urls.get(CITATION_PATH),
        "deposits": Deposit.objects.public().filter(release=found),
        "card": card_of(found, urls),
        "citation": citation_of(found),
        "unpacked": f"{slug}-{number}",
        "archive_name": f"{found.download_prefix}.tar",
        "load_snippet": load_snippet(configs(layout, results, also=urls), directory=f"{slug}-{number}"),
        "newer": _substitute(found, number__gt=number, filter_name=found.filter_name),
        "older": _substitute(found, number__lt=number, filter_name=found.filter_name),
        "otherwise": _substitute(found, number__gt=number),
    }
    return render(request, "publishing/release.html", context)


@require_safe
@condition(etag_func=lambda _request, slug, number, path: f'"{published_file(slug, number, path).sha256}"')
def file(request: HttpRequest, slug: str, number: int, path: str) -> HttpResponseBase:
    """Send one file of a release. Its ETag is its SHA-256."""
    found = published_file(slug, number, path)
    if not found.is_there:
        return _away(request, found.release)
    # The name of the download: pilot-1-story-data-test.jsonl.
    name = f"{found.release.download_prefix}-{path.replace('/', '-')}"
    size, media_type = found.place.stat().st_size, content_type(path)
    if size > AT_ONCE:
        response = download(request, pieces(found.place), kind=RELEASES, name=name, media_type=media_type)
        if response.status_code == 200:
            response["Content-Length"] = str(size)
        return response
    return FileResponse(open(found.place, "rb"), as_attachment=True, filename=name, content_type=media_type)


@require_safe
def archive(request: HttpRequest, slug: str, number: int, kind: str) -> HttpResponseBase:
    """Send the whole release as one file, in the directory that MANIFEST and ``load_dataset`` expect."""
    found = published_release(slug, number)
    if kind not in ARCHIVES:
        raise Http404("There is no such archive.")
    files = published_files(found)
    if not all(file.is_there for file in files):
        return _away(request, found)
    name = f"{slug}-{number}"
    archived, media_type = ARCHIVES[kind]
    paths = [file.path for file in files]
    archive_name = f"{found.download_prefix}.{kind}"
    sent = archived(found.directory, paths, name)
    return download(request, sent, kind=RELEASES, name=archive_name, media_type=media_type)


def _away(request: HttpRequest, release: Release) -> HttpResponse:
    return render(request, "publishing/away.html", {"release": release}, status=503)


def _substitute(release: Release, **wanted: Any) -> Release | None:
    """Return, for a withdrawn release, the study's newest such release that is not withdrawn."""
    found = Release.objects.not_withdrawn().filter(study=release.study_id, **wanted).select_related("study")
    return found.order_by("-number").first() if release.withdrawn else None


def published_release(slug: str, number: int) -> Release:
    """Return the published release of this study and number. Raise ``Http404`` if there is none."""
    found = Release.objects.published().select_related("study", "withdrawal")
    return get_object_or_404(found, study__slug=slug, number=number)


def published_file(slug: str, number: int, path: str) -> ReleaseFile:
    """Return a listed file of the release or its MANIFEST; raise ``Http404`` for anything else.

    The path is compared with the list, never resolved, so no path can leave the release.
    """
    files = published_files(published_release(slug, number))
    found = next((file for file in files if file.path == path), None)
    if found is None:
        raise Http404("The release has no such file.")
    return found


def published_files(release: Release) -> list[ReleaseFile]:
    """Return every listed file, and MANIFEST last."""
    manifest = ReleaseFile(release=release, path=MANIFEST, sha256=release.manifest_sha256)
    return [*release.files.all(), manifest]


T = TypeVar("T")


def card_of(release: Release, urls: Mapping[str, str]) -> RenderedCard | None:
    """Return the card as HTML, or None if its file is missing. ``urls`` maps paths to addresses."""
    return _cached(
        f"card:{release.manifest_sha256}:{urls.get(CARD_PATH, '')}",
        lambda: release.directory / CARD_PATH,
        lambda written: rendered(written.decode(), urls.get),
    )


def citation_of(release: Release) -> Citation:
    """Return the citation of a release, as published.

    A release without a readable citation file is cited by its title.
    """
    slug = release.study.slug
    found = _cached(
        f"citation:{release.manifest_sha256}",
        lambda: release.directory / CITATION_PATH,
        lambda written: read_citation(written, slug=slug),
    )
    cited = found or Citation(
        slug=slug,
        number=release.number,
        title=release.title,
        released=release.requested_at.date(),
        creators=((f"The study {slug}", ""),),
    )
    return replace(cited, title=marked(cited.title, release.filter_name))


def _cached(key: str, path: Callable[[], Path], make: Callable[[bytes], T]) -> T | None:
    """Return what ``make`` makes of a file, cached per process; None if the file is missing.

    ``key`` contains the hash of the release's MANIFEST, which identifies its files.
    """
    found: T | None = cache.get(key)
    if found is None:
        try:
            written = path().read_bytes()
        except OSError:  # being restored, or the shared store is away
            return None
        found = make(written)
        cache.set(key, found, timeout=None)
    return found


NEWEST = 50
"""Releases in the feed."""


class ReleaseFeed(Feed):  # type: ignore[type-arg]
    feed_type = Atom1Feed
    title = gettext_lazy("Releases")
    subtitle = gettext_lazy(
        "Stories judged by people, with every vote. Every release is numbered and never changes."
    )
    link = reverse_lazy("publishing:releases")

    def items(self) -> list[Release]:
        """Order by the last change, so that a withdrawn release appears again."""
        touched = Coalesce("withdrawal__withdrawn_at", "published_at")
        found = Release.objects.published().of_people().select_related("study", "withdrawal")
        return list(found.order_by(touched.desc(), "-pk")[:NEWEST])

    def item_title(self, item: Release) -> str:
        named = gettext("%(title)s, release %(number)s") % {"title": item.title, "number": item.number}
        marks = [] if item.rule.validates else [gettext("Not validated by all")]
        marks += [gettext("Withdrawn")] if item.withdrawn else []
        return f"{named} ({', '.join(marks)})" if marks else named

    def item_description(self, item: Release) -> str:
        if item.withdrawn:
            return gettext("Withdrawn, do not use it: %(reason)s") % {"reason": item.withdrawn.reason}
        return ngettext(
            "%(kept)s story kept of %(stories)s, with %(votes)s votes.",
            "%(kept)s stories kept of %(stories)s, with %(votes)s votes.",
            item.kept,
        ) % {"kept": item.kept, "stories": item.stories, "votes": item.votes}

    def item_link(self, item: Release) -> str:
        return item.url

    def item_pubdate(self, item: Release) -> datetime | None:
        return item.published_at

    def item_updateddate(self, item: Release) -> datetime | None:
        return item.withdrawn.withdrawn_at if item.withdrawn else item.published_at
