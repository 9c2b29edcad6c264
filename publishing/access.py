"""Access to the files of published releases."""

from dataclasses import dataclass
from pathlib import Path

from django.http import Http404

from publishing.files.directory import MANIFEST, content_type
from publishing.models import Release


@dataclass(frozen=True, slots=True)
class PublishedFile:
    """A downloadable file. ``sha256`` is its hash when it was published."""

    release: Release
    path: str
    sha256: str

    @property
    def place(self) -> Path:
        return self.release.directory / self.path

    @property
    def is_there(self) -> bool:
        """True unless the file is missing, for example while the directory is being restored."""
        try:
            return self.place.is_file()
        except OSError:  # the shared store is away
            return False

    @property
    def content_type(self) -> str:
        return content_type(self.path)

    @property
    def download_name(self) -> str:
        """The file name of the download: ``pilot-1-story-data-test.jsonl``."""
        return f"{download_prefix(self.release)}-{self.path.replace('/', '-')}"


def download_prefix(release: Release) -> str:
    """Return the prefix of download names: ``pilot-1`` or ``pilot-1-withdrawn``."""
    name = f"{release.study.slug}-{release.number}"
    return f"{name}-withdrawn" if release.withdrawn else name


def published_release(slug: str, number: int) -> Release:
    """Return the published release of this study and number. Raise ``Http404`` if there is none."""
    found = Release.objects.published().select_related("study", "withdrawal")
    release = found.filter(study__slug=slug, number=number).first()
    if release is None:
        raise Http404("There is no such release.")
    return release


def published_file(slug: str, number: int, path: str) -> PublishedFile:
    """Return a listed file of the release or its MANIFEST; raise ``Http404`` for anything else.

    The path is compared with the list, never resolved, so no path can leave the release.
    """
    files = published_files(published_release(slug, number))
    found = next((file for file in files if file.path == path), None)
    if found is None:
        raise Http404("The release has no such file.")
    return found


def published_files(release: Release) -> list[PublishedFile]:
    """Return every listed file and MANIFEST."""
    return [
        *(PublishedFile(release, file.path, file.sha256) for file in release.files.all()),
        PublishedFile(release, MANIFEST, release.manifest_sha256),
    ]
