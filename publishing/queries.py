"""Database reads for releases and their pages. No writes."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Case, Count, F, Q, When
from django.utils.translation import override

from annotation.fixed_settings import NONE, noted_changes
from annotation.hidden_checks import CheckRules
from annotation.identifiers import without_identifiers
from annotation.models import (
    Answer,
    Assignment,
    CheckResult,
    ConsentText,
    Enrollment,
    Event,
    ReviewSample,
    SpotCheck,
    Story,
    StoryImport,
    Study,
    SurplusReason,
    Vote,
)
from annotation.models.votes import VoteQuerySet
from annotation.protocols.questions import Question, Scale, Text
from publishing import facts
from publishing.files import jsonl
from publishing.instrument import form_of
from publishing.models import DataStatement, Release, StudyPlan
from publishing.plans import plan_and_deviations
from publishing.study_filters import default_filter

COPIED = (
    "title", "description", "environment", "license", "story_language", "number", "filter_name",
    "votes_per_story", "most_votes", "salt", "code_version", "study_state", "story_cap", "pay_rate",
    "currency",
)  # fmt: skip
"""Facts that the row of a release has under the same name."""
CHUNK = 2000
"""Rows fetched at a time while streaming."""


def has_complete_story(study: Study) -> bool:
    """Return True if at least one story has all its votes, or the least where their number is adaptive."""
    by_story = Vote.objects.of_study(study).counted().values("assignment__story")
    counted = by_story.annotate(votes=Count("pk"))
    return bool(counted.filter(votes__gte=study.votes_per_story).exists())


def refresh_planner_statistics() -> None:
    """Update the statistics of PostgreSQL's planner for the tables that a release reads.

    Without this, after a large import or a simulated crowd, the planner compares every answer with every
    vote, which takes minutes instead of a second.
    """
    models = (Story, Assignment, Vote, Answer, Enrollment)
    with connection.cursor() as cursor:
        cursor.execute(f"ANALYZE {', '.join(model._meta.db_table for model in models)}")


@contextmanager
def snapshot() -> Iterator[None]:
    """Open a read-only snapshot of the database for the block.

    Must be the outermost transaction. If the process dies during a long query, the server notices within
    seconds and frees what the session held.
    """
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        cursor.execute("SET LOCAL client_connection_check_interval = '2s'")
        cursor.execute("SET LOCAL work_mem = '64MB'")  # joins and sorts of all votes
        # Processes that share the work pass every row on, which costs a fifth more of the processor in all.
        cursor.execute("SET LOCAL max_parallel_workers_per_gather = 0")
        yield


def release_facts(release: Release) -> facts.ReleaseFacts:
    """Collect what the files state about the study and the request."""
    study = release.study
    with override(settings.LANGUAGE_CODE):  # the same files, whatever language the asker reads
        protocol_title = str(study.protocol.title)
    return facts.ReleaseFacts(
        slug=study.slug,
        **{name: getattr(release, name) for name in COPIED},
        protocol_name=study.protocol_name,
        protocol_version=study.protocol_version,
        protocol_title=protocol_title,
        asked=asked_questions(study),
        medians=study.answer_sides.medians,
        created=release.requested_at,
        pay_before=pay_before(release),
        people=people(release),
        imported=imported_votes(study),
        instrument=instrument(release),
        sources=sources(study),
        plan=plan_and_deviations(release),
        url=urljoin(settings.PUBLIC_URL, release.url),
        intake=intake(release),
        recruited=json.loads(release.recruited) if release.recruited else None,
        flagged=flagged(release),
        admitted_through=study.qualified_through.slug if study.qualified_through else "",
        given=votes_given_by_name(release),
        surplus=surplus_votes(release),
        excluded_people=excluded_people(release),
        checks=hidden_checks(release),
        spot_checks=spot_checks(release),
        statement=replace(statement_of(study, at=release.requested_at), doi=release.doi),
    )


def planned_filter(study: Study) -> str:
    """Return the name of the filter in the study's plan; without a plan, the protocol's default one."""
    plan = StudyPlan.objects.filter(study=study).first()
    return str(json.loads(plan.document)["filter"]) if plan else default_filter(study)


def instrument(release: Release) -> dict[str, Any]:
    """Return what annotators were shown, with a form for each version and language that votes name."""
    study, protocol = release.study, release.study.protocol
    own = {text.pk: text for text in study.instruction_texts.all()}
    votes = Vote.objects.order_by()
    # To look for each of a few pairs is cheaper than to find the study of every vote.
    pairs = votes.filter(Q(instructions=None) | Q(instructions__in=own)).values("instructions", "language")
    shown = [pair for pair in pairs.distinct() if votes.of_study(study).filter(**pair).exists()]
    forms = [form_of(protocol, pair["language"], own.get(pair["instructions"])) for pair in shown]
    agreed = Event.objects.filter(
        study=study, type=Event.Type.CONSENT_GIVEN, at__lte=release.counted_until
    ).values_list("subject", flat=True)
    versions = [int(subject.removeprefix("consent ")) for subject in set(agreed)]
    texts = ConsentText.objects.filter(study=study, version__in=versions).order_by("version")
    before = [
        {"rate": _amount(past.rate), "until": jsonl.timestamp(past.until)} for past in pay_before(release)
    ]
    return {
        "protocol": {"name": study.protocol_name, "version": study.protocol_version},
        "forms": sorted(forms, key=lambda form: (form["version"], form["language"])),
        "consent": list(texts.values("version", "text")),
        "pay": None
        if imported_votes(study)
        else {"rate": _amount(release.pay_rate), "currency": release.currency, "before": before},
        "test": release.test,
    }


def _amount(rate: Decimal | None) -> str | None:
    return None if rate is None else str(rate)


def sources(study: Study) -> list[dict[str, Any]]:
    """Return the files from which the released stories were imported, oldest first."""
    files = StoryImport.objects.filter(study=study, stories__role=Story.Role.MAIN).order_by("pk")
    number = Count("stories__source_line", distinct=True)  # a new version has the line of the old one
    rows = files.annotate(number=number).values_list("file_name", "sha256", "license", "number")
    names = ("file", "sha256", "license", "stories")
    return [
        dict(zip(names, (without_identifiers(Path(file).name), *rest), strict=True)) for file, *rest in rows
    ]


def imported_votes(study: Study) -> facts.ImportedVotes | None:
    """Return the source of the study's imported votes, from the audit log; None if people voted here."""
    note = Event.objects.filter(study=study, type=Event.Type.RELEASE_IMPORTED).values_list("note", flat=True)
    source = note.first()
    if source is None:
        return None
    agreed_there = Event.objects.filter(study=study, type=Event.Type.CONSENT_GIVEN, note=source)
    found = agreed_there.values("enrollment").distinct().count()
    return facts.ImportedVotes(source.removeprefix("imported from "), found) if found else None


