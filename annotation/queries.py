"""Queries about an annotator's own work: votes, pay, warnings, and the state of their test."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from django.db import connection
from django.db.models import Count, Exists, F, OuterRef, Q, Sum

from annotation import rules
from annotation.hidden_checks import most_checks_among
from annotation.models import (
    HELD,
    Answer,
    Assignment,
    CheckOption,
    CheckResult,
    Enrollment,
    Event,
    Exclusion,
    Story,
    Study,
    Vote,
    WorkSession,
)
from annotation.protocols import is_installed
from annotation.protocols.base import Protocol
from annotation.protocols.questions import Choice, Question
from annotation.protocols.tables import cells_as_read
from annotation.rules import Reason
from annotation.strata import lacking_of, usable_checks, with_strata
from annotation.working_time import Pace, estimated_pay, pace_of

RECENT = 50
"""Answers on one page of an annotator's own list."""
PACE_OF = 30
"""An annotator's pace is the median over this many of their newest answers."""


@dataclass(frozen=True, slots=True)
class WorkSoFar:
    """An annotator's work: stories, pace in seconds, and estimated pay.

    ``cut`` counts the stories of the pace whose time was cut (:func:`~annotation.working_time.paid_seconds`).
    """

    stories: int
    pace: float | None
    pay: Decimal | None
    cut: int = 0


def stories_left(enrollment: Enrollment, *, at_most: int) -> int:
    """Return the number of stories that the annotator holds or could be given now, up to ``at_most``."""
    theirs = Assignment.objects.filter(enrollment=enrollment)
    held = theirs.filter(state__in=HELD).count()
    if held >= at_most or enrollment.study.only_given:
        return min(at_most, held)
    had = theirs.filter(story=OuterRef("pk")).exclude(state=Assignment.State.EXPIRED)
    free = Story.objects.filter(~Exists(had), study=enrollment.study_id, has_free_slot=True)
    if not enrollment.study.stratum_field:
        return min(at_most, held + free[:at_most].count())
    each = with_strata(enrollment.study, free).order_by().values_list("stratum")
    there = Counter(dict(each.annotate(items=Count("pk"))))
    left = [min(number, there[stratum.name]) for stratum, number in lacking_of(enrollment).items()]
    return min(at_most, held + sum(left))


def stories_and_checks_left(enrollment: Enrollment, *, at_most: int) -> int:
    """Return :func:`stories_left` with the most hidden checks that can come among all their stories.

    Each answer or skip takes one away, of a story or of a check, so the number does not reveal which is one.
    """
    study, left = enrollment.study, stories_left(enrollment, at_most=at_most)
    if not study.check_every:
        return left
    checks = enrollment.assignments.filter(story__role=Story.Role.CHECK)
    had = checks.exclude(state__in=(*HELD, Assignment.State.EXPIRED)).count()
    left -= checks.filter(state__in=HELD).count()
    others = enrollment.stories_submitted - had + left
    most = most_checks_among(others, every=study.check_every)
    return left + max(0, min(most, usable_checks(study)) - had)


def recent_votes(
    enrollment: Enrollment, *, page: int = 1, session_id: int | None = None, only: Q | None = None
) -> tuple[list[Vote], bool]:
    """Return a page of the annotator's current votes, newest first, and whether more follow.

    ``session_id`` limits them to a work session, ``only`` to votes that match it.
    """
    begin = (page - 1) * RECENT
    theirs = Vote.objects.newest().filter(
        _in_session(session_id), only or Q(), assignment__enrollment=enrollment
    )
    rows = theirs.select_related("assignment__story", "comment").prefetch_related("answers")
    found = list(rows.order_by("-first_submitted_at", "-pk")[begin : begin + RECENT + 1])
    return found[:RECENT], len(found) > RECENT


def asked_of(enrollment: Enrollment, *, at_end: bool) -> list[str]:
    """Return what the annotator can be asked about themselves; at the end, only once they have voted."""
    outside = enrollment.state in (*rules.UNDECIDED, Enrollment.State.WITHDRAWN)
    asked = [] if outside else enrollment.study.asked_of_people(at_end=at_end)
    has_voted = not (asked and at_end) or Vote.objects.filter(assignment__enrollment=enrollment).exists()
    return asked if has_voted else []


