"""The statements that run for every answer, written out and compiled once.

Django compiles a queryset to SQL every time it runs, which for a join of three tables costs several
times what PostgreSQL needs to answer it, and it sends every row it writes on a way of its own. The few
statements between an answer and the next story are therefore kept as text here. They take and give
ordinary model instances, and anything that is not on that path is a queryset as everywhere else.
Nothing is decided here: what is written has been decided by ``annotation.actions``. See docs/adr/0011.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from django.db import IntegrityError, connection, models

from annotation.models import (
    Assignment,
    CheckResult,
    ConsentText,
    Enrollment,
    Event,
    Story,
    Study,
    Vote,
)
from annotation.protocols.base import Choice

_Converters = list[tuple[int, Callable[..., Any]]]
_Parameters = Sequence[Any] | Mapping[str, Any]
_Part = tuple[type[models.Model], slice, list[str], _Converters]


class Select:
    """A SELECT of whole rows of some models, in one statement that is put together at first use.

    ``tables`` maps the aliases of the statement to their models, in the order in which instances are
    returned; ``rest`` is everything from FROM on. An outer-joined row that is missing gives None.
    """

    def __init__(self, tables: Mapping[str, type[models.Model]], rest: str) -> None:
        self._tables = tables
        self._rest = rest
        self._compiled: tuple[str, list[_Part]] | None = None

    def first(self, parameters: _Parameters) -> list[Any] | None:
        """One instance per table of the first row, or None when there is no row."""
        return next(iter(self.all(parameters)), None)

    def all(self, parameters: _Parameters) -> list[list[Any]]:
        """One instance per table, for every row."""
        self._compiled = self._compiled or self._compile()
        sql, parts = self._compiled
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return [[_instance(row, *part) for part in parts] for row in cursor.fetchall()]

    def _compile(self) -> tuple[str, list[_Part]]:
        columns: list[str] = []
        starts = [0]
        for alias, model in self._tables.items():
            columns += [f'{alias}."{field.column}"' for field in model._meta.concrete_fields]
            starts.append(len(columns))
        parts: list[_Part] = []
        for model, (start, end) in zip(self._tables.values(), pairwise(starts), strict=True):
            fields = model._meta.concrete_fields
            converters = [
                (position, converter)
                for position, field in enumerate(fields)
                for converter in field.get_db_converters(connection)
            ]
            parts.append((model, slice(start, end), [field.attname for field in fields], converters))
        return f"SELECT {', '.join(columns)} {self._rest}", parts


def _instance(
    row: Sequence[Any], model: type[models.Model], part: slice, names: list[str], converters: _Converters
) -> models.Model | None:
    values = list(row[part])
    if values[0] is None:  # the primary key comes first: an outer join found nothing
        return None
    for position, converter in converters:
        values[position] = converter(values[position], None, connection)
    return model.from_db(connection.alias, names, values)


def _fields(model: type[models.Model]) -> list[models.Field[Any, Any]]:
    return [field for field in model._meta.concrete_fields if not field.primary_key]


def _insert(model: type[models.Model]) -> str:
    """An INSERT of one whole row, whose parameters are named after the model's fields."""
    columns = ", ".join(f'"{field.column}"' for field in _fields(model))
    values = ", ".join(f"%({field.attname})s" for field in _fields(model))
    return f"INSERT INTO {model._meta.db_table} ({columns}) VALUES ({values})"


def _values(instance: models.Model) -> dict[str, Any]:
    return {field.attname: getattr(instance, field.attname) for field in _fields(type(instance))}


_PERSON_TABLES = {"person": Enrollment, "study": Study, "consent": ConsentText}
_PERSON = """FROM annotation_enrollment person
       JOIN annotation_study study ON study.id = person.study_id
       LEFT JOIN annotation_consenttext consent ON consent.id = person.consent_id
       WHERE person.id = %s"""
_GET_PERSON = Select(_PERSON_TABLES, _PERSON)
_LOCK_PERSON = Select(_PERSON_TABLES, f"{_PERSON} FOR NO KEY UPDATE OF person")

_ASSIGNMENT_TABLES = {"assignment": Assignment, "story": Story}
_ASSIGNMENT = """FROM annotation_assignment assignment
       JOIN annotation_story story ON story.id = assignment.story_id
       WHERE assignment.enrollment_id = %s"""
_LOCK_ASSIGNMENT = Select(
    _ASSIGNMENT_TABLES, f"{_ASSIGNMENT} AND assignment.id = %s FOR NO KEY UPDATE OF assignment"
)
_LOCK_HELD = Select(
    _ASSIGNMENT_TABLES, f"{_ASSIGNMENT} AND assignment.state = 'leased' FOR NO KEY UPDATE OF assignment"
)

