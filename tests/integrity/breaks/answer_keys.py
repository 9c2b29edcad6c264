"""Ways to break what holds for rounds, experts' answers and keys, each with the check that must say so."""

from __future__ import annotations

from collections.abc import Callable

from tests.dashboard.worlds import World
from tests.integrity.breaks.core import forget, sql


def round_without_its_key(world: World) -> None:
    sql("UPDATE qualification_round SET state = 'preparing' WHERE study_id = %(id)s", id=world.keyed.pk)


def no_round_to_take(world: World) -> None:
    sql("UPDATE qualification_round SET state = 'retired' WHERE study_id = %(id)s", id=world.other.pk)


def test_made_practice(world: World) -> None:
    sql(
        "UPDATE qualification_round SET kind = 'practice' WHERE id = (SELECT min(round_id) FROM "
        "qualification_attempt)"
    )


def waited_for_too_late(world: World) -> None:
    sql("UPDATE qualification_expertreview SET dismissed_at = NULL")


def expert_answer_lost(world: World) -> None:
    sql("DELETE FROM qualification_expertanswer WHERE id = (SELECT max(id) FROM qualification_expertanswer)")


def reason_for_a_foreign_story(world: World) -> None:
    sql(
        "UPDATE qualification_keyreason SET round_story_id = (SELECT rs.id FROM qualification_roundstory rs "
        "JOIN qualification_round r ON r.id = rs.round_id WHERE r.study_id = %(id)s LIMIT 1)",
        id=world.other.pk,
    )


def expert_not_logged(world: World) -> None:
    forget("expert_done")


def key_not_logged(world: World) -> None:
    forget("answer_key_set")


KEY_BREAKS: list[tuple[Callable[[World], None], str, set[str]]] = [
    (round_without_its_key, "rounds_that_can_be_taken_have_a_key", {"a_test_that_is_asked_for_can_be_taken"}),
    (no_round_to_take, "a_test_that_is_asked_for_can_be_taken", set()),
    (test_made_practice, "practice_is_no_test", {"a_test_that_is_asked_for_can_be_taken"}),
    (waited_for_too_late, "nobody_answers_blind_once_answers_are_open", set()),
    (expert_answer_lost, "expert_answers_everything", set()),
    (reason_for_a_foreign_story, "key_speaks_of_its_own_round", set()),
    (expert_not_logged, "experts_are_in_the_log", set()),
    (key_not_logged, "key_is_in_the_log", set()),
]
