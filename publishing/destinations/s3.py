"""Prefixes in a bucket of S3 or a compatible store.

Single objects appear at once or not at all, but a release has many. So MANIFEST is written last, and readers
who start from MANIFEST see nothing before everything is there. Every upload carries its SHA-256, which stores
that support ``x-amz-checksum-sha256`` check. Afterwards each object is compared: by the store's checksum, or
else (objects sent in parts, stores without checksums) by reading it back.
"""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import boto3
from boto3.s3.transfer import TransferConfig
from botocore import UNSIGNED, exceptions
from botocore.config import Config

from publishing import errors
from publishing.destinations.base import S3, Destination, Log, Package, Plan
from publishing.files.directory import MANIFEST, FileFacts, content_type, sha256_of

MULTIPART_FROM = 64 << 20
"""Size in bytes from which a file is sent in parts."""
_PIECE = 1 << 20
_DENIED = {
    "AccessDenied", "Forbidden", "403", "401", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken",
    "InvalidToken",
}  # fmt: skip
_GARBLED = {"BadDigest", "InvalidDigest", "XAmzContentChecksumMismatch", "XAmzContentSHA256Mismatch"}
_BUSY = {"SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout", "500", "502", "503", "504"}
_ELSEWHERE = {"PermanentRedirect", "AuthorizationHeaderMalformed", "301"}


class S3Prefix(Destination):
    """``s3://bucket/prefix``. boto3 finds credentials and region in the environment.

    ``endpoint_url`` names a store other than Amazon's; without it, ``AWS_ENDPOINT_URL_S3`` applies.
    """

    kind = S3

    def __init__(self, place: str, *, public: bool = False, endpoint_url: str = "") -> None:
        self.place = place
        self.public = public
        self._bucket, _slash, self._prefix = place.removeprefix("s3://").partition("/")
        self._endpoint_url = endpoint_url or None

    def plan(self, package: Package) -> Plan:
        with _explained(self.place):
            existing = self._existing(package)
            missing = tuple(file for file in package.files if not self._holds(file, existing))
            changed = [file.path for file in missing if file.path in existing]
            if changed and MANIFEST not in existing:
                raise errors.PlaceOccupied(
                    f"{self.place}/{changed[0]} has other content, and no MANIFEST says that it belongs to "
                    "this release. Name an empty prefix, or remove what is there."
                )
        everybody = "After the upload, everybody must be able to read every file."
        return Plan(
            missing, note=everybody if self.public else "The bucket's policy decides who can read it."
        )

    def deposit(self, package: Package, log: Log) -> str:
        missing = self.plan(package).upload
        for number, file in enumerate(missing, 1):
            if file.path == MANIFEST:  # the last file of a package
                self._verify(package, package.files[:-1])
            log(f"{number} of {len(missing)}: {file.path} ({file.size:,} bytes)")
            with _explained(self.place):
                self._upload(package, file)
        if missing:
            self._verify(package, package.files[-1:] if package.files[-1] in missing else package.files)
        hidden = next((file.path for file in package.files if self.public and not self._is_public(file)), "")
        if hidden:
            raise errors.WrongVisibility(
                f"{self.place} is whole, but not everybody can read {hidden}. Let the bucket's policy allow "
                f"everybody s3:GetObject below {self._prefix}/, or leave out --public. Then run this again."
            )
        # Without credentials or signature.
        url: str = self._anonymous.generate_presigned_url("get_object", Params=self._at(MANIFEST))
        return url

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

    def _at(self, path: str) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": f"{self._prefix}/{path}"}

    def _existing(self, package: Package) -> dict[str, int]:
        """Return the sizes of the objects below the prefix, by path. Raise if one is not of this release."""
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
        if MANIFEST in found and self._read(MANIFEST).read() != package.manifest:
            raise errors.PlaceOccupied(
                f"Another release stands at {self.place}: its MANIFEST differs. Name a prefix of this "
                f"release's own, for example {self.place.rpartition('/')[0]}/{package.name}."
            )
        foreign = found.keys() - ours
        if foreign:
            raise errors.PlaceOccupied(
                f"{self.place}/{min(foreign)} does not belong to this release. Name an empty prefix, or "
                "remove what is there."
            )
        return found

    def _read(self, path: str) -> Any:
        return self._client.get_object(**self._at(path))["Body"]

    def _holds(self, file: FileFacts, existing: dict[str, int]) -> bool:
        if existing.get(file.path) != file.size:
            return False
        head = self._client.head_object(**self._at(file.path), ChecksumMode="ENABLED")
        if head.get("ChecksumSHA256") == _in_base64(file):
            return True
        return sha256_of(self._read(file.path).iter_chunks(_PIECE)) == file.sha256

    def _upload(self, package: Package, file: FileFacts) -> None:
        described = {
            "ContentType": content_type(file.path),
            "Metadata": {"sha256": file.sha256},
            "ChecksumAlgorithm": "SHA256",
        }
        if file.size < MULTIPART_FROM:
            described["ChecksumSHA256"] = _in_base64(file)
        parts = TransferConfig(multipart_threshold=MULTIPART_FROM, multipart_chunksize=16 << 20)
        with (package.directory / file.path).open("rb") as body:
            self._client.upload_fileobj(body, **self._at(file.path), ExtraArgs=described, Config=parts)

    def _verify(self, package: Package, files: tuple[FileFacts, ...]) -> None:
        with _explained(self.place):
            existing = self._existing(package)
            for file in files:
                if not self._holds(file, existing):
                    raise errors.Damaged(
                        f"{self.place}/{file.path} is not there as MANIFEST says. Something else writes "
                        "below this prefix, or the store lost it. Run this again to send it."
                    )

    def _is_public(self, file: FileFacts) -> bool:
        try:
            with _explained(self.place):
                head = self._anonymous.head_object(**self._at(file.path))
        except errors.AccessRefused:
            return False
        return bool(head["ContentLength"] == file.size)