# OFFSET 0 keeps the planner from turning this into a join, for which it may sort all stories: whatever
# its statistics say, PostgreSQL walks the partial index over stories with free slots in serving order,
# and looks each one up among the person's own.
_NEXT_STORY = """FROM annotation_story story
       WHERE story.study_id = %s AND story.has_free_slot AND NOT EXISTS (
           SELECT FROM annotation_assignment had
           WHERE had.enrollment_id = %s AND had.story_id = story.id AND had.state <> 'expired' OFFSET 0)
       ORDER BY story.order_key
       LIMIT 1
       FOR NO KEY UPDATE"""
_NEXT_STORY_NOW = Select({"story": Story}, f"{_NEXT_STORY} SKIP LOCKED")
_NEXT_STORY_WAITING = Select({"story": Story}, _NEXT_STORY)

# A check is answered by everybody once, so it is neither locked nor does it run out; it comes only while
# the study still wants answers of this person. A text that somebody meets twice would tell which story is a
# check, so it is the text that counts, of whatever role the other story was. Test stories are no assignments:
# a text of theirs is known to everybody. OFFSET 0 as above: for each check the few stories of its text are
# looked up among the person's own, however many these are.
_NEXT_CHECK = Select(
    {"story": Story},
    """FROM annotation_story story
       WHERE story.study_id = %(study)s AND story.role = 'check'
         AND EXISTS (SELECT FROM annotation_checkkey key
                     WHERE key.story_id = story.id AND key.state = 'in_use')
         AND NOT EXISTS (
             SELECT FROM annotation_story met
             WHERE met.text_hash = story.text_hash AND met.study_id = %(study)s
               AND (met.role = 'qualification' OR EXISTS (
                   SELECT FROM annotation_assignment had
                   WHERE had.enrollment_id = %(person)s AND had.story_id = met.id AND had.state <> 'expired'))
             OFFSET 0)
         AND EXISTS (SELECT FROM annotation_story wanting
                     WHERE wanting.study_id = %(study)s AND wanting.has_free_slot AND NOT EXISTS (
                         SELECT FROM annotation_assignment had WHERE had.enrollment_id = %(person)s
                           AND had.story_id = wanting.id AND had.state <> 'expired' OFFSET 0))
       ORDER BY story.order_key # %(mask)s
       LIMIT 1""",
)
_CHECK_KEY = """SELECT key.id, option.question, option."row", option.option
       FROM annotation_checkkey key JOIN annotation_checkoption option ON option.key_id = key.id
       WHERE key.story_id = %s AND key.state <> 'replaced' FOR SHARE OF key"""

_TAKEN_SLOTS = """SELECT slot FROM annotation_assignment
       WHERE story_id = %s AND state IN ('leased', 'submitted', 'pending')"""

_GIVE_SLOT = f"""WITH given AS ({_insert(Assignment)}
           ON CONFLICT (enrollment_id, story_id) DO UPDATE SET
               session_id = excluded.session_id, state = excluded.state, slot = excluded.slot,
               slots = excluded.slots,
               order_position = excluded.order_position, served_at = excluded.served_at,
               lease_expires_at = excluded.lease_expires_at
           WHERE annotation_assignment.state = 'expired'
           RETURNING id),
       full_now AS (UPDATE annotation_story SET has_free_slot = false
           WHERE id = %(story_id)s AND %(was_last)s)
       SELECT id FROM given"""

_VOTE = f"""WITH vote AS ({_insert(Vote)} RETURNING id),
       answers AS (INSERT INTO annotation_answer (vote_id, question, "row", option, counts_against)
           SELECT vote.id, given.* FROM vote, unnest(
               %(questions)s::text[], %(rows)s::text[], %(options)s::text[], %(against)s::boolean[]) given),
       event AS (INSERT INTO annotation_event (study_id, type, enrollment_id, subject, note, at)
           SELECT %(study_id)s, %(type)s, %(enrollment_id)s, 'vote ' || id, %(note)s, %(at)s FROM vote)"""
_GRADED = """,
       graded AS (INSERT INTO annotation_checkresult (vote_id, key_id, passed)
           SELECT id, %(key_id)s, %(passed)s FROM vote)"""
_SETTLED = """,
       settled AS (UPDATE annotation_assignment SET state = %(state)s, slot = %(slot)s,
               session_id = %(session_id)s
           WHERE id = %(assignment_id)s),
       credited AS (UPDATE annotation_enrollment SET stories_submitted = %(stories_submitted)s,
               working_since = %(working_since)s, last_submitted_at = %(last_submitted_at)s
           WHERE id = %(enrollment_id)s)"""
_STORE_VOTE = {
    (settles, graded): f"{_VOTE}{_SETTLED if settles else ''}{_GRADED if graded else ''} SELECT id FROM vote"
    for settles in (False, True)
    for graded in (False, True)
}
"""By whether the assignment is settled with it, and whether it answers a check."""

_LEASE_RAN_OUT = """SELECT EXISTS (
       SELECT FROM annotation_assignment
       WHERE state = 'leased' AND lease_expires_at <= %s AND enrollment_id <> %s)"""


def get_person(enrollment_id: int) -> Enrollment:
    """The person with the study and consent text. Raises ``Enrollment.DoesNotExist``."""
    return _person(_GET_PERSON.first([enrollment_id]))


