"""Enroll annotators, record their consent, and change the state of their enrollment."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.db import ProgrammingError, transaction
from django.utils.translation import gettext as _

from accounts.actions import erase_identities, set_mail_language
from accounts.models import Annotator, User, locked
from annotation import queries, rules
from annotation.actions.events import record_about
from annotation.actions.slots import lock_stories, release_assignments
from annotation.errors import NotAdmitted, WrongState
from annotation.intake import QUESTIONS
from annotation.models import (
    HELD,
    Assignment,
    Comment,
    ConsentText,
    Enrollment,
    Event,
    IntakeAnswer,
    Skip,
    Study,
    VoteExclusion,
)
from annotation.reasons import check_reason


@transaction.atomic
def enroll(
    *, study: Study, annotator: Annotator, now: datetime, by: User | None = None, token: UUID | None = None
) -> Enrollment:
    """Return the annotator's enrollment in the study; create it (state invited) if there is none.

    ``token`` identifies the form that invites several annotators at once; see :func:`invited_by`.
    """
    enrollment, made = Enrollment.objects.get_or_create(
        study=study,
        annotator=annotator,
        defaults={
            "pseudonym": rules.pseudonym(study.pseudonym_key, annotator.pk),
            "environment": study.environment,
            "created_at": now,
            "state_changed_at": now,
        },
    )
    if made:
        subject = _form(token) if token else ""
        record_about(person=enrollment, type=Event.Type.ANNOTATOR_INVITED, by=by, now=now, subject=subject)
    return enrollment


@transaction.atomic
def invite(
    *, study: Study, count: int, by: User | None, now: datetime, token: UUID | None = None
) -> list[Enrollment]:
    """Invite ``count`` new annotators, who are known only by their personal links.

    ``token`` identifies the submitted form: submitting it again returns the annotators of the first time.
    """
    if not 1 <= count <= 10_000:
        raise ValueError("Invite between 1 and 10,000 people at a time.")
    if token and (invited := invited_by(study=study, token=token)):
        return invited
    annotators = Annotator.objects.bulk_create(Annotator(created_at=now) for _ in range(count))
    return [enroll(study=study, annotator=annotator, now=now, by=by, token=token) for annotator in annotators]


def invited_by(*, study: Study, token: UUID) -> list[Enrollment]:
    """Return the enrollments that this form has created. Locks the study: submissions take turns."""
    locked(study)
    logged = Event.objects.filter(study=study, type=Event.Type.ANNOTATOR_INVITED, subject=_form(token))
    return list(Enrollment.objects.filter(pk__in=logged.values("enrollment")).order_by("pk"))


@transaction.atomic
def give_consent(*, enrollment: Enrollment, consent: ConsentText, now: datetime) -> Enrollment:
    """Record that the person agreed to this version of the text.

    In a study that asks for no qualification they are qualified at once. Agreeing to a newer version
    leaves their state as it is. Raise :class:`WrongState` for a text that is not the newest, and
    :class:`NotAdmitted` for an annotator who may not join.
    """
    enrollment = locked(enrollment, "study")
    refusal = queries.joining_refusal(enrollment)
    if refusal:
        raise NotAdmitted(refusal)
    if consent.study_id != enrollment.study_id or consent.version != enrollment.study.consent_version:
        raise WrongState(_("The consent text has changed since you opened this page. Please read it again."))
    is_undecided = enrollment.state in rules.UNDECIDED
    if enrollment.consent_id == consent.pk and not is_undecided:
        return enrollment
    if enrollment.state == Enrollment.State.WITHDRAWN:
        raise WrongState(_("You have left this study."))
    enrollment.consent = consent
    enrollment.consented_at = now
    enrollment.save(update_fields=["consent", "consented_at"])
    subject = f"consent {consent.version}"
    if not is_undecided:
        record_about(person=enrollment, type=Event.Type.CONSENT_GIVEN, now=now, subject=subject)
        return enrollment
    _let_in(enrollment, subject, now=now)
    if enrollment.study.gate != Study.Gate.NOT_REQUIRED:
        return enrollment
    through = enrollment.study.qualified_through
    note = f"qualified in {through.slug}" if through else "no qualification asked"
    return set_qualified(enrollment=enrollment, passed=True, now=now, note=note)


def _let_in(enrollment: Enrollment, subject: str, *, now: datetime) -> None:
    """Move the enrollment to consented. Raise :class:`NotAdmitted` if its admission changed meanwhile.

    Admission depends on enrollments in other studies. They are not locked here, because :func:`forget`
    locks an annotator's enrollments in another order.
    """
    try:
        with transaction.atomic():
            _move(enrollment, Enrollment.State.CONSENTED, Event.Type.CONSENT_GIVEN, now=now, subject=subject)
    except ProgrammingError:  # raised by the trigger that checks admission
        refusal = queries.joining_refusal(locked(enrollment, "study"))
        if refusal is None:
            raise
        raise NotAdmitted(refusal) from None


@transaction.atomic
def answer_intake(
    *, enrollment: Enrollment, given: Mapping[str, str], now: datetime, at_end: bool = False
) -> None:
    """Store the person's answers to the study's intake questions; anything but an option is not said.

    Those asked ``at_end``, of people who voted, replace earlier ones; the others are stored once. Do nothing
    once the answers have been counted, or for a person who has not agreed to take part, or has left.
    """
    locked(enrollment.study)
    enrollment = locked(enrollment)
    asked = queries.asked_of(enrollment, at_end=at_end)
    earlier = enrollment.intake_answers.filter(question__in=asked)
    if not asked or (earlier.exists() and not at_end):
        return
    earlier.delete()
    answers = {name: given.get(name, "") for name in asked}
    IntakeAnswer.objects.bulk_create(
        IntakeAnswer(
            enrollment=enrollment, question=name, option=option * (option in QUESTIONS[name].options)
        )
        for name, option in answers.items()
    )
    record_about(person=enrollment, type=Event.Type.INTAKE_ANSWERED, now=now)


@transaction.atomic
def decline_consent(*, enrollment: Enrollment, now: datetime) -> Enrollment:
    """Record that the person does not want to take part. They may change their mind."""
    enrollment = locked(enrollment, "study")
    if enrollment.state == Enrollment.State.DECLINED:
        return enrollment
    _check_transition(enrollment, Enrollment.State.DECLINED)
    if enrollment.given_items:
        release_assignments(enrollment=enrollment, given=True)
    return _move(enrollment, Enrollment.State.DECLINED, Event.Type.CONSENT_DECLINED, now=now)


@transaction.atomic
def set_qualified(*, enrollment: Enrollment, passed: bool, now: datetime, note: str = "") -> Enrollment:
    """Record the outcome of a qualification round. Called by ``qualification``, which grades it.

    Raise :class:`WrongState` for an annotator who is not at that step. It never lifts a suspension.
    """
    enrollment = locked(enrollment, "study")
    if enrollment.state == Enrollment.State.SUSPENDED:
        raise WrongState(_("The participant is suspended. Reinstate them first."))
    target, event = Enrollment.State.QUALIFIED, Event.Type.ENROLLMENT_QUALIFIED
    if not passed:
        target, event = Enrollment.State.FAILED, Event.Type.ENROLLMENT_FAILED
    _check_transition(enrollment, target)
    if not passed and enrollment.given_items:
        release_assignments(enrollment=enrollment, given=True)
    return _move(enrollment, target, event, now=now, note=note)


@transaction.atomic
def suspend(
    *, enrollment: Enrollment, by: User | None, now: datetime, reason: str, note: str = ""
) -> Enrollment:
    """Stop serving stories to the annotator, and show them the reason. Their votes stay as they are.

    ``note`` replaces the reason in the log, for example where the reason is in the annotator's language.
    Raise :class:`ReasonMissing` for an empty reason or one of more than 300 characters.
    """
    text = _("Give a reason of 1 to %(most)s characters. The participant reads it.")
    reason = check_reason(reason, message=text)
    enrollment = locked(enrollment, "study")
    _check_transition(enrollment, Enrollment.State.SUSPENDED)
    release_assignments(enrollment=enrollment, only_reserved=True, given=True)
    enrollment.suspension_reason = reason
    event = Event.Type.ENROLLMENT_SUSPENDED
    return _move(enrollment, Enrollment.State.SUSPENDED, event, by=by, now=now, note=note or reason)


@transaction.atomic
def reinstate(*, enrollment: Enrollment, by: User | None, now: datetime, reason: str) -> Enrollment:
    """Let a suspended annotator continue where they were: with the stories, or before the test.

    Hidden checks that they have answered so far no longer count against them.
    Raise :class:`WrongState` for an annotator who is not suspended, or whose votes are excluded.
    """
    enrollment = locked(enrollment, "study")
    if VoteExclusion.objects.in_force().of_people().filter(enrollment=enrollment).exists():
        raise WrongState(_("Their votes are excluded. Lift the exclusion: that also lets them continue."))
    if enrollment.state != Enrollment.State.SUSPENDED:
        raise WrongState(
            _("The participant is not suspended but %(state)s."), state=enrollment.get_state_display()
        )
    enrollment.checks_from = enrollment.stories_submitted
    enrollment.warned_after = None
    enrollment.save(update_fields=["checks_from", "warned_after"])
    is_qualified = queries.test_outcome(enrollment)
    target = Enrollment.State.QUALIFIED if is_qualified else Enrollment.State.CONSENTED
    return _move(enrollment, target, Event.Type.ENROLLMENT_REINSTATED, by=by, now=now, note=reason)


@transaction.atomic
def reset_test(
    *, enrollment: Enrollment, asks_consent: bool, by: User | None, now: datetime, reason: str
) -> Enrollment:
    """Let an annotator take the test again, from its beginning or from the consent text before it.

    ``asks_consent``: the consent so far was not the annotator's own. The caller voids their attempts. Raise
    :class:`ReasonMissing` for an empty reason or one of more than 300 characters, and
    :class:`WrongState` for an annotator who is suspended or has left.
    """
    reason = check_reason(reason)
    enrollment = locked(enrollment, "study")
    if enrollment.state not in rules.BEFORE_OR_AFTER_TEST:
        raise WrongState(
            _("A participant who is %(state)s can’t take the test again."),
            state=enrollment.get_state_display(),
        )
    # Lock all before writing one: the caller may have several of their visits doubted after this.
    lock_stories(Assignment.objects.living().filter(enrollment=enrollment))
    release_assignments(enrollment=enrollment)
    # Without a test of the study's own, agreeing is what qualifies.
    has_test = enrollment.study.gate != Study.Gate.NOT_REQUIRED
    has_agreed = has_test and enrollment.consent_id is not None and not asks_consent
    target = Enrollment.State.CONSENTED if has_agreed else Enrollment.State.INVITED
    _move(enrollment, target, Event.Type.TEST_GIVEN_BACK, by=by, now=now, note=reason)
    if asks_consent:
        enrollment.intake_answers.all().delete()
        record_about(person=enrollment, type=Event.Type.CONSENT_ASKED, now=now)
    return enrollment


@transaction.atomic
def request_new_consent(*, enrollment: Enrollment, now: datetime) -> Enrollment:
    """Ask an annotator who declined for consent again, because they came for another assignment."""
    enrollment = locked(enrollment, "study")
    if enrollment.state == Enrollment.State.DECLINED:
        _move(enrollment, Enrollment.State.INVITED, Event.Type.CONSENT_ASKED, now=now)
    return enrollment


@transaction.atomic
def revoke_link(*, enrollment: Enrollment, by: User | None, now: datetime, note: str = "") -> Enrollment:
    """Invalidate all links of the enrollment so far; a link made now is a new one.

    Raise :class:`WrongState` for an annotator whose personal data was deleted: they get no new link.
    """
    enrollment = locked(enrollment, "study")
    if Annotator.objects.get(pk=enrollment.annotator_id).erased_at:
        raise WrongState(
            _("Their personal data was deleted, as they asked. Their account can’t be opened again.")
        )
    subject = f"link {enrollment.link_version}"
    enrollment.link_version += 1
    enrollment.save(update_fields=["link_version"])
    record_about(person=enrollment, type=Event.Type.LINK_REVOKED, by=by, now=now, subject=subject, note=note)
    return enrollment


@transaction.atomic
def withdraw(*, enrollment: Enrollment, now: datetime) -> Enrollment:
    """Withdraw the annotator from the study for good. Release the story they hold; keep their votes."""
    enrollment = locked(enrollment, "study")
    if enrollment.state == Enrollment.State.WITHDRAWN:
        return enrollment
    release_assignments(enrollment=enrollment, given=True)
    return _move(enrollment, Enrollment.State.WITHDRAWN, Event.Type.ENROLLMENT_WITHDRAWN, now=now)


@transaction.atomic
def choose_language(*, enrollment: Enrollment, language: str) -> None:
    """Keep the language that an annotator chose for this study's pages and all mails, if the site has it."""
    if language not in dict(settings.LANGUAGES):
        return
    Enrollment.objects.filter(pk=enrollment.pk).update(language=language)
    set_mail_language(
        annotator_id=enrollment.annotator_id, environment=enrollment.environment, language=language
    )


