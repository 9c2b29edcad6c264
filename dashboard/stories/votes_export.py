"""Export of every vote of a study: a release's columns, and the fate of each vote.

Votes are read story by story, each batch after the last story of the one before, so memory is bounded and no
transaction stays open while a slow client downloads. The votes on one story are of one moment; a later vote
on an exported story appears in the next export. For counted votes of one moment, publish a release.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import F, QuerySet, TextField, Value
from django.db.models.functions import Concat

from annotation.identifiers import without_identifiers
from annotation.models import Answer, Assignment, Story, Study, SurplusReason, Vote, given_in
from annotation.protocols.questions import Question, field_name
from publishing.files.jsonl import timestamp
from publishing.files.rows import CACHE_SIZE, CONTEXT_KEYS

AT_ONCE = 500
"""Stories whose votes are in memory."""
FEW = 20_000
"""Votes since a moment up to which only their stories are read; with more, all stories are walked through."""
_PARTS = "|"
"""Between question, row and answer on their way from SQL; no key has one (KEY_PATTERN)."""
ABOUT = (*CONTEXT_KEYS, "revision", "newest", "counted", "state", "surplus")
"""Columns after the answers: those of a release, and the fate of the vote."""

Answers = tuple[tuple[str, str, str], ...]
"""Question, row and option of each."""


def votes_of(study: Study, *, since: datetime | None = None) -> Iterator[tuple[dict[str, Any], Answers]]:
    """Stream every revision of every vote on the study's main stories, by story and then by vote.

    Each comes with its answers. ``since`` leaves out earlier submissions. The fields are described in
    docs/api.md.
    """
    read = lru_cache(maxsize=CACHE_SIZE)(partial(_read, study.protocol.written))
    for stories in _batches(study, since):
        for row in _by_story(list(_votes(stories, since)), stories):
            yield _row(row, study), read(tuple(row["given"]))


def json_rows(
    votes: Iterable[tuple[dict[str, Any], Answers]], questions: Sequence[Question]
) -> Iterator[dict[str, Any]]:
    """Yield the rows with each answer under its form field, in the order of the questions."""
    places = {question.key: place for place, question in enumerate(questions)}

    @lru_cache(maxsize=CACHE_SIZE)
    def fields(answers: Answers) -> dict[str, str]:
        ordered = sorted(answers, key=lambda answer: (places.get(answer[0], len(places)), answer[:2]))
        return {field_name(question, row): option for question, row, option in ordered}

    for vote, answers in votes:
        about = {name: vote[name] for name in ABOUT}
        yield {"story_id": vote["story_id"], "annotator": vote["annotator"], **fields(answers), **about}


def csv_rows(study: Study, keys: Sequence[str], *, since: datetime | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows with one column per question; a table's cell has ``row:option`` for each of its rows.

    ``keys`` are those of :func:`questions_of`. Rows of words stand on lines of their own.
    """
    written = study.protocol.written

    @lru_cache(maxsize=CACHE_SIZE)
    def cells(answers: Answers) -> dict[str, str]:
        found: dict[str, list[str]] = {key: [] for key in keys}
        for question, row, option in sorted(answers):
            found[question].append(f"{row}:{option}" if row else option)
        return {key: ("\n" if key in written else " ").join(parts) for key, parts in found.items()}

    for vote, answers in votes_of(study, since=since):
        flags = {name: str(vote[name]).lower() for name in ("newest", "counted")}  # as in JSON
        yield vote | cells(answers) | flags


def questions_of(study: Study) -> list[str]:
    """Return the keys of the study's questions, then those that only older versions of its form had.

    The latter take one scan of all votes, which rarely have another version.
    """
    keys = [question.key for question in study.protocol.questions]
    older = Vote.objects.of_study(study).exclude(protocol_version=study.protocol_version)
    answered = Answer.objects.filter(vote__in=older).values_list("question", flat=True).distinct()
    return keys + sorted(set(answered) - set(keys))


def csv_columns(keys: Sequence[str]) -> list[str]:
    return ["story_id", "annotator", *keys, *ABOUT]


def _batches(study: Study, since: datetime | None) -> Iterator[dict[int, str]]:
    """Yield the main stories, some hundred at a time, as story ids by number.

    With ``since``, if few votes are that new, only the stories of these.
    """
    stories = Story.objects.filter(study=study).main().order_by("story_id").values_list("story_id", "pk")
    if since:
        votes = Vote.objects.of_study(study).filter(submitted_at__gte=since)
        newer = list(votes.values_list("assignment__story_id", flat=True)[: FEW + 1])
        stories = stories.filter(pk__in=set(newer)) if len(newer) <= FEW else stories
    last = ""
    while batch := list(stories.filter(story_id__gt=last)[:AT_ONCE]):
        yield {number: story_id for story_id, number in batch}
        last = batch[-1][0]


def _votes(stories: Iterable[int], since: datetime | None) -> QuerySet[Any, Any]:
    answer = Concat(
        "answers__question", Value(_PARTS), "answers__row", Value(_PARTS), given_in("answers__"),
        output_field=TextField(),
    )  # fmt: skip
    votes = Vote.objects.filter(assignment__story__in=list(stories))
    votes = votes.filter(submitted_at__gte=since) if since else votes
    rows: QuerySet[Any, Any] = (
        votes.annotate(
            given=ArrayAgg(answer, default=Value([]), order_by=("answers__question", "answers__row"))
        )
        .order_by("pk")
        .values(
            "given",
            "assignment",
            "revision",
            "environment",
            "served_at",
            "first_submitted_at",
            "submitted_at",
            "order_seed",
            "option_seed",
            "language",
            "instructions__version",
            "comment__words",
            "assignment__story",
            annotator=F("assignment__enrollment__pseudonym"),
            position=F("order_position"),
            state=F("assignment__state"),
            surplus=F("surplus_reason"),
        )
    )
    return rows


def _by_story(votes: list[dict[str, Any]], stories: Mapping[int, str]) -> list[dict[str, Any]]:
    places = {number: place for place, number in enumerate(stories)}
    newest: dict[int, int] = {}
    for vote in votes:
        newest[vote["assignment"]] = max(vote["revision"], newest.get(vote["assignment"], 0))
    for vote in votes:
        vote["story_id"] = stories[vote["assignment__story"]]
        vote["newest"] = vote["revision"] == newest[vote["assignment"]]
    return sorted(votes, key=lambda vote: places[vote["assignment__story"]])


def _row(vote: dict[str, Any], study: Study) -> dict[str, Any]:
    counted = (
        vote["newest"]
        and vote["state"] == Assignment.State.SUBMITTED
        and vote["surplus"] == SurplusReason.NONE
        and vote["environment"] == study.environment
    )
    seconds = (vote["first_submitted_at"] - vote["served_at"]).total_seconds()
    return vote | {
        "submitted_at": timestamp(vote["submitted_at"]),
        "seconds_on_task": round(seconds, 3),
        "instructions": vote["instructions__version"] or 0,
        "comment": vote["comment__words"] or "",
        "counted": counted,
    }


def _read(written: Collection[str], given: tuple[str, ...]) -> Answers:
    answers = (answer.split(_PARTS, 2) for answer in given)
    return tuple(
        (question, row, without_identifiers(said) if question in written else said)
        for question, row, said in answers
    )
