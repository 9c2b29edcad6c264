"""SQL statements of the hot path from one vote to the next story, compiled once.

Django compiles a queryset to SQL each time it runs, which for a join of three tables costs several times
what PostgreSQL needs to answer it, and it writes each row with a statement of its own. So these few
statements are kept as text. They take and return model instances; everything off the hot path is a
queryset. ``annotation.actions`` makes all decisions. See docs/adr/0011.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any

from django.db import DEFAULT_DB_ALIAS, IntegrityError, connection, connections, models
from django.db.models.base import ModelState

from annotation import ordering
from annotation.models import Assignment, CheckResult, ConsentText, Enrollment, Event, Story, Study, Vote
from annotation.protocols.questions import Choice
from tomannot.postgresql.base import DatabaseWrapper

_Converters = list[tuple[str, Callable[..., Any]]]
_Parameters = Sequence[Any] | Mapping[str, Any]
_Part = tuple[type[models.Model], slice, list[str], _Converters]


class Select:
    """A SELECT of whole rows of several models, compiled at first use.

    ``tables`` maps aliases to models, in the order of the returned instances; ``rest`` is everything from
    FROM on. A missing outer-joined row gives None. ``also`` is an expression that is selected before them.
    """

    def __init__(self, tables: Mapping[str, type[models.Model]], rest: str, *, also: str = "") -> None:
        self._tables = tables
        self._rest = rest
        self._also = [also] if also else []
        self._compiled: tuple[str, list[_Part]] | None = None

    def first(self, parameters: _Parameters) -> list[Any] | None:
        """Return ``also`` and one instance per table from the first row, or None if there is no row."""
        self._compiled = self._compiled or self._compile()
        sql, parts = self._compiled
        rows = _rows(sql, parameters)
        if not rows:
            return None
        return [*rows[0][: len(self._also)], *(_instance(rows[0], *part) for part in parts)]

    def _compile(self) -> tuple[str, list[_Part]]:
        columns = [*self._also]
        starts = [len(columns)]
        for alias, model in self._tables.items():
            columns += [f'{alias}."{field.column}"' for field in model._meta.concrete_fields]
            starts.append(len(columns))
        parts: list[_Part] = []
        for model, (start, end) in zip(self._tables.values(), pairwise(starts), strict=True):
            fields = model._meta.concrete_fields
            converters = [
                (field.attname, converter)
                for field in fields
                for converter in field.get_db_converters(connection)
            ]
            parts.append((model, slice(start, end), [field.attname for field in fields], converters))
        return f"SELECT {', '.join(columns)} {self._rest}", parts


def _rows(statement: str, parameters: _Parameters) -> list[tuple[Any, ...]]:
    database = connections["default"]
    assert isinstance(database, DatabaseWrapper)
    cursor = database.kept_cursor(statement)
    cursor.execute(statement, parameters)
    rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def _instance(
    row: Sequence[Any], model: type[models.Model], part: slice, names: list[str], converters: _Converters
) -> models.Model | None:
    """Make an instance as unpickling does: ``Model.__init__`` sets field by field, and sends signals."""
    values = dict(zip(names, row[part], strict=True))
    if values[names[0]] is None:  # the primary key comes first: an outer join found nothing
        return None
    for name, converter in converters:
        values[name] = converter(values[name], None, connection)
    instance = model.__new__(model)
    instance.__dict__ = values
    instance._state = ModelState()
    instance._state.adding, instance._state.db = False, DEFAULT_DB_ALIAS
    return instance


def _fields(model: type[models.Model]) -> "list[models.Field[Any, Any]]":
    return [field for field in model._meta.concrete_fields if not field.primary_key]


def _insert(model: type[models.Model]) -> str:
    """Return an INSERT of a whole row, with parameters named after the model's fields."""
    columns = ", ".join(f'"{field.column}"' for field in _fields(model))
    values = ", ".join(f"%({field.attname})s" for field in _fields(model))
    return f"INSERT INTO {model._meta.db_table} ({columns}) VALUES ({values})"


def _values(instance: models.Model) -> dict[str, Any]:
    return {field.attname: getattr(instance, field.attname) for field in _fields(type(instance))}


