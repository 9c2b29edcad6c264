"""Attempts at a round: start, answer, hand in, grade. Practice before it: answers that grade nothing."""

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext

from accounts.models import locked
from annotation import actions as annotation_actions
from annotation.errors import ChangedMeanwhile, WrongState
from annotation.models import Enrollment, Event, Study, WorkSession
from qualification import queries
from qualification.actions.rounds import lock_rounds_of
from qualification.errors import AlreadyHandedIn, NotTheirTurn
from qualification.models import Attempt, AttemptAnswer, PracticeAnswer, Round, RoundStory


@transaction.atomic
def start_attempt(*, enrollment: Enrollment, now: datetime, session_id: int | None = None) -> Attempt:
    """Return the annotator's open attempt, or start a new one at their next round.

    ``session_id`` is the work session of the visit. Raise :class:`NotTheirTurn` if they have not consented
    or have a result already, the study is not open or the visit was given up; and :class:`WrongState`
    where the study has no active round, or they have no attempt left.
    """
    enrollment = locked(enrollment, "study")
    check_their_turn(enrollment, session_id)
    current = Attempt.objects.filter(enrollment=enrollment, state=Attempt.State.STARTED).first()
    if current:
        return current
    if enrollment.study.state != Study.State.OPEN:
        raise NotTheirTurn(gettext("The study is not open right now, so you can’t start the test."))
    practice = queries.practice_of(enrollment)
    if practice and practice.is_owed:
        raise NotTheirTurn(gettext("Practise first: answer every practice story once."))
    # The first attempt freezes the key, and set_answer_key holds these locks while it checks for attempts.
    # Inactive rounds are locked, too: after a wait we must see those that have become active meanwhile.
    lock_rounds_of(enrollment.study)
    following = queries.next_attempt(enrollment, list(Round.objects.active_in(enrollment.study)))
    if following is None:
        raise WrongState(gettext("This study has no qualification round yet."))
    if not following.left:
        raise WrongState(gettext("You have used every attempt at the test."))
    attempt = Attempt.objects.create(
        round=following.round,
        enrollment=enrollment,
        key=following.round.keys.order_by("-version")[0],
        instructions_id=enrollment.study.instructions_id,
        number=following.used + 1,
        attempts_allowed=following.allowed,
        started_at=now,
    )
    mark = queries.pass_mark(following.round)
    note = f"{mark['enough']} of {mark['answers']} acceptable answers"  # the dataset card quotes it
    note += f", with no mistake about {mark['must']} of the stories" if mark["must"] else ""
    _record(attempt, Event.Type.ATTEMPT_STARTED, note, now=now)
    return attempt


def _record(attempt: Attempt, type: Event.Type, note: str, *, now: datetime) -> None:
    annotation_actions.record_about(
        person=attempt.enrollment, type=type, now=now, subject=f"attempt {attempt.pk}", note=note
    )


@transaction.atomic
def save_answers(
    *,
    attempt: Attempt,
    round_story: RoundStory,
    submitted: Mapping[str, str],
    session_id: int | None = None,
    after: int | None = None,
) -> None:
    """Store the answers about one story of the round. They can change until the attempt is handed in.

    ``after`` names the answers that the annotator saw (:func:`saved_version`): a form that comes late never
    undoes newer ones. Answers that are stored already are left as they are.

    Raise ``IncompleteForm`` (and store nothing), :class:`AlreadyHandedIn`, :class:`ChangedMeanwhile`, or
    :class:`NotTheirTurn` if the annotator was suspended or left meanwhile.
    """
    attempt = _lock_attempt(attempt)
    check_their_turn(attempt.enrollment, session_id)
    choices = round_story.story.protocol.read_form(round_story.story.item, submitted)
    before = list(AttemptAnswer.objects.filter(attempt=attempt, round_story=round_story))
    if {answer.choice for answer in before} == set(choices):
        return
    if after not in (None, queries.saved_version(before)):
        text = gettext(
            "You answered this story in another window or on another device meanwhile. Those answers are "
            "kept: look at them first."
        )
        raise ChangedMeanwhile(text)
    AttemptAnswer.objects.filter(attempt=attempt, round_story=round_story).delete()
    AttemptAnswer.objects.bulk_create(
        AttemptAnswer(attempt=attempt, round_story=round_story, **choice._asdict()) for choice in choices
    )
    annotation_actions.note_test(session_id=session_id)


