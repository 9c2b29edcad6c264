"""Big files to S3 in parts. An upload that was cut off goes on with the part it had come to."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

MIB = 1 << 20
MULTIPART_FROM = 64 * MIB
"""Bytes from which a file is sent in parts."""
_SMALLEST_PART = 16 * MIB
_MOST_PARTS = 10_000


def base64_sha256(digest: bytes) -> str:
    """A SHA-256 the way S3's headers have it."""
    return base64.b64encode(digest).decode()


def part_size(size: int) -> int:
    """Bytes per part of a file: 16 MiB, or as many MiB as keep within 10,000 parts."""
    return max(_SMALLEST_PART, -(-size // (_MOST_PARTS * MIB)) * MIB)


def parts_of(source: Path) -> Iterator[bytes]:
    """The file in pieces of :func:`part_size`."""
    each = part_size(source.stat().st_size)
    with source.open("rb") as handle:
        while part := handle.read(each):
            yield part


def sums_of_parts(source: Path) -> str:
    """The checksum S3 has of an object in parts: the SHA-256 of its parts' SHA-256, in base 64."""
    digests = (hashlib.sha256(part).digest() for part in parts_of(source))
    return base64_sha256(hashlib.sha256(b"".join(digests)).digest())


def upload_in_parts(client: Any, source: Path, at: dict[str, str], described: dict[str, Any]) -> None:
    """Send a file to ``at`` (bucket and key). It appears there as a whole, after the last part.

    Parts that an earlier try brought there are kept. Raises what botocore raises; an upload that the
    store refuses to put together is given up, so that the next try begins afresh. One that it cannot put
    together now (a status of 500 or above) stays for the next try.
    """
    upload_id = _begun(client, at) or str(
        client.create_multipart_upload(**at, **described, ChecksumAlgorithm="SHA256")["UploadId"]
    )
    there = _arrived(client, at, upload_id)
    parts = []
    for number, part in enumerate(parts_of(source), 1):
        checksum = base64_sha256(hashlib.sha256(part).digest())
        md5 = f'"{hashlib.md5(part, usedforsecurity=False).hexdigest()}"'
        etag = there.get((number, len(part), checksum)) or there.get((number, len(part), md5))
        if etag is None:
            answer = client.upload_part(
                **at,
                UploadId=upload_id,
                PartNumber=number,
                Body=part,
                ChecksumAlgorithm="SHA256",
                ChecksumSHA256=checksum,
            )
            etag = answer["ETag"]
        parts.append({"PartNumber": number, "ETag": etag, "ChecksumSHA256": checksum})
    try:
        client.complete_multipart_upload(**at, UploadId=upload_id, MultipartUpload={"Parts": parts})
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500:
            raise
        client.abort_multipart_upload(**at, UploadId=upload_id)
        raise


def _begun(client: Any, at: dict[str, str]) -> str | None:
    """An earlier upload of this object that was not finished."""
    listed = client.list_multipart_uploads(Bucket=at["Bucket"], Prefix=at["Key"])
    found = (upload["UploadId"] for upload in listed.get("Uploads", ()) if upload["Key"] == at["Key"])
    return next(found, None)


def _arrived(client: Any, at: dict[str, str], upload_id: str) -> dict[tuple[int, int, str], str]:
    """ETags of the parts that are there, by number, size, and SHA-256 or ETag (a MD5 in most stores)."""
    there = {}
    for page in client.get_paginator("list_parts").paginate(**at, UploadId=upload_id):
        for part in page.get("Parts", ()):
            known_by = part.get("ChecksumSHA256") or part["ETag"]
            there[part["PartNumber"], part["Size"], known_by] = part["ETag"]
    return there