_PERSON_TABLES = {"person": Enrollment, "study": Study, "consent": ConsentText}
_FROM_PERSON = """FROM annotation_enrollment person
       JOIN annotation_study study ON study.id = person.study_id
       LEFT JOIN annotation_consenttext consent ON consent.id = person.consent_id"""
_PERSON = f"{_FROM_PERSON} WHERE person.id = %s"
_GET_PERSON = Select(_PERSON_TABLES, _PERSON)
_LOCK_PERSON = Select(_PERSON_TABLES, f"{_PERSON} FOR NO KEY UPDATE OF person")
_ASSIGNMENT_TABLES = {"assignment": Assignment, "story": Story}
_ASSIGNMENT = """FROM annotation_assignment assignment
       JOIN annotation_story story ON story.id = assignment.story_id
       WHERE assignment.enrollment_id = %s"""
_LOCK_ASSIGNMENT = Select(
    _ASSIGNMENT_TABLES, f"{_ASSIGNMENT} AND assignment.id = %s FOR NO KEY UPDATE OF assignment"
)
# Rows are locked in the order in which OF names them.
_LOCK_BOTH_AND_LOOK = Select(
    _PERSON_TABLES | _ASSIGNMENT_TABLES,
    f"""{_FROM_PERSON}
       JOIN annotation_assignment assignment ON assignment.enrollment_id = person.id
       JOIN annotation_story story ON story.id = assignment.story_id
       WHERE person.id = %s AND assignment.id = %s FOR NO KEY UPDATE OF person, assignment""",
    also="""EXISTS (SELECT FROM annotation_assignment
       WHERE state IN ('reserved', 'leased') AND lease_expires_at <= %s AND enrollment_id <> person.id)""",
)
_LOCK_HELD = Select(
    _ASSIGNMENT_TABLES, f"{_ASSIGNMENT} AND assignment.state = 'leased' FOR NO KEY UPDATE OF assignment"
)

_NEXT_RESERVED = Select(
    _ASSIGNMENT_TABLES,
    f"{_ASSIGNMENT} AND assignment.state = 'reserved' "
    "ORDER BY assignment.order_position LIMIT 1 FOR NO KEY UPDATE OF assignment",
)

# OFFSET 0 keeps the planner from turning this into a join, for which it may sort all stories: whatever
# its statistics say, PostgreSQL walks the partial index over stories with free slots in serving order,
# and looks each one up among the person's own.
_NEXT_STORY = """FROM annotation_story story
       WHERE story.study_id = %s AND story.has_free_slot{part} AND NOT EXISTS (
           SELECT FROM annotation_assignment had
           WHERE had.enrollment_id = %s AND had.story_id = story.id AND had.state <> 'expired' OFFSET 0)
       ORDER BY story.order_key
       LIMIT 1
       FOR NO KEY UPDATE"""
_PARTS = ("", " AND story.order_key > %s", " AND story.order_key <= %s")
_NEXT_STORY_NOW, _AFTER_NOW, _FROM_START_NOW = (
    Select({"story": Story}, f"{_NEXT_STORY.format(part=part)} SKIP LOCKED") for part in _PARTS
)
_NEXT_STORY_WAITING, _AFTER_WAITING, _FROM_START_WAITING = (
    Select({"story": Story}, _NEXT_STORY.format(part=part)) for part in _PARTS
)

