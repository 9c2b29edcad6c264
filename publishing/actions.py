"""Asking for a release, building it, publishing it. Every write of this room.

How a build survives being killed at any instant: the files are written to a hidden directory beside
the final place, MANIFEST last, everything fsynced; one rename makes the directory visible as a whole;
then one transaction says that it is published. Whoever comes next (``build_release`` again, by the
sweep or by hand) throws a hidden directory away, and adopts a whole one that was not recorded yet.
"""

from __future__ import annotations

import errno
import json
import logging
import os
import secrets
import shutil
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import Max
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import User
from annotation.actions.events import record_event
from annotation.actions.studies import freeze_answers, thaw_answers
from annotation.models import Event, Study
from publishing import builder, locks, queries, streaming
from publishing.builder import Built
from publishing.card.changes import COMPARED
from publishing.errors import BrokenDirectory, NothingToRelease, PlaceTaken, PublishingError, ReleaseUnderway
from publishing.files import directory
from publishing.files.directory import MANIFEST
from publishing.filters import DEFAULT_FILTER, get_filter
from publishing.models import DroppedReason, Release, ReleaseFile
from publishing.progress import Reporter
from publishing.provenance import code_version
from publishing.steps import Report, Stage, reported
from tomannot.celery import app

logger = logging.getLogger(__name__)

BUILD_TASK = "publishing.tasks.build_release"
COUNTS = ("stories", "kept", "dropped", "incomplete", "votes", "annotators")
"""The counts that a release's row has in common with its ``release.json``."""
AS_REQUESTED = (
    "environment",
    "votes_per_story",
    "title",
    "description",
    "license",
    "pay_rate",
    "currency",
)
"""What a release keeps of its study as it was when the release was asked for."""
STALLED_AFTER = timedelta(seconds=10)
"""How long a release may wait for a worker before the sweep asks again."""


@transaction.atomic
def request_release(
    *, study: Study, by: User | None, now: datetime, filter_name: str = DEFAULT_FILTER
) -> Release:
    """Ask for a release of the study's complete stories; a worker builds it after the commit.

    Any study that has been opened may be released, also while people still vote: stories that lack
    votes are left out and counted, and the release records the study's state. A failed release is
    asked for again under its own number. Raises :class:`UnknownFilter`, :class:`NothingToRelease` and
    :class:`ReleaseUnderway` (which carries the release that is being made).
    """
    get_filter(filter_name)
    study = Study.objects.select_for_update(of=("self",), no_key=True).get(pk=study.pk)
    underway = Release.objects.filter(study=study).unfinished().first()
    if underway is not None:
        raise ReleaseUnderway(underway)
    if study.state == Study.State.DRAFT:
        raise NothingToRelease(
            _("“%(study)s” is a draft; nobody has voted. Open it: manage.py open_study %(study)s.")
            % {"study": study.slug}
        )
    if not queries.has_complete_story(study):
        raise NothingToRelease(
            ngettext(
                "No story of “%(study)s” has its %(votes)s vote yet: there is nothing to release.",
                "No story of “%(study)s” has all its %(votes)s votes yet: there is nothing to release.",
                study.votes_per_story,
            )
            % {"study": study.slug, "votes": study.votes_per_story}
        )
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
    release.salt = secrets.token_hex(16)
    release.code_version = code_version()
    release.requested_by = by
    release.requested_at = now
    release.started_at = None
    release.answers_until = None
    release.save()
    record_event(
        study=study, type=Event.Type.RELEASE_REQUESTED, by=by, now=now, subject=f"release {release.number}",
        note=f"filter {filter_name}",
    )  # fmt: skip
    enqueue_build(release_id=release.pk)
    return release


def enqueue_build(*, release_id: int) -> None:
    """Have a worker build the release, once the surrounding transaction is committed.

    If the broker cannot be reached this is logged and nothing is lost: the sweep asks again.
    """
    transaction.on_commit(lambda: app.send_task(BUILD_TASK, args=[release_id]), robust=True)


def stalled_releases(*, now: datetime) -> list[Release]:
    """Unfinished releases that nobody is building, though a worker should have taken them by now."""
    waiting = Release.objects.unfinished().filter(requested_at__lte=now - STALLED_AFTER)
    taken = locks.being_built()
    return [release for release in waiting.select_related("study").order_by("pk") if release.pk not in taken]


def resume_releases(*, now: datetime) -> int:
    """Have a worker take up every stalled release again. Returns how many there were."""
    stalled = stalled_releases(now=now)
    for release in stalled:
        enqueue_build(release_id=release.pk)
    return len(stalled)


