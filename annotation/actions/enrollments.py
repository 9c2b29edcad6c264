"""People joining a study, agreeing to it, and their standing in it."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import ProgrammingError, transaction
from django.utils.translation import gettext as _

from accounts.actions import erase_identities
from accounts.models import Annotator, User
from annotation import queries, rules
from annotation.actions.events import record_event
from annotation.errors import NotAdmitted, ReasonMissing, WrongState
from annotation.models import Assignment, ConsentText, Enrollment, Event, Story, Study, VoteExclusion

LONGEST_REASON = 300
"""Characters of the reason for a suspension."""


@transaction.atomic
def enroll(
    *, study: Study, annotator: Annotator, now: datetime, by: User | None = None, token: UUID | None = None
) -> Enrollment:
    """The annotator's enrollment in the study, made (as invited) if there is none.

    ``token``: of the form by which several are invited at once; see :func:`invited_by`.
    """
    enrollment, made = Enrollment.objects.get_or_create(
        study=study,
        annotator=annotator,
        defaults={"environment": study.environment, "created_at": now, "state_changed_at": now},
    )
    if made:
        record_event(
            study=study,
            type=Event.Type.ANNOTATOR_INVITED,
            by=by,
            now=now,
            enrollment=enrollment,
            subject=_form(token) if token else "",
        )
    return enrollment


@transaction.atomic
def invite(
    *, study: Study, count: int, by: User | None, now: datetime, token: UUID | None = None
) -> list[Enrollment]:
    """``count`` new people, each invited under a pseudonym of their own and known by their link only.

    ``token``: of the form. A second press of it invites nobody more, and has the people of the first.
    """
    if not 1 <= count <= 10_000:
        raise ValueError("Invite between 1 and 10,000 people at a time.")
    if token and (invited := invited_by(study=study, token=token)):
        return invited
    annotators = Annotator.objects.bulk_create(Annotator(created_at=now) for _ in range(count))
    return [enroll(study=study, annotator=annotator, now=now, by=by, token=token) for annotator in annotators]


def invited_by(*, study: Study, token: UUID) -> list[Enrollment]:
    """Whom this form has invited already. Two presses of one form take turns until the transaction ends."""
    Study.objects.select_for_update(of=("self",), no_key=True).get(pk=study.pk)
    told = Event.objects.filter(study=study, type=Event.Type.ANNOTATOR_INVITED, subject=_form(token))
    return list(Enrollment.objects.filter(pk__in=told.values("enrollment")).order_by("pk"))


@transaction.atomic
def give_consent(*, enrollment: Enrollment, consent: ConsentText, now: datetime) -> Enrollment:
    """Record that the person agreed to this version of the text.

    In a study that asks for no qualification they are qualified at once. Agreeing to a newer version
    leaves their standing as it is. Raises :class:`WrongState` for a text that is not the newest one, and
    :class:`NotAdmitted` for somebody whom the study is not for.
    """
    enrollment = _lock(enrollment)
    kept_out = queries.kept_out(enrollment)
    if kept_out:
        raise NotAdmitted(kept_out)
    if consent.study_id != enrollment.study_id or consent.version != enrollment.study.consent_version:
        raise WrongState(_("The consent text has changed since you opened this page. Please read it again."))
    undecided = enrollment.state in (Enrollment.State.INVITED, Enrollment.State.DECLINED)
    if enrollment.consent_id == consent.pk and not undecided:
        return enrollment
    if enrollment.state == Enrollment.State.WITHDRAWN:
        raise WrongState(_("You have withdrawn from this study."))
    enrollment.consent = consent
    enrollment.consented_at = now
    enrollment.save(update_fields=["consent", "consented_at"])
    record_event(
        study=enrollment.study,
        type=Event.Type.CONSENT_GIVEN,
        enrollment=enrollment,
        now=now,
        subject=f"consent {consent.version}",
    )
    if enrollment.state in (Enrollment.State.INVITED, Enrollment.State.DECLINED):
        _let_in(enrollment, now=now)
        if enrollment.study.gate == Study.Gate.NOT_REQUIRED:
            through = enrollment.study.qualified_through
            note = f"qualified in {through.slug}" if through else "no qualification asked"
            return set_qualified(enrollment=enrollment, passed=True, now=now, note=note)
    return enrollment


def _let_in(enrollment: Enrollment, *, now: datetime) -> None:
    """The first step into the study. Raises :class:`NotAdmitted` for what changed since it was looked at.

    Other studies' rows say whether somebody may come in; they are not locked, since whoever locks a
    person's places one after the other (being forgotten) takes them in another order.
    """
    try:
        with transaction.atomic():
            _move(enrollment, Enrollment.State.CONSENTED, now=now)
    except ProgrammingError:  # the database's own look, by a trigger
        kept_out = queries.kept_out(_lock(enrollment))
        if kept_out is None:
            raise
        raise NotAdmitted(kept_out) from None


@transaction.atomic
def decline_consent(*, enrollment: Enrollment, now: datetime) -> Enrollment:
    """Record that the person does not want to take part. They may change their mind."""
    enrollment = _lock(enrollment)
    if enrollment.state == Enrollment.State.DECLINED:
        return enrollment
    _check_transition(enrollment, Enrollment.State.DECLINED)
    _move(enrollment, Enrollment.State.DECLINED, now=now)
    record_event(study=enrollment.study, type=Event.Type.CONSENT_DECLINED, enrollment=enrollment, now=now)
    return enrollment


@transaction.atomic
def set_qualified(*, enrollment: Enrollment, passed: bool, now: datetime, note: str = "") -> Enrollment:
    """Record the outcome of a qualification round. Called by the room that grades.

    Raises :class:`WrongState` for somebody who is not at that step; a suspension is never lifted by it.
    """
    enrollment = _lock(enrollment)
    if enrollment.state == Enrollment.State.SUSPENDED:
        raise WrongState(_("The person is suspended. Reinstate them first."))
    target = Enrollment.State.QUALIFIED if passed else Enrollment.State.FAILED
    _check_transition(enrollment, target)
    _move(enrollment, target, now=now)
    record_event(
        study=enrollment.study,
        type=Event.Type.ENROLLMENT_QUALIFIED if passed else Event.Type.ENROLLMENT_FAILED,
        enrollment=enrollment,
        now=now,
        note=note,
    )
    return enrollment


@transaction.atomic
def suspend(
    *, enrollment: Enrollment, by: User | None, now: datetime, reason: str, note: str = ""
) -> Enrollment:
    """Serve the person no more stories, and tell them the reason. Votes they gave stay as they are.

    ``note``: for the log, if it is not to have the reason, as where that is in the person's language.

    Raises :class:`ReasonMissing`, also for a reason of more than 300 characters.
    """
    reason = reason.strip()
    if "\0" in reason or not 1 <= len(reason) <= LONGEST_REASON:
        raise ReasonMissing(
            _("Give the reason in 1 to %(most)s characters. The person reads it.") % {"most": LONGEST_REASON}
        )
    enrollment = _lock(enrollment)
    _check_transition(enrollment, Enrollment.State.SUSPENDED)
    enrollment.suspension_reason = reason
    _move(enrollment, Enrollment.State.SUSPENDED, now=now)
    record_event(
        study=enrollment.study,
        type=Event.Type.ENROLLMENT_SUSPENDED,
        by=by,
        enrollment=enrollment,
        now=now,
        note=note or reason,
    )
    return enrollment


@transaction.atomic
def reinstate(*, enrollment: Enrollment, by: User | None, now: datetime, reason: str) -> Enrollment:
    """Let a suspended person go on where they were: with the stories, or before the test.

    Hidden checks that they have answered by now are not held against them any more.
    Raises :class:`WrongState` for somebody who is not suspended, or whose votes are excluded.
    """
    enrollment = _lock(enrollment)
    if VoteExclusion.objects.standing().of_people().filter(enrollment=enrollment).exists():
        raise WrongState(_("Their votes are excluded. Lift the exclusion; that lets them go on, too."))
    if enrollment.state != Enrollment.State.SUSPENDED:
        raise WrongState(
            _("The person is not suspended but %(state)s.") % {"state": enrollment.get_state_display()}
        )
    enrollment.checks_from = enrollment.stories_submitted
    enrollment.warned_after = None
    enrollment.save(update_fields=["checks_from", "warned_after"])
    qualified = queries.test_outcome(enrollment)
    _move(enrollment, Enrollment.State.QUALIFIED if qualified else Enrollment.State.CONSENTED, now=now)
    record_event(
        study=enrollment.study,
        type=Event.Type.ENROLLMENT_REINSTATED,
        by=by,
        enrollment=enrollment,
        now=now,
        note=reason,
    )
    return enrollment


@transaction.atomic
def set_back(
    *, enrollment: Enrollment, asks_consent: bool, by: User | None, now: datetime, reason: str
) -> Enrollment:
    """Let a person take the test again: back to where it begins, or to the consent text before it.

    ``asks_consent``: what was agreed to so far was not the person's own word. Called with what makes their
    attempts void. Raises :class:`ReasonMissing`, also for a reason of more than 300 characters, and
    :class:`WrongState` for somebody who is suspended or has left.
    """
    reason = reason.strip()
    if "\0" in reason or not 1 <= len(reason) <= LONGEST_REASON:
        raise ReasonMissing(
            _("Give the reason in 1 to %(most)s characters. It is kept in the log.")
            % {"most": LONGEST_REASON}
        )
    enrollment = _lock(enrollment)
    if enrollment.state not in rules.BEFORE_OR_AFTER_TEST:
        raise WrongState(
            _("Somebody who is %(state)s cannot take the test again.")
            % {"state": enrollment.get_state_display()}
        )
    give_lease_back(enrollment=enrollment)
    # Without a test of the study's own, agreeing is what qualifies.
    has_test = enrollment.study.gate != Study.Gate.NOT_REQUIRED
    has_agreed = has_test and enrollment.consent_id is not None and not asks_consent
    _move(enrollment, Enrollment.State.CONSENTED if has_agreed else Enrollment.State.INVITED, now=now)
    record_event(
        study=enrollment.study,
        type=Event.Type.TEST_GIVEN_BACK,
        by=by,
        enrollment=enrollment,
        now=now,
        note=reason,
    )
    if asks_consent:
        record_event(study=enrollment.study, type=Event.Type.CONSENT_ASKED, enrollment=enrollment, now=now)
    return enrollment


@transaction.atomic
def ask_again(*, enrollment: Enrollment, now: datetime) -> Enrollment:
    """Whoever comes anew for another piece of work is asked for consent, though somebody declined before."""
    enrollment = _lock(enrollment)
    if enrollment.state == Enrollment.State.DECLINED:
        _move(enrollment, Enrollment.State.INVITED, now=now)
        record_event(study=enrollment.study, type=Event.Type.CONSENT_ASKED, enrollment=enrollment, now=now)
    return enrollment


@transaction.atomic
def revoke_link(*, enrollment: Enrollment, by: User | None, now: datetime, note: str = "") -> Enrollment:
    """Make every address dead that was given to the person so far; a link made now is a new one.

    Raises :class:`WrongState` for somebody who has been forgotten: their place is not opened again.
    """
    enrollment = _lock(enrollment)
    if Annotator.objects.get(pk=enrollment.annotator_id).erased_at:
        raise WrongState(_("They have been forgotten, as they asked. Their place cannot be opened again."))
    enrollment.link_version += 1
    enrollment.save(update_fields=["link_version"])
    record_event(
        study=enrollment.study,
        type=Event.Type.LINK_REVOKED,
        by=by,
        enrollment=enrollment,
        now=now,
        subject=f"link {enrollment.link_version - 1}",
        note=note,
    )
    return enrollment


@transaction.atomic
def withdraw(*, enrollment: Enrollment, now: datetime) -> Enrollment:
    """The person leaves the study for good. A story they hold goes to others; what they saved stays."""
    enrollment = _lock(enrollment)
    if enrollment.state == Enrollment.State.WITHDRAWN:
        return enrollment
    give_lease_back(enrollment=enrollment)
    _check_transition(enrollment, Enrollment.State.WITHDRAWN)
    _move(enrollment, Enrollment.State.WITHDRAWN, now=now)
    record_event(study=enrollment.study, type=Event.Type.ENROLLMENT_WITHDRAWN, enrollment=enrollment, now=now)
    return enrollment


@transaction.atomic
def give_lease_back(*, enrollment: Enrollment) -> None:
    """The story that a person holds goes to others at once. Called with the person's row locked."""
    held = (
        Assignment.objects.select_for_update(of=("self",), no_key=True)
        .filter(enrollment=enrollment, state=Assignment.State.LEASED)
        .first()
    )
    if held:
        held.state = Assignment.State.EXPIRED
        held.save(update_fields=["state"])
        Story.objects.main().filter(pk=held.story_id).update(has_free_slot=True)