def largest_story_cap(study: Study) -> int:
    """Return the largest story cap since the study was opened."""
    changes = _changes_since_opening(study, "story_cap")
    return max([study.story_cap, *(int(before) for _, before in changes)])


def pay_before(release: Release) -> tuple[facts.PayBefore, ...]:
    """Return the pay rates before the release's, since the opening, oldest first."""
    changes = _changes_since_opening(release.study, "pay_rate", until=release.requested_at)
    return tuple(facts.PayBefore(None if rate == NONE else Decimal(rate), until) for until, rate in changes)


def _changes_since_opening(
    study: Study, setting: str, *, until: datetime | None = None
) -> list[tuple[datetime, str]]:
    """Return when a setting was changed and its value before, from the audit log."""
    events = Event.objects.filter(study=study, type=Event.Type.STUDY_CHANGED, at__gte=study.opened_at)
    if until is not None:
        events = events.filter(at__lte=until)
    noted = events.order_by("at", "pk").values_list("at", "note")
    return [(at, changes[setting][0]) for at, note in noted if setting in (changes := noted_changes(note))]


def statement_of(study: Study, *, at: datetime) -> facts.Statement:
    """Return the data statement in force at a moment; empty if there was none."""
    written = DataStatement.objects.of(study, at=at)
    return written.statement if written else facts.Statement()


