"""What the public may fetch of a release, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from django.http import Http404

from publishing.files.directory import MANIFEST
from publishing.models import Release

CONTENT_TYPES = {
    ".md": "text/markdown; charset=utf-8",
    ".jsonl": "application/jsonl; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".cff": "application/yaml",
    ".parquet": "application/vnd.apache.parquet",
    "": "text/plain; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """One file that may be downloaded. ``sha256`` is what it had when it was published."""

    release: Release
    path: str
    sha256: str

    @property
    def place(self) -> Path:
        return self.release.directory / self.path

    @property
    def is_there(self) -> bool:
        """Whether the file is in its place, for instance not while the directory is being restored."""
        return self.place.is_file()

    @property
    def content_type(self) -> str:
        return CONTENT_TYPES.get(Path(self.path).suffix, "application/octet-stream")

    @property
    def download_name(self) -> str:
        """A name that says where the file is from: ``pilot-1-story-data-test.jsonl``."""
        return f"{download_prefix(self.release)}-{self.path.replace('/', '-')}"


def download_prefix(release: Release) -> str:
    """What the names of downloads begin with: ``pilot-1``, or ``pilot-1-withdrawn``."""
    name = f"{release.study.slug}-{release.number}"
    return f"{name}-withdrawn" if release.withdrawn else name


def published_release(slug: str, number: int) -> Release:
    """The published release of this study and number, or ``Http404``."""
    found = Release.objects.published().select_related("study", "withdrawal")
    release = found.filter(study__slug=slug, number=number).first()
    if release is None:
        raise Http404("There is no such release.")
    return release


def published_file(slug: str, number: int, path: str) -> PublishedFile:
    """A file that the release lists, or its MANIFEST; anything else is ``Http404``.

    The path is compared with the list, never resolved, so no path leads out of the release.
    """
    files = published_files(published_release(slug, number))
    found = next((file for file in files if file.path == path), None)
    if found is None:
        raise Http404("The release has no such file.")
    return found


def published_files(release: Release) -> list[PublishedFile]:
    """Every file that the release lists, and its MANIFEST; nothing else that lies in its directory."""
    return [
        *(PublishedFile(release, file.path, file.sha256) for file in release.files.all()),
        PublishedFile(release, MANIFEST, release.manifest_sha256),
    ]