def owes_closing_answer(enrollment: Enrollment) -> bool:
    """Return True if the annotator was not yet asked what the study asks at the end."""
    asked = asked_of(enrollment, at_end=True)
    return bool(asked) and not enrollment.intake_answers.filter(question__in=asked).exists()


def _in_session(session_id: int | None) -> Q:
    return Q() if session_id is None else Q(assignment__session=session_id)


def newest_vote(enrollment: Enrollment, assignment_id: int, *, session_id: int | None) -> Vote | None:
    """Return the current revision of the annotator's vote on a story, if it belongs to the session."""
    theirs = Vote.objects.filter(_in_session(session_id), assignment__enrollment=enrollment)
    found = theirs.filter(assignment=assignment_id).select_related("assignment__story")
    return found.order_by("-revision").first()


def has_read_before(assignment: Assignment) -> bool:
    """Return whether the annotator has answered the version of the story before this one."""
    old = Assignment.objects.filter(story__revised_to__after=assignment.story_id, votes__revision=1)
    return old.filter(enrollment=assignment.enrollment_id).exists()


def answered_fields(vote: Vote) -> dict[str, str]:
    """Return a vote's answers as form values."""
    return {answer.choice.field: answer.choice.option for answer in vote.answers.all()}


def choices_in_words(protocol: Protocol, vote: Vote) -> list[tuple[str, str]]:
    """Return a vote's answers as (question, option) in the words and order of the form."""
    item = protocol.parse(vote.assignment.story.content)
    given = answered_fields(vote)
    cells = cells_as_read(protocol, item)
    pairs = [(cell, given.get(cell.field, "")) for cell in cells]
    return [
        (cell.title, answer if cell.question.key in protocol.written else cell.labels.get(answer, ""))
        for cell, answer in pairs
        if answer or not protocol.open_table
    ]


def work_so_far(enrollment: Enrollment) -> WorkSoFar:
    """Summarise the annotator's work so far."""
    pace = _paces("e.id", enrollment.pk).get(enrollment.pk)
    stories, rate = enrollment.stories_submitted, enrollment.study.pay_rate
    if pace is None:
        return WorkSoFar(stories, None, None)
    return WorkSoFar(stories, pace.seconds, estimated_pay(stories, pace.seconds, rate), pace.cut)


_NEWEST = """
    SELECT enrollment_id, array_agg(seconds) FROM (
        SELECT a.enrollment_id, extract(epoch FROM v.first_submitted_at - v.served_at) AS seconds,
               row_number() OVER (PARTITION BY a.enrollment_id ORDER BY v.id DESC) AS place
        FROM annotation_enrollment e
        JOIN annotation_assignment a ON a.enrollment_id = e.id
        JOIN annotation_vote v ON v.assignment_id = a.id AND v.revision = 1
        WHERE {of} = %(id)s
        UNION ALL
        SELECT e.id, extract(epoch FROM k.skipped_at - a.served_at),
               row_number() OVER (PARTITION BY e.id ORDER BY a.id DESC)
        FROM annotation_enrollment e
        JOIN annotation_assignment a ON a.enrollment_id = e.id AND a.state = 'skipped'
        JOIN annotation_skip k ON k.assignment_id = a.id AND k.credited
        WHERE {of} = %(id)s AND NOT EXISTS (
            SELECT FROM annotation_assignment had JOIN annotation_vote v ON v.assignment_id = had.id
            WHERE had.enrollment_id = e.id)
    ) AS newest WHERE place <= %(most)s GROUP BY enrollment_id
"""


def paces_of(study: Study) -> dict[int, Pace | None]:
    """Return the pace of each enrollment with votes, or else with paid skips.

    It is the pace that :func:`work_so_far` shows: annotators are paid by what they see.
    """
    return _paces("e.study_id", study.pk)


def _paces(column: str, number: int) -> dict[int, Pace | None]:
    with connection.cursor() as cursor:
        cursor.execute(_NEWEST.format(of=column), {"id": number, "most": PACE_OF})
        return {
            person: pace_of([float(second) for second in seconds]) for person, seconds in cursor.fetchall()
        }