def asked_questions(study: Study) -> tuple[facts.AskedQuestion, ...]:
    """Return the questions of the study's form, with titles in the installation's language."""
    with override(settings.LANGUAGE_CODE):
        return tuple(asked_question(question) for question in study.protocol.questions)


def asked_question(question: Question) -> facts.AskedQuestion:
    """Return a question of a protocol as releases state it, with its title in the current language."""
    options = question.options if question.has_fixed_options else ()
    return facts.AskedQuestion(
        key=question.key,
        title=str(question.title),
        options=tuple(option.key for option in options),
        against=tuple(option.key for option in options if option.counts_against),
        scale=(str(question.lowest), str(question.highest)) if isinstance(question, Scale) else (),
        in_words=isinstance(question, Text),
        optional=question.optional or question.only_after is not None,
    )


def people(release: Release) -> facts.People:
    """Count the people at each step, from the audit log, until the answers were frozen (or the request).

    Later events change nothing, so building a release again gives the same card.
    """
    study = release.study
    events = Event.objects.filter(study=study, enrollment__environment=release.environment)
    events = events.filter(at__lte=release.counted_until)

    def how_many(*types: Event.Type) -> int:
        return events.filter(type__in=types).values("enrollment").distinct().count()

    qualified, failed = Event.Type.ENROLLMENT_QUALIFIED, Event.Type.ENROLLMENT_FAILED
    begun = events.filter(type=Event.Type.ATTEMPT_STARTED)
    tested = study.gate != Study.Gate.NOT_REQUIRED
    return facts.People(
        visited=how_many(Event.Type.VISIT_ARRIVED),
        consented=how_many(Event.Type.CONSENT_GIVEN),
        attempted=how_many(qualified, failed) if tested else None,
        passed=how_many(qualified) if tested else None,
        marks=tuple(sorted({note for note in begun.values_list("note", flat=True) if note})),
    )


def intake(release: Release) -> dict[str, Any] | None:
    """Return what people said about themselves, in the groups of the closed study’s first release.

    None before that, and null for a question without groups.
    """
    study = release.study
    if study.intake_grouped_at is None or study.intake_grouped_at > release.requested_at:
        return None
    people: dict[str, dict[str, int] | None] = dict.fromkeys(study.intake_questions)
    for group in study.intake_groups.order_by("pk"):
        people[group.question] = {**(people[group.question] or {}), group.option: group.people}
    return {"smallest_group": study.intake_group, "people": people}


def flagged(release: Release) -> facts.Flagged:
    """Return the votes of people whom the log names as flagged, and those without trusted input.

    Flags that are raised after the request change nothing, so building a release again gives the same card.
    """
    people = Event.objects.filter(
        study=release.study, type=Event.Type.ANNOTATOR_FLAGGED, at__lte=release.requested_at
    )
    untrusted = Vote.objects.of_study(release.study).filter(trusted_events=0).counted()
    found: defaultdict[str, set[str]] = defaultdict(set)
    votes = untrusted.values_list("assignment__enrollment__pseudonym", "assignment__story__story_id")
    for name, story_id in votes:
        found[name].add(story_id)
    return {**found, **dict.fromkeys(people.values_list("enrollment__pseudonym", flat=True))}