def lock_person(enrollment_id: int) -> Enrollment:
    """The person's row, locked, with the study and consent text as they are now.

    Two tabs of one person take turns from here on. Raises ``Enrollment.DoesNotExist``.
    """
    return _person(_LOCK_PERSON.first([enrollment_id]))


def lock_assignment(person: Enrollment, assignment_id: int) -> Assignment | None:
    """One of the person's assignments, locked, with its story; None when it is not theirs."""
    return _with_story(_LOCK_ASSIGNMENT.first([person.pk, assignment_id]), person)


def lock_held(person: Enrollment) -> Assignment | None:
    """The assignment the person holds a lease on, locked, with its story."""
    return _with_story(_LOCK_HELD.first([person.pk]), person)


def lock_next_story(person: Enrollment) -> Story | None:
    """The first story in serving order that the person may have, locked.

    First without waiting, past stories that others are being given right now. If that finds none,
    once more with waiting, so that a story merely busy for a moment is not taken for finished.
    A lease of theirs that ran out without an answer does not count as having had the story.
    """
    key = [person.study_id, person.pk]
    found = _NEXT_STORY_NOW.first(key) or _NEXT_STORY_WAITING.first(key)
    return found[0] if found else None


def next_check(person: Enrollment, mask: int) -> Story | None:
    """The check that the person may be given next: the first by its order key XOR ``mask``, not locked."""
    found = _NEXT_CHECK.first({"study": person.study_id, "person": person.pk, "mask": mask})
    return found[0] if found else None


def share_check_key(story: Story) -> tuple[int, list[tuple[str, str, str]]]:
    """The id of a check's key and what it accepts as (question, row, option); it stays until the end.

    Raises ``LookupError`` for a story without a key, which nobody is given.
    """
    with connection.cursor() as cursor:
        for _ in range(2):  # of a key replaced while it was waited for, the second look finds the new one
            cursor.execute(_CHECK_KEY, [story.pk])
            if rows := cursor.fetchall():
                return rows[0][0], [(question, row, option) for _, question, row, option in rows]
    raise LookupError(f"The check {story.pk} has no key.")


def taken_slots(story: Story) -> set[int]:
    """The numbers of the story's slots that somebody holds."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKEN_SLOTS, [story.pk])
        return {slot for (slot,) in cursor.fetchall()}


def give_slot(assignment: Assignment, *, was_last: bool) -> None:
    """Write the assignment, new or in place of the person's own that ran out, and give it its id.

    ``was_last``: the slot was the last free one, so the story is marked as having none any more. Raises
    ``IntegrityError`` when somebody has the slot, or the person has had the story after all.
    """
    _write(_GIVE_SLOT, assignment, _values(assignment) | {"was_last": was_last})


def store_vote(
    vote: Vote,
    choices: Sequence[Choice],
    against: Sequence[bool],
    *,
    event: Event,
    settles: bool,
    result: CheckResult | None = None,
) -> None:
    """Write a vote with its answers and its event, and give it its id.

    ``against`` says of each choice whether it counts against the story. The event's subject is the vote.
    ``result``: what an answer to a check is worth, stored with it.
    ``settles``: also the state and slot of the vote's assignment, and its author's counts, as they are on
    the instances now.
    """
    assignment = vote.assignment
    person = assignment.enrollment
    values = _values(vote) | _values(event)
    values |= {
        "questions": [choice.question for choice in choices],
        "rows": [choice.row for choice in choices],
        "options": [choice.option for choice in choices],
        "against": list(against),
        "state": assignment.state,
        "slot": assignment.slot,
        "session_id": assignment.session_id,
        "stories_submitted": person.stories_submitted,
        "working_since": person.working_since,
        "last_submitted_at": person.last_submitted_at,
    }
    if result:
        values |= {"key_id": result.key_id, "passed": result.passed}
    _write(_STORE_VOTE[settles, result is not None], vote, values)


def _write(statement: str, instance: models.Model, values: Mapping[str, Any]) -> None:
    """Run a statement that writes the instance, and give it the id that came back."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        row = cursor.fetchone()
    if row is None:
        raise IntegrityError(f"{instance._meta.label}: there is such a row already.")
    instance.pk = row[0]
    instance._state.adding = False


def others_lease_ran_out(person: Enrollment, now: datetime) -> bool:
    """Whether anybody else's lease has run out, in any study."""
    with connection.cursor() as cursor:
        cursor.execute(_LEASE_RAN_OUT, [now, person.pk])
        return bool(cursor.fetchone()[0])


def _person(found: list[Any] | None) -> Enrollment:
    if found is None:
        raise Enrollment.DoesNotExist
    person: Enrollment
    person, person.study, person.consent = found
    return person


def _with_story(found: list[Any] | None, person: Enrollment) -> Assignment | None:
    if found is None:
        return None
    assignment: Assignment
    assignment, assignment.story = found
    assignment.enrollment = person
    return assignment
