"""Access to the files of published releases."""

from django.http import Http404

from publishing.files.directory import MANIFEST
from publishing.models import Release, ReleaseFile


def published_release(slug: str, number: int) -> Release:
    """Return the published release of this study and number. Raise ``Http404`` if there is none."""
    found = Release.objects.published().select_related("study", "withdrawal")
    release = found.filter(study__slug=slug, number=number).first()
    if release is None:
        raise Http404("There is no such release.")
    return release


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
    """Return every listed file and MANIFEST."""
    manifest = ReleaseFile(release=release, path=MANIFEST, sha256=release.manifest_sha256)
    return [*release.files.all(), manifest]
