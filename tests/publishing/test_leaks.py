"""Nothing in a release says who gave the votes: not its files, not its pages, not the log of its making."""

from __future__ import annotations

import base64
import hashlib
import io
import logging
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actions import ensure_researcher
from accounts.models import PlatformIdentity
from annotation import actions as annotation_actions
from annotation.models import Assignment, Study
from publishing.actions import releases
from publishing.models import Release
from recruitment import actions as recruitment_actions
from tests import builders
from tests.worlds import built_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("releases_root", "client")]

PEOPLE = {
    "5f3c0d9e8b7a6c5d4e3f2a1b": "amalia.quispe@people.example",
    "A2XKNOWNWORKER77": "bartosz.nowakowski@people.example",
    "dilnoza-karimova-1987": "dilnoza@karimova.example",
}
"""The people of the study: their id where they came from, and their e-mail address."""
NAMES = ("Amalia Quispe", "Bartosz Nowakowski", "Dilnoza Karimova")
RESEARCHER = "rita-von-der-redaktion"
HASHES = ("md5", "sha1", "sha256")


def traces_of(secret: str) -> Iterator[bytes]:
    """The secret as it is, in lower case, encoded, and under plain hashes: what somebody could look up."""
    for text in {secret, secret.lower()}:
        plain = text.encode()
        yield plain
        yield base64.b64encode(plain)
        yield plain.hex().encode()
        for name in HASHES:
            digest = hashlib.new(name, plain)
            yield digest.hexdigest().encode()
            yield digest.hexdigest().upper().encode()
            yield base64.b64encode(digest.digest()).rstrip(b"=")
            yield base64.urlsafe_b64encode(digest.digest()).rstrip(b"=")


def secrets() -> list[str]:
    """Everything known about the people, the researcher's name included."""
    stored = PlatformIdentity.objects.values_list("person", flat=True)
    addresses = [address for email in PEOPLE.values() for address in (email, email.partition("@")[0])]
    names = [part for name in NAMES for part in (name, *name.split())]
    return sorted({*PEOPLE, *stored, *addresses, *names, RESEARCHER})


def found_in(texts: dict[str, bytes]) -> list[str]:
    """Where which secret occurs."""
    return [
        f"{secret} in {where}"
        for secret in secrets()
        for trace in traces_of(secret)
        for where, text in texts.items()
        if trace in text
    ]


def files_of(release: Release) -> dict[str, bytes]:
    """Every file as it is, and every Parquet file once more as text: it is compressed."""
    texts = {}
    for path in sorted(path for path in release.directory.rglob("*") if path.is_file()):
        name = path.relative_to(release.directory).as_posix()
        texts[name] = name.encode() + path.read_bytes()
        if path.suffix == ".parquet":
            texts[f"{name} as rows"] = rows_of(path)
    return texts


def rows_of(path: Path) -> bytes:
    table = pq.read_table(path)
    return f"{table.schema.metadata} {table.to_pylist()}".encode()


def pages_of(release: Release) -> dict[str, bytes]:
    """Every public page of the release, with its headers."""
    client = Client()
    slug, number = release.study.slug, release.number
    urls = [
        "/", reverse("publishing:releases"), reverse("publishing:feed"),
        reverse("publishing:release", args=[slug, number]),
    ]  # fmt: skip
    responses = {url: client.get(url, headers={"accept-language": "de"}) for url in urls}
    assert {response.status_code for response in responses.values()} == {200}
    return {
        url: str(dict(response.items())).encode() + response.content for url, response in responses.items()
    }


def archive_of(release: Release) -> dict[str, bytes]:
    response = Client().get(reverse("publishing:archive", args=[release.study.slug, release.number, "tar"]))
    packed = b"".join(response)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return {"names and owners in the archive": str([member.get_info() for member in archive]).encode()}


@pytest.fixture
def study() -> Study:
    return leaky_study()


@built_once
def leaky_study() -> Study:
    """Known people came by a platform and gave an address; one was suspended by name, one changed a vote."""
    study = builders.make_study("leaky", stories=4, qualification=2)
    link = recruitment_actions.set_join_link(
        study=study, source="known-platform", by=None, now=timezone.now()
    )
    for (participant, address), name in zip(PEOPLE.items(), NAMES, strict=True):
        person = recruitment_actions.join(link=link, participant=participant, now=timezone.now())
        identity = recruitment_actions.give_address(
            enrollment=person, address=address, language="en", now=timezone.now()
        )
        assert identity is not None
        recruitment_actions.confirm_address(identity_id=identity.pk, now=timezone.now())
        person = builders.take_test(builders.consent(person))
        recruitment_actions.arrive_by_link(enrollment=person, now=timezone.now())
        while isinstance(
            held := annotation_actions.assign_next_story(enrollment=person, now=timezone.now()), Assignment
        ):
            annotation_actions.record_vote(
                assignment_id=held.pk,
                enrollment=person,
                submitted=builders.answers(q3="no") if held.order_position == 4 else builders.ALL_YES,
                now=timezone.now(),
            )
        annotation_actions.suspend(
            enrollment=person, by=None, now=timezone.now(), reason=f"{name} asked for a break"
        )
    return study


def test_nothing_says_who_the_people_are(study: Study, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    caplog.clear()
    rita = ensure_researcher(username=RESEARCHER, password="long enough for a test")
    release = releases.request_release(study=study, by=rita, now=timezone.now())
    releases.build_release(release_id=release.pk, now=timezone.now())
    release.refresh_from_db()
    assert release.state == Release.State.PUBLISHED, release.failure
    assert release.annotators == len(PEOPLE)
    texts = files_of(release) | pages_of(release) | archive_of(release)
    assert len(texts) > 20
    assert found_in({**texts, "log": caplog.text.encode()}) == []


def test_control_what_leaks_is_found(study: Study, tmp_path: Path) -> None:
    (participant, address), *_others = PEOPLE.items()
    assert PlatformIdentity.objects.filter(person=address).exists()
    assert any(participant in secret for secret in secrets())
    for trace in (0, 1, 3, 5):
        leak = list(traces_of(address))[trace].decode()
        assert found_in({"text": f"x{leak}x".encode()})
    pq.write_table(pa.table({"who": [leak] * 1000}), tmp_path / "leak.parquet", compression="zstd")
    assert found_in({"rows": rows_of(tmp_path / "leak.parquet")})
