"""Every way to break a promise in the stored rows.

The rows are broken with plain SQL, past the triggers and constraints that would refuse it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.db import connection

from annotation.models import Enrollment, Story
from tests.dashboard.worlds import World


def disable_triggers() -> None:
    """Take the guards against changing what is final away, until the transaction is rolled back."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SELECT DISTINCT tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal")
        for (table,) in cursor.fetchall():
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")


def sql(statement: str, **values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        assert cursor.rowcount > 0, f"nothing was broken by {statement}"


def without(table: str, constraint: str) -> None:
    """Take a constraint away, until the test's transaction is rolled back."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_constraint WHERE conname = %s", [constraint])
        if cursor.fetchone()[0]:
            cursor.execute(f"ALTER TABLE {table} DROP CONSTRAINT {constraint}")
        else:
            cursor.execute(f"DROP INDEX {constraint}")


def identity(enrollment: Enrollment, person: str) -> None:
    sql(
        "INSERT INTO accounts_platformidentity "
        "(annotator_id, platform, environment, person, language, created_at) "
        "VALUES (%(annotator)s, 'prolific', 'live', %(person)s, '', now())",
        annotator=enrollment.annotator_id,
        person=person,
    )


def more_votes_than_wanted(world: World) -> None:
    sql(
        "UPDATE annotation_assignment SET state = 'submitted', slot = 3, slots = 3 "
        "WHERE enrollment_id = %(late)s AND story_id = %(full)s",
        late=world.late.pk,
        full=world.full.pk,
    )
    sql(
        "UPDATE annotation_vote SET surplus_reason = '' WHERE assignment_id IN "
        "(SELECT id FROM annotation_assignment WHERE enrollment_id = %(late)s)",
        late=world.late.pk,
    )


def one_person_counted_twice(world: World) -> None:
    without("annotation_enrollment", "one_enrollment_per_annotator_and_study")
    sql(
        "UPDATE annotation_enrollment SET annotator_id = %(annotator)s WHERE id IN (SELECT enrollment_id "
        "FROM annotation_assignment WHERE story_id = %(full)s AND state = 'submitted')",
        annotator=world.invited.annotator_id,
        full=world.full.pk,
    )


def one_person_given_a_story_twice(world: World) -> None:
    without("annotation_enrollment", "one_enrollment_per_annotator_and_study")
    sql(
        "UPDATE annotation_enrollment SET annotator_id = %(annotator)s WHERE id = %(leaver)s",
        annotator=world.late.annotator_id,
        leaver=world.leaver.pk,
    )


def more_holders_than_slots(world: World) -> None:
    sql(
        "UPDATE annotation_assignment SET state = 'leased', slot = 3, slots = 3 "
        "WHERE enrollment_id = %(leaver)s",
        leaver=world.leaver.pk,
    )


def one_slot_held_twice(world: World) -> None:
    without("annotation_assignment", "one_living_assignment_per_slot")
    sql(
        "UPDATE annotation_assignment SET slot = 1 WHERE story_id = %(full)s AND state = 'submitted'",
        full=world.full.pk,
    )


def free_slot_hidden(world: World) -> None:
    sql("UPDATE annotation_story SET has_free_slot = false WHERE id = %(free)s", free=world.free.pk)


def full_story_offered(world: World) -> None:
    sql("UPDATE annotation_story SET has_free_slot = true WHERE id = %(full)s", full=world.full.pk)


def more_votes_wanted_than_the_rule_says(world: World) -> None:
    sql("UPDATE annotation_story SET extra_votes = 1 WHERE id = %(free)s", free=world.free.pk)


def two_stories_held(world: World) -> None:
    without("annotation_assignment", "one_lease_at_a_time_per_person")
    sql(
        "INSERT INTO annotation_assignment "
        "(story_id, enrollment_id, state, slot, slots, order_position, served_at, lease_expires_at) "
        "VALUES (%(free)s, %(holder)s, 'leased', 1, 2, 1, now(), now())",
        free=world.free.pk,
        holder=world.holder.pk,
    )


def _move_leavers_assignment(world: World, story: Story) -> None:
    sql(
        "UPDATE annotation_assignment SET story_id = %(story)s WHERE enrollment_id = %(leaver)s",
        story=story.pk,
        leaver=world.leaver.pk,
    )


def assignment_in_another_study(world: World) -> None:
    _move_leavers_assignment(world, world.other.stories.filter(role=Story.Role.MAIN)[0])


def qualification_story_served(world: World) -> None:
    _move_leavers_assignment(world, world.study.stories.filter(role=Story.Role.QUALIFICATION)[0])


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


def story_not_credited(world: World) -> None:
    sql("UPDATE annotation_enrollment SET stories_submitted = 0 WHERE id = %(late)s", late=world.late.pk)


def consent_to_another_study(world: World) -> None:
    sql(
        "UPDATE annotation_enrollment SET consent_id = %(consent)s WHERE id = %(late)s",
        consent=world.other.consent_texts.get().pk,
        late=world.late.pk,
    )


def voter_never_qualified(world: World) -> None:
    sql(
        "DELETE FROM annotation_event WHERE enrollment_id = %(suspended)s AND type = 'enrollment_qualified'",
        suspended=world.suspended.pk,
    )


def excluded_person_took_part(world: World) -> None:
    sql(
        "INSERT INTO annotation_exclusion (study_id, annotator_id, reason, created_at) "
        "VALUES (%(study)s, %(annotator)s, 'test', now())",
        study=world.study.pk,
        annotator=world.late.annotator_id,
    )


def stranger_to_the_other_study_took_part(world: World) -> None:
    without("annotation_study", "qualified_through_another_study_or_here")
    sql(
        "UPDATE annotation_study SET qualified_through_id = %(other)s WHERE id = %(study)s",
        other=world.other.pk,
        study=world.study.pk,
    )


def served_past_the_cap(world: World) -> None:
    sql(
        "UPDATE annotation_assignment SET order_position = 501 WHERE enrollment_id = %(leaver)s",
        leaver=world.leaver.pk,
    )


def one_attempt_too_many(world: World) -> None:
    sql("UPDATE qualification_round SET attempts_allowed = 1 WHERE study_id = %(id)s", id=world.study.pk)


def attempt_under_a_foreign_key(world: World) -> None:
    sql(
        "UPDATE qualification_attempt SET key_id = %(key)s WHERE enrollment_id = %(testing)s",
        key=world.other.rounds.get().keys.get().pk,
        testing=world.testing.pk,
    )


def key_accepts_the_unknown(world: World) -> None:
    sql(
        "INSERT INTO qualification_acceptableoption (key_id, round_story_id, question, row, option) "
        "SELECT key_id, round_story_id, question, row, 'perhaps' FROM qualification_acceptableoption LIMIT 1"
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


def wrong_grade(world: World) -> None:
    sql(
        "UPDATE qualification_attemptanswer SET accepted = true WHERE NOT accepted AND id = "
        "(SELECT max(id) FROM qualification_attemptanswer WHERE NOT accepted)"
    )


def failed_by_no_attempt(world: World) -> None:
    sql(
        "UPDATE annotation_event SET note = 'attempt 0' WHERE enrollment_id = %(failed)s "
        "AND type = 'enrollment_failed'",
        failed=world.failed.pk,
    )


def real_story_in_a_round(world: World) -> None:
    sql(
        "UPDATE qualification_roundstory SET story_id = %(free)s WHERE position = 1 AND round_id = %(round)s",
        free=world.free.pk,
        round=world.study.rounds.get().pk,
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


def erased_but_known(world: World) -> None:
    identity(world.invited, "5f3a9c0de1")
    sql("UPDATE accounts_annotator SET erased_at = now() WHERE id = %(id)s", id=world.invited.annotator_id)


def platform_id_in_the_log(world: World) -> None:
    identity(world.suspended, "5f3a9c0de1")
    sql(
        "UPDATE annotation_event SET note = 'told 5f3a9c0de1 why' WHERE enrollment_id = %(suspended)s "
        "AND type = 'enrollment_suspended'",
        suspended=world.suspended.pk,
    )


def served_in_a_rehearsal(world: World) -> None:
    sql(
        "UPDATE annotation_enrollment SET environment = 'rehearsal' WHERE id = %(leaver)s",
        leaver=world.leaver.pk,
    )


def rehearsal_vote_counted(world: World) -> None:
    sql(
        "UPDATE annotation_vote SET environment = 'rehearsal' WHERE assignment_id IN (SELECT id FROM "
        "annotation_assignment WHERE story_id = %(full)s AND state = 'submitted')",
        full=world.full.pk,
    )


def forget(type: str) -> None:
    sql(
        "DELETE FROM annotation_event WHERE id = "
        "(SELECT max(id) FROM annotation_event WHERE type = %(type)s)",
        type=type,
    )


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


def _in_a_stratum(world: World, *, column: str) -> None:
    sql("UPDATE annotation_study SET stratum_field = %(column)s WHERE id = %(study)s",
        column=column, study=world.study.pk)  # fmt: skip
    sql(
        "INSERT INTO annotation_stratum (study_id, name, load) SELECT DISTINCT study_id, scenario_name, 1 "
        "FROM annotation_story WHERE study_id = %(study)s",
        study=world.study.pk,
    )
    without("annotation_assignment", "one_living_assignment_per_place_in_a_stratum")
    sql(
        "UPDATE annotation_assignment a SET stratum_id = g.id, place = 1, load = 1 "
        "FROM annotation_story s JOIN annotation_stratum g ON g.study_id = s.study_id "
        "AND g.name = s.scenario_name WHERE s.id = a.story_id"
    )


def more_than_the_load(world: World) -> None:
    _in_a_stratum(world, column="scenario_name")
    without("annotation_assignment", "place_is_one_of_the_load")
    sql("UPDATE annotation_assignment SET load = 0 WHERE stratum_id IS NOT NULL")


def item_of_another_stratum(world: World) -> None:
    _in_a_stratum(world, column="story_generator_model")
    sql("UPDATE annotation_assignment SET load = 99 WHERE stratum_id IS NOT NULL")


def _given(world: World) -> None:
    sql("UPDATE annotation_assignment SET given = true WHERE enrollment_id = %(late)s AND state <> 'expired'",
        late=world.late.pk)  # fmt: skip


def given_but_not_looked_for(world: World) -> None:
    sql("UPDATE annotation_assignment SET given = true, state = 'reserved' WHERE state = 'leased'")


def given_to_somebody_who_failed(world: World) -> None:
    sql("UPDATE annotation_assignment SET given = true, state = 'reserved' WHERE state = 'leased'")
    sql(
        "UPDATE annotation_enrollment SET given_items = true, state = 'failed' "
        "WHERE id IN (SELECT enrollment_id FROM annotation_assignment WHERE state = 'reserved')"
    )


def given_in_a_design(world: World) -> None:
    _given(world)
    sql(
        "UPDATE annotation_study SET stratum_field = 'scenario_name' WHERE id = %(study)s",
        study=world.study.pk,
    )


BREAKS: list[tuple[Callable[[World], None], str, set[str]]] = [
    (more_votes_than_wanted, "story_has_no_more_votes_than_wanted", {"story_has_no_more_holders_than_slots"}),
    (
        one_person_counted_twice,
        "nobody_counts_twice_on_a_story",
        {"one_assignment_per_person_and_story", "pseudonym_follows_from_the_key"},
    ),
    (
        one_person_given_a_story_twice,
        "one_assignment_per_person_and_story",
        {"pseudonym_follows_from_the_key"},
    ),
    (more_holders_than_slots, "story_has_no_more_holders_than_slots", set()),
    (one_slot_held_twice, "every_slot_has_one_holder", set()),
    (free_slot_hidden, "story_with_a_free_slot_is_offered", set()),
    (full_story_offered, "full_story_is_not_offered", set()),
    (more_votes_wanted_than_the_rule_says, "story_wants_votes_until_it_is_decided", set()),
    (more_than_the_load, "nobody_has_more_than_their_load", set()),
    (item_of_another_stratum, "assignment_is_in_the_stratum_of_its_item", set()),
    (given_but_not_looked_for, "given_story_is_looked_for", set()),
    (given_to_somebody_who_failed, "given_story_is_looked_for", set()),
    (given_in_a_design, "nothing_is_given_by_name_in_a_design", set()),
    (two_stories_held, "nobody_holds_two_stories", set()),
    (assignment_in_another_study, "assignment_stays_in_its_study", set()),
    (answered_without_a_vote, "counted_assignment_has_its_vote", set()),
    (vote_on_a_lease_that_ran_out, "vote_stands_on_an_answered_assignment", set()),
    (answer_lost, "vote_answers_the_whole_form", set()),
    (surplus_without_a_vote, "surplus_assignment_has_its_vote", set()),
    (story_not_credited, "every_vote_is_credited", set()),
    (consent_to_another_study, "vote_comes_with_consent", set()),
    (voter_never_qualified, "vote_comes_from_somebody_who_qualified", set()),
    (excluded_person_took_part, "only_the_admitted_take_part", set()),
    (stranger_to_the_other_study_took_part, "only_the_admitted_take_part", set()),
    (served_past_the_cap, "nobody_is_served_past_the_cap", set()),
    (one_attempt_too_many, "attempts_stay_within_what_is_allowed", set()),
    (attempt_under_a_foreign_key, "attempt_stays_in_its_study", set()),
    (key_accepts_the_unknown, "key_accepts_only_what_is_offered", set()),
    (instructions_of_another_study, "instructions_are_of_the_study", set()),
    (wrong_grade, "grade_follows_from_the_key", set()),
    (failed_by_no_attempt, "standing_follows_from_the_attempt", set()),
    (qualification_story_served, "test_stories_are_never_served", set()),
    (real_story_in_a_round, "rounds_use_test_stories", set()),
    (protocol_of_another_version, "protocol_is_installed", {"vote_is_under_its_studys_protocol"}),
    (vote_on_another_content, "vote_is_about_the_story_as_it_stands", set()),
    (vote_under_another_version, "vote_is_under_its_studys_protocol", set()),
    (vote_at_another_place, "vote_remembers_how_it_was_served", set()),
    (revision_lost, "revisions_count_from_one_without_gaps", set()),
    (
        two_first_revisions,
        "only_the_last_revision_counts",
        {
            "revisions_count_from_one_without_gaps",
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
    (erased_but_known, "erased_people_leave_no_identity", set()),
    (platform_id_in_the_log, "platform_ids_stay_in_their_table", set()),
    (served_in_a_rehearsal, "served_only_in_the_studys_environment", set()),
    (rehearsal_vote_counted, "counted_vote_is_of_the_studys_environment", set()),
    (vote_not_logged, "vote_is_in_the_log", set()),
    (standing_not_logged, "standing_is_in_the_log", set()),
    (closing_not_logged, "state_of_the_study_is_in_the_log", set()),
    (attempt_not_logged, "attempt_is_in_the_log", set()),
    (import_not_logged, "import_is_in_the_log", set()),
    (plan_not_logged, "plan_is_in_the_log", set()),
    (plan_altered, "plan_has_its_hash", set()),
]
"""How to break a promise, the check that must say so, and those that it cannot but break as well."""
