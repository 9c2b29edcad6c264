"""Invariant 10: what happened is in the log."""

from __future__ import annotations

from dashboard.integrity.base import Check, by_sql

CHECKS = (
    Check(
        "vote_is_in_the_log",
        10,
        "Votes that the log does not speak of.",
        by_sql("""
            SELECT s.study_id, v.id AS row
            FROM annotation_vote v
            JOIN annotation_assignment a ON a.id = v.assignment_id
            JOIN annotation_story s ON s.id = a.story_id
            LEFT JOIN annotation_event ev ON ev.type = CASE v.revision WHEN 1 THEN 'vote_submitted'
                                                                       ELSE 'vote_changed' END
                AND ev.study_id = s.study_id
                AND ev.enrollment_id = a.enrollment_id AND ev.subject = 'vote ' || v.id
            WHERE ev.id IS NULL
        """),
    ),
    Check(
        "standing_is_in_the_log",
        10,
        "Enrollments in a state that the log does not speak of.",
        by_sql("""
            SELECT e.study_id, e.id AS row
            FROM annotation_enrollment e
            JOIN (VALUES ('consented', 'consent_given'), ('declined', 'consent_declined'),
                         ('qualified', 'enrollment_qualified'), ('failed', 'enrollment_failed'),
                         ('suspended', 'enrollment_suspended'),
                         ('withdrawn', 'enrollment_withdrawn')) AS logged (state, type)
                ON logged.state = e.state
            WHERE NOT EXISTS (SELECT 1 FROM annotation_event ev
                              WHERE ev.enrollment_id = e.id AND ev.type = logged.type)
        """),
    ),
    Check(
        "state_of_the_study_is_in_the_log",
        10,
        "Studies whose state is not the one the log says they went to last.",
        by_sql("""
            SELECT st.id AS study_id, st.id AS row
            FROM annotation_study st
            LEFT JOIN LATERAL (
                SELECT substr(ev.type, 7) AS state FROM annotation_event ev
                WHERE ev.study_id = st.id AND ev.type IN ('study_opened', 'study_paused', 'study_closed')
                ORDER BY ev.id DESC LIMIT 1
            ) moved ON true
            WHERE st.state <> CASE coalesce(moved.state, '') WHEN '' THEN 'draft'
                                   WHEN 'opened' THEN 'open' ELSE moved.state END
        """),
    ),
    Check(
        "attempt_is_in_the_log",
        10,
        "Qualification attempts whose start or hand-in the log does not speak of.",
        by_sql("""
            SELECT e.study_id, t.id AS row
            FROM qualification_attempt t
            JOIN annotation_enrollment e ON e.id = t.enrollment_id
            WHERE NOT EXISTS (SELECT 1 FROM annotation_event ev
                              WHERE ev.enrollment_id = t.enrollment_id AND ev.type = 'attempt_started'
                                AND ev.subject = 'attempt ' || t.id)
               OR t.state = 'submitted'
              AND NOT EXISTS (SELECT 1 FROM annotation_event ev
                              WHERE ev.enrollment_id = t.enrollment_id AND ev.type = 'attempt_submitted'
                                AND ev.subject = 'attempt ' || t.id)
        """),
    ),
    Check(
        "import_is_in_the_log",
        10,
        "Finished imports that the log does not speak of.",
        by_sql("""
            SELECT i.study_id, i.id AS row
            FROM annotation_storyimport i
            JOIN (VALUES ('imported', 'stories_imported'), ('refused', 'import_refused'))
                AS logged (state, type) ON logged.state = i.state
            WHERE NOT EXISTS (SELECT 1 FROM annotation_event ev
                              WHERE ev.study_id = i.study_id AND ev.type = logged.type
                                AND ev.subject = 'import ' || i.id)
        """),
    ),
    Check(
        "revoked_link_is_in_the_log",
        10,
        "Enrollments whose links were revoked more or less often than the log says.",
        by_sql("""
            SELECT e.study_id, e.id AS row FROM annotation_enrollment e
            WHERE e.link_version - 1 <> (SELECT count(*) FROM annotation_event ev
                                         WHERE ev.enrollment_id = e.id AND ev.type = 'link_revoked')
        """),
    ),
    Check(
        "confirmed_address_is_in_the_log",
        10,
        "Confirmed e-mail addresses of people about whose address the log says nothing.",
        by_sql("""
            SELECT NULL::bigint AS study_id, p.id AS row
            FROM accounts_platformidentity p
            WHERE p.confirmed_at IS NOT NULL
              AND NOT EXISTS (SELECT 1 FROM annotation_event ev
                              JOIN annotation_enrollment e ON e.id = ev.enrollment_id
                              WHERE e.annotator_id = p.annotator_id AND ev.type = 'address_confirmed')
        """),
    ),
    Check(
        "visit_is_in_the_log",
        10,
        "Visits that the log does not speak of.",
        by_sql("""
            SELECT e.study_id, v.id AS row
            FROM recruitment_visit v JOIN annotation_enrollment e ON e.id = v.enrollment_id
            WHERE NOT EXISTS (SELECT 1 FROM annotation_event ev
                              WHERE ev.enrollment_id = v.enrollment_id AND ev.type = 'visit_arrived'
                                AND ev.subject = 'visit ' || v.id)
        """),
    ),
    Check(
        "join_link_is_in_the_log",
        10,
        "Studies whose join link the log does not speak of.",
        by_sql("""
            SELECT j.study_id, j.id AS row FROM recruitment_joinlink j
            WHERE NOT EXISTS (SELECT 1 FROM annotation_event ev
                              WHERE ev.study_id = j.study_id AND ev.type = 'join_link_set'
                                AND ev.subject = 'join link ' || j.id)
        """),
    ),
)