def surplus_votes(release: Release) -> dict[str, int]:
    """Count the stored votes that do not count, by reason, up to the release.

    The reason is the vote's ``SurplusReason`` or, without one, the state of its assignment: ``excluded``,
    ``displaced``, ``pending`` or ``doubted``. A changed vote counts once.
    """
    reason = Case(
        When(surplus_reason=SurplusReason.NONE, then=F("assignment__state")), default=F("surplus_reason")
    )
    by_reason = _uncounted(release).annotate(reason=reason).values("reason")
    return {row["reason"]: row["votes"] for row in by_reason.annotate(votes=Count("pk")).order_by("reason")}


def votes_given_by_name(release: Release) -> int:
    """Count the counted votes on stories that were given to their annotator by name."""
    given = Vote.objects.of_study(release.study).counted().filter(assignment__given=True)
    return given.filter(submitted_at__lte=release.counted_until).count()


def excluded_people(release: Release) -> int:
    """Count the people with votes that researchers excluded, up to the release."""
    excluded = _uncounted(release).filter(
        surplus_reason=SurplusReason.NONE, assignment__state=Assignment.State.EXCLUDED
    )
    return excluded.values("assignment__enrollment").distinct().count()


def _uncounted(release: Release) -> VoteQuerySet:
    """Filter the first revisions of stored votes that do not count, up to the release."""
    votes = Vote.objects.of_study(release.study).uncounted()
    return votes.filter(environment=release.environment, submitted_at__lte=release.counted_until)


def hidden_checks(release: Release) -> facts.HiddenChecks | None:
    """Return people's results on hidden checks; None if nobody got one.

    Only first answers count, so building a release again gives the same card.
    """
    until = release.counted_until
    first = CheckResult.objects.filter(
        key__story__study=release.study,
        vote__revision=1,
        vote__environment=release.environment,
        vote__submitted_at__lte=until,
    )
    found = first.aggregate(
        checks=Count("key__story", distinct=True),
        answers=Count("pk"),
        failed=Count("pk", filter=Q(passed=False)),
    )
    if not found["answers"]:
        return None
    warned = Event.objects.filter(
        study=release.study, type=Event.Type.ANNOTATOR_WARNED, at__lte=until
    ).aggregate(people=Count("enrollment", distinct=True))
    return facts.HiddenChecks(**found, warned=warned["people"], rules=_rules(release.study, until))


def spot_checks(release: Release) -> facts.SpotChecks | None:
    """Return the results of judging randomly drawn votes; None if none was judged.

    The last decision on each vote before the release counts, whichever sample it was made in.
    """
    until = SpotCheck.objects.filter(at__lte=release.counted_until)
    drawn = until.filter(
        item__sample__study=release.study,
        item__sample__kind=ReviewSample.Kind.RANDOM,
        item__sample__among=ReviewSample.Among.EVERYBODY,
    )
    decided = until.filter(vote__assignment__in=drawn.values("vote__assignment")).order_by("pk")
    rows = decided.values_list("vote__assignment", "vote__assignment__enrollment", "decision")
    standing = {assignment: (person, decision) for assignment, person, decision in rows}
    if not standing:
        return None
    decisions = Counter(decision for _, decision in standing.values())
    people = Counter(person for person, _ in standing.values())
    return facts.SpotChecks(
        accepted=decisions[SpotCheck.Decision.ACCEPT],
        uncounted=decisions[SpotCheck.Decision.UNCOUNTED],
        rejected=decisions[SpotCheck.Decision.REJECT],
        people=len(people),
        most_of_one=max(people.values()),
    )


def _rules(study: Study, until: datetime) -> CheckRules:
    rules, names = CheckRules(), {item.name for item in fields(CheckRules)}
    events = Event.objects.filter(study=study, type=Event.Type.CHECKS_CHANGED, subject="", at__lte=until)
    for note in events.order_by("pk").values_list("note", flat=True):
        changed: dict[str, Any] = {
            name: None if after == NONE else int(after)
            for name, (_, after) in noted_changes(note).items()
            if name in names
        }
        rules = replace(rules, **changed)
    return rules
