"""Requesting, building and publishing releases.

A build may be killed at any instant. Files are written to a hidden directory beside the final one, MANIFEST
last, everything fsynced; one rename makes the directory visible (with a shared store, one object before it);
then one transaction records it as published. The next ``build_release`` (by the sweep or by hand) removes a
leftover hidden directory, and adopts a complete one that was not recorded yet. With a shared store it builds
that one again, because the place has a hash in its name that is not known yet (``publishing.store``).
"""

import errno
import json
import logging
import os
import secrets
import shutil
from collections.abc import Mapping
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Max
from django.utils.translation import gettext as _, ngettext

from accounts.errors import DomainError
from accounts.models import User, locked
from annotation import locks
from annotation.actions.events import record_event
from annotation.actions.studies import freeze_answers, group_intake, thaw_answers
from annotation.models import Event, Study
from publishing import builder, queries, store, story_stream
from publishing.builder import BuiltRelease
from publishing.earlier_releases import baseline_of, directory_before
from publishing.errors import BrokenDirectory, NothingToRelease, PlaceTaken, ReleaseUnderway
from publishing.files import directory
from publishing.files.jsonl import timestamp
from publishing.files.rows import RELEASE_JSON
from publishing.models import AnswerSides, Release, ReleaseFile
from publishing.progress import Reporter
from publishing.provenance import code_version
from publishing.steps import Report, Stage, reported
from publishing.store import StoreRefused, StoreUnavailable
from publishing.study_filters import filter_for
from tomannot.celery import app

logger = logging.getLogger(__name__)

BUILD_TASK = "publishing.tasks.build_release"
COUNTS = ("stories", "kept", "dropped", "incomplete", "votes", "annotators")
"""Counts that a release's row and its ``release.json`` share."""
AS_REQUESTED = (
    "environment", "votes_per_story", "most_votes", "title", "description", "license", "story_language",
    "pay_rate", "currency",
)  # fmt: skip
"""Fields copied from the study when the release is requested."""
STALLED_AFTER = timedelta(seconds=10)
"""Time a release may wait for a worker before the sweep enqueues it again."""


@transaction.atomic
def request_release(
    *,
    study: Study,
    by: User | None,
    now: datetime,
    filter_name: str = "",
    test: list[dict[str, Any]] | None = None,
    recruited: Mapping[str, Any] | None = None,
) -> Release:
    """Request a release of the study's complete stories. A worker builds it after the commit.

    ``test`` holds the rounds of the qualification test with their keys, if they are to be published;
    ``recruited`` the figures on recruitment, test and pay for the annotation report.

    Any study that was opened can be released, even while people still vote: incomplete stories are left out
    and counted, and the release records the study's state. A failed release is requested again under its own
    number. Without a ``filter_name``, the planned one is used.
    Raise :class:`UnknownFilter`, :class:`NothingToRelease` or :class:`ReleaseUnderway`.
    """
    study = locked(study)
    underway = Release.objects.filter(study=study).unfinished().first()
    if underway is not None:
        raise ReleaseUnderway(release_id=underway.pk, study=study.slug, number=underway.number)
    filter_name = filter_name or queries.planned_filter(study)
    release = next_release(study=study, by=by, now=now, filter_name=filter_name)
    group_intake(study=study, by=by, now=now)
    release.test, release.recruited = test, json.dumps(recruited) if recruited else ""
    release.save()
    record_release(
        release=release, type=Event.Type.RELEASE_REQUESTED, by=by, now=now, note=f"filter {filter_name}"
    )
    enqueue_build(release_id=release.pk)
    return release


def next_release(*, study: Study, by: User | None, now: datetime, filter_name: str) -> Release:
    """Return the study's next release as it would be requested now; only the salt of a first one is saved.

    Raise :class:`UnknownFilter` or :class:`NothingToRelease`.
    """
    filter_for(study, filter_name)
    if study.state == Study.State.DRAFT:
        raise NothingToRelease(
            _("“%(study)s” is a draft; nobody has voted. Open it: manage.py open_study %(study)s."),
            study=study.slug,
        )
    if not queries.has_complete_story(study):
        told = ngettext(
            "No story of “%(study)s” has its %(votes)s vote yet: there is nothing to release.",
            "No story of “%(study)s” has all its %(votes)s votes yet: there is nothing to release.",
            study.slots_per_story,
        )
        raise NothingToRelease(told, study=study.slug, votes=study.votes_told)
    release = Release.objects.filter(study=study, state=Release.State.FAILED).first()
    if release is None:
        last = Release.objects.filter(study=study).aggregate(last=Max("number"))["last"]
        release = Release(study=study, number=(last or 0) + 1)
    release.state = Release.State.REQUESTED
    release.failure = ""
    for name in AS_REQUESTED:
        setattr(release, name, getattr(study, name))
    release.story_cap = queries.largest_story_cap(study)
    release.study_state = study.state
    release.filter_name = filter_name
    sides, _new = AnswerSides.objects.get_or_create(study=study, defaults={"salt": secrets.token_hex(16)})
    release.salt = sides.salt
    doi = queries.statement_of(study, at=now).doi  # unless another release has it: a DOI names one release
    release.doi = "" if Release.objects.filter(doi=doi).exclude(pk=release.pk).exists() else doi
    release.code_version = code_version()
    release.requested_by = by
    release.requested_at = now
    release.started_at = None
    release.answers_until = None
    return release


