"""What a release, or a page about one, reads from the database. No writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Case, Count, F, Q, When
from django.utils.translation import override

from annotation.models import Answer, Assignment, Enrollment, Event, Story, Study, SurplusReason, Vote
from annotation.protocols.base import Question
from annotation.settled import NONE, noted_changes
from publishing.checking import counted_until, hidden_checks, spot_checks
from publishing.facts import AskedQuestion, ImportedVotes, PayBefore, People, ReleaseFacts, Statement
from publishing.models import DataStatement, Release

CHUNK = 2000
"""Rows fetched at a time while streaming; what a worker holds in memory."""


def has_complete_story(study: Study) -> bool:
    """Whether at least one story has all its votes."""
    by_story = Vote.objects.of_study(study).counted().values("assignment__story").annotate(votes=Count("pk"))
    return by_story.filter(votes__gte=study.votes_per_story).exists()


def story_count(study: Study) -> int:
    """How many stories a release of the study tells of, with votes or without."""
    return Story.objects.filter(study=study).main().count()


def count_anew() -> None:
    """Have the planner count anew what a release is read from.

    It plans from what was there when it counted last. Of a study that came in since, by an import or from a
    simulated crowd, it then compares every answer with every vote, which takes minutes instead of a second.
    """
    models = (Story, Assignment, Vote, Answer, Enrollment)
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {', '.join(model._meta.db_table for model in models)}")


@contextmanager
def snapshot() -> Iterator[None]:
    """One unchanging view of the database, read-only, for as long as the block runs.

    Must be the outermost transaction. If the process dies during a long query, the server notices
    within seconds instead of at the query's end, and frees what the session held.
    """
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SET LOCAL client_connection_check_interval = '2s'")
        yield


def release_facts(release: Release) -> ReleaseFacts:
    """What the files state about the study and the request."""
    study = release.study
    protocol = study.protocol
    with override(settings.LANGUAGE_CODE):  # the same files, whatever language the asker reads
        protocol_title = str(protocol.title)
    return ReleaseFacts(
        slug=study.slug,
        title=release.title,
        description=release.description,
        environment=release.environment,
        license=release.license,
        protocol_name=study.protocol_name,
        protocol_version=study.protocol_version,
        protocol_title=protocol_title,
        asked=asked_questions(study),
        number=release.number,
        filter_name=release.filter_name,
        votes_per_story=release.votes_per_story,
        salt=release.salt,
        code_version=release.code_version,
        created=release.requested_at,
        study_state=release.study_state,
        story_cap=release.story_cap,
        pay_rate=release.pay_rate,
        pay_before=pay_before(release),
        currency=release.currency,
        opened_at=study.opened_at,
        people=people(release),
        imported=imported_votes(study),
        admitted_through=study.qualified_through.slug if study.qualified_through else "",
        surplus=surplus_votes(release),
        checks=hidden_checks(release),
        spot_checks=spot_checks(release),
        statement=statement_of(study, at=release.requested_at),
    )


def imported_votes(study: Study) -> ImportedVotes | None:
    """From which release the study's votes were imported, by the audit log; None when people voted here."""
    note = Event.objects.filter(study=study, type=Event.Type.RELEASE_IMPORTED).values_list("note", flat=True)
    source = note.first()
    if source is None:
        return None
    agreed_there = Event.objects.filter(study=study, type=Event.Type.CONSENT_GIVEN, note=source)
    found = agreed_there.values("enrollment").distinct().count()
    return ImportedVotes(source.removeprefix("imported from "), found) if found else None


def largest_story_cap(study: Study) -> int:
    """The largest number of stories per person that has been in force since the study was opened."""
    changes = _changes_since_opening(study, "story_cap")
    return max([study.story_cap, *(int(before) for _, before in changes)])


def pay_before(release: Release) -> tuple[PayBefore, ...]:
    """The pay rates that were in force before the release's, since the opening, the first one first."""
    changes = _changes_since_opening(release.study, "pay_rate", until=release.requested_at)
    return tuple(PayBefore(None if rate == NONE else Decimal(rate), until) for until, rate in changes)


def _changes_since_opening(
    study: Study, setting: str, *, until: datetime | None = None
) -> list[tuple[datetime, str]]:
    """When a setting was changed, and from what, by the audit log."""
    events = Event.objects.filter(study=study, type=Event.Type.STUDY_CHANGED, at__gte=study.opened_at)
    if until is not None:
        events = events.filter(at__lte=until)
    noted = events.order_by("at", "pk").values_list("at", "note")
    return [(at, changes[setting][0]) for at, note in noted if setting in (changes := noted_changes(note))]


def statement_of(study: Study, *, at: datetime) -> Statement:
    """What the researchers had stated about the data at a moment; empty when they had said nothing."""
    written = DataStatement.objects.of(study, at=at)
    return written.statement if written else Statement()


def asked_questions(study: Study) -> tuple[AskedQuestion, ...]:
    """The questions of the study's form, in its order, with titles in the installation's language."""
    with override(settings.LANGUAGE_CODE):
        return tuple(_asked(question) for question in study.protocol.questions)


def _asked(question: Question) -> AskedQuestion:
    options = question.options if question.is_static else ()
    return AskedQuestion(
        key=question.key,
        title=str(question.title),
        options=tuple(option.key for option in options),
        against=tuple(option.key for option in options if option.counts_against),
    )


def people(release: Release) -> People:
    """How far people came until the answers were fixed for the release, from the audit log.

    Until it was asked for, if they are not fixed yet. Later events do not change it, so that building a
    release again gives the same card.
    """
    study = release.study
    events = Event.objects.filter(
        study=study, at__lte=counted_until(release), enrollment__environment=release.environment
    )

    def how_many(*types: Event.Type) -> int:
        return events.filter(type__in=types).values("enrollment").distinct().count()

    qualified, failed = Event.Type.ENROLLMENT_QUALIFIED, Event.Type.ENROLLMENT_FAILED
    tested = study.gate != Study.Gate.NOT_REQUIRED
    return People(
        visited=how_many(Event.Type.VISIT_ARRIVED),
        consented=how_many(Event.Type.CONSENT_GIVEN),
        attempted=how_many(qualified, failed) if tested else None,
        passed=how_many(qualified) if tested else None,
    )


def surplus_votes(release: Release) -> dict[str, int]:
    """How many votes are stored and do not count, by reason, up to the release.

    They came too late or from the wrong person (``SurplusReason``), or the researchers took them out
    (``excluded``), some of them until somebody else had filled the slot (``displaced``). A vote that was
    changed afterwards is one vote.
    """
    out = [Assignment.State.EXCLUDED, Assignment.State.DISPLACED]
    votes = Vote.objects.of_study(release.study).filter(
        ~Q(surplus_reason=SurplusReason.NONE) | Q(assignment__state__in=out),
        revision=1,
        environment=release.environment,
        submitted_at__lte=counted_until(release),
    )
    reason = Case(
        When(surplus_reason=SurplusReason.NONE, then=F("assignment__state")), default=F("surplus_reason")
    )
    counted = votes.annotate(reason=reason).values("reason").annotate(votes=Count("pk")).order_by("reason")
    return {row["reason"]: row["votes"] for row in counted}
