"""Every way to break a promise about votes that were excluded, judged or adjudicated."""

from __future__ import annotations

from collections.abc import Callable

from tests.dashboard.worlds import World
from tests.integrity.breaks.core import forget, sql
from tests.integrity.breaks.slots import full_story_offered


def excluded_by_nothing(world: World) -> None:
    sql(
        "UPDATE annotation_assignment SET state = 'excluded' WHERE story_id = %(full)s AND slot = 1 "
        "AND state = 'submitted'",
        full=world.full.pk,
    )
    full_story_offered(world)


def displaced_by_nothing(world: World) -> None:
    excluded_by_nothing(world)
    sql(
        "UPDATE annotation_assignment SET state = 'displaced' WHERE story_id = %(id)s AND state = 'excluded'",
        id=world.full.pk,
    )


def counted_though_excluded(world: World) -> None:
    sql(
        "UPDATE annotation_assignment SET state = 'submitted' WHERE state = 'excluded' AND enrollment_id = "
        "%(careless)s",
        careless=world.careless.pk,
    )
    sql("UPDATE annotation_story SET has_free_slot = false WHERE id = %(id)s", id=world.judged.pk)


def counted_though_rejected(world: World) -> None:
    sql("DELETE FROM annotation_voteexclusion WHERE assignment_id IS NOT NULL AND lifted_at IS NULL")
    counted_though_excluded(world)


def served_though_excluded(world: World) -> None:
    sql(
        "UPDATE annotation_enrollment SET state = 'qualified', suspension_reason = '' WHERE id = %(id)s",
        id=world.excluded.pk,
    )


def exclusion_of_somebody_elses_vote(world: World) -> None:
    sql(
        "UPDATE annotation_voteexclusion SET suspended = false, assignment_id = ("
        "SELECT max(id) FROM annotation_assignment "
        "WHERE enrollment_id <> %(id)s AND state = 'surplus') WHERE enrollment_id = %(id)s "
        "AND lifted_at IS NOT NULL",
        id=world.readmitted.pk,
    )


def exclusion_not_logged(world: World) -> None:
    forget("annotator_excluded")


def readmission_not_logged(world: World) -> None:
    forget("annotator_readmitted")


def spot_check_not_logged(world: World) -> None:
    forget("vote_checked")


def sample_not_logged(world: World) -> None:
    forget("review_sample_drawn")


def adjudication_not_logged(world: World) -> None:
    forget("story_adjudicated")


REVISE = """WITH old AS (UPDATE annotation_story SET is_old_version = true, has_free_slot = false
    WHERE id = %(full)s RETURNING id)
INSERT INTO annotation_storyrevision (before_id, after_id, reason, at)
SELECT old.id, %(free)s, 'shorter', now() FROM old"""


def old_version_of_nothing(world: World) -> None:
    sql("UPDATE annotation_story SET is_old_version = true WHERE id = %(id)s", id=world.full.pk)


def revised_story_still_offered(world: World) -> None:
    revision_not_logged(world)
    sql("UPDATE annotation_story SET is_old_version = false WHERE id = %(id)s", id=world.full.pk)


def revision_of_another_core(world: World) -> None:
    sql(REVISE, full=world.full.pk, free=world.free.pk)


def revision_not_logged(world: World) -> None:
    sql(
        "UPDATE annotation_story SET core_id = (SELECT core_id FROM annotation_story WHERE id = %(full)s) "
        "WHERE id = %(free)s",
        full=world.full.pk,
        free=world.free.pk,
    )
    revision_of_another_core(world)


REVIEW_BREAKS: list[tuple[Callable[[World], None], str, set[str]]] = [
    (excluded_by_nothing, "excluded_vote_has_its_exclusion", set()),
    (displaced_by_nothing, "displaced_vote_was_excluded_once", set()),
    (counted_though_excluded, "excluded_vote_does_not_count", {"rejected_vote_does_not_count"}),
    (counted_though_rejected, "rejected_vote_does_not_count", set()),
    (served_though_excluded, "excluded_people_are_not_served", set()),
    (
        exclusion_of_somebody_elses_vote,
        "exclusion_is_of_its_authors_vote",
        {"exclusion_is_in_the_log", "lifted_exclusion_is_in_the_log"},
    ),
    (exclusion_not_logged, "exclusion_is_in_the_log", set()),
    (readmission_not_logged, "lifted_exclusion_is_in_the_log", set()),
    (spot_check_not_logged, "spot_check_is_in_the_log", set()),
    (sample_not_logged, "sample_is_in_the_log", set()),
    (adjudication_not_logged, "adjudication_is_in_the_log", set()),
    (old_version_of_nothing, "old_version_is_revised_once", set()),
    (
        revised_story_still_offered,
        "old_version_is_revised_once",
        {"revision_is_in_the_log", "story_is_as_imported"},
    ),
    (revision_of_another_core, "versions_share_study_and_core", {"revision_is_in_the_log"}),
    (revision_not_logged, "revision_is_in_the_log", {"story_is_as_imported"}),
]
