"""Zip archives for Zenodo, with their metadata.

``pilot-1.zip`` contains the release directory, with the same bytes for the same release.
``pilot-1.zenodo.json`` has the fields of a Zenodo deposit, as named by its upload API and ``.zenodo.json``.
The archive appears under its name once it is complete and was read back.
"""

import html
import json
import os
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from publishing import errors
from publishing.card.citation import CITATION_PATH
from publishing.destinations.base import ZIP, Destination, Log, Package, Plan
from publishing.files.archives import zip_of
from publishing.files.directory import pieces, sha256_of, sync
from publishing.files.rows import RELEASE_JSON
from publishing.filters import get_filter

_PIECE = 1 << 20
KEYWORDS = ("theory of mind", "human annotation", "question answering", "benchmark validity")


class ZenodoZip(Destination):
    """A zip at the path ``place``. ``page`` is the release's public address, if any."""

    kind = ZIP

    def __init__(self, place: str, *, page: str = "") -> None:
        self.place = place
        self.public = False
        self._page = page
        self._target = Path(place)
        self._metadata = self._target.with_suffix(".zenodo.json")

    def plan(self, package: Package) -> Plan:
        described = metadata(package, page=self._page)
        if self._metadata.exists() and self._metadata.read_bytes() != described:
            raise errors.PlaceOccupied(f"{self._metadata} exists with other content. Name another file.")
        if not self._target.exists():
            note = "" if b'"license"' in described else _NO_LICENSE
            return Plan(package.files, note=f"Metadata beside it: {self._metadata.name}.{note}")
        if sha256_of(pieces(self._target)) != sha256_of(_zipped(package)):
            raise errors.PlaceOccupied(f"{self._target} exists and is not this release. Name another file.")
        return Plan((), note="The archive exists.")

    def deposit(self, package: Package, log: Log) -> str:
        plan = self.plan(package)
        log(plan.note)
        self._target.parent.mkdir(parents=True, exist_ok=True)
        self._metadata.write_bytes(metadata(package, page=self._page))
        if plan.upload:
            hidden = self._target.with_name(f".{self._target.name}.part")
            with hidden.open("wb") as handle:
                for piece in _zipped(package):
                    handle.write(piece)
                handle.flush()
                os.fsync(handle.fileno())
            self._check(hidden, package)
            hidden.rename(self._target)
            sync(self._target.parent)
        return self._target.as_uri()

    def _check(self, archive: Path, package: Package) -> None:
        with zipfile.ZipFile(archive) as opened:
            inside = {entry.filename: _facts_in(opened, entry) for entry in opened.infolist()}
        if inside != {f"{package.name}/{file.path}": (file.size, file.sha256) for file in package.files}:
            archive.unlink()
            raise errors.Damaged(
                f"{self._target}: the archive does not read back as it was written. Check the disk, then run "
                "this again."
            )


_NO_LICENSE = (
    " Zenodo does not know the study's licence by name: choose one there, or Zenodo picks one itself."
)


def metadata(package: Package, *, page: str) -> bytes:
    """Return the fields of a Zenodo deposit as JSON, from the release's own files."""
    cited: dict[str, Any] = yaml.safe_load((package.directory / CITATION_PATH).read_bytes())
    described: dict[str, Any] = json.loads((package.directory / RELEASE_JSON).read_bytes())
    title = f"{cited['title']} (release {package.number})"
    fields: dict[str, Any] = {
        "upload_type": "dataset",
        "title": f"Test run, not data: {title}" if package.rehearsal else title,
        "creators": [{"name": _name(author)} for author in cited["authors"]],
        "description": _description(cited, described, package),
        "access_right": "open",
        "publication_date": str(cited["date-released"]),
        "version": str(package.number),
        **({"language": "eng"} if re.match("en(-|$)", described.get("story_language", "en")) else {}),
        "keywords": [*KEYWORDS],
        "related_identifiers": [
            {"identifier": identifier, "relation": relation, "resource_type": kind}
            for identifier, relation, kind in (
                (page, "isIdenticalTo", "dataset"),
                (cited.get("url"), "isDocumentedBy", "other"),
            )
            if identifier and (identifier, relation) != (page, "isDocumentedBy")
        ],
    }
    if "doi" in cited:
        fields["doi"] = cited["doi"]
    if "license" in cited:
        fields["license"] = cited["license"].lower()
    return (json.dumps(fields, ensure_ascii=False, indent=2) + "\n").encode()


def _name(author: dict[str, str]) -> str:
    return f"{author['family-names']}, {author['given-names']}" if "given-names" in author else author["name"]


def _description(cited: dict[str, Any], described: dict[str, Any], package: Package) -> str:
    """Return paragraphs in the HTML that Zenodo allows."""
    counts, rule = described["counts"], get_filter(described["filter"]["name"])
    paragraphs = [
        cited.get("abstract", ""),
        f"Release {package.number} of the study {package.slug}: {counts['kept']:,} stories kept of "
        f"{counts['stories']:,}, with all {counts['votes']:,} votes by {counts['annotators']:,} annotators. "
        "The dataset card (README.md) describes how it was made.",
        "" if rule.validates else rule.not_validated,
        f"SHA-256 of MANIFEST: {package.files[-1].sha256}",
    ]
    if package.rehearsal:
        paragraphs.insert(0, "This is a test run. It contains no human judgements. Do not use or cite it.")
    return "".join(f"<p>{html.escape(paragraph)}</p>" for paragraph in paragraphs if paragraph)


def _facts_in(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> tuple[int, str]:
    with archive.open(entry) as handle:
        return entry.file_size, sha256_of(iter(lambda: handle.read(_PIECE), b""))


def _zipped(package: Package) -> Iterable[bytes]:
    return zip_of(package.directory, [file.path for file in package.files], package.name)
