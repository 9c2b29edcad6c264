"""Who is owed what for work that no platform pays through us: a table to pay by, without names.

A platform lists who handed in which completion code; this lists what each code is owed. So nobody's id on
a platform has to leave the one table that holds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from django.db import connection

from annotation.models import Study
from annotation.rules import estimated_pay, pseudonym
from recruitment.codes import completion_code, outcome_of

COLUMNS = (
    "completion_code",
    "annotator",
    "outcome",
    "stories",
    "median_seconds",
    "owed_for_stories",
    "currency",
)
_WORK = """
    SELECT e.id, e.annotator_id, count(v.id),
           percentile_cont(0.5) WITHIN GROUP (
               ORDER BY extract(epoch FROM v.first_submitted_at - v.served_at))
    FROM annotation_enrollment e
    LEFT JOIN annotation_assignment a ON a.enrollment_id = e.id AND a.session_id IS NULL
    LEFT JOIN annotation_vote v ON v.assignment_id = a.id AND v.revision = 1
    WHERE e.study_id = %(study)s AND e.environment = %(environment)s
      AND NOT EXISTS (SELECT FROM recruitment_visit came
                      WHERE came.enrollment_id = e.id AND came.campaign_id IS NOT NULL)
    GROUP BY e.id
    HAVING count(v.id) > 0 OR e.state IN ('qualified', 'failed')
    ORDER BY e.id
"""


def owed_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Everybody who has worked and came by no campaign: their code, what they did, what it comes to.

    The sum is the one that they read on their own pages: stories times their median time at the hourly
    rate. It is empty where the study pays nothing. What a study pays for the test comes on top.
    """
    with connection.cursor() as cursor:
        cursor.execute(_WORK, {"study": study.pk, "environment": study.environment})
        work = cursor.fetchall()
    for enrollment_id, annotator_id, stories, median in work:
        outcome = outcome_of(stories)
        owed: Decimal | None = estimated_pay(stories, median, study.pay_rate)
        yield {
            "completion_code": completion_code(study.pseudonym_key, enrollment_id, outcome),
            "annotator": pseudonym(study.pseudonym_key, annotator_id),
            "outcome": outcome.value,
            "stories": stories,
            "median_seconds": "" if median is None else round(median, 1),
            "owed_for_stories": "" if owed is None else str(owed),
            "currency": study.currency,
        }