# Everybody answers a check once. It takes no slot, so it is not locked and never used up; it comes only while
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
         AND (%(wanted)s OR EXISTS (SELECT FROM annotation_story wanting
                     WHERE wanting.study_id = %(study)s AND wanting.has_free_slot AND NOT EXISTS (
                         SELECT FROM annotation_assignment had WHERE had.enrollment_id = %(person)s
                           AND had.story_id = wanting.id AND had.state <> 'expired' OFFSET 0)))
       ORDER BY story.order_key # %(mask)s
       LIMIT 1""",
)
_CHECK_KEY = """SELECT key.id, option.question, option."row", option.option
       FROM annotation_checkkey key JOIN annotation_checkoption option ON option.key_id = key.id
       WHERE key.story_id = %s AND key.state <> 'replaced' FOR SHARE OF key"""

_TAKEN_SLOTS = """SELECT slot FROM annotation_assignment
       WHERE story_id = %s AND state IN ('reserved', 'leased', 'submitted', 'pending')"""

_GIVE_SLOT = f"""WITH given AS ({_insert(Assignment)}
           ON CONFLICT (enrollment_id, story_id) DO UPDATE SET
               session_id = excluded.session_id, state = excluded.state, slot = excluded.slot,
               slots = excluded.slots,
               order_position = excluded.order_position, order_seed = excluded.order_seed,
               option_seed = excluded.option_seed, served_at = excluded.served_at,
               lease_expires_at = excluded.lease_expires_at
           WHERE annotation_assignment.state = 'expired'
           RETURNING id),
       full_now AS (UPDATE annotation_story SET has_free_slot = false
           WHERE id = %(story_id)s AND %(was_last)s)
       SELECT id FROM given"""

_VOTE = f"""WITH vote AS ({_insert(Vote)} RETURNING id),
       answers AS (INSERT INTO annotation_answer
               (vote_id, question, "row", option, words, counts_against, seconds)
           SELECT vote.id, given.* FROM vote, unnest(%(questions)s::text[], %(rows)s::text[],
               %(options)s::text[], %(words)s::text[], %(against)s::boolean[], %(seconds)s::float[]) given),
       event AS (INSERT INTO annotation_event (study_id, type, enrollment_id, subject, note, at)
           SELECT %(study_id)s, %(type)s, %(enrollment_id)s, 'vote ' || id, %(note)s, %(at)s FROM vote)"""
_GRADED = """,
       graded AS (INSERT INTO annotation_checkresult (vote_id, key_id, passed)
           SELECT id, %(key_id)s, %(passed)s FROM vote)"""
_COMMENTED = """,
       commented AS (INSERT INTO annotation_comment (vote_id, words) SELECT id, %(comment)s FROM vote)"""
_COMPLETED = """,
       completed AS (UPDATE annotation_assignment SET state = %(state)s, slot = %(slot)s,
               session_id = %(session_id)s
           WHERE id = %(assignment_id)s),
       credited AS (UPDATE annotation_enrollment SET stories_submitted = %(stories_submitted)s,
               stories_skipped = %(stories_skipped)s, order_key_reached = %(order_key_reached)s,
               working_since = %(working_since)s, last_submitted_at = %(last_submitted_at)s
           WHERE id = %(enrollment_id)s)"""
_STORE_VOTE = {
    (done, graded, commented): f"{_VOTE}{_COMPLETED if done else ''}{_GRADED if graded else ''}"
    f"{_COMMENTED if commented else ''} SELECT id FROM vote"
    for done in (False, True)
    for graded in (False, True)
    for commented in (False, True)
}
"""Statements that store a vote: it completes its assignment or not, answers a check, has a comment."""


def get_person(enrollment_id: int) -> Enrollment:
    """Return the enrollment with its study and consent text. Raise ``Enrollment.DoesNotExist``."""
    return _person(_GET_PERSON.first([enrollment_id]))


def lock_person(enrollment_id: int) -> Enrollment:
    """Lock the enrollment, and return it with its study and consent text as they are now.

    Two tabs of one annotator take turns from here on. Raise ``Enrollment.DoesNotExist``.
    """
    return _person(_LOCK_PERSON.first([enrollment_id]))


def lock_assignment(person: Enrollment, assignment_id: int) -> Assignment | None:
    """Lock and return one of the annotator's assignments with its story; None if it is not theirs."""
    return _with_story(_LOCK_ASSIGNMENT.first([person.pk, assignment_id]), person)


def lock_both_and_look(person_id: int, assignment_id: int, now: datetime) -> tuple[Assignment | None, bool]:
    """Do :func:`lock_person`, then :func:`lock_assignment`, in one statement.

    Also return True if a lease of anybody else has expired, in any study.
    """
    found = _LOCK_BOTH_AND_LOOK.first([now, person_id, assignment_id])
    if found is None:
        return None, False
    others_ran_out, *person, assignment, story = found
    return _with_story([assignment, story], _person(person)), others_ran_out


def lock_held(person: Enrollment) -> Assignment | None:
    """Lock and return the assignment that the annotator holds a lease on, with its story, or None."""
    return _with_story(_LOCK_HELD.first([person.pk]), person)


def lock_next_reserved(person: Enrollment) -> Assignment | None:
    """Lock and return the annotator's next item that the design has reserved, or None."""
    return _with_story(_NEXT_RESERVED.first([person.pk]), person)


