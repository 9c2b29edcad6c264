"""One person's way through a round: begun, answered story by story, handed in and graded."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext

from annotation import actions as annotation_actions
from annotation.grading import Cell, grade
from annotation.models import Enrollment, Event, Study, WorkSession
from qualification.actions.rounds import lock_rounds_of
from qualification.errors import AlreadyHandedIn, NoAttemptLeft, NoRound, NotTheirTurn
from qualification.models import AcceptableOption, AnswerKey, Attempt, AttemptAnswer, Round, RoundStory
from qualification.turns import turn_of


@transaction.atomic
def start_attempt(*, enrollment: Enrollment, now: datetime, session_id: int | None = None) -> Attempt:
    """The person's attempt at the test: the one they are in, else a new one, at the round that is theirs.

    ``session_id``: the work session of the visit. Raises :class:`NotTheirTurn` unless they have consented,
    are not yet judged, the study is open and the visit has not been given up, :class:`NoRound` and
    :class:`NoAttemptLeft`.
    """
    enrollment = _lock_enrollment(enrollment)
    _check_their_turn(enrollment, session_id)
    current = Attempt.objects.filter(enrollment=enrollment, state=Attempt.State.STARTED).first()
    if current:
        return current
    if enrollment.study.state != Study.State.OPEN:
        raise NotTheirTurn(gettext("The study is not open just now, so the test cannot be started."))
    # The key is frozen from the first attempt on; whoever fixes a key holds these locks while they look.
    # All rounds are locked, also those that are not active: who waits here must see what has become so.
    rounds = lock_rounds_of(enrollment.study).values()
    turn = turn_of(enrollment, [one for one in rounds if one.state == Round.State.ACTIVE])
    if turn is None:
        raise NoRound(gettext("This study has no qualification round yet."))
    if not turn.left:
        raise NoAttemptLeft(gettext("You have used every attempt at the test."))
    attempt = Attempt.objects.create(
        round=turn.round,
        enrollment=enrollment,
        key=turn.round.keys.order_by("-version")[0],
        number=turn.used + 1,
        attempts_allowed=turn.allowed,
        started_at=now,
    )
    annotation_actions.record_event(
        study=enrollment.study,
        type=Event.Type.ATTEMPT_STARTED,
        enrollment=enrollment,
        now=now,
        subject=f"attempt {attempt.pk}",
    )
    return attempt


@transaction.atomic
def save_answers(
    *,
    attempt: Attempt,
    round_story: RoundStory,
    submitted: Mapping[str, str],
    session_id: int | None = None,
) -> None:
    """Keep the person's answers about one story of the round; they can change until handed in.

    Raises ``IncompleteForm`` (nothing is stored then), :class:`AlreadyHandedIn`, and
    :class:`NotTheirTurn` for somebody who was suspended or left meanwhile.
    """
    attempt = _lock_attempt(attempt)
    _check_their_turn(attempt.enrollment, session_id)
    protocol = attempt.enrollment.study.protocol
    choices = protocol.read_form(protocol.parse(round_story.story.content), submitted)
    AttemptAnswer.objects.filter(attempt=attempt, round_story=round_story).delete()
    AttemptAnswer.objects.bulk_create(
        AttemptAnswer(
            attempt=attempt,
            round_story=round_story,
            question=choice.question,
            row=choice.row,
            option=choice.option,
        )
        for choice in choices
    )


@transaction.atomic
def submit_attempt(*, attempt: Attempt, now: datetime, session_id: int | None = None) -> Attempt:
    """Hand the attempt in, grade it, and set the person's standing in the study.

    Handing in again returns the graded attempt as it is. Somebody who fails with attempts left may
    try again. Raises ``IncompleteAttempt`` when an answer is missing, and :class:`NotTheirTurn` for
    somebody who was suspended meanwhile.
    """
    try:
        attempt = _lock_attempt(attempt)
    except AlreadyHandedIn:
        return Attempt.objects.get(pk=attempt.pk)
    _check_their_turn(attempt.enrollment, session_id)
    answers = list(attempt.answers.select_related("round_story__story"))
    outcome = grade({_cell(a): a.option for a in answers}, _acceptable(attempt.key))
    for answer in answers:
        answer.accepted = _cell(answer) not in outcome.not_accepted
    AttemptAnswer.objects.bulk_update(answers, ["accepted"])
    attempt.state = Attempt.State.SUBMITTED
    attempt.submitted_at = now
    attempt.passed = outcome.passed
    attempt.save(update_fields=["state", "submitted_at", "passed"])
    annotation_actions.record_event(
        study=attempt.enrollment.study,
        type=Event.Type.ATTEMPT_SUBMITTED,
        enrollment=attempt.enrollment,
        now=now,
        subject=f"attempt {attempt.pk}",
        note="passed" if outcome.passed else "not passed",
    )
    if outcome.passed or attempt.number >= attempt.attempts_allowed:
        annotation_actions.set_qualified(
            enrollment=attempt.enrollment, passed=outcome.passed, now=now, note=f"attempt {attempt.pk}"
        )
    return attempt


@transaction.atomic
def void_attempts(*, enrollment: Enrollment, were_theirs: bool, now: datetime) -> int:
    """Make every attempt of a person void, so that they can take the test again; returns how many.

    Nothing of them is deleted. ``were_theirs``: what they handed in is still paid as their work; not if
    somebody else took the test in their name. Called with what sets the person back to before the test.
    """
    enrollment = _lock_enrollment(enrollment)
    standing = Attempt.objects.standing().filter(enrollment=enrollment)
    return standing.update(state=Attempt.State.VOID, voided_at=now, was_theirs=were_theirs)


def _acceptable(key: AnswerKey) -> dict[Cell, set[str]]:
    acceptable: dict[Cell, set[str]] = {}
    for option in key.options.select_related("round_story__story"):
        acceptable.setdefault(_cell(option), set()).add(option.option)
    return acceptable


def _cell(row: AcceptableOption | AttemptAnswer) -> Cell:
    return Cell(row.round_story.story.story_id, row.question, row.row)


def _check_their_turn(enrollment: Enrollment, session_id: int | None) -> None:
    """Raises :class:`NotTheirTurn`; also for a visit given up, whose work nobody could hand in."""
    doubted = WorkSession.objects.filter(enrollment=enrollment, state=WorkSession.State.DOUBTED)
    if session_id is not None and doubted.filter(pk=session_id).exists():
        raise NotTheirTurn(gettext("This piece of work is over, so nothing more can be done in it."))
    if enrollment.state != Enrollment.State.CONSENTED:
        raise NotTheirTurn(
            gettext("The test is not open to somebody who is %(state)s.")
            % {"state": enrollment.get_state_display()}
        )


def _lock_enrollment(enrollment: Enrollment) -> Enrollment:
    return (
        Enrollment.objects.select_for_update(of=("self",), no_key=True)
        .select_related("study")
        .get(pk=enrollment.pk)
    )


def _lock_attempt(attempt: Attempt) -> Attempt:
    """The attempt and its person locked; raises :class:`AlreadyHandedIn` when it is not open any more."""
    enrollment = _lock_enrollment(attempt.enrollment)
    attempt = (
        Attempt.objects.select_for_update(of=("self",), no_key=True)
        .select_related("key", "round")
        .get(pk=attempt.pk)
    )
    attempt.enrollment = enrollment
    if attempt.state != Attempt.State.STARTED:
        raise AlreadyHandedIn(gettext("The test has been handed in, so its answers stay as they are."))
    return attempt
