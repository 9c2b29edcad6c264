"""Find people of a study by a platform's ids, and ids by people. Every look is logged.

Researchers see pseudonyms. To answer somebody who writes from a platform, or to write to them there, they
need the one look that leads from one to the other. The log says who looked and at whom, and never an id.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from accounts.models import Annotator, PlatformIdentity, User
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event, Study
from recruitment.models import Submission, Visit
from recruitment.platforms import PLATFORMS
from recruitment.queries import platform_id_of


@dataclass(frozen=True, slots=True)
class Match:
    """A person to whom an id leads, with their submissions and the visits that the platform does not list."""

    annotator: Annotator
    enrollment: Enrollment | None
    works: list[Submission]
    visits: list[Visit]


@transaction.atomic
def look_up(*, study: Study, remote_id: str, by: User, now: datetime) -> list[Match]:
    """Find people of the study by a platform's id of a person, an assignment or a submission.

    Mechanical Turk gives the id of work that was returned to the next worker, so there may be several.
    """
    remote_id = remote_id.strip()
    if not remote_id:
        return []
    of_work = Q(remote_id=remote_id)
    people = PlatformIdentity.objects.filter(
        platform__in=PLATFORMS, environment=study.environment, person=remote_id
    ).values("annotator")
    works = Submission.objects.filter(campaign__study=study)
    visits = Visit.objects.filter(campaign__study=study)
    about = {
        *works.filter(of_work | Q(annotator__in=people)).values_list("annotator", flat=True),
        *visits.filter(of_work | Q(enrollment__annotator__in=people)).values_list(
            "enrollment__annotator", flat=True
        ),
        *Enrollment.objects.filter(study=study, annotator__in=people).values_list("annotator", flat=True),
    }
    matches = []
    for annotator in Annotator.objects.filter(pk__in=about).order_by("pk"):
        enrollment = Enrollment.objects.filter(study=study, annotator=annotator).first()
        theirs = works.filter(annotator=annotator).select_related("campaign").order_by("-pk")
        unlisted = visits.filter(enrollment__annotator=annotator, submission=None)
        unlisted = unlisted.select_related("campaign", "session").order_by("-pk")
        matches.append(Match(annotator, enrollment, list(theirs), list(unlisted)))
        _record(study, enrollment, "found by an id of the platform", by=by, now=now)
    return matches


@transaction.atomic
def show_ids(*, work: Submission | Visit, by: User, now: datetime) -> dict[str, str]:
    """Return the platform's ids of a submission or visit, and of its person ("" if forgotten)."""
    campaign = work.campaign
    assert campaign is not None  # a piece of work is of a campaign, and so is the visit for it
    enrollment = Enrollment.objects.filter(study=campaign.study, annotator=work.annotator_id).first()
    _record(campaign.study, enrollment, f"ids of work in campaign {campaign.number}", by=by, now=now)
    return {
        "person": platform_id_of(work),
        "work": work.remote_id,
        "posting": work.posting.remote_id if work.posting else campaign.remote_id,
    }


def _record(study: Study, enrollment: Enrollment | None, subject: str, *, by: User, now: datetime) -> None:
    annotation_actions.record_event(
        study=study, type=Event.Type.IDENTITY_SHOWN, by=by, now=now, enrollment=enrollment, subject=subject
    )
