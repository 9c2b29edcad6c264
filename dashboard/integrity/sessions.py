"""Invariant 3 as far as visits from platforms carry it: a vote counts as its platform's word allows."""

from __future__ import annotations

from dashboard.integrity.base import Check, by_sql

CHECKS = (
    Check(
        "votes_count_as_their_visit_allows",
        3,
        "Answers that count, wait or are doubted otherwise than their visit's work session says.",
        by_sql("""
            SELECT s.study_id, a.id AS row
            FROM annotation_assignment a
            JOIN annotation_story s ON s.id = a.story_id
            LEFT JOIN annotation_worksession w ON w.id = a.session_id
            WHERE a.state = 'pending' AND w.state IS DISTINCT FROM 'open'
               OR a.state = 'doubted' AND w.state IS DISTINCT FROM 'doubted'
               OR a.state = 'submitted' AND (w.state = 'doubted' OR w.state = 'open' AND NOT w.counts_at_once)
        """),
    ),
)
