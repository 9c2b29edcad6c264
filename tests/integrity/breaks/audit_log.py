"""Every way to break a promise about what is in the audit log, and about the plan of a study."""

from __future__ import annotations

from collections.abc import Callable

from tests.dashboard.worlds import World
from tests.integrity.breaks.core import forget, sql


def vote_not_logged(world: World) -> None:
    forget("vote_submitted")


def standing_not_logged(world: World) -> None:
    forget("consent_declined")


def closing_not_logged(world: World) -> None:
    sql("UPDATE annotation_study SET state = 'paused' WHERE id = %(id)s", id=world.other.pk)


def attempt_not_logged(world: World) -> None:
    forget("attempt_started")


def import_not_logged(world: World) -> None:
    forget("import_refused")


def _plan(world: World, document: str, hashed: str) -> None:
    sql(
        "INSERT INTO publishing_studyplan (study_id, document, sha256, fixed_at) "
        "VALUES (%(study)s, %(document)s, encode(sha256(convert_to(%(hashed)s, 'UTF8')), 'hex'), now())",
        study=world.study.pk,
        document=document,
        hashed=hashed,
    )


def plan_not_logged(world: World) -> None:
    _plan(world, "{}", "{}")


def plan_altered(world: World) -> None:
    _plan(world, '{"votes_per_story":1}', "{}")
    sql(
        "INSERT INTO annotation_event (study_id, type, subject, note, at) SELECT study_id, 'plan_fixed', '', "
        "'SHA-256 ' || sha256, now() FROM publishing_studyplan"
    )


LOG_BREAKS: list[tuple[Callable[[World], None], str, set[str]]] = [
    (vote_not_logged, "vote_is_in_the_log", set()),
    (standing_not_logged, "standing_is_in_the_log", set()),
    (closing_not_logged, "state_of_the_study_is_in_the_log", set()),
    (attempt_not_logged, "attempt_is_in_the_log", set()),
    (import_not_logged, "import_is_in_the_log", set()),
    (plan_not_logged, "plan_is_in_the_log", set()),
    (plan_altered, "plan_has_its_hash", set()),
]