@dataclass(frozen=True, slots=True)
class CheckWarning:
    """A warning about failed hidden checks. ``questions`` are those answered wrongly."""

    answered: int
    failed: int
    questions: list[Question]
    can_be_suspended: bool


def warning(enrollment: Enrollment) -> CheckWarning | None:
    """Return the warning to show now, which lasts until the annotator answers the next story."""
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
    can_be_suspended = enrollment.study.check_suspend_percent is not None
    return CheckWarning(answered, failed, questions, can_be_suspended)


def test_outcome(enrollment: Enrollment) -> bool | None:
    """Return the log's outcome of the annotator's test; None if unfinished or reset for a retake."""
    over = (Event.Type.ENROLLMENT_QUALIFIED, Event.Type.ENROLLMENT_FAILED, Event.Type.TEST_GIVEN_BACK)
    last = enrollment.events.filter(type__in=over).order_by("-pk").first()
    if last is None or last.type == Event.Type.TEST_GIVEN_BACK:
        return None
    return last.type == Event.Type.ENROLLMENT_QUALIFIED


def passed_in(session: WorkSession) -> bool:
    """Return True if the test finished in a session was passed, whatever became of its annotator since."""
    passed, at = Event.Type.ENROLLMENT_QUALIFIED, session.test_finished_at
    return at is not None and session.enrollment.events.filter(type=passed, at=at).exists()


def is_in_test(enrollment: Enrollment) -> bool:
    """Return True if the annotator is in the middle of a test, which they may always finish."""
    is_their_turn = enrollment.state == Enrollment.State.CONSENTED
    types = (Event.Type.ATTEMPT_STARTED, Event.Type.ATTEMPT_SUBMITTED, Event.Type.TEST_GIVEN_BACK)
    last = enrollment.events.filter(type__in=types).order_by("-pk").first() if is_their_turn else None
    return last is not None and last.type == Event.Type.ATTEMPT_STARTED


def serving_refusal(enrollment: Enrollment) -> Reason | None:
    """Return the reason why the annotator is served no story, or None. It must carry its study."""
    study = enrollment.study
    return rules.serving_refusal(
        study_state=study.state,
        study_environment=study.environment,
        study_consent_version=study.consent_version,
        protocol_installed=is_installed(study.protocol_name, study.protocol_version),
        story_cap=study.story_cap,
        enrollment_state=enrollment.state,
        environment=enrollment.environment,
        consent_version=enrollment.consent.version if enrollment.consent else 0,
        stories_submitted=enrollment.stories_submitted,
    )


def joining_refusal(enrollment: Enrollment) -> Reason | None:
    """Return the reason why the annotator may not join the study, or None."""
    study, annotator = enrollment.study, enrollment.annotator_id
    there = Enrollment.objects.filter(
        study=study.qualified_through_id,
        annotator=annotator,
        state=Enrollment.State.QUALIFIED,
        environment=enrollment.environment,
    )
    return rules.joining_refusal(
        enrollment_state=enrollment.state,
        asks_elsewhere=study.qualified_through_id is not None,
        qualified_there=study.qualified_through_id is not None and there.exists(),
        excluded=Exclusion.objects.filter(study=study, annotator=annotator).exists(),
    )


def votes_wanted(study: Study) -> int:
    """Return how many votes the study's stories want, as far as known now where the number is adaptive."""
    wanted = Story.objects.wanted().filter(study=study)
    votes = wanted.aggregate(votes=Sum(F("extra_votes") + study.votes_per_story, default=0))["votes"]
    return int(votes)


def has_all_votes(story: Story) -> bool:
    """Return True if the story has as many counted votes as its study asks for; leases do not count."""
    votes = Vote.objects.counted().filter(assignment__story=story).count()
    return votes >= story.study.votes_per_story


def lists_of(stories: Iterable[int]) -> dict[int, dict[str, list[Choice]]]:
    """Return what people listed about these stories in counted votes, by story and pseudonym."""
    votes = Vote.objects.counted().filter(assignment__story__in=list(stories))
    found: dict[int, dict[str, list[Choice]]] = {}
    for vote in votes.select_related("assignment__enrollment").prefetch_related("answers"):
        people = found.setdefault(vote.assignment.story_id, {})
        people[vote.assignment.enrollment.pseudonym] = [answer.choice for answer in vote.answers.all()]
    return found
