"""Every way to break a promise about stories, their slots and who was given them."""

from __future__ import annotations

from collections.abc import Callable

from annotation.models import Story
from tests.dashboard.worlds import World
from tests.integrity.breaks.core import sql, without


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


SLOT_BREAKS: list[tuple[Callable[[World], None], str, set[str]]] = [
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
    (two_stories_held, "nobody_holds_two_stories", set()),
    (assignment_in_another_study, "assignment_stays_in_its_study", set()),
    (qualification_story_served, "test_stories_are_never_served", set()),
    (more_than_the_load, "nobody_has_more_than_their_load", set()),
    (item_of_another_stratum, "assignment_is_in_the_stratum_of_its_item", set()),
    (given_but_not_looked_for, "given_story_is_looked_for", set()),
    (given_to_somebody_who_failed, "given_story_is_looked_for", {"standing_is_in_the_log"}),
    (given_in_a_design, "nothing_is_given_by_name_in_a_design", set()),
]