@transaction.atomic
def forget(*, annotator: Annotator, now: datetime) -> None:
    """Erase what says who a person is, and end their part and their links in every study. Votes stay.

    Afterwards nothing in the database connects the votes with anybody outside it.
    """
    if Annotator.objects.select_for_update(no_key=True).get(pk=annotator.pk).erased_at:
        return
    for enrollment in _by_story_held(annotator):
        withdraw(enrollment=enrollment, now=now)
        revoke_link(enrollment=enrollment, by=None, now=now, note="forgotten")
        record_event(study=enrollment.study, type=Event.Type.IDENTITY_ERASED, enrollment=enrollment, now=now)
    erase_identities(annotator=annotator, now=now)


def _by_story_held(annotator: Annotator) -> list[Enrollment]:
    """The person's places in all studies, locked, in the order of the stories they hold.

    Leaving a place locks its story, so two people who leave the same studies lock stories in one order.
    """
    places = (
        Enrollment.objects.select_for_update(of=("self",), no_key=True)
        .filter(annotator=annotator)
        .select_related("study")
    )
    locked = list(places.order_by("pk"))
    leases = Assignment.objects.filter(enrollment__in=locked, state=Assignment.State.LEASED)
    held = dict(leases.values_list("enrollment", "story"))
    return sorted(locked, key=lambda place: held.get(place.pk, 0))


def _form(token: UUID) -> str:
    return f"form {token}"


def _lock(enrollment: Enrollment) -> Enrollment:
    """The row locked against every other action on the same person, fresh from the database."""
    return (
        Enrollment.objects.select_for_update(of=("self",), no_key=True)
        .select_related("study")
        .get(pk=enrollment.pk)
    )


def _check_transition(enrollment: Enrollment, target: Enrollment.State) -> None:
    if target not in rules.ENROLLMENT_TRANSITIONS[enrollment.state]:
        raise WrongState(
            _("Somebody who is %(state)s cannot become %(target)s.")
            % {"state": enrollment.get_state_display(), "target": target.label}
        )


def _move(enrollment: Enrollment, target: Enrollment.State, *, now: datetime) -> None:
    enrollment.state = target
    enrollment.state_changed_at = now
    if target != Enrollment.State.SUSPENDED:
        enrollment.suspension_reason = ""
    enrollment.save(update_fields=["state", "state_changed_at", "suspension_reason"])
