"""What a person is told about their own work, and how many checks they can meet. Reads only."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import connection
from django.db.models import Exists, OuterRef, Q

from annotation import rules
from annotation.models import (
    Answer,
    CheckKey,
    CheckOption,
    CheckResult,
    Enrollment,
    Event,
    Exclusion,
    Study,
    Vote,
)
from annotation.protocols.base import Choice, Protocol, Question
from annotation.rules import Reason

RECENT = 50
"""Answers on one page of a person's own."""
PACE_OF = 30
"""The person's pace is the median over this many of their newest answers."""


@dataclass(frozen=True, slots=True)
class WorkSoFar:
    """What a person has done: stories, their pace in seconds, and what it comes to if it is paid.

    ``cut``: of how many of the stories that make the pace the time was cut (:func:`rules.paid_seconds`).
    """

    stories: int
    pace: float | None
    pay: Decimal | None
    cut: int = 0


def usable_checks(study: Study) -> int:
    """How many hidden checks can be given to people."""
    return CheckKey.objects.filter(story__study=study, state=CheckKey.State.IN_USE).count()


def recent_votes(
    enrollment: Enrollment, *, page: int = 1, session_id: int | None = None, only: Q | None = None
) -> tuple[list[Vote], bool]:
    """A page of the newest revisions of the person's answers, the newest first, and whether more follow.

    ``session_id``: only those that were given in this work session. ``only``: those for which this holds.
    """
    newer = Vote.objects.filter(assignment=OuterRef("assignment"), revision__gt=OuterRef("revision"))
    begin = (page - 1) * RECENT
    found = list(
        Vote.objects.filter(
            ~Exists(newer), _in_session(session_id), only or Q(), assignment__enrollment=enrollment
        )
        .select_related("assignment__story")
        .prefetch_related("answers")
        .order_by("-first_submitted_at", "-pk")[begin : begin + RECENT + 1]
    )
    return found[:RECENT], len(found) > RECENT


def _in_session(session_id: int | None) -> Q:
    return Q() if session_id is None else Q(assignment__session=session_id)


def newest_vote(enrollment: Enrollment, assignment_id: int, *, session_id: int | None = None) -> Vote | None:
    """The revision that stands of the person's answer to one story, if it was given in this work session."""
    return (
        Vote.objects.filter(
            _in_session(session_id), assignment=assignment_id, assignment__enrollment=enrollment
        )
        .select_related("assignment__story")
        .order_by("-revision")
        .first()
    )


def choices(vote: Vote) -> list[Choice]:
    """A vote's answers."""
    return [Choice(answer.question, answer.row, answer.option) for answer in vote.answers.all()]


def choices_in_words(protocol: Protocol, vote: Vote) -> list[tuple[str, str]]:
    """A vote's answers as (question, option) in the words of the form, in its order."""
    item = protocol.parse(vote.assignment.story.content)
    given = {(choice.question, choice.row): choice.option for choice in choices(vote)}
    words = []
    for question in protocol.questions:
        labels = {option.key: str(option.label) for option in question.options_for(item)}
        for row in question.rows_for(item):
            title = f"{question.title}: {row.label}" if row.label else str(question.title)
            words.append((title, labels.get(given.get((question.key, row.key), ""), "")))
    return words


def work_so_far(enrollment: Enrollment) -> WorkSoFar:
    """What the person has done up to now."""
    newest = Vote.objects.filter(assignment__enrollment=enrollment, revision=1).order_by("-pk")[:PACE_OF]
    pace = rules.pace_of([vote.seconds_on_task for vote in newest])
    stories, rate = enrollment.stories_submitted, enrollment.study.pay_rate
    if pace is None:
        return WorkSoFar(stories, None, None)
    return WorkSoFar(stories, pace.seconds, rules.estimated_pay(stories, pace.seconds, rate), pace.cut)


_NEWEST = """
    SELECT enrollment_id, array_agg(seconds) FROM (
        SELECT a.enrollment_id, extract(epoch FROM v.first_submitted_at - v.served_at) AS seconds,
               row_number() OVER (PARTITION BY a.enrollment_id ORDER BY v.id DESC) AS place
        FROM annotation_enrollment e
        JOIN annotation_assignment a ON a.enrollment_id = e.id
        JOIN annotation_vote v ON v.assignment_id = a.id AND v.revision = 1
        WHERE e.study_id = %s
    ) AS newest WHERE place <= %s GROUP BY enrollment_id
"""


