"""What a platform lists that is not written down here yet. Reads only.

A platform lists everything of a posting each time it is asked, on Prolific the work of a whole campaign. Most
of it is as it was: that is found out for many pieces of work at once, and only the rest is looked at closely.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice

from django.db.models import QuerySet

from recruitment.marketplace import Work
from recruitment.models import Campaign, Submission

AT_ONCE = 1000
"""Pieces of work that are looked up by one query."""
SEEN_EVERY = timedelta(hours=1)
"""So often it is noted that the platform still lists a piece of work as it was."""


def batches(works: Sequence[Work]) -> Iterator[list[Work]]:
    """The works, so many at a time as are looked up at once."""
    left = iter(works)
    while batch := list(islice(left, AT_ONCE)):
        yield batch


def news(campaign: Campaign, works: Sequence[Work]) -> list[Work]:
    """Those of the works that are unknown, or known otherwise, in their order. One query."""
    known = _known(campaign, works)
    return [work for work in works if not _is_known(work, known)]


def not_noted_lately(campaign: Campaign, works: Collection[Work], *, now: datetime) -> QuerySet[Submission]:
    """The submissions of the works of which it has not been noted for a while that they are listed."""
    return _of(campaign, works).filter(seen_at__lt=now - SEEN_EVERY)


Known = dict[tuple[str, str], tuple[str, str, datetime | None]]
"""By the platform's ids of a piece of work and of its person: status, receipt, when it was handed in."""


def _known(campaign: Campaign, works: Sequence[Work]) -> Known:
    """What is known of these works; without those of which no visit or no posting is."""
    whole = _of(campaign, works).filter(
        visit__isnull=False,
        posting__isnull=False,
        annotator__identities__platform=campaign.platform,
        annotator__identities__environment=campaign.environment,
    )
    rows = whole.values_list(
        "hit_assignment", "annotator__identities__person", "status", "receipt", "submitted_at"
    )
    return {(work, person): (status, receipt, at) for work, person, status, receipt, at in rows}


def _of(campaign: Campaign, works: Collection[Work]) -> QuerySet[Submission]:
    return Submission.objects.filter(
        campaign=campaign,
        platform=campaign.platform,
        environment=campaign.environment,
        hit_assignment__in={work.hit_assignment for work in works},
    )


def _is_known(work: Work, known: Known) -> bool:
    found = known.get((work.hit_assignment, work.person))
    if found is None:
        return False
    status, receipt, at = found
    return status == work.status and work.receipt in ("", receipt) and work.submitted_at in (None, at)
