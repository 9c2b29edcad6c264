"""What the pages about a person's part show of this room. They stand in rooms below this one."""

from __future__ import annotations

from django import template

from annotation.models import Enrollment
from annotation.queries import WorkSoFar
from qualification.pay import Earnings, time_at_test

register = template.Library()


@register.simple_tag
def earnings(enrollment: Enrollment, work: WorkSoFar | None) -> Earnings | None:
    """What the person is owed; None in a visit that a platform pays by the piece (``work`` is None there)."""
    if not work:  # also where a page names none
        return None
    test = time_at_test(enrollment) if enrollment.study.pay_rate is not None else None
    return Earnings(work.pay, test.pay if test else None)
