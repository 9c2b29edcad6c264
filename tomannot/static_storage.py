"""Static files under names that carry their hash, compressed once, when they are collected."""

from collections.abc import Iterable, Iterator

from whitenoise.storage import CompressedManifestStaticFilesStorage


class CompressedStaticFiles(CompressedManifestStaticFilesStorage):
    """Compress only the hashed names. Pages link to no others, and Brotli is most of the work."""

    def compress_files(self, paths: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Compress those of the files that are linked to; yield each with its compressed file."""
        linked = set(self.hashed_files.values())
        yield from super().compress_files([path for path in paths if path in linked])
