"""Every way to break a promise about votes, their answers and what they are about."""

from __future__ import annotations

from collections.abc import Callable

from tests.dashboard.worlds import World
from tests.integrity.breaks.core import sql, without
from tests.integrity.breaks.slots import full_story_offered


def answered_without_a_vote(world: World) -> None:
    sql(
        "UPDATE annotation_assignment SET state = 'submitted' WHERE enrollment_id = %(holder)s",
        holder=world.holder.pk,
    )


def vote_on_a_lease_that_ran_out(world: World) -> None:
    sql(
        "UPDATE annotation_assignment SET state = 'expired' WHERE story_id = %(full)s AND slot = 1 "
        "AND state = 'submitted'",
        full=world.full.pk,
    )
    full_story_offered(world)


def answer_lost(world: World) -> None:
    sql("DELETE FROM annotation_answer WHERE id = (SELECT max(id) FROM annotation_answer)")


def surplus_without_a_vote(world: World) -> None:
    sql(
        "UPDATE annotation_assignment SET state = 'surplus' WHERE enrollment_id = %(leaver)s",
        leaver=world.leaver.pk,
    )


def instructions_of_another_study(world: World) -> None:
    sql(
        "WITH made AS (INSERT INTO annotation_instructiontext "
        "(study_id, version, page, examples, before_test, thanks, created_at) "
        "VALUES (%(other)s, 1, 'Read.', '{}', '', '', now()) RETURNING id) "
        "UPDATE annotation_vote SET instructions_id = made.id FROM made "
        "WHERE annotation_vote.id = (SELECT max(v.id) FROM annotation_vote v "
        "JOIN annotation_assignment a ON a.id = v.assignment_id "
        "JOIN annotation_story s ON s.id = a.story_id WHERE s.study_id = %(study)s)",
        other=world.other.pk,
        study=world.study.pk,
    )


def protocol_of_another_version(world: World) -> None:
    sql("UPDATE annotation_study SET protocol_version = '0' WHERE id = %(id)s", id=world.other.pk)


def vote_on_another_content(world: World) -> None:
    sql("UPDATE annotation_vote SET story_hash = '0' WHERE id = (SELECT max(id) FROM annotation_vote)")


def vote_under_another_version(world: World) -> None:
    sql("UPDATE annotation_vote SET protocol_version = '0' WHERE id = (SELECT max(id) FROM annotation_vote)")


def vote_at_another_place(world: World) -> None:
    sql("UPDATE annotation_vote SET order_position = 7 WHERE id = (SELECT max(id) FROM annotation_vote)")


def revision_lost(world: World) -> None:
    sql("UPDATE annotation_vote SET revision = 3 WHERE revision = 2")


def two_first_revisions(world: World) -> None:
    without("annotation_vote", "one_vote_per_assignment_and_revision")
    sql("UPDATE annotation_vote SET revision = 1 WHERE revision = 2")


def change_made_it_count(world: World) -> None:
    sql(
        "UPDATE annotation_vote SET surplus_reason = 'late' WHERE revision = 1 AND assignment_id IN "
        "(SELECT assignment_id FROM annotation_vote WHERE revision = 2)"
    )


def first_answer_moved(world: World) -> None:
    sql(
        "UPDATE annotation_vote SET first_submitted_at = served_at WHERE assignment_id IN "
        "(SELECT id FROM annotation_assignment WHERE enrollment_id = %(late)s)",
        late=world.late.pk,
    )


def changed_after_the_release(world: World) -> None:
    sql(
        "INSERT INTO annotation_event (study_id, type, subject, note, at) "
        "SELECT %(study)s, 'answers_frozen', '', '', min(submitted_at) FROM annotation_vote "
        "WHERE assignment_id IN (SELECT assignment_id FROM annotation_vote WHERE revision = 2)",
        study=world.study.pk,
    )


def story_rewritten(world: World) -> None:
    sql(
        "UPDATE annotation_story SET content = jsonb_set(content, '{question}', %(why)s) WHERE id = %(free)s",
        why='"Why?"',
        free=world.free.pk,
    )


def no_turned_into_yes(world: World) -> None:
    sql(
        "UPDATE annotation_answer SET counts_against = false WHERE id = "
        "(SELECT max(id) FROM annotation_answer WHERE counts_against)"
    )


def rehearsal_vote_counted(world: World) -> None:
    sql(
        "UPDATE annotation_vote SET environment = 'rehearsal' WHERE assignment_id IN (SELECT id FROM "
        "annotation_assignment WHERE story_id = %(full)s AND state = 'submitted')",
        full=world.full.pk,
    )


VOTE_BREAKS: list[tuple[Callable[[World], None], str, set[str]]] = [
    (answered_without_a_vote, "counted_assignment_has_its_vote", set()),
    (vote_on_a_lease_that_ran_out, "vote_stands_on_an_answered_assignment", set()),
    (answer_lost, "vote_answers_the_whole_form", set()),
    (surplus_without_a_vote, "surplus_assignment_has_its_vote", set()),
    (instructions_of_another_study, "instructions_are_of_the_study", set()),
    (protocol_of_another_version, "protocol_is_installed", {"vote_is_under_its_studys_protocol"}),
    (vote_on_another_content, "vote_is_about_the_story_as_it_stands", set()),
    (vote_under_another_version, "vote_is_under_its_studys_protocol", set()),
    (vote_at_another_place, "vote_remembers_how_it_was_served", set()),
    (revision_lost, "revisions_count_from_one_without_gaps", set()),
    (
        two_first_revisions,
        "revisions_count_from_one_without_gaps",
        {
            "first_vote_is_its_own_first_answer",
            "story_has_no_more_votes_than_wanted",
            "nobody_counts_twice_on_a_story",
            "vote_is_in_the_log",
        },
    ),
    (change_made_it_count, "changed_vote_keeps_its_context", set()),
    (first_answer_moved, "first_vote_is_its_own_first_answer", set()),
    (changed_after_the_release, "published_answer_is_not_replaced", set()),
    (story_rewritten, "story_is_as_imported", set()),
    (no_turned_into_yes, "answer_counts_as_the_protocol_says", set()),
    (rehearsal_vote_counted, "counted_vote_is_of_the_studys_environment", set()),
]
