"""Every way to break a promise about hidden checks."""

from __future__ import annotations

from collections.abc import Callable

from tests.dashboard.worlds import World
from tests.integrity.breaks.core import forget, sql


def check_in_a_slot(world: World) -> None:
    sql(
        "UPDATE annotation_assignment SET slot = 1, slots = 1 WHERE id = "
        "(SELECT assignment_id FROM annotation_vote WHERE id = %(vote)s)",
        vote=world.check_failed.pk,
    )


def check_not_graded(world: World) -> None:
    sql("DELETE FROM annotation_checkresult WHERE vote_id = %(vote)s", vote=world.check_failed.pk)


def check_graded_otherwise(world: World) -> None:
    sql(
        "UPDATE annotation_checkresult SET passed = true WHERE vote_id = %(vote)s", vote=world.check_failed.pk
    )


def failed_check_not_logged(world: World) -> None:
    forget("check_failed")


def warning_not_logged(world: World) -> None:
    forget("annotator_warned")


CHECK_BREAKS: list[tuple[Callable[[World], None], str, set[str]]] = [
    (check_in_a_slot, "only_main_stories_have_slots", set()),
    (check_not_graded, "answer_to_a_check_is_graded", set()),
    (check_graded_otherwise, "check_is_graded_by_its_key", set()),
    (failed_check_not_logged, "failed_check_is_in_the_log", set()),
    (warning_not_logged, "warning_is_in_the_log", set()),
]
