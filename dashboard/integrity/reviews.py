"""Invariants 3, 4, 6 and 10 as far as excluded, judged and adjudicated votes carry them."""

from __future__ import annotations

from dashboard.integrity.base import Check, by_sql

_OF_ASSIGNMENTS = """
    SELECT x.id, a.id AS assignment_id, x.lifted_at IS NULL AS stands
    FROM annotation_voteexclusion x
    JOIN annotation_assignment a
        ON a.enrollment_id = x.enrollment_id AND (x.assignment_id IS NULL OR x.assignment_id = a.id)
"""
"""Every exclusion beside every assignment that it is about."""

_TAKEN_OUT_ONCE = f"""{_OF_ASSIGNMENTS}
    UNION ALL
    SELECT ev.id, a.id, false
    FROM annotation_assignment a
    JOIN annotation_event ev ON ev.type = 'work_doubted' AND ev.enrollment_id = a.enrollment_id
        AND ev.subject = 'work session ' || a.session_id
"""  # noqa: S608 - constants of this module
"""The same, and every assignment whose visit its platform did not confirm at first."""

_STATE_WITHOUT = """
    SELECT s.study_id, a.id AS row
    FROM annotation_assignment a
    JOIN annotation_story s ON s.id = a.story_id
    WHERE a.state = '{state}' AND (
        NOT EXISTS (SELECT FROM annotation_vote v WHERE v.assignment_id = a.id AND v.surplus_reason = '')
        OR NOT EXISTS (SELECT FROM covered WHERE covered.assignment_id = a.id AND {how}))
"""


def _logged(table: str, row: str, study: str, *types: str) -> str:
    """Rows of a table (``x``) that no event of one of the types speaks of."""
    named = ", ".join(f"'{type}'" for type in types)
    return f"""
        SELECT {study} AS study_id, x.id AS row FROM {table}
        WHERE NOT EXISTS (SELECT FROM annotation_event ev
                          WHERE ev.study_id = {study} AND ev.type IN ({named}) AND ev.subject = {row})
    """  # noqa: S608 - constants of this module


CHECKS = (
    Check(
        "excluded_vote_has_its_exclusion",
        6,
        "Assignments marked as excluded that have no counted vote, or that no exclusion keeps out.",
        by_sql(_STATE_WITHOUT.format(state="excluded", how="stands"), covered=_OF_ASSIGNMENTS),
    ),
    Check(
        "displaced_vote_was_excluded_once",
        3,
        "Assignments marked as having lost their slot while they were out that never were.",
        by_sql(_STATE_WITHOUT.format(state="displaced", how="NOT stands"), covered=_TAKEN_OUT_ONCE),
    ),
    Check(
        "excluded_vote_does_not_count",
        6,
        "Assignments that count although their vote is excluded.",
        by_sql(
            """
            SELECT s.study_id, a.id AS row
            FROM annotation_assignment a
            JOIN annotation_story s ON s.id = a.story_id
            JOIN covered ON covered.assignment_id = a.id AND covered.stands
            WHERE a.state = 'submitted' GROUP BY s.study_id, a.id
            """,
            covered=_OF_ASSIGNMENTS,
        ),
    ),
    Check(
        "rejected_vote_does_not_count",
        6,
        "Assignments that count although the newest spot check took their vote out.",
        by_sql("""
            SELECT s.study_id, a.id AS row
            FROM (SELECT DISTINCT ON (v.assignment_id) v.assignment_id, c.decision
                  FROM annotation_spotcheck c JOIN annotation_vote v ON v.id = c.vote_id
                  ORDER BY v.assignment_id, c.id DESC) AS newest
            JOIN annotation_assignment a ON a.id = newest.assignment_id
            JOIN annotation_story s ON s.id = a.story_id
            WHERE newest.decision <> 'accept' AND a.state = 'submitted'
        """),
    ),
    Check(
        "excluded_people_are_not_served",
        4,
        "Enrollments whose votes are all excluded and who could be served stories.",
        by_sql("""
            SELECT e.study_id, e.id AS row
            FROM annotation_voteexclusion x JOIN annotation_enrollment e ON e.id = x.enrollment_id
            WHERE x.assignment_id IS NULL AND x.lifted_at IS NULL
              AND e.state NOT IN ('suspended', 'withdrawn')
        """),
    ),
    Check(
        "exclusion_is_of_its_authors_vote",
        6,
        "Exclusions of one person's vote that are written to another person.",
        by_sql("""
            SELECT e.study_id, x.id AS row
            FROM annotation_voteexclusion x
            JOIN annotation_enrollment e ON e.id = x.enrollment_id
            JOIN annotation_assignment a ON a.id = x.assignment_id
            WHERE a.enrollment_id <> x.enrollment_id
        """),
    ),
    Check(
        "exclusion_is_in_the_log",
        10,
        "Exclusions of votes that the log does not speak of.",
        by_sql(
            _logged(
                "annotation_voteexclusion x JOIN annotation_enrollment e ON e.id = x.enrollment_id",
                "'exclusion ' || x.id",
                "e.study_id",
                "annotator_excluded",
                "vote_excluded",
            )
        ),
    ),
    Check(
        "lifted_exclusion_is_in_the_log",
        10,
        "Lifted exclusions of whose end the log does not speak.",
        by_sql(
            _logged(
                "annotation_voteexclusion x JOIN annotation_enrollment e "
                "ON e.id = x.enrollment_id AND x.lifted_at IS NOT NULL",
                "'exclusion ' || x.id",
                "e.study_id",
                "annotator_readmitted",
                "vote_readmitted",
            )
        ),
    ),
    Check(
        "spot_check_is_in_the_log",
        10,
        "Spot checks that the log does not speak of.",
        by_sql(
            _logged(
                "annotation_spotcheck x JOIN annotation_vote v ON v.id = x.vote_id "
                "JOIN annotation_assignment a ON a.id = v.assignment_id "
                "JOIN annotation_story s ON s.id = a.story_id",
                "'spot check ' || x.id",
                "s.study_id",
                "vote_checked",
            )
        ),
    ),
    Check(
        "sample_is_in_the_log",
        10,
        "Samples drawn for review that the log does not speak of.",
        by_sql(
            _logged("annotation_reviewsample x", "'sample ' || x.id", "x.study_id", "review_sample_drawn")
        ),
    ),
    Check(
        "adjudication_is_in_the_log",
        10,
        "Adjudications of stories that the log does not speak of.",
        by_sql(
            _logged(
                "annotation_adjudication x JOIN annotation_story s ON s.id = x.story_id",
                "'adjudication ' || x.id",
                "s.study_id",
                "story_adjudicated",
            )
        ),
    ),
)
