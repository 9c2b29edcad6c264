"""Restrict a draft study to annotators qualified elsewhere, and exclude annotators from it."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import Annotator, User, locked
from annotation.actions.enrollments import enroll, invited_by
from annotation.actions.events import record_event
from annotation.errors import WrongState
from annotation.models import Enrollment, Event, Exclusion, Study


@transaction.atomic
def admit_through(*, study: Study, source: Study, by: User | None, now: datetime) -> Study:
    """Let only annotators who are qualified in ``source`` agree to take part in the study.

    Both must be of one environment, and the study must ask for no qualification of its own. Raises
    :class:`WrongState` otherwise, and once the study has been opened.
    """
    both = Study.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=[study.pk, source.pk])
    source = {one.pk: one for one in both.order_by("pk")}[source.pk]
    study = _lock_draft(study)
    if study.gate != Study.Gate.NOT_REQUIRED:
        raise WrongState(_("A study asks for its own qualification or for another study’s, not for both."))
    if study.environment != source.environment:
        raise WrongState(
            _("“%(study)s” is %(here)s, but “%(source)s” is %(there)s: they share no participants."),
            study=study.slug,
            here=study.get_environment_display(),
            source=source.slug,
            there=source.get_environment_display(),
        )
    study.qualified_through = source
    study.save(update_fields=["qualified_through"])
    note = f"qualified in {source.slug}"
    record_event(study=study, type=Event.Type.ADMISSION_SETTLED, by=by, now=now, note=note)
    return study


@transaction.atomic
def keep_out(
    *, study: Study, annotators: Collection[int], reason: str, by: User | None, now: datetime
) -> int:
    """Keep these annotators (by id) from joining the study, for good. Return how many are new.

    Raise :class:`WrongState` once the study has been opened.
    """
    study = _lock_draft(study)
    known = set(Exclusion.objects.filter(study=study).values_list("annotator", flat=True))
    fresh = sorted(set(annotators) - known)
    Exclusion.objects.bulk_create(
        Exclusion(study=study, annotator_id=annotator, reason=reason, created_at=now) for annotator in fresh
    )
    event, subject = Event.Type.ANNOTATORS_EXCLUDED, f"{len(fresh)} annotators"
    record_event(study=study, type=event, by=by, now=now, subject=subject, note=reason)
    return len(fresh)


@transaction.atomic
def invite_qualified(
    *, study: Study, by: User | None, now: datetime, most: int | None = None, token: UUID | None = None
) -> list[Enrollment]:
    """Invite at most ``most`` annotators who are qualified in the study that this one requires.

    Skip those who are excluded, erased or invited already. ``token`` identifies the submitted form:
    submitting it again returns the annotators of the first time. Raise :class:`WrongState` for a study
    that requires no other study.
    """
    if study.qualified_through is None:
        raise WrongState(_("“%(study)s” doesn’t take participants from another study."), study=study.slug)
    if token and (invited := invited_by(study=study, token=token)):
        return invited
    qualified = Enrollment.objects.filter(
        study=study.qualified_through, state=Enrollment.State.QUALIFIED, environment=study.environment
    )
    annotators = (
        Annotator.objects.filter(erased_at=None, pk__in=qualified.values("annotator"))
        .exclude(exclusions__study=study)
        .exclude(pk__in=Enrollment.objects.filter(study=study).values("annotator"))
        .order_by("pk")
    )
    # Locked, so that nobody is invited while their personal data is being deleted.
    held = annotators.select_for_update(of=("self",), no_key=True)[:most]
    return [enroll(study=study, annotator=annotator, now=now, by=by, token=token) for annotator in held]


def _lock_draft(study: Study) -> Study:
    study = locked(study)
    if study.state != Study.State.DRAFT:
        raise WrongState(
            _("You can change who “%(study)s” is for only while it is a draft; it is %(state)s."),
            study=study.slug,
            state=study.get_state_display(),
        )
    return study
