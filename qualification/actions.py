"""Every write of this room: rounds, their keys, and people's attempts.

Locks: the enrollment first (it serialises everything one person does), then the attempt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext

from accounts.models import User
from annotation import actions as annotation_actions
from annotation.grading import Cell, asked, grade, key_problems
from annotation.models import Enrollment, Event, Story, Study
from qualification.errors import (
    AlreadyHandedIn,
    InvalidKey,
    InvalidRound,
    KeyIsFrozen,
    NoAttemptLeft,
    NoRound,
    NotTheirTurn,
)
from qualification.models import AcceptableOption, AnswerKey, Attempt, AttemptAnswer, Round, RoundStory

AcceptableAnswers = Mapping[str, Mapping[str, Sequence[str]]]
"""Per story id, per form field (``q1``, or ``question.row``): the options that are accepted."""


@transaction.atomic
def create_round(
    *,
    study: Study,
    story_ids: Sequence[str],
    by: User | None,
    now: datetime,
    title: str = "",
    attempts_allowed: int = 1,
    pays_on_fail: bool = True,
) -> Round:
    """A round of these stories, in this order. It can be attempted once it has an answer key.

    Raises :class:`InvalidRound` for no stories, a story twice, or one that is not a qualification
    story of the study.
    """
    stories = {
        story.story_id: story
        for story in Story.objects.filter(study=study, role=Story.Role.QUALIFICATION, story_id__in=story_ids)
    }
    unknown = [story_id for story_id in story_ids if story_id not in stories]
    if unknown:
        raise InvalidRound(
            f"Not qualification stories of “{study.slug}”: {', '.join(unknown)}. "
            "Import them first, with the role qualification."
        )
    if not story_ids or len(set(story_ids)) != len(story_ids):
        raise InvalidRound("A round needs at least one story, and each story once.")
    last = Round.objects.filter(study=study).aggregate(last=Max("number"))["last"] or 0
    made = Round.objects.create(
        study=study,
        number=last + 1,
        title=title,
        attempts_allowed=attempts_allowed,
        pays_on_fail=pays_on_fail,
        created_at=now,
    )
    RoundStory.objects.bulk_create(
        RoundStory(round=made, story=stories[story_id], position=position)
        for position, story_id in enumerate(story_ids, start=1)
    )
    annotation_actions.record_event(
        study=study, type=Event.Type.ROUND_CREATED, by=by, now=now, subject=f"round {made.number}"
    )
    return made


@transaction.atomic
def set_answer_key(
    *, round: Round, acceptable: AcceptableAnswers, by: User | None, now: datetime, note: str = ""
) -> AnswerKey:
    """Fix what is accepted in a round, as a new version of its key, and open the study's gate.

    Raises :class:`InvalidKey` with everything that is missing or unknown, and :class:`KeyIsFrozen`
    once anybody has begun the round.
    """
    round = (
        Round.objects.select_for_update(of=("self",), no_key=True).select_related("study").get(pk=round.pk)
    )
    if round.attempts.exists():
        raise KeyIsFrozen("People have attempted this round, so its key stays. Make a new round instead.")
    round_stories = list(round.round_stories.select_related("story__study").order_by("position"))
    problems = list(_key_problems(round.study, round_stories, acceptable))
    if problems:
        raise InvalidKey(problems)
    last = round.keys.aggregate(last=Max("version"))["last"] or 0
    key = AnswerKey.objects.create(round=round, version=last + 1, note=note, created_by=by, created_at=now)
    AcceptableOption.objects.bulk_create(
        AcceptableOption(key=key, round_story=entry, question=question, row=row, option=option)
        for entry in round_stories
        for question, row, name, _ in asked(round.study.protocol, entry.story.item)
        for option in sorted(set(acceptable[entry.story.story_id][name]))
    )
    annotation_actions.record_event(
        study=round.study,
        type=Event.Type.KEY_SET,
        by=by,
        now=now,
        subject=f"round {round.number} key {key.version}",
        note=note,
    )
    annotation_actions.set_gate(study=round.study, gate=Study.Gate.READY, by=by, now=now)
    return key


@transaction.atomic
def start_attempt(*, enrollment: Enrollment, now: datetime) -> Attempt:
    """The person's attempt at the study's round: the one they are in, else a new one.

    Raises :class:`NotTheirTurn` unless they have consented, are not yet judged and the study is open,
    :class:`NoRound` and :class:`NoAttemptLeft`.
    """
    enrollment = _lock_enrollment(enrollment)
    _check_their_turn(enrollment)
    current = Attempt.objects.filter(enrollment=enrollment, state=Attempt.State.STARTED).first()
    if current:
        return current
    if enrollment.study.state != Study.State.OPEN:
        raise NotTheirTurn(gettext("The study is not open just now, so the test cannot be started."))
    round = Round.objects.current_of(enrollment.study)
    if round is None:
        raise NoRound(gettext("This study has no qualification round yet."))
    # The key is frozen from the first attempt on; whoever fixes a key holds this lock while they look.
    Round.objects.select_for_update(of=("self",), no_key=True).get(pk=round.pk)
    used = Attempt.objects.filter(round=round, enrollment=enrollment).count()
    if used >= round.attempts_allowed:
        raise NoAttemptLeft(gettext("You have used every attempt at the test."))
    attempt = Attempt.objects.create(
        round=round,
        enrollment=enrollment,
        key=round.keys.order_by("-version")[0],
        number=used + 1,
        attempts_allowed=round.attempts_allowed,
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
def save_answers(*, attempt: Attempt, round_story: RoundStory, submitted: Mapping[str, str]) -> None:
    """Keep the person's answers about one story of the round; they can change until handed in.

    Raises ``IncompleteForm`` (nothing is stored then), :class:`AlreadyHandedIn`, and
    :class:`NotTheirTurn` for somebody who was suspended or left meanwhile.
    """
    attempt = _lock_attempt(attempt)
    _check_their_turn(attempt.enrollment)
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
def submit_attempt(*, attempt: Attempt, now: datetime) -> Attempt:
    """Hand the attempt in, grade it, and set the person's standing in the study.

    Handing in again returns the graded attempt as it is. Somebody who fails with attempts left may
    try again. Raises ``IncompleteAttempt`` when an answer is missing, and :class:`NotTheirTurn` for
    somebody who was suspended meanwhile.
    """
    try:
        attempt = _lock_attempt(attempt)
    except AlreadyHandedIn:
        return Attempt.objects.get(pk=attempt.pk)
    _check_their_turn(attempt.enrollment)
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


def _key_problems(
    study: Study, round_stories: list[RoundStory], acceptable: AcceptableAnswers
) -> Iterator[str]:
    known = {entry.story.story_id for entry in round_stories}
    for story_id in sorted(acceptable.keys() - known):
        yield f"The key speaks of “{story_id}”, which is not a story of the round."
    for entry in round_stories:
        story_id, everything = entry.story.story_id, list(asked(study.protocol, entry.story.item))
        yield from key_problems(story_id, everything, acceptable.get(story_id, {}))


def _acceptable(key: AnswerKey) -> dict[Cell, set[str]]:
    acceptable: dict[Cell, set[str]] = {}
    for option in key.options.select_related("round_story__story"):
        acceptable.setdefault(_cell(option), set()).add(option.option)
    return acceptable


def _cell(row: AcceptableOption | AttemptAnswer) -> Cell:
    return Cell(row.round_story.story.story_id, row.question, row.row)


def _check_their_turn(enrollment: Enrollment) -> None:
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
        raise AlreadyHandedIn("The test has been handed in, so its answers stay as they are.")
    return attempt
