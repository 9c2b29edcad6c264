"""Invariant 1: a story's slots, and who holds them."""

from __future__ import annotations

from dashboard.integrity.base import Check, by_sql

_COUNTED = """
    SELECT s.study_id, s.id AS story_id, e.annotator_id, st.votes_per_story AS wanted
    FROM annotation_vote v
    JOIN annotation_assignment a ON a.id = v.assignment_id
    JOIN annotation_enrollment e ON e.id = a.enrollment_id
    JOIN annotation_story s ON s.id = a.story_id
    JOIN annotation_study st ON st.id = s.study_id
    WHERE s.role = 'main' AND a.state = 'submitted' AND v.surplus_reason = ''
      AND v.environment = st.environment
      AND NOT EXISTS (SELECT 1 FROM annotation_vote newer
                      WHERE newer.assignment_id = v.assignment_id AND newer.revision > v.revision)
"""
_HELD = """
    SELECT s.study_id, s.id AS story_id, s.role, s.has_free_slot, st.votes_per_story AS wanted,
           count(a.slot) AS holders
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
            GROUP BY study_id, story_id, wanted HAVING count(*) > wanted
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
        "Stories whose slots are held by more people than there are slots.",
        by_sql("SELECT study_id, story_id AS row FROM held WHERE holders > wanted", held=_HELD),
    ),
    Check(
        "every_slot_has_one_holder",
        1,
        "Stories with a slot that two people hold, or that does not exist.",
        by_sql("""
            SELECT s.study_id, s.id AS row
            FROM annotation_assignment a JOIN annotation_story s ON s.id = a.story_id
            WHERE a.state IN ('leased', 'submitted', 'pending') AND a.slot IS NOT NULL
            GROUP BY s.id
            HAVING count(*) > count(DISTINCT a.slot) OR min(a.slot) < 1 OR bool_or(a.slot > a.slots)
        """),
    ),
    Check(
        "story_with_a_free_slot_is_offered",
        1,
        "Stories that have a free slot but are marked full, so nobody is served them.",
        by_sql(
            """
            SELECT study_id, story_id AS row FROM held
            WHERE holders < wanted AND NOT has_free_slot AND role = 'main'
            """,
            held=_HELD,
        ),
    ),
    Check(
        "full_story_is_not_offered",
        1,
        "Stories that are full but marked as having a free slot.",
        by_sql(
            "SELECT study_id, story_id AS row FROM held WHERE holders >= wanted AND has_free_slot", held=_HELD
        ),
    ),
    Check(
        "nobody_holds_two_stories",
        1,
        "Enrollments that hold more than one story at a time.",
        by_sql("""
            SELECT e.study_id, e.id AS row
            FROM annotation_assignment a JOIN annotation_enrollment e ON e.id = a.enrollment_id
            WHERE a.state = 'leased' GROUP BY e.id HAVING count(*) > 1
        """),
    ),
    Check(
        "one_assignment_per_person_and_story",
        1,
        "Stories that were given to one annotator as several assignments.",
        by_sql("""
            SELECT s.study_id, s.id AS row
            FROM annotation_assignment a
            JOIN annotation_story s ON s.id = a.story_id
            JOIN annotation_enrollment e ON e.id = a.enrollment_id
            GROUP BY s.id, e.annotator_id HAVING count(*) > 1
        """),
    ),
    Check(
        "assignment_stays_in_its_study",
        1,
        "Assignments of a story of one study to somebody enrolled in another.",
        by_sql("""
            SELECT s.study_id, a.id AS row
            FROM annotation_assignment a
            JOIN annotation_story s ON s.id = a.story_id
            JOIN annotation_enrollment e ON e.id = a.enrollment_id
            WHERE s.study_id <> e.study_id
        """),
    ),
)