@transaction.atomic
def forget(*, annotator: Annotator, now: datetime) -> None:
    """Delete an annotator's personal data and free words, and end their enrollments and links everywhere.

    Votes stay under their pseudonyms, with answers in words, out of which exports take what looks like an id
    or address. Afterwards nothing in the database connects them with a person.
    """
    if locked(annotator).erased_at:
        return
    for enrollment in _locked_with_stories(annotator):
        withdraw(enrollment=enrollment, now=now)
        revoke_link(enrollment=enrollment, by=None, now=now, note="forgotten")
        record_about(person=enrollment, type=Event.Type.IDENTITY_ERASED, now=now)
    Skip.objects.filter(assignment__enrollment__annotator=annotator).update(words="")
    Comment.objects.filter(vote__assignment__enrollment__annotator=annotator).update(words="")
    IntakeAnswer.objects.filter(enrollment__annotator=annotator).delete()
    erase_identities(annotator=annotator, now=now)


def _locked_with_stories(annotator: Annotator) -> list[Enrollment]:
    """Lock and return the annotator's enrollments, and lock the stories they hold in the order of their ids.

    So two annotators who leave the same studies lock in one order.
    """
    rows = Enrollment.objects.select_for_update(of=("self",), no_key=True).select_related("study")
    theirs = list(rows.filter(annotator=annotator).order_by("pk"))
    lock_stories(Assignment.objects.filter(enrollment__in=theirs, state__in=HELD))
    return theirs


def _form(token: UUID) -> str:
    return f"form {token}"


def _check_transition(enrollment: Enrollment, target: Enrollment.State) -> None:
    if target not in rules.ENROLLMENT_TRANSITIONS[enrollment.state]:
        raise WrongState(
            _("A participant who is %(state)s can’t become %(target)s."),
            state=enrollment.get_state_display(),
            target=target.label,
        )


def _move(
    enrollment: Enrollment,
    target: Enrollment.State,
    event: Event.Type,
    *,
    by: User | None = None,
    now: datetime,
    subject: str = "",
    note: str = "",
) -> Enrollment:
    enrollment.state = target
    enrollment.state_changed_at = now
    if target != Enrollment.State.SUSPENDED:
        enrollment.suspension_reason = ""
    enrollment.save(update_fields=["state", "state_changed_at", "suspension_reason"])
    record_about(person=enrollment, type=event, by=by, now=now, subject=subject, note=note)
    return enrollment