def lock_next_story(person: Enrollment) -> Story | None:
    """Lock and return the first story in serving order that the annotator may have.

    In a study with orders of their own, begin after the place that they have reached. First skip stories
    that are locked by others. If that finds none, search again and wait for locks, so that a story that is
    locked for a moment is not mistaken for finished. Stories whose lease of theirs expired without an answer
    are offered again.
    """
    seed, reached = person.order_seed, person.order_key_reached
    if seed is None:
        key = [person.study_id, person.pk]
        found = _NEXT_STORY_NOW.first(key) or _NEXT_STORY_WAITING.first(key)
    else:
        key = [person.study_id, ordering.start_key(seed) if reached is None else reached, person.pk]
        searches = (_AFTER_NOW, _FROM_START_NOW, _AFTER_WAITING, _FROM_START_WAITING)
        found = next(filter(None, (search.first(key) for search in searches)), None)
    return found[0] if found else None


def next_check(person: Enrollment, mask: int, *, wanted: bool) -> Story | None:
    """Return the annotator's next check: the first by its order key XOR ``mask``. It is not locked.

    Unless more answers of theirs are known to be ``wanted``, return None if they have had all free stories.
    """
    found = _NEXT_CHECK.first({"study": person.study_id, "person": person.pk, "mask": mask, "wanted": wanted})
    return found[0] if found else None


def share_check_key(story: Story) -> tuple[int, list[tuple[str, str, str]]]:
    """Lock a check's key in share mode. Return its id and its accepted (question, row, option).

    Raise ``LookupError`` for a story without a key, which nobody can have been assigned.
    """
    for _ in range(2):  # if the key was replaced while waiting, the second query finds the new one
        if rows := _rows(_CHECK_KEY, [story.pk]):
            return rows[0][0], [(question, row, option) for _, question, row, option in rows]
    raise LookupError(f"The check {story.pk} has no key.")


def taken_slots(story: int) -> set[int]:
    return {slot for (slot,) in _rows(_TAKEN_SLOTS, [story])}


def give_slot(assignment: Assignment, *, was_last: bool) -> None:
    """Insert the assignment, or reuse the annotator's expired one, and set its id.

    ``was_last``: this was the last free slot, so mark the story as full. Raise ``IntegrityError`` if the
    slot is taken, or the annotator has had the story after all.
    """
    _write(_GIVE_SLOT, assignment, _values(assignment) | {"was_last": was_last})


def store_vote(
    vote: Vote,
    choices: Sequence[Choice],
    against: Sequence[bool],
    seconds: Sequence[float | None],
    *,
    written: Collection[str],
    event: Event,
    completes: bool,
    result: CheckResult | None = None,
    comment: str = "",
) -> None:
    """Insert a vote with its answers, event and comment, and set its id.

    ``against`` says for each choice whether it counts against the story, ``seconds`` how long it took;
    ``written`` are the questions that are answered in words. The event's subject is the vote. ``result`` is
    the graded result of a check, stored with it. ``completes``: also save the state and slot of the vote's
    assignment, and its author's counts, from the instances.
    """
    assignment = vote.assignment
    person = assignment.enrollment
    values = _values(vote) | _values(event)
    values |= {
        "questions": [choice.question for choice in choices],
        "rows": [choice.row for choice in choices],
        "options": ["" if choice.question in written else choice.option for choice in choices],
        "words": [choice.option if choice.question in written else "" for choice in choices],
        "against": list(against),
        "seconds": list(seconds),
        "state": assignment.state,
        "slot": assignment.slot,
        "session_id": assignment.session_id,
        "stories_submitted": person.stories_submitted,
        "stories_skipped": person.stories_skipped,
        "order_key_reached": person.order_key_reached,
        "comment": comment,
        "working_since": person.working_since,
        "last_submitted_at": person.last_submitted_at,
    }
    if result:
        values |= {"key_id": result.key_id, "passed": result.passed}
    _write(_STORE_VOTE[completes, result is not None, bool(comment)], vote, values)


def _write(statement: str, instance: models.Model, values: Mapping[str, Any]) -> None:
    """Run a statement that writes the instance, and set the returned id."""
    rows = _rows(statement, values)
    if not rows:
        raise IntegrityError(f"{instance._meta.label}: there is such a row already.")
    instance.pk = rows[0][0]
    instance._state.adding = False


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
