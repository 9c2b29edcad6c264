"""Every way to break a promise about people, the tests that they take, and who they are."""

from __future__ import annotations

from collections.abc import Callable

from tests.dashboard.worlds import World
from tests.integrity.breaks.core import identity, sql, without


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


PEOPLE_BREAKS: list[tuple[Callable[[World], None], str, set[str]]] = [
    (story_not_credited, "every_vote_is_credited", set()),
    (consent_to_another_study, "vote_comes_with_consent", set()),
    (voter_never_qualified, "vote_comes_from_somebody_who_qualified", set()),
    (excluded_person_took_part, "only_the_admitted_take_part", set()),
    (stranger_to_the_other_study_took_part, "only_the_admitted_take_part", set()),
    (served_past_the_cap, "nobody_is_served_past_the_cap", set()),
    (one_attempt_too_many, "attempts_stay_within_what_is_allowed", set()),
    (attempt_under_a_foreign_key, "attempt_stays_in_its_study", set()),
    (key_accepts_the_unknown, "key_accepts_only_what_is_offered", set()),
    (wrong_grade, "grade_follows_from_the_key", set()),
    (failed_by_no_attempt, "standing_follows_from_the_attempt", set()),
    (real_story_in_a_round, "rounds_use_test_stories", set()),
    (erased_but_known, "erased_people_leave_no_identity", set()),
    (platform_id_in_the_log, "platform_ids_stay_in_their_table", set()),
    (served_in_a_rehearsal, "served_only_in_the_studys_environment", set()),
]
