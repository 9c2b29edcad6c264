"""Arriving by a link, and the one link for everybody."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.actions import recognise
from accounts.models import PlatformIdentity, User
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event, Study
from recruitment import queries
from recruitment.errors import CannotJoin
from recruitment.joining import InvalidJoinLink, check_settings, own_source, person_of
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
    annotation_actions.record_event(
        study=enrollment.study,
        type=Event.Type.VISIT_ARRIVED,
        enrollment=enrollment,
        now=now,
        subject=f"visit {visit.pk}",
    )
    return visit


@transaction.atomic
def join(*, link: JoinLink, participant: str, now: datetime) -> Enrollment:
    """The place of a platform's participant in the study, made if they have none.

    The same id from the same source is the same person, with the same place, also when it arrives twice
    at once. Raises :class:`CannotJoin` for somebody new to a study that is not open, and
    ``accounts.actions.AskedToBeForgotten`` for somebody who has been forgotten.
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
    return annotation_actions.enroll(study=link.study, annotator=annotator, now=now)


@transaction.atomic
def set_join_link(
    *,
    study: Study,
    parameter: str | None = None,
    source: str | None = None,
    return_url: str | None = None,
    return_hosts: Sequence[str] | None = None,
    by: User | None,
    now: datetime,
) -> JoinLink:
    """Give the study its join link, or change it; what is None stays as it is.

    With no source, or an empty one, ids are this study's own. Raises
    ``recruitment.joining.InvalidJoinLink``, also for another source once people have come by the old one:
    each of them would be somebody new.
    """
    had = JoinLink.objects.select_for_update(of=("self",)).filter(study=study).first()
    now_so = had or JoinLink(parameter="participant", source=own_source(study.pk))
    parameter = now_so.parameter if parameter is None else parameter
    source = now_so.source if source is None else source or own_source(study.pk)
    return_url = now_so.return_url if return_url is None else return_url
    return_hosts = now_so.return_hosts if return_hosts is None else return_hosts
    check_settings(
        parameter=parameter,
        source=source,
        return_url=return_url,
        return_hosts=return_hosts,
        own=own_source(study.pk),
    )
    if had and had.source != source and queries.came_by(had).exists():
        raise InvalidJoinLink(
            _(
                "source: people have come with ids of “%(old)s”. With ids of “%(new)s” each of them would be "
                "somebody new, and could vote twice. Leave the source as it is."
            )
            % {"old": had.source, "new": source}
        )
    link, _made = JoinLink.objects.update_or_create(
        study=study,
        defaults={
            "parameter": parameter,
            "source": source,
            "return_url": return_url,
            "return_hosts": list(return_hosts),
            "set_at": now,
        },
    )
    note = f"parameter {parameter}, source {source}, return {return_url or 'nowhere'}"
    annotation_actions.record_event(
        study=study, type=Event.Type.JOIN_LINK_SET, by=by, now=now, subject=f"join link {link.pk}", note=note
    )
    return link


@transaction.atomic
def remove_join_link(*, study: Study, by: User | None, now: datetime) -> bool:
    """Let nobody else in by the study's join link, and show no codes. Whether there was one."""
    removed, _rows = JoinLink.objects.filter(study=study).delete()
    if removed:
        annotation_actions.record_event(study=study, type=Event.Type.JOIN_LINK_REMOVED, by=by, now=now)
    return bool(removed)
