"""Invariant 1: a story's slots and their holders."""

from integrity.base import Check, by_sql, where

_COUNTED = """
    SELECT * FROM votes
    WHERE role = 'main' AND state = 'submitted' AND surplus_reason = '' AND environment = study_environment
      AND NOT EXISTS (SELECT FROM annotation_vote newer
                      WHERE newer.assignment_id = votes.assignment_id AND newer.revision > votes.revision)
"""
_HELD = """
    SELECT s.*, st.votes_per_story, count(a.slot) AS holders
    FROM annotation_story s
    JOIN annotation_study st ON st.id = s.study_id
    LEFT JOIN annotation_assignment a ON a.story_id = s.id AND a.state IN ('leased', 'submitted', 'pending')
    GROUP BY s.id, st.id
"""


CHECKS = (
    Check(
        "story_has_no_more_votes_than_wanted",
        1,
        "Stories with more counted votes than the study asks for.",
        by_sql(
            """
            SELECT study_id, story_id AS row FROM counted
            GROUP BY study_id, story_id, votes_per_story HAVING count(*) > votes_per_story
            """,
            counted=_COUNTED,
        ),
    ),
    Check(
        "nobody_counts_twice_on_a_story",
        1,
        "Stories on which one annotator has several counted votes.",
        by_sql(
            """
            SELECT study_id, story_id AS row FROM counted
            GROUP BY study_id, story_id, annotator_id HAVING count(*) > 1
            """,
            counted=_COUNTED,
        ),
    ),
    Check(
        "story_has_no_more_holders_than_slots",
        1,
        "Stories with more holders than slots.",
        where("held", "holders > votes_per_story", held=_HELD),
    ),
    Check(
        "every_slot_has_one_holder",
        1,
        "Stories with a slot that has two holders, or that does not exist.",
        by_sql("""
            SELECT study_id, story_id AS row FROM assignments
            WHERE state IN ('leased', 'submitted', 'pending') AND slot IS NOT NULL
            GROUP BY study_id, story_id
            HAVING count(*) > count(DISTINCT slot) OR min(slot) < 1 OR bool_or(slot > slots)
        """),
    ),
    Check(
        "story_with_a_free_slot_is_offered",
        1,
        "Stories that have a free slot but are marked full, so nobody is served them.",
        where("held", "holders < votes_per_story AND NOT has_free_slot AND role = 'main'", held=_HELD),
    ),
    Check(
        "full_story_is_not_offered",
        1,
        "Stories that are full but marked as having a free slot.",
        where("held", "holders >= votes_per_story AND has_free_slot", held=_HELD),
    ),
    Check(
        "nobody_holds_two_stories",
        1,
        "Enrollments that hold more than one story at a time.",
        where(
            "assignments",
            "state = 'leased' GROUP BY enrolled_in, enrollment_id HAVING count(*) > 1",
            study="enrolled_in",
            row="enrollment_id",
        ),
    ),
    Check(
        "one_assignment_per_person_and_story",
        1,
        "Stories that were given to one annotator as several assignments.",
        where(
            "assignments",
            "true GROUP BY study_id, story_id, annotator_id HAVING count(*) > 1",
            row="story_id",
        ),
    ),
    Check(
        "assignment_stays_in_its_study",
        1,
        "Assignments of a story of one study to an enrollment of another.",
        where("assignments", "study_id <> enrolled_in"),
    ),
)
