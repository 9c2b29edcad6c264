"""Addresses of places: ``s3://bucket/prefix``, ``huggingface:owner/name``, ``zip:PATH``."""

import re
from dataclasses import dataclass
from pathlib import Path

from publishing.destinations.base import WrongPlace

S3 = "s3"
HUGGING_FACE = "huggingface"
ZIP = "zip"

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*")
_REPOSITORY = re.compile(r"[A-Za-z0-9_.-]{1,96}/[A-Za-z0-9_.-]{1,96}")
_FORMS = "Places are named s3://bucket/prefix, huggingface:owner/name or zip:PATH."


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed address. ``place`` may be shown to the public."""

    kind: str
    place: str


def parse(text: str) -> Address:
    """Parse an address. Raise :class:`~publishing.destinations.base.WrongPlace`."""
    scheme, separator, rest = text.partition(":")
    readers = {S3: _s3, HUGGING_FACE: _repository, ZIP: _zip}
    if not separator or scheme not in readers:
        raise WrongPlace(f"“{text}” is not a place for a release. {_FORMS}")
    return Address(scheme, readers[scheme](rest))


def _s3(rest: str) -> str:
    bucket, _, prefix = rest.removeprefix("//").rstrip("/").partition("/")
    if not rest.startswith("//") or not _BUCKET.fullmatch(bucket):
        raise WrongPlace(
            "After s3:// comes the name of a bucket: 3 to 63 lower-case letters, digits, dots and hyphens, "
            "for example s3://our-datasets/pilot/1."
        )
    if not _PREFIX.fullmatch(prefix) or {".", ".."} & set(prefix.split("/")):
        raise WrongPlace(
            "After the bucket comes a prefix of letters, digits, dots, hyphens and underscores, in parts "
            f"divided by single slashes, that is for this release alone, for example s3://{bucket}/pilot/1."
        )
    return f"s3://{bucket}/{prefix}"


def _repository(rest: str) -> str:
    if not _REPOSITORY.fullmatch(rest):
        raise WrongPlace(
            "After huggingface: come the owner and the name of a dataset repository, for example "
            "huggingface:our-lab/pilot."
        )
    return rest


def _zip(rest: str) -> str:
    path = Path(rest)
    if path.suffix != ".zip":
        raise WrongPlace(
            "After zip: comes the path of a file that ends in .zip, for example zip:pilot-1.zip."
        )
    return str(path.absolute())