def paces_of(study: Study) -> dict[int, rules.Pace | None]:
    """The pace of everybody in the study who has answered a story, by their enrollment.

    To the last digit that of :func:`work_so_far`, since people are paid by the one and read the other.
    """
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST, [study.pk, PACE_OF])
        return {
            person: rules.pace_of([float(second) for second in seconds])
            for person, seconds in cursor.fetchall()
        }


@dataclass(frozen=True, slots=True)
class CheckWarning:
    """What somebody is told who has failed too many hidden checks: how many, of how many, and in what.

    ``questions`` are those of the form that they answered otherwise.
    """

    answered: int
    failed: int
    questions: list[Question]
    can_be_suspended: bool


def warning(enrollment: Enrollment) -> CheckWarning | None:
    """The warning that the person is to read now: until they answer the next story after it was given."""
    if enrollment.warned_after is None or enrollment.warned_after != enrollment.stories_submitted:
        return None
    results = CheckResult.objects.of_person(enrollment)
    accepted = CheckOption.objects.filter(
        key=OuterRef("vote__check_result__key"),
        question=OuterRef("question"),
        row=OuterRef("row"),
        option=OuterRef("option"),
    )
    others = Answer.objects.filter(~Exists(accepted), vote__check_result__in=results.filter(passed=False))
    named = set(others.values_list("question", flat=True))
    answered, failed = results.counts()
    questions = [question for question in enrollment.study.protocol.questions if question.key in named]
    rules = enrollment.study.check_rules
    return CheckWarning(answered, failed, questions, rules.suspend_percent is not None)


def test_outcome(enrollment: Enrollment) -> bool | None:
    """What the person's test came to by the log; None where it is not over, or was given back to them."""
    over = (Event.Type.ENROLLMENT_QUALIFIED, Event.Type.ENROLLMENT_FAILED, Event.Type.TEST_GIVEN_BACK)
    last = enrollment.events.filter(type__in=over).order_by("-pk").first()
    if last is None or last.type == Event.Type.TEST_GIVEN_BACK:
        return None
    return last.type == Event.Type.ENROLLMENT_QUALIFIED


def had_test(enrollment: Enrollment, *, since: datetime) -> bool:
    """Whether the person has taken the whole test since then, also if it was given back to them after that.

    Not where they were asked for their consent anew then, because somebody else had taken it.
    """
    over = (Event.Type.ENROLLMENT_QUALIFIED, Event.Type.ENROLLMENT_FAILED)
    ends = enrollment.events.filter(type__in=(*over, Event.Type.CONSENT_ASKED), at__gte=since)
    last = ends.order_by("-pk").first()
    return last is not None and last.type in over


def began_test(enrollment: Enrollment) -> bool:
    """Whether the person has begun the test, since it was last given back to them if it was."""
    return _newest(enrollment, Event.Type.ATTEMPT_STARTED, Event.Type.TEST_GIVEN_BACK)


def is_in_test(enrollment: Enrollment) -> bool:
    """Whether the person is in the middle of a test, which they may finish though nobody else may begin."""
    is_their_turn = enrollment.state == Enrollment.State.CONSENTED
    ends = (Event.Type.ATTEMPT_SUBMITTED, Event.Type.TEST_GIVEN_BACK)
    return is_their_turn and _newest(enrollment, Event.Type.ATTEMPT_STARTED, *ends)


def _newest(enrollment: Enrollment, wanted: Event.Type, *others: Event.Type) -> bool:
    """Whether of these events of the person's the newest is the wanted one."""
    last = enrollment.events.filter(type__in=(wanted, *others)).order_by("-pk").first()
    return last is not None and last.type == wanted


def kept_out(enrollment: Enrollment) -> Reason | None:
    """Why somebody may not agree to take part in the study; None when they may."""
    study, annotator = enrollment.study, enrollment.annotator_id
    there = Enrollment.objects.filter(
        study=study.qualified_through_id,
        annotator=annotator,
        state=Enrollment.State.QUALIFIED,
        environment=enrollment.environment,
    )
    return rules.may_join(
        enrollment_state=enrollment.state,
        asks_elsewhere=study.qualified_through_id is not None,
        qualified_there=study.qualified_through_id is not None and there.exists(),
        excluded=Exclusion.objects.filter(study=study, annotator=annotator).exists(),
    )