def enqueue_build(*, release_id: int) -> None:
    """Enqueue the build for after the commit.

    If the broker cannot be reached, this is logged and the sweep enqueues the release later.
    """
    transaction.on_commit(lambda: app.send_task(BUILD_TASK, args=[release_id]), robust=True)


def stalled_releases(*, now: datetime) -> list[Release]:
    """Return unfinished releases that no worker has, though one should by now."""
    waiting = Release.objects.unfinished().filter(requested_at__lte=now - STALLED_AFTER)
    taken = locks.held(locks.RELEASE)
    return [release for release in waiting.select_related("study").order_by("pk") if release.pk not in taken]


def resume_releases(*, now: datetime) -> int:
    """Enqueue every stalled release again. Return their number."""
    stalled = stalled_releases(now=now)
    for release in stalled:
        enqueue_build(release_id=release.pk)
    return len(stalled)


def build_release(*, release_id: int, now: datetime) -> None:
    """Build and publish a requested release. Safe to repeat and to kill at any instant.

    Do nothing if the release is finished or another session is building it. Errors that people can fix (a
    full disk, a directory in the way, a refusing store) fail it with a reason. A lost database connection,
    a shared store that is away, or the task's time limit is raised and leaves the release to be resumed. Any
    other error is a bug: it fails the release and is raised for the log. Must not run inside a transaction.
    """
    with locks.alone(locks.RELEASE, release_id) as ours:
        release = _start(release_id, now=now) if ours else None
        if release is None:
            return
        report = Reporter(release)
        try:
            built = _adopt(release) or _build(release, report)
            report(Stage.RECORDING, 0, None)
            _publish(release, built, now=now)
        except (OperationalError, InterfaceError, SoftTimeLimitExceeded):
            raise
        except (OSError, DomainError) as error:
            if isinstance(error, StoreUnavailable) and not isinstance(error, StoreRefused):
                raise
            fail_release(release_id=release.pk, reason=_failure_text(error), now=now)
        except Exception as error:
            fault = f"A fault in tomannot: {type(error).__name__}: {error}. The worker's log says where."
            fail_release(release_id=release.pk, reason=fault, now=now)
            raise


@transaction.atomic
def fail_release(*, release_id: int, reason: str, now: datetime) -> None:
    """Mark an unfinished release as failed, with the reason. Do nothing to a finished one.

    Its frozen answers may change again, unless an earlier release published them. Its directory is removed,
    because the next attempt needs the place.
    """
    release = Release.objects.locked().get(pk=release_id)
    if not release.is_unfinished:
        return
    _remove_unpublished(release)
    release.state = Release.State.FAILED
    release.failure = reason
    if release.answers_until is not None:
        release.answers_until = None
        published = Release.objects.filter(study=release.study).published()
        until = published.aggregate(until=Max("answers_until"))["until"]  # what is published stays fixed
        thaw_answers(study=release.study, until=until, now=now)
    release.save(update_fields=["state", "failure", "answers_until"])
    record_release(release=release, type=Event.Type.RELEASE_FAILED, now=now, note=reason)


@transaction.atomic(durable=True)
def _start(release_id: int, *, now: datetime) -> Release | None:
    """Mark the release as being built and return it; None if it is finished or missing.

    From here on, saved answers are frozen, so what is published is what counts. Answers saved later may
    change and are not in the release.
    """
    release = Release.objects.locked().filter(pk=release_id).first()
    if release is None or not release.is_unfinished:
        return None
    release.state = Release.State.BUILDING
    release.started_at = release.started_at or now
    if release.answers_until is None:  # else resume a killed build with the same answers
        release.answers_until = freeze_answers(study=release.study, now=now).answers_frozen_at
    release.save(update_fields=["state", "started_at", "answers_until"])
    return release


def _remove_unpublished(release: Release) -> None:
    """Remove the release's directory if it is already in place and was built for this request."""
    try:
        description = json.loads((release.directory / RELEASE_JSON).read_bytes())
    except (OSError, ValueError):
        return
    if _is_of(release, description):
        shutil.rmtree(release.directory, ignore_errors=True)