def build_release(*, release_id: int, now: datetime) -> None:
    """Build and publish a release that was asked for; safe to repeat, and to be killed at any instant.

    Returns quietly when the release is finished or another session is building it. What people can
    mend (a full disk, a directory in the way) ends in state failed with the reason. A lost database
    connection, or the end of the task's time, is raised and leaves the release to be taken up again.
    Any other error is a fault in tomannot: it fails the release and is raised, so that the log has it.
    Must not run inside a transaction.
    """
    with locks.building(release_id) as ours:
        release = _start(release_id, now=now) if ours else None
        if release is None:
            return
        report = Reporter(release)
        try:
            built = _adopted(release) or _built(release, report)
            report(Stage.RECORDING, 0, None)
            _publish(release, built, now=now)
        except (OSError, PublishingError) as error:
            fail_release(release_id=release.pk, reason=_explained(error), now=now)
        except (OperationalError, InterfaceError, SoftTimeLimitExceeded):
            raise
        except Exception as error:
            fault = f"A fault in tomannot: {type(error).__name__}: {error}. The worker's log says where."
            fail_release(release_id=release.pk, reason=fault, now=now)
            raise


@transaction.atomic
def fail_release(*, release_id: int, reason: str, now: datetime) -> None:
    """Give up an unfinished release, saying why. Does nothing to one that is finished.

    What was fixed for it may change again, as far as no earlier release has published it. Nothing of it
    is left in the place where the next try will want to be.
    """
    release = (
        Release.objects.select_for_update(of=("self",), no_key=True)
        .select_related("study")
        .get(pk=release_id)
    )
    if release.state not in (Release.State.REQUESTED, Release.State.BUILDING):
        return
    _remove_unpublished(release)
    release.state = Release.State.FAILED
    release.failure = reason
    if release.answers_until is not None:
        release.answers_until = None
        thaw_answers(study=release.study, until=_published_until(release.study), now=now)
    release.save(update_fields=["state", "failure", "answers_until"])
    record_event(
        study=release.study,
        type=Event.Type.RELEASE_FAILED,
        now=now,
        subject=f"release {release.number}",
        note=reason,
    )


@transaction.atomic(durable=True)
def _start(release_id: int, *, now: datetime) -> Release | None:
    """The release, marked as being built; None when it is finished (or was never there).

    From here on nobody changes an answer that has been saved, so what is published stays what counts.
    Answers saved later may still change, and are not in the release.
    """
    release = (
        Release.objects.select_for_update(of=("self",), no_key=True)
        .select_related("study")
        .filter(pk=release_id)
        .first()
    )
    if release is None or release.state not in (Release.State.REQUESTED, Release.State.BUILDING):
        return None
    release.state = Release.State.BUILDING
    release.started_at = release.started_at or now
    if release.answers_until is None:  # else an earlier build of it was killed: go on with the same answers
        release.answers_until = freeze_answers(study=release.study, now=now).answers_frozen_at
    release.save(update_fields=["state", "started_at", "answers_until"])
    return release


def _published_until(study: Study) -> datetime | None:
    """Until when answers have been published: they stay fixed whatever becomes of later releases."""
    published = Release.objects.filter(study=study).published()
    until: datetime | None = published.aggregate(until=Max("answers_until"))["until"]
    return until


def _remove_unpublished(release: Release) -> None:
    """Remove the release's directory if it was moved into place already, and nothing that is not its own."""
    try:
        description = json.loads((release.directory / builder.RELEASE_JSON).read_bytes())
    except (OSError, ValueError):
        return
    if description.get("salt") == release.salt:
        shutil.rmtree(release.directory, ignore_errors=True)


@transaction.atomic(durable=True)
def _publish(release: Release, built: Built, *, now: datetime) -> None:
    """Record that the directory in place is the release."""
    release = (
        Release.objects.select_for_update(of=("self",), no_key=True)
        .select_related("study")
        .get(pk=release.pk)
    )
    if release.state != Release.State.BUILDING:
        return
    counts = built.description["counts"]
    for name in COUNTS:
        setattr(release, name, counts[name])
    ReleaseFile.objects.bulk_create(
        ReleaseFile(release=release, path=file.path, size=file.size, sha256=file.sha256)
        for file in built.files
    )
    DroppedReason.objects.bulk_create(
        DroppedReason(release=release, reason=reason, stories=stories)
        for reason, stories in counts["dropped_by_reason"].items()
    )
    release.state = Release.State.PUBLISHED
    release.published_at = now
    release.manifest_sha256 = built.manifest_sha256
    release.save()
    record_event(
        study=release.study, type=Event.Type.RELEASE_PUBLISHED, now=now, subject=f"release {release.number}",
        note=f"MANIFEST {built.manifest_sha256}",
    )  # fmt: skip


