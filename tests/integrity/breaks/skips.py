"""Every way to break a promise about skips and comments."""

from __future__ import annotations

from collections.abc import Callable

from tests.dashboard.worlds import World
from tests.integrity.breaks.core import sql


def _skipped(world: World) -> None:
    sql(
        "UPDATE annotation_assignment SET state = 'skipped' WHERE enrollment_id = %(person)s",
        person=world.leaver.pk,
    )


def skipped_without_a_reason(world: World) -> None:
    _skipped(world)
    sql("UPDATE annotation_enrollment SET stories_skipped = 1 WHERE id = %(person)s", person=world.leaver.pk)


def skip_not_counted(world: World) -> None:
    sql("UPDATE annotation_enrollment SET stories_skipped = 1 WHERE id = %(person)s", person=world.leaver.pk)


def skip_not_logged(world: World) -> None:
    skipped_without_a_reason(world)
    sql(
        "INSERT INTO annotation_skip (assignment_id, reason, words, credited, language, skipped_at) "
        "SELECT id, 'unclear', '', false, 'en', now() FROM annotation_assignment "
        "WHERE enrollment_id = %(person)s",
        person=world.leaver.pk,
    )


def words_of_somebody_forgotten(world: World) -> None:
    sql(
        "INSERT INTO annotation_comment (vote_id, words) SELECT v.id, 'I am Late' FROM annotation_vote v "
        "JOIN annotation_assignment a ON a.id = v.assignment_id WHERE a.enrollment_id = %(person)s LIMIT 1",
        person=world.late.pk,
    )
    sql("UPDATE accounts_annotator SET erased_at = now() WHERE id = %(who)s", who=world.late.annotator_id)


SKIP_BREAKS: list[tuple[Callable[[World], None], str, set[str]]] = [
    (skipped_without_a_reason, "skipped_assignment_has_its_skip", set()),
    (skip_not_counted, "every_skip_is_counted", set()),
    (skip_not_logged, "every_skip_is_in_the_log", set()),
    (
        words_of_somebody_forgotten,
        "forgotten_people_leave_no_words",
        {"erased_people_leave_no_identity", "forgotten_people_have_no_link"},
    ),
]