def _in_base64(file: FileFacts) -> str:
    """Return the file's SHA-256 as in S3's headers."""
    return base64.b64encode(bytes.fromhex(file.sha256)).decode()


@contextmanager
def _explained(place: str) -> Iterator[None]:
    """Turn what boto3 raises in the block into a :class:`DestinationError`.

    The messages are ours, because the library's may quote a signed address or a key.
    """
    try:
        yield
    except exceptions.ClientError as error:
        raise _refusal(place, error) from None
    except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError):
        raise errors.AccessRefused(
            f"There are no credentials for {place}. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
            "AWS_PROFILE, in the environment."
        ) from None
    except (
        exceptions.HTTPClientError,
        exceptions.ConnectionError,
        exceptions.ResponseStreamingError,
    ) as error:
        raise errors.Unreachable(
            f"The store of {place} did not answer or broke off ({type(error).__name__}). Check "
            "S3_ENDPOINT_URL and the network, and run this again: files that have arrived are not sent twice."
        ) from None
    except (exceptions.BotoCoreError, ValueError) as error:
        raise errors.DestinationError(
            f"{place} cannot be reached with these settings ({type(error).__name__}). Check S3_ENDPOINT_URL, "
            "AWS_REGION, AWS_PROFILE and the files they name."
        ) from None


def _refusal(place: str, error: exceptions.ClientError) -> errors.DestinationError:
    code = str(error.response.get("Error", {}).get("Code", ""))
    if code == "NoSuchBucket":
        return errors.WrongPlace(
            f"There is no bucket for {place}. Create it first, in the region that AWS_REGION names."
        )
    if code in _ELSEWHERE:
        return errors.WrongPlace(
            f"The bucket of {place} is in another region. Set AWS_REGION to that region."
        )
    if code in _DENIED:
        return errors.AccessRefused(
            f"The store refuses {error.operation_name} at {place} ({code}). The credentials need the rights "
            "that docs/releases.md lists."
        )
    if code in _GARBLED:
        return errors.Damaged(f"{place}: the bytes changed on their way ({code}). Run this again.")
    if code in _BUSY:
        return errors.Unreachable(
            f"The store of {place} is too busy now ({code}). Run this again later: files that have arrived "
            "are not sent twice."
        )
    return errors.DestinationError(
        f"The store of {place} answered {code or 'an unknown error'} to {error.operation_name}. Look it up "
        "in the store's documentation."
    )
