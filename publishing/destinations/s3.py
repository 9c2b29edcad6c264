"""A prefix in a bucket of S3, or of a store that speaks like it.

Single objects appear at once or not at all; a release is many of them. So MANIFEST is written last, and
who reads by MANIFEST sees nothing before everything is there. Every upload carries its SHA-256, which
stores that know ``x-amz-checksum-sha256`` check themselves. Afterwards each object is compared: by the
checksum the store says it has, or, where it says none, by reading the object back.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

import boto3
from botocore import UNSIGNED
from botocore.config import Config

from publishing.access import CONTENT_TYPES
from publishing.destinations import addresses
from publishing.destinations.base import (
    AccessRefused,
    Damaged,
    Deposited,
    Destination,
    PlaceOccupied,
    Plan,
    Say,
    WrongVisibility,
)
from publishing.destinations.package import Package
from publishing.destinations.s3_faults import explained
from publishing.destinations.s3_parts import MULTIPART_FROM, base64_sha256, sums_of_parts, upload_in_parts
from publishing.files.directory import MANIFEST, FileFacts

_PIECE = 1 << 20


class S3Prefix(Destination):
    """``s3://bucket/prefix``. Credentials and region are found as boto3 does, from the environment.

    ``endpoint_url`` names a store other than Amazon's; without it the standard variable
    ``AWS_ENDPOINT_URL_S3`` counts. Files of ``multipart_from`` bytes and more are sent in parts.
    """

    kind = addresses.S3

    def __init__(
        self,
        place: str,
        *,
        public: bool = False,
        endpoint_url: str = "",
        multipart_from: int = MULTIPART_FROM,
    ) -> None:
        self.place = place
        self.public = public
        self._bucket, self._prefix = addresses.bucket_and_prefix(place)
        self._endpoint_url = endpoint_url or None
        self._multipart_from = multipart_from

    def plan(self, package: Package) -> Plan:
        with explained(self.place):
            standing = self._standing(package)
            missing = tuple(file for file in package.files if not self._holds(package, file, standing))
            changed = [file.path for file in missing if file.path in standing]
            if changed and MANIFEST not in standing:
                raise PlaceOccupied(
                    f"{self.place}/{changed[0]} is there with another content, and no MANIFEST says that it "
                    "belongs to this release. Name a prefix with nothing below it, or remove what is there."
                )
        if self.public:
            note = "After the upload, every file must be readable for everybody."
        else:
            note = "Who can read it is as the bucket's policy says."
        return Plan(missing, note=note)

    def deposit(self, package: Package, say: Say) -> Deposited:
        missing = self.plan(package).upload
        for number, file in enumerate(missing, 1):
            if file.path == MANIFEST:  # the last file of a package
                self._verify(package, package.files[:-1])
            say(f"{number} of {len(missing)}: {file.path} ({file.size:,} bytes)")
            with explained(self.place):
                self._upload(package, file)
        if missing:
            self._verify(package, package.files[-1:] if package.files[-1] in missing else package.files)
        if self.public:
            self._check_public(package)
        return Deposited(self._url(MANIFEST))

    @cached_property
    def _session(self) -> boto3.session.Session:
        return boto3.session.Session()  # of its own: it reads the environment now

    @cached_property
    def _client(self) -> Any:
        return self._session.client("s3", endpoint_url=self._endpoint_url)

    @cached_property
    def _anonymous(self) -> Any:
        unsigned = Config(signature_version=UNSIGNED)
        return self._session.client("s3", endpoint_url=self._endpoint_url, config=unsigned)

    def _key(self, path: str) -> str:
        return f"{self._prefix}/{path}"

    def _at(self, path: str) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": self._key(path)}

    def _url(self, path: str) -> str:
        """The address without credentials or signature."""
        url: str = self._anonymous.generate_presigned_url("get_object", Params=self._at(path))
        return url

    def _standing(self, package: Package) -> dict[str, int]:
        """Sizes of the objects below the prefix, by path; they must be this release's, as far as is known."""
        ours = {file.path for file in package.files}
        found: dict[str, int] = {}
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self._bucket, Prefix=f"{self._prefix}/"
        )
        for page in pages:
            for entry in page.get("Contents", ()):
                found[entry["Key"].removeprefix(f"{self._prefix}/")] = entry["Size"]
            if found.keys() - ours:
                break
        if MANIFEST in found and self._read(MANIFEST) != package.manifest:
            raise PlaceOccupied(
                f"Another release stands at {self.place}: its MANIFEST differs. Name a prefix of this "
                f"release's own, for example {self.place.rpartition('/')[0]}/{package.name}."
            )
        foreign = found.keys() - ours
        if foreign:
            raise PlaceOccupied(
                f"{self.place}/{min(foreign)} is there and does not belong to this release. Name a prefix "
                "with nothing below it, or remove what is there."
            )
        return found

    def _read(self, path: str) -> bytes:
        body: bytes = self._client.get_object(**self._at(path))["Body"].read()
        return body

    def _holds(self, package: Package, file: FileFacts, standing: dict[str, int]) -> bool:
        """Whether the store has this very content."""
        if standing.get(file.path) != file.size:
            return False
        head = self._client.head_object(**self._at(file.path), ChecksumMode="ENABLED")
        stated = head.get("ChecksumSHA256", "").partition("-")[0]
        if stated == base64_sha256(bytes.fromhex(file.sha256)):
            return True
        source = package.directory / file.path
        if stated and file.size >= self._multipart_from and stated == sums_of_parts(source):
            return True
        digest = hashlib.sha256()
        for piece in self._client.get_object(**self._at(file.path))["Body"].iter_chunks(_PIECE):
            digest.update(piece)
        return digest.hexdigest() == file.sha256

    def _upload(self, package: Package, file: FileFacts) -> None:
        source = package.directory / file.path
        described = {
            "ContentType": CONTENT_TYPES.get(PurePosixPath(file.path).suffix, "application/octet-stream"),
            "Metadata": {"sha256": file.sha256},
        }
        if file.size >= self._multipart_from:
            upload_in_parts(self._client, source, self._at(file.path), described)
            return
        with source.open("rb") as body:
            self._client.put_object(
                **self._at(file.path),
                **described,
                Body=body,
                ChecksumAlgorithm="SHA256",
                ChecksumSHA256=base64_sha256(bytes.fromhex(file.sha256)),
            )

    def _verify(self, package: Package, files: tuple[FileFacts, ...]) -> None:
        with explained(self.place):
            standing = self._standing(package)
            for file in files:
                if not self._holds(package, file, standing):
                    raise Damaged(
                        f"{self.place}/{file.path} is not there as MANIFEST says. Something else writes "
                        "below this prefix, or the store lost it. Run this again; it sends what is wrong."
                    )

    def _check_public(self, package: Package) -> None:
        hidden = next((file.path for file in package.files if not self._is_public(file)), None)
        if hidden:
            raise WrongVisibility(
                f"{self.place} is whole, but not everybody can read {hidden}. Let the bucket's policy allow "
                f"s3:GetObject below {self._prefix}/ to everybody, or leave --public out; run this again."
            )

    def _is_public(self, file: FileFacts) -> bool:
        """Whether the store tells anybody that the file is there, in its size."""
        try:
            with explained(self.place):
                head = self._anonymous.head_object(**self._at(file.path))
        except AccessRefused:
            return False
        return bool(head["ContentLength"] == file.size)
