"""A zip archive for Zenodo, with the metadata that Zenodo asks for beside it.

``pilot-1.zip`` holds the release directory, the same bytes for the same release; ``pilot-1.zenodo.json``
has the fields of a Zenodo deposit, as its upload API and a ``.zenodo.json`` file name them. The archive
appears under its name when it is whole and has been read back.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from publishing.builder import RELEASE_JSON
from publishing.card.citing import CITATION_PATH
from publishing.destinations import addresses
from publishing.destinations.base import Damaged, Deposited, Destination, PlaceOccupied, Plan, Say
from publishing.destinations.package import Package
from publishing.files.directory import sync_directory
from publishing.files.zip import zip_of
from publishing.filters import get_filter

_PIECE = 1 << 20
KEYWORDS = ("theory of mind", "human annotation", "question answering", "benchmark validity")


class ZenodoZip(Destination):
    """A zip at the path ``place``. ``page`` is the release's public address, or empty when it has none."""

    kind = addresses.ZIP

    def __init__(self, place: str, *, page: str = "") -> None:
        self.place = place
        self.public = False
        self._page = page
        self._target = Path(place)
        self._metadata = self._target.with_suffix(".zenodo.json")

    def plan(self, package: Package) -> Plan:
        described = metadata(package, page=self._page)
        if self._metadata.exists() and self._metadata.read_bytes() != described:
            raise PlaceOccupied(f"{self._metadata} is there with another content. Name another file.")
        if not self._target.exists():
            note = "" if b'"license"' in described else _NO_LICENSE
            return Plan(package.files, note=f"Metadata beside it: {self._metadata.name}.{note}")
        if _sha256(_pieces(self._target)) != _sha256(_zipped(package)):
            raise PlaceOccupied(f"{self._target} is there and is not this release. Name another file.")
        return Plan((), note="The archive is there.")

    def deposit(self, package: Package, say: Say) -> Deposited:
        plan = self.plan(package)
        say(plan.note)
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
            sync_directory(self._target.parent)
        return Deposited(self._target.as_uri())

    def _check(self, archive: Path, package: Package) -> None:
        """Read the archive back and compare it with the release."""
        with zipfile.ZipFile(archive) as opened:
            inside = {entry.filename: _facts_in(opened, entry) for entry in opened.infolist()}
        if inside != {f"{package.name}/{file.path}": (file.size, file.sha256) for file in package.files}:
            archive.unlink()
            raise Damaged(
                f"{self._target}: what was written does not read back as it was. Check the disk, then run "
                "this again."
            )


_NO_LICENSE = (
    " The study's licence is not one that Zenodo knows by name: choose it there, or Zenodo picks one itself."
)


def metadata(package: Package, *, page: str) -> bytes:
    """The fields of a Zenodo deposit, from what the release says about itself, as JSON."""
    cited: dict[str, Any] = yaml.safe_load((package.directory / CITATION_PATH).read_bytes())
    described: dict[str, Any] = json.loads((package.directory / RELEASE_JSON).read_bytes())
    title = f"{cited['title']} (release {package.number})"
    fields: dict[str, Any] = {
        "upload_type": "dataset",
        "title": f"Rehearsal, not data: {title}" if package.rehearsal else title,
        "creators": [{"name": _name(author)} for author in cited["authors"]],
        "description": _description(cited, described, package),
        "access_right": "open",
        "publication_date": str(cited["date-released"]),
        "version": str(package.number),
        "language": "eng",
        "keywords": [*KEYWORDS],
        "related_identifiers": [
            {"identifier": identifier, "relation": relation, "resource_type": kind}
            for identifier, relation, kind in _related(cited, page)
        ],
    }
    if "doi" in cited:
        fields["doi"] = cited["doi"]
    if "license" in cited:
        fields["license"] = cited["license"].lower()
    return (json.dumps(fields, ensure_ascii=False, indent=2) + "\n").encode()


def _name(author: dict[str, str]) -> str:
    """``Family, Given`` of a person, the name of a group."""
    return f"{author['family-names']}, {author['given-names']}" if "given-names" in author else author["name"]


def _description(cited: dict[str, Any], described: dict[str, Any], package: Package) -> str:
    """Paragraphs in the HTML that Zenodo allows."""
    counts, rule = described["counts"], get_filter(described["filter"]["name"])
    paragraphs = [
        cited.get("abstract", ""),
        f"Release {package.number} of the study {package.slug}: {counts['kept']:,} stories kept of "
        f"{counts['stories']:,}, with all {counts['votes']:,} votes by {counts['annotators']:,} annotators. "
        "The dataset card (README.md) says how it came about.",
        "" if rule.validates else rule.not_validated,
        f"SHA-256 of MANIFEST: {package.files[-1].sha256}",
    ]
    if package.rehearsal:
        paragraphs.insert(
            0, "This is a rehearsal. It holds no human judgements. Do not use it, do not cite it."
        )
    return "".join(f"<p>{html.escape(paragraph)}</p>" for paragraph in paragraphs if paragraph)


def _related(cited: dict[str, Any], page: str) -> Iterable[tuple[str, str, str]]:
    """Addresses, their relation to the deposit and what is there. The deposit's own DOI is none of them."""
    if page:
        yield page, "isIdenticalTo", "dataset"
    if "url" in cited and cited["url"] != page:
        yield cited["url"], "isDocumentedBy", "other"


def _facts_in(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> tuple[int, str]:
    with archive.open(entry) as handle:
        return entry.file_size, _sha256(iter(lambda: handle.read(_PIECE), b""))


def _zipped(package: Package) -> Iterable[bytes]:
    return zip_of(package.directory, [file.path for file in package.files], package.name)


def _pieces(path: Path) -> Iterable[bytes]:
    with path.open("rb") as handle:
        while piece := handle.read(_PIECE):
            yield piece


def _sha256(pieces: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()
