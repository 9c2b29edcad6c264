"""``manage.py deposit_release`` in this process, and what has come of it at its places."""

from __future__ import annotations

import hashlib
from io import StringIO

from django.core.management import CommandError, call_command

from publishing.models import Release
from tests.publishing.destinations.store import Store


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the command run in this process."""
    out, err = StringIO(), StringIO()
    try:
        call_command("deposit_release", *arguments, stdout=out, stderr=err)
    except CommandError as error:
        return error.returncode, out.getvalue(), f"{err.getvalue()}{error}"
    return 0, out.getvalue(), err.getvalue()


def objects(store: Store, bucket: str, prefix: str) -> dict[str, str]:
    """The MD5 of every object below a prefix, by path (the ETag of one that came in one piece)."""
    listed = store.client.list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/").get("Contents", ())
    return {entry["Key"].removeprefix(f"{prefix}/"): entry["ETag"].strip('"') for entry in listed}


def md5s(files: dict[str, bytes]) -> dict[str, str]:
    return {path: hashlib.md5(content, usedforsecurity=False).hexdigest() for path, content in files.items()}


def on_disk(release: Release) -> dict[str, bytes]:
    found = release.directory
    return {str(path.relative_to(found)): path.read_bytes() for path in found.rglob("*") if path.is_file()}
