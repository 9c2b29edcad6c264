"""The checks of ``check_integrity`` that look at releases, on one that was really built."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from accounts.models import Annotator, Environment, PlatformIdentity
from annotation import locks
from annotation.models import Event, Study
from integrity import releases
from integrity.catalogue import CHECKS, Check, run
from publishing.actions import releases as actions
from publishing.actions.published import withdraw_release
from publishing.models import Release
from tests import builders
from tests.integrity.test_checks import RELEASES
from tests.worlds import built_once

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def release(settings: Any, tmp_path: Path) -> Release:
    settings.RELEASES_ROOT = tmp_path / "releases"
    return _release()


@built_once
def _release() -> Release:
    study = builders.make_study(stories=2, votes_per_story=1)
    builders.answer_everything(builders.qualified(study))
    asked = actions.request_release(study=study, by=None, now=timezone.now())
    actions.build_release(release_id=asked.pk, now=timezone.now())
    asked.refresh_from_db()
    assert asked.state == Release.State.PUBLISHED
    return asked


OF_RELEASES = [check for check in CHECKS if check.name in RELEASES]


def _broken(study: Study | None = None, checks: Sequence[Check] = OF_RELEASES) -> dict[str, tuple[str, ...]]:
    outcomes = run(checks, study_id=study.pk if study else None)
    return {outcome.check.name: outcome.offenders.rows for outcome in outcomes if not outcome.holds}


def _first_story_file(release: Release) -> Path:
    return release.directory / "story-data" / "test.jsonl"


def test_a_published_release_is_in_order(release: Release) -> None:
    assert _broken(checks=CHECKS) == {}


def test_a_changed_file_is_found(release: Release) -> None:
    file = _first_story_file(release)
    file.write_bytes(file.read_bytes().replace(b"Ilse", b"Elsa"))

    assert _broken() == {"published_release_is_unchanged": (str(release.pk),)}


def test_a_file_changed_together_with_its_manifest_is_found(release: Release) -> None:
    manifest = release.directory / "MANIFEST"
    kept = [line for line in manifest.read_text().splitlines(keepends=True) if "README.md" not in line]
    manifest.write_text("".join(kept))
    (release.directory / "README.md").unlink()

    assert _broken() == {"published_release_is_unchanged": (str(release.pk),)}


def test_a_vanished_directory_is_found(release: Release) -> None:
    release.directory.rename(release.directory.with_name("elsewhere"))

    assert _broken() == {"published_release_is_unchanged": (str(release.pk),)}


def test_the_key_of_the_pseudonyms_in_a_file_is_found(release: Release) -> None:
    (release.directory / "notes.txt").write_text(f"key: {release.study.pseudonym_key}")

    assert _broken()["release_names_nobody"] == (str(release.pk),)


def test_a_platform_id_in_a_file_is_found_wherever_it_stands(release: Release) -> None:
    annotator = Annotator.objects.get(enrollments__study=release.study)
    PlatformIdentity.objects.create(
        annotator=annotator,
        platform=PlatformIdentity.Platform.PROLIFIC,
        environment=Environment.LIVE,
        person="5f3a9c0de1b2",
        created_at=timezone.now(),
    )
    across_two_chunks = b"x" * ((1 << 20) - 5) + b"5f3a9c0de1b2"
    (release.directory / "notes.txt").write_bytes(across_two_chunks)

    assert _broken()["release_names_nobody"] == (str(release.pk),)


def test_a_release_that_nobody_builds_is_found(release: Release) -> None:
    asked = actions.request_release(study=release.study, by=None, now=timezone.now())
    assert _broken() == {}, "it was asked for just now"
    late = asked.requested_at - releases.STUCK_AFTER - timedelta(seconds=1)
    Release.objects.filter(pk=asked.pk).update(requested_at=late)
    assert _broken() == {"every_release_gets_done": (str(asked.pk),)}
    with locks.alone(locks.RELEASE, asked.pk):
        assert _broken() == {}


def test_a_release_without_its_events_is_found(release: Release) -> None:
    with connection.cursor() as cursor, transaction.atomic():
        cursor.execute("SET LOCAL session_replication_role = replica")  # past the trigger that forbids it
        Event.objects.filter(type=Event.Type.RELEASE_PUBLISHED).delete()

    assert _broken() == {"release_is_in_the_log": (str(release.pk),)}


def _past_the_guards(statement: str) -> None:
    with connection.cursor() as cursor, transaction.atomic():
        cursor.execute("SET LOCAL session_replication_role = replica")  # past the triggers that forbid it
        cursor.execute(statement)
        assert cursor.rowcount == 1


def test_a_withdrawal_that_no_action_made_is_found(release: Release) -> None:
    withdraw_release(release=release, reason="wrong", by=None, now=timezone.now())
    assert _broken() == {}
    _past_the_guards("UPDATE publishing_withdrawal SET withdrawn_at = withdrawn_at - interval '1 day'")
    assert _broken() == {"withdrawal_is_of_a_published_release_and_says_why": (str(release.pk),)}
    _past_the_guards("DELETE FROM publishing_withdrawal")
    assert _broken() == {"withdrawal_is_in_the_log": (str(release.pk),)}, "the log says it was withdrawn"


def test_only_the_named_study_is_looked_at(release: Release) -> None:
    other = builders.make_study("other")
    _first_story_file(release).write_bytes(b"")

    assert _broken(other) == {}
    assert _broken(release.study) == {"published_release_is_unchanged": (str(release.pk),)}
