"""Keeping the group that is shown the stories to those who can be given some."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from annotation.models import Study
from recruitment.actions.grants import grant, take_back
from recruitment.models import Grant
from recruitment.reconciliation.membership import studies_with_groups, to_come_back, to_join, to_leave


def keep_groups(*, now: datetime) -> int:
    """Have people leave the group who have no more stories to come, and come back once they have.

    Who passed a test that had been settled before comes into it, too.

    Returns how many are to be sent to a platform.
    """
    return sum(_keep(study, now=now) for study in studies_with_groups())


@transaction.atomic
def _keep(study: Study, *, now: datetime) -> int:
    leaving, coming, joining = list(to_leave(study)), list(to_come_back(study)), list(to_join(study))
    for wanted in leaving:
        take_back(wanted=wanted, now=now)
    for wanted in coming:
        grant(campaign=wanted.campaign, annotator=wanted.annotator, kind=Grant.Kind(wanted.kind), now=now)
    for visit in joining:
        assert visit.campaign is not None  # a test is taken in a visit for a campaign
        annotator = visit.enrollment.annotator
        grant(campaign=visit.campaign, annotator=annotator, kind=Grant.Kind.QUALIFIED, now=now)
    return len(leaving) + len(coming) + len(joining)