@transaction.atomic(durable=True)
def _publish(release: Release, built: BuiltRelease, *, now: datetime) -> None:
    release = Release.objects.locked().get(pk=release.pk)
    if release.state != Release.State.BUILDING:
        return
    for name in COUNTS:
        setattr(release, name, built.description["counts"][name])
    ReleaseFile.objects.bulk_create(
        ReleaseFile(release=release, path=file.path, size=file.size, sha256=file.sha256)
        for file in built.files
    )
    AnswerSides.objects.filter(study=release.study_id, medians={}).update(
        medians=built.description["medians"]
    )
    release.state = Release.State.PUBLISHED
    release.published_at = now
    release.manifest_sha256 = built.manifest_sha256
    release.save()
    record_release(
        release=release, type=Event.Type.RELEASE_PUBLISHED, now=now, note=f"MANIFEST {built.manifest_sha256}"
    )


def _build(release: Release, report: Report) -> BuiltRelease:
    final = release.directory
    prefix = f".building-{release.number}-"
    for leftover in final.parent.glob(f"{prefix}*"):  # of killed builds; the lock is ours
        shutil.rmtree(leftover)
    with directory.hidden_beside(final, prefix) as hidden:
        built = write_release(release, hidden, report)
        store.install(hidden, store.place_of(release.study.slug, release.number, built.manifest_sha256))
    for parent in (final.parent, final.parent.parent):
        directory.sync(parent)
    return built


def write_release(release: Release, folder: Path, report: Report) -> BuiltRelease:
    """Write the release's files into a new ``folder``, from one snapshot of the database."""
    queries.refresh_planner_statistics()
    with queries.snapshot():
        facts, previous = queries.release_facts(release), directory_before(release)
        baseline = baseline_of(release)
        total = release.study.stories.main().count()
        # Close the stream before the transaction ends: until then the connection is busy.
        with closing(story_stream.chunks(release.study, until=release.answers_until)) as chunks:
            skips = story_stream.skip_rows(release.study, until=release.answers_until)
            return builder.build(
                folder,
                facts=facts,
                chunks=reported(chunks, report, Stage.STORIES, total),
                skips=skips,
                revisions=story_stream.revision_rows(release.study, until=release.answers_until),
                previous=previous,
                baseline=baseline,
                report=report,
            )


def _adopt(release: Release) -> BuiltRelease | None:
    """Return the complete release that a killed build left in place, or None.

    A directory without a valid MANIFEST (possible after a machine crash) is removed. Raise
    :class:`PlaceTaken` if the directory holds a different, complete release.
    """
    final = release.directory
    if not final.exists():
        return None
    try:
        files, manifest_sha256 = directory.verify(final)
        description = json.loads((final / RELEASE_JSON).read_bytes())
    except (BrokenDirectory, FileNotFoundError):
        root = Path(settings.RELEASES_ROOT).resolve()
        if final.is_symlink() or root not in final.resolve().parents:
            raise PlaceTaken(
                f"{final} is not a directory inside RELEASES_ROOT ({root}). Move it away."
            ) from None
        logger.warning("Removing %s: an incomplete directory of a release that was never published.", final)
        shutil.rmtree(final)
        return None
    if not _is_of(release, description):
        raise PlaceTaken(
            f"{final} holds a complete release that this database does not know. Move it to a safe place, "
            "or set RELEASES_ROOT to another directory, and request the release again."
        )
    return BuiltRelease(files, manifest_sha256, description)


def _is_of(release: Release, description: Mapping[str, Any]) -> bool:
    """Return True if a ``release.json`` was written for this request of the release."""
    identity = {
        "study": release.study.slug,
        "number": release.number,
        "salt": release.salt,
        "created": timestamp(release.requested_at),
    }
    return {key: description.get(key) for key in identity} == identity


def _failure_text(error: OSError | DomainError) -> str:
    if not isinstance(error, OSError):
        return str(error)
    where = error.filename if isinstance(error.filename, str | os.PathLike) else settings.RELEASES_ROOT
    remedies = {
        errno.ENOSPC: "The disk is full. Free some space there",
        errno.EFBIG: "A file would pass the worker's size limit. Raise it (ulimit -f, LimitFSIZE=)",
        errno.EDQUOT: "The disk quota is used up. Free some space there",
        errno.EACCES: "The worker may not write there. Give its user the right to",
        errno.EPERM: "The worker may not write there. Give its user the right to",
        errno.EBADMSG: "The archive is damaged. Put it back into the store as it was published",
        errno.EROFS: "The file system is read-only. Mount it writable, or set another RELEASES_ROOT",
    }
    remedy = remedies.get(error.errno or 0, "Check that directory")
    if isinstance(error, StoreRefused):
        remedy = "Check STORAGE_URL and what its access key may do"
    return f"{where}: {error.strerror or error}. {remedy}, then request the release again."


def record_release(
    *, release: Release, type: Event.Type, now: datetime, note: str, by: User | None = None
) -> Event:
    """Append an event about a release to the log of its study."""
    subject = f"release {release.number}"
    return record_event(study=release.study, type=type, by=by, now=now, subject=subject, note=note)
