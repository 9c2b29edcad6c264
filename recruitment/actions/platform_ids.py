"""Find people of a study by a platform's ids, and ids by people. Every look is logged.

Researchers see pseudonyms. To answer somebody who writes from a platform, or to write to them there, they
need the one look that leads from one to the other. The log says who looked and at whom, and never an id.
"""

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet

from accounts.models import Annotator, PlatformIdentity, User
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event, Study
from recruitment.models import Submission, Visit
from recruitment.platforms import PLATFORMS


@dataclass(frozen=True, slots=True)
class Found:
    """A person to whom an id leads, with their submissions and the visits that the platform does not list."""

    annotator: Annotator
    enrollment: Enrollment | None
    works: list[Submission]
    visits: list[Visit]


@dataclass(frozen=True, slots=True)
class RemoteIds:
    """A platform's ids of a submission. ``person`` is empty for people who have been forgotten."""

    person: str
    work: str
    posting: str


@transaction.atomic
def look_up(*, study: Study, remote_id: str, by: User, now: datetime) -> list[Found]:
    """Find people of the study by a platform's id of a person, an assignment or a submission.

    Mechanical Turk gives the id of work that was returned to the next worker, so there may be several.
    """
    remote_id = remote_id.strip()
    if not remote_id:
        return []
    of_work = Q(hit_assignment=remote_id)
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
    found = [
        _found(study, one, works, visits) for one in Annotator.objects.filter(pk__in=about).order_by("pk")
    ]
    for one in found:
        _record(study, one.enrollment, "found by an id of the platform", by=by, now=now)
    return found


@transaction.atomic
def show_ids(*, work: Submission | Visit, by: User, now: datetime) -> RemoteIds:
    """Return the platform's ids of a submission and its person."""
    visit = work if isinstance(work, Visit) else work.visit
    campaign = work.campaign
    assert campaign is not None  # a piece of work is of a campaign, and so is the visit for it
    annotator = work.enrollment.annotator_id if isinstance(work, Visit) else work.annotator_id
    enrollment = (
        visit.enrollment
        if visit
        else Enrollment.objects.filter(study=campaign.study, annotator=annotator).first()
    )
    _record(campaign.study, enrollment, f"ids of work in campaign {campaign.number}", by=by, now=now)
    identity = PlatformIdentity.objects.filter(
        annotator=annotator, platform=campaign.platform, environment=campaign.environment
    ).first()
    return RemoteIds(
        person=identity.person if identity else "",
        work=work.hit_assignment,
        posting=work.posting.remote_id if work.posting else campaign.remote_id,
    )


def _found(study: Study, annotator: Annotator, works: QuerySet[Submission], visits: QuerySet[Visit]) -> Found:
    theirs = works.filter(annotator=annotator).select_related("campaign").order_by("-pk")
    unlisted = visits.filter(enrollment__annotator=annotator, submission=None)
    return Found(
        annotator=annotator,
        enrollment=Enrollment.objects.filter(study=study, annotator=annotator).first(),
        works=list(theirs),
        visits=list(unlisted.select_related("campaign", "session").order_by("-pk")),
    )


def _record(study: Study, enrollment: Enrollment | None, subject: str, *, by: User, now: datetime) -> None:
    annotation_actions.record_event(
        study=study,
        type=Event.Type.IDENTITY_SHOWN,
        by=by,
        now=now,
        enrollment=enrollment,
        subject=subject,
    )