@transaction.atomic
def submit_attempt(*, attempt: Attempt, now: datetime, session_id: int | None = None) -> Attempt:
    """Hand in and grade the attempt, and set the annotator's state in the study.

    Handing in again returns the graded attempt unchanged. An annotator who fails with attempts left may try
    again. Raise ``IncompleteAttempt`` if an answer is missing, or :class:`NotTheirTurn` if they were
    suspended meanwhile.
    """
    try:
        attempt = _lock_attempt(attempt)
    except AlreadyHandedIn:
        return Attempt.objects.get(pk=attempt.pk)
    check_their_turn(attempt.enrollment, session_id)
    answers = list(attempt.answers.all())
    grading = queries.grade_by(attempt.key, answers)
    for answer in answers:
        answer.accepted = queries.cell_of(answer) not in grading.not_accepted
    AttemptAnswer.objects.bulk_update(answers, ["accepted"])
    attempt.state = Attempt.State.SUBMITTED
    attempt.submitted_at = now
    attempt.passed = grading.passed
    attempt.save(update_fields=["state", "submitted_at", "passed"])
    passed = "passed" if grading.passed else "not passed"
    _record(attempt, Event.Type.ATTEMPT_SUBMITTED, passed, now=now)
    if grading.passed or attempt.number >= attempt.attempts_allowed:
        annotation_actions.note_test(session_id=session_id, finished_at=now)
        annotation_actions.set_qualified(
            enrollment=attempt.enrollment, passed=grading.passed, now=now, note=f"attempt {attempt.pk}"
        )
    return attempt


@transaction.atomic
def void_attempts(*, enrollment: Enrollment, were_theirs: bool, now: datetime) -> int:
    """Void all attempts of an annotator, so that they can take the test again. Return their number.

    Nothing is deleted. With ``were_theirs``, submitted attempts are still paid; otherwise somebody else took
    the test in their name. The caller resets the enrollment's state in the same transaction.
    """
    enrollment = locked(enrollment, "study")
    standing = Attempt.objects.standing().filter(enrollment=enrollment)
    return standing.update(state=Attempt.State.VOID, voided_at=now, was_theirs=were_theirs)


def check_their_turn(enrollment: Enrollment, session_id: int | None) -> None:
    """Raise :class:`NotTheirTurn` unless the test is open to them and their visit was not given up."""
    doubted = WorkSession.objects.filter(enrollment=enrollment, state=WorkSession.State.DOUBTED)
    if session_id is not None and doubted.filter(pk=session_id).exists():
        raise NotTheirTurn(gettext("This submission is over, so you can’t do anything more in it."))
    if enrollment.state != Enrollment.State.CONSENTED:
        raise NotTheirTurn(
            gettext("You can’t take the test while your status is “%(state)s”."),
            state=enrollment.get_state_display(),
        )


def _lock_attempt(attempt: Attempt) -> Attempt:
    enrollment = locked(attempt.enrollment, "study")
    attempt = locked(attempt, "key", "round")
    attempt.enrollment = enrollment
    if attempt.state != Attempt.State.STARTED:
        raise AlreadyHandedIn(gettext("The test has been handed in, so its answers can’t change."))
    return attempt


MOST_TURNS = 20
"""One person can answer a practice story this often."""


@transaction.atomic
def practise(
    *,
    enrollment: Enrollment,
    round_story: RoundStory,
    submitted: Mapping[str, str],
    now: datetime,
    session_id: int | None = None,
    after: int | None = None,
) -> None:
    """Store an annotator's answers about a practice story, compared with the newest key.

    ``after`` names their answers before these (:func:`saved_version`), so that a resent form counts once.
    Raise ``IncompleteForm``, or :class:`NotTheirTurn` if practice is closed to them.
    """
    enrollment = locked(enrollment, "study")
    check_their_turn(enrollment, session_id)
    if Round.objects.practice_in(enrollment.study) != round_story.round:
        raise NotTheirTurn(gettext("This practice is closed."))
    choices = round_story.story.protocol.read_form(round_story.story.item, submitted)
    before = queries.last_practised(enrollment, round_story)
    if {one.choice for one in before} == set(choices) and after != queries.saved_version(before):
        return
    turn = before[0].turn + 1 if before else 1
    if turn > MOST_TURNS:
        raise NotTheirTurn(gettext("You have practised this story often enough. Please go on."))
    key = round_story.round.keys.order_by("-version")[0]
    accepted = key.accepted[round_story.pk]
    PracticeAnswer.objects.bulk_create(
        PracticeAnswer(
            enrollment=enrollment,
            key=key,
            round_story=round_story,
            turn=turn,
            **choice._asdict(),
            accepted=choice.option in accepted[choice.field],
            answered_at=now,
        )
        for choice in choices
    )