def _built(release: Release, report: Report) -> Built:
    """Write the release beside its place and move it in."""
    final = release.directory
    hidden = final.with_name(f"{_hidden_prefix(release)}{secrets.token_hex(4)}")
    _sweep_hidden(release)
    try:
        queries.count_anew()
        with queries.snapshot():
            facts, previous = queries.release_facts(release), _previous(release)
            total = queries.story_count(release.study)
            # Closed before the transaction ends: until then the connection is busy sending rows.
            with closing(streaming.judged_stories(release.study, until=release.answers_until)) as stories:
                counted = reported(stories, report, Stage.STORIES, total)
                built = builder.build(hidden, facts=facts, stories=counted, previous=previous, report=report)
        hidden.rename(final)
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise
    for parent in (final.parent, final.parent.parent):
        directory.sync_directory(parent)
    return built


def _previous(release: Release) -> Path | None:
    """The directory of the release before; None for the first one, or when its files are away.

    Raises :class:`~publishing.errors.BrokenDirectory` unless what is read of it is as it was published.
    """
    before = Release.objects.published().filter(study=release.study_id, number__lt=release.number)
    found = before.select_related("study").order_by("-number").first()
    if found is None or not (found.directory / MANIFEST).is_file():
        return None
    for file in found.files.filter(path__in=COMPARED):
        if _sha256(found.directory, file.path) != file.sha256:
            raise BrokenDirectory(
                f"{found.directory / file.path} is not as it was published, so the new release cannot be "
                "compared with that one. Put the files of that release back as they were, or move its "
                "directory away, and ask for the release again."
            )
    return found.directory


def _sha256(folder: Path, path: str) -> str | None:
    """The hash of a file; None when it is missing."""
    try:
        return directory.file_facts(folder, path).sha256
    except FileNotFoundError:
        return None


def _adopted(release: Release) -> Built | None:
    """The release as an earlier, killed build left it in place; None when there is nothing whole.

    A directory without a valid MANIFEST is what a crash of the machine may leave; it is removed.
    Raises :class:`PlaceTaken` for a whole release that is not this one.
    """
    final = release.directory
    if not final.exists():
        return None
    try:
        files, manifest_sha256 = directory.verify(final)
        description = json.loads((final / builder.RELEASE_JSON).read_bytes())
    except (BrokenDirectory, FileNotFoundError):
        _remove_broken(final)
        return None
    identity = {"study": release.study.slug, "number": release.number, "salt": release.salt}
    if {key: description.get(key) for key in identity} != identity:
        raise PlaceTaken(
            f"{final} holds a whole release that this database does not know. Move it to a safe place, "
            "or set RELEASES_ROOT to another directory, and ask for the release again."
        )
    return Built(files, manifest_sha256, description)


def _remove_broken(final: Path) -> None:
    root = Path(settings.RELEASES_ROOT).resolve()
    if final.is_symlink() or root not in final.resolve().parents:
        raise PlaceTaken(f"{final} is not a directory inside RELEASES_ROOT ({root}). Move it away.")
    logger.warning("Removing %s: an incomplete directory of a release that was never published.", final)
    shutil.rmtree(final)


def _hidden_prefix(release: Release) -> str:
    return f".building-{release.number}-"


def _sweep_hidden(release: Release) -> None:
    """Remove what killed builds of this release left behind. Only the holder of the lock calls this."""
    for leftover in release.directory.parent.glob(f"{_hidden_prefix(release)}*"):
        shutil.rmtree(leftover)


def _explained(error: OSError | PublishingError) -> str:
    """A failure as a sentence with its remedy."""
    if not isinstance(error, OSError):
        return str(error)
    where = (
        os.fspath(error.filename) if isinstance(error.filename, str | os.PathLike) else settings.RELEASES_ROOT
    )
    remedies = {
        errno.ENOSPC: "The disk is full. Make room there",
        errno.EDQUOT: "The disk quota is used up. Make room there",
        errno.EACCES: "The worker may not write there. Give its user the right to",
        errno.EPERM: "The worker may not write there. Give its user the right to",
        errno.EROFS: "The file system is read-only. Mount it writable, or set another RELEASES_ROOT",
    }
    remedy = remedies.get(error.errno or 0, "Check that directory")
    return f"{where}: {error.strerror or error}. {remedy}, then ask for the release again."
