"""Arrivals by personal links, and the join link of a study."""

from datetime import datetime
from typing import Any

from django.core.cache import cache
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.actions import recognise
from accounts.models import PlatformIdentity, User
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event, Study
from recruitment import queries
from recruitment.errors import CannotJoin
from recruitment.join_links import SETTINGS, InvalidJoinLink, check_settings, own_source, person_of
from recruitment.models import JoinLink, Visit


@transaction.atomic
def arrive_by_link(*, enrollment: Enrollment, now: datetime) -> Visit:
    """Record that a person came in through their personal link."""
    visit = Visit.objects.create(
        enrollment=enrollment,
        platform=PlatformIdentity.Platform.LINK,
        environment=enrollment.environment,
        arrived_at=now,
    )
    annotation_actions.record_about(
        person=enrollment, type=Event.Type.VISIT_ARRIVED, now=now, subject=f"visit {visit.pk}"
    )
    return visit


@transaction.atomic
def join(*, link: JoinLink, participant: str, now: datetime) -> Enrollment:
    """Return a platform participant's enrollment in the study; make it if they have none.

    An id from one source is always one person, also when it arrives twice at once. Raise
    :class:`CannotJoin` for a new person while the study is not open or the link is closed or full, and
    ``accounts.actions.AskedToBeForgotten`` for one whose data were deleted.
    """
    annotator = recognise(
        platform=PlatformIdentity.Platform.LINK,
        environment=link.study.environment,
        person=person_of(link.source, participant),
        now=now,
    )
    known = Enrollment.objects.select_related("study").filter(study=link.study, annotator=annotator).first()
    if known:
        return known
    if link.study.state != Study.State.OPEN:
        raise CannotJoin(_("The study is not open."))
    if _is_over(link, now=now):
        raise CannotJoin(_("The link lets nobody new in."))
    return annotation_actions.enroll(study=link.study, annotator=annotator, now=now)


def _is_over(link: JoinLink, *, now: datetime) -> bool:
    """Tell whether the link lets nobody new in, with its row locked while people are counted."""
    if link.most_people is not None:
        link = JoinLink.objects.select_for_update(of=("self",), no_key=True).get(pk=link.pk)
    return (link.closes_at is not None and link.closes_at <= now) or (
        link.most_people is not None and queries.came_by(link).count() >= link.most_people
    )


@transaction.atomic
def set_join_link(*, study: Study, by: User | None, now: datetime, **changes: Any) -> JoinLink:
    """Create or change the study's join link; settings that ``changes`` do not name stay.

    Without a source, ids are this study's own. Raise ``recruitment.join_links.InvalidJoinLink``, also for
    another source once people have come by the old one: each of them would be somebody new.
    """
    had = JoinLink.objects.select_for_update(of=("self",)).filter(study=study).first()
    own = own_source(study.pk)
    settings = {name: getattr(had or JoinLink(), name) for name in SETTINGS} | changes
    settings["source"] = settings["source"] or own
    check_settings(settings, own=own, cap=study.story_cap)
    if had and had.source != settings["source"] and queries.came_by(had).exists():
        raise InvalidJoinLink(
            "source",
            _(
                "People have come with ids of “%(old)s”. With ids of “%(new)s” each of them would be "
                "somebody new, and could vote twice. Leave the source as it is."
            )
            % {"old": had.source, "new": settings["source"]},
        )
    link, _made = JoinLink.objects.update_or_create(study=study, defaults=settings | {"set_at": now})
    transaction.on_commit(lambda: cache.delete(queries.LEAST_KEY % study.pk))
    _record(link, by=by, now=now)
    return link


def _record(link: JoinLink, *, by: User | None, now: datetime) -> None:
    said = [(name, getattr(link, name)) for name in SETTINGS]
    annotation_actions.record_event(
        study=link.study,
        type=Event.Type.JOIN_LINK_SET,
        by=by,
        now=now,
        subject=f"join link {link.pk}",
        note=", ".join(f"{name} {_in_log(value)}" for name, value in said if value),
    )


def _in_log(value: object) -> str:
    return f"{value:%Y-%m-%d %H:%M} UTC" if isinstance(value, datetime) else str(value)


@transaction.atomic
def remove_join_link(*, study: Study, by: User | None, now: datetime) -> bool:
    """Remove the study's join link and its codes. Return whether there was one."""
    removed, _rows = JoinLink.objects.filter(study=study).delete()
    if removed:
        transaction.on_commit(lambda: cache.delete(queries.LEAST_KEY % study.pk))
        annotation_actions.record_event(study=study, type=Event.Type.JOIN_LINK_REMOVED, by=by, now=now)
    return bool(removed)
