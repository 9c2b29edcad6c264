"""Invariants 3, 4, 6 and 10 for excluded, spot-checked and adjudicated votes."""

from integrity.base import Check, by_sql, in_the_log, where

_OF_ASSIGNMENTS = """
    SELECT x.id, a.id AS assignment_id, x.lifted_at IS NULL AS stands
    FROM annotation_voteexclusion x
    JOIN annotation_assignment a
        ON a.enrollment_id = x.enrollment_id AND (x.assignment_id IS NULL OR x.assignment_id = a.id)
"""
"""Every exclusion with every assignment that it covers."""

_TAKEN_OUT_ONCE = f"""{_OF_ASSIGNMENTS}
    UNION ALL
    SELECT ev.id, a.id, false
    FROM annotation_assignment a
    JOIN annotation_event ev ON ev.type = 'work_doubted' AND ev.enrollment_id = a.enrollment_id
        AND ev.subject = 'work session ' || a.session_id
"""  # noqa: S608 - constants of this module
"""Exclusions as above, and every assignment whose visit the platform did not confirm at first."""

_STATE_WITHOUT = """
    SELECT a.study_id, a.id AS row FROM assignments a
    WHERE a.state = '{state}' AND (
        NOT EXISTS (SELECT FROM annotation_vote v WHERE v.assignment_id = a.id AND v.surplus_reason = '')
        OR NOT EXISTS (SELECT FROM covered WHERE covered.assignment_id = a.id AND {how}))
"""


CHECKS = (
    Check(
        "excluded_vote_has_its_exclusion",
        6,
        "Assignments marked as excluded without a counted vote, or without a standing exclusion.",
        by_sql(_STATE_WITHOUT.format(state="excluded", how="stands"), covered=_OF_ASSIGNMENTS),
    ),
    Check(
        "displaced_vote_was_excluded_once",
        3,
        "Assignments marked as having lost their slot during an exclusion, but never excluded.",
        by_sql(_STATE_WITHOUT.format(state="displaced", how="NOT stands"), covered=_TAKEN_OUT_ONCE),
    ),
    Check(
        "excluded_vote_does_not_count",
        6,
        "Assignments that count although their vote is excluded.",
        where(
            "assignments a JOIN covered ON covered.assignment_id = a.id",
            "a.state = 'submitted' AND covered.stands",
            row="a.id",
            covered=_OF_ASSIGNMENTS,
        ),
    ),
    Check(
        "rejected_vote_does_not_count",
        6,
        "Assignments that count although the newest spot check rejected their vote.",
        by_sql("""
            SELECT a.study_id, a.id AS row
            FROM (SELECT DISTINCT ON (v.assignment_id) v.assignment_id, c.decision
                  FROM annotation_spotcheck c JOIN annotation_vote v ON v.id = c.vote_id
                  ORDER BY v.assignment_id, c.id DESC) AS newest
            JOIN assignments a ON a.id = newest.assignment_id
            WHERE newest.decision <> 'accept' AND a.state = 'submitted'
        """),
    ),
    Check(
        "excluded_people_are_not_served",
        4,
        "Enrollments that could be served stories although all their votes are excluded.",
        where(
            "annotation_voteexclusion x JOIN annotation_enrollment e ON e.id = x.enrollment_id",
            "x.assignment_id IS NULL AND x.lifted_at IS NULL AND e.state NOT IN ('suspended', 'withdrawn')",
            row="e.id",
        ),
    ),
    Check(
        "exclusion_is_of_its_authors_vote",
        6,
        "Exclusions of one annotator's vote that are recorded for another.",
        where(
            "annotation_voteexclusion x JOIN assignments a ON a.id = x.assignment_id",
            "a.enrollment_id <> x.enrollment_id",
            row="x.id",
        ),
    ),
    in_the_log(
        "exclusion_is_in_the_log",
        "Exclusions of votes missing from the log.",
        "annotation_voteexclusion x JOIN annotation_enrollment s ON s.id = x.enrollment_id",
        "'exclusion ' || x.id",
        "'annotator_excluded', 'vote_excluded'",
    ),
    in_the_log(
        "lifted_exclusion_is_in_the_log",
        "Lifted exclusions whose end is missing from the log.",
        "annotation_voteexclusion x JOIN annotation_enrollment s "
        "ON s.id = x.enrollment_id AND x.lifted_at IS NOT NULL",
        "'exclusion ' || x.id",
        "'annotator_readmitted', 'vote_readmitted'",
    ),
    in_the_log(
        "spot_check_is_in_the_log",
        "Spot checks missing from the log.",
        "annotation_spotcheck x JOIN votes s ON s.id = x.vote_id",
        "'spot check ' || x.id",
        "'vote_checked'",
    ),
    in_the_log(
        "sample_is_in_the_log",
        "Review samples missing from the log.",
        "annotation_reviewsample x",
        "'sample ' || x.id",
        "'review_sample_drawn'",
        study="x.study_id",
    ),
    in_the_log(
        "adjudication_is_in_the_log",
        "Adjudications missing from the log.",
        "annotation_adjudication x JOIN annotation_story s ON s.id = x.story_id",
        "'adjudication ' || x.id",
        "'story_adjudicated'",
    ),
)
