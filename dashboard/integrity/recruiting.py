"""Invariants 2, 3, 4, 9 and 10 as far as campaigns on platforms carry them: visits, and what is paid."""

from __future__ import annotations

from dashboard.integrity.base import Check, by_sql

_ENROLLED_BY_SESSION = """
    SELECT e.study_id, e.id AS enrollment, w.id AS session
    FROM annotation_worksession w JOIN annotation_enrollment e ON e.id = w.enrollment_id
"""
_PAYMENTS = """
    SELECT c.study_id, p.*, c.reward
    FROM recruitment_payment p
    JOIN recruitment_submission s ON s.id = p.submission_id
    JOIN recruitment_campaign c ON c.id = s.campaign_id
"""

CHECKS = (
    Check(
        "session_is_of_a_visit",
        4,
        "Work sessions without a visit for a campaign, or with one of another person or another study.",
        by_sql(
            """
            SELECT e.study_id, e.session AS row
            FROM enrolled e
            LEFT JOIN recruitment_visit v ON v.session_id = e.session
            LEFT JOIN recruitment_campaign c ON c.id = v.campaign_id
            LEFT JOIN recruitment_posting p ON p.id = v.posting_id
            WHERE v.enrollment_id IS DISTINCT FROM e.enrollment OR c.study_id IS DISTINCT FROM e.study_id
               OR p.campaign_id IS DISTINCT FROM c.id
            """,
            enrolled=_ENROLLED_BY_SESSION,
        ),
    ),
    Check(
        "session_counts_its_votes",
        2,
        "Work sessions whose number of answered stories is not that of the votes given in them.",
        by_sql(
            """
            SELECT e.study_id, e.session AS row
            FROM enrolled e
            JOIN annotation_worksession w ON w.id = e.session
            WHERE w.stories_submitted <> (
                SELECT count(*) FROM annotation_assignment a
                JOIN annotation_vote v ON v.assignment_id = a.id AND v.revision = 1
                WHERE a.session_id = w.id)
            """,
            enrolled=_ENROLLED_BY_SESSION,
        ),
    ),
    Check(
        "work_is_decided_once",
        3,
        "Pieces of work that were approved, rejected or topped up more than once.",
        by_sql(
            """
            SELECT study_id, submission_id AS row
            FROM payments WHERE kind NOT IN ('bonus', 'outside') AND state NOT IN ('failed', 'withdrawn')
            GROUP BY study_id, submission_id, decided_there,
                     CASE WHEN kind IN ('top_up', 'overturn') THEN kind END
            HAVING count(*) > 1
            """,
            payments=_PAYMENTS,
        ),
    ),
    Check(
        "payment_is_of_its_amount",
        3,
        "Approvals of another amount than the reward, rejections that pay, bonuses of nothing.",
        by_sql(
            """
            SELECT study_id, id AS row FROM payments
            WHERE kind IN ('approval', 'overturn') AND amount <> reward OR kind = 'rejection' AND amount <> 0
               OR kind IN ('bonus', 'top_up', 'outside') AND amount <= 0
            """,
            payments=_PAYMENTS,
        ),
    ),
    Check(
        "payment_is_settled_when_it_was_sent",
        3,
        "Payments that are settled at no time, not settled at a time, or done by us without being sent.",
        by_sql(
            """
            SELECT study_id, id AS row FROM payments
            WHERE (state IN ('done', 'failed', 'withdrawn')) <> (settled_at IS NOT NULL)
               OR state = 'done' AND kind <> 'outside' AND NOT decided_there
                  AND (tries = 0 OR first_sent_at IS NULL)
            """,
            payments=_PAYMENTS,
        ),
    ),
    Check(
        "platforms_work_is_of_its_environment",
        9,
        "Campaigns, submissions and groups of the other environment, or of another platform, than their own.",
        by_sql("""
            SELECT c.study_id, c.id AS row
            FROM recruitment_campaign c JOIN annotation_study st ON st.id = c.study_id
            WHERE c.environment <> st.environment
            UNION ALL
            SELECT c.study_id, s.id AS row
            FROM recruitment_submission s JOIN recruitment_campaign c ON c.id = s.campaign_id
            WHERE s.environment <> c.environment OR s.platform <> c.platform
            UNION ALL
            SELECT c.study_id, g.id AS row
            FROM recruitment_grant g JOIN recruitment_campaign c ON c.id = g.campaign_id
            WHERE g.environment <> c.environment OR g.platform <> c.platform OR g.study_id <> c.study_id
        """),
    ),
    Check(
        "campaign_is_in_the_log",
        10,
        "Campaigns of whose making the log does not speak.",
        by_sql("""
            SELECT c.study_id, c.id AS row
            FROM recruitment_campaign c JOIN annotation_study st ON st.id = c.study_id
            WHERE NOT EXISTS (SELECT FROM annotation_event ev WHERE ev.study_id = c.study_id
                              AND ev.type = 'campaign_created' AND ev.subject = st.slug || '-' || c.number)
        """),
    ),
    Check(
        "payment_is_in_the_log",
        10,
        "Payments of whose request, or of whose end, the log does not speak.",
        by_sql(
            """
            SELECT p.study_id, p.id AS row
            FROM payments p
            WHERE NOT EXISTS (SELECT FROM said
                              WHERE said.study_id = p.study_id AND said.about = p.kind || ' ' || p.id
                                AND said.type = 'payment_requested')
               OR p.state IN ('done', 'failed', 'withdrawn') AND NOT EXISTS (
                    SELECT FROM said
                    WHERE said.study_id = p.study_id AND said.about = p.kind || ' ' || p.id
                      AND said.type = CASE p.state WHEN 'done' THEN 'payment_sent' ELSE 'payment_failed' END)
            """,
            payments=_PAYMENTS,
            said="""
                SELECT study_id, type,
                       split_part(subject, ' ', 1) || ' ' || split_part(subject, ' ', 2) AS about
                FROM annotation_event
                WHERE type IN ('payment_requested', 'payment_sent', 'payment_failed')
            """,
        ),
    ),
    Check(
        "settled_difference_is_in_the_log",
        10,
        "Differences with a platform that were dealt with and of which the log does not speak.",
        by_sql("""
            SELECT c.study_id, d.id AS row
            FROM recruitment_difference d JOIN recruitment_campaign c ON c.id = d.campaign_id
            WHERE d.settled_at IS NOT NULL AND NOT EXISTS (
                SELECT FROM annotation_event ev WHERE ev.study_id = c.study_id
                AND ev.type = 'platform_synced' AND ev.subject = d.kind || ' ' || d.id)
        """),
    ),
)
