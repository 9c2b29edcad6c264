"""Invariants 4, 8 and 9: who is served, whose identity is where, and live apart from rehearsal."""

from __future__ import annotations

from dashboard.integrity.base import Check, by_sql

CHECKS = (
    Check(
        "vote_comes_with_consent",
        4,
        "Votes by people who have not agreed to a consent text of the study.",
        by_sql("""
            SELECT s.study_id, v.id AS row
            FROM annotation_vote v
            JOIN annotation_assignment a ON a.id = v.assignment_id
            JOIN annotation_story s ON s.id = a.story_id
            JOIN annotation_enrollment e ON e.id = a.enrollment_id
            LEFT JOIN annotation_consenttext c ON c.id = e.consent_id
            WHERE c.id IS NULL OR c.study_id <> e.study_id
               OR NOT EXISTS (SELECT 1 FROM annotation_event ev
                              WHERE ev.enrollment_id = e.id AND ev.type = 'consent_given')
        """),
    ),
    Check(
        "vote_comes_from_somebody_who_qualified",
        4,
        "Votes by people who were never qualified, according to the log.",
        by_sql("""
            SELECT s.study_id, v.id AS row
            FROM annotation_vote v
            JOIN annotation_assignment a ON a.id = v.assignment_id
            JOIN annotation_story s ON s.id = a.story_id
            WHERE NOT EXISTS (SELECT 1 FROM annotation_event ev
                              WHERE ev.enrollment_id = a.enrollment_id AND ev.type = 'enrollment_qualified')
        """),
    ),
    Check(
        "only_the_admitted_take_part",
        4,
        "People who agreed to a study that excludes them, or that is for people qualified in another one.",
        by_sql("""
            SELECT e.study_id, e.id AS row
            FROM annotation_enrollment e
            JOIN annotation_exclusion x ON x.study_id = e.study_id AND x.annotator_id = e.annotator_id
            WHERE e.consent_id IS NOT NULL
            UNION ALL
            SELECT e.study_id, e.id AS row
            FROM annotation_enrollment e
            JOIN annotation_study s ON s.id = e.study_id
            WHERE s.qualified_through_id IS NOT NULL AND e.consent_id IS NOT NULL
              AND NOT EXISTS (SELECT FROM annotation_enrollment there
                              JOIN annotation_event ev ON ev.enrollment_id = there.id
                              WHERE there.study_id = s.qualified_through_id
                                AND there.annotator_id = e.annotator_id AND ev.type = 'enrollment_qualified')
        """),
    ),
    Check(
        "nobody_is_served_past_the_cap",
        4,
        "Assignments given to somebody who had reached the study's cap.",
        by_sql("""
            SELECT s.study_id, a.id AS row
            FROM annotation_assignment a
            JOIN annotation_story s ON s.id = a.story_id
            JOIN annotation_study st ON st.id = s.study_id
            WHERE a.order_position > st.story_cap
        """),
    ),
    Check(
        "erased_people_leave_no_identity",
        8,
        "Annotators who were erased but whose identity on a platform is still stored.",
        by_sql("""
            SELECT NULL::bigint AS study_id, an.id AS row
            FROM accounts_annotator an
            WHERE an.erased_at IS NOT NULL
              AND EXISTS (SELECT 1 FROM accounts_platformidentity p WHERE p.annotator_id = an.id)
        """),
    ),
    Check(
        "forgotten_people_have_no_link",
        8,
        "Enrollments of people who were erased, but whose first links still open their place.",
        by_sql("""
            SELECT e.study_id, e.id AS row
            FROM annotation_enrollment e
            JOIN accounts_annotator an ON an.id = e.annotator_id
            WHERE an.erased_at IS NOT NULL AND e.link_version = 1
        """),
    ),
    Check(
        "platform_ids_stay_in_their_table",
        8,
        "Events in which a person's id on a platform is written down.",
        by_sql("""
            SELECT ev.study_id, ev.id AS row
            FROM annotation_event ev
            JOIN annotation_enrollment e ON e.id = ev.enrollment_id
            JOIN LATERAL (
                -- An id that came by a join link is stored behind the name of its source.
                SELECT CASE platform WHEN 'link' THEN substr(person, strpos(person, '/') + 1) ELSE person END
                    AS id
                FROM accounts_platformidentity i WHERE i.annotator_id = e.annotator_id
            ) p ON true
            WHERE length(p.id) >= 6 AND strpos(ev.subject || ' ' || ev.note, p.id) > 0
        """),
    ),
    Check(
        "one_person_per_confirmed_identity",
        5,
        "Ids and confirmed e-mail addresses that stand for several annotators.",
        by_sql("""
            SELECT NULL::bigint AS study_id, min(p.id) AS row
            FROM accounts_platformidentity p
            WHERE p.platform <> 'email' OR p.confirmed_at IS NOT NULL
            GROUP BY p.platform, p.environment, p.person HAVING count(DISTINCT p.annotator_id) > 1
        """),
    ),
    Check(
        "suspended_person_is_told_why",
        4,
        "People who are suspended without a reason, or have a reason without being suspended.",
        by_sql("""
            SELECT e.study_id, e.id AS row FROM annotation_enrollment e
            WHERE (e.state = 'suspended') = (e.suspension_reason = '')
        """),
    ),
    Check(
        "visit_is_of_the_persons_environment",
        9,
        "Visits of another environment than the person's.",
        by_sql("""
            SELECT e.study_id, v.id AS row
            FROM recruitment_visit v JOIN annotation_enrollment e ON e.id = v.enrollment_id
            WHERE v.environment <> e.environment
        """),
    ),
    Check(
        "served_only_in_the_studys_environment",
        9,
        "Assignments given to somebody of another environment than the study's.",
        by_sql("""
            SELECT s.study_id, a.id AS row
            FROM annotation_assignment a
            JOIN annotation_story s ON s.id = a.story_id
            JOIN annotation_study st ON st.id = s.study_id
            JOIN annotation_enrollment e ON e.id = a.enrollment_id
            WHERE e.environment <> st.environment
        """),
    ),
    Check(
        "counted_vote_is_of_the_studys_environment",
        9,
        "Votes that hold a slot but belong to another environment than the study.",
        by_sql("""
            SELECT s.study_id, v.id AS row
            FROM annotation_vote v
            JOIN annotation_assignment a ON a.id = v.assignment_id
            JOIN annotation_story s ON s.id = a.story_id
            JOIN annotation_study st ON st.id = s.study_id
            WHERE a.state = 'submitted' AND v.environment <> st.environment
        """),
    ),
)
