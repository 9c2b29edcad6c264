"""Queries about a study's test: whether it has one, who passed, the next attempt, and practice."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Count, Max, Q
from django.utils.translation import gettext as _

from annotation.grading import Cell, Grade, PassMark, grade
from annotation.models import Enrollment, Study
from qualification import models
from qualification.rules import round_for


@dataclass(frozen=True, slots=True)
class Tested:
    """Counts of annotators (not attempts) in the study's own environment."""

    started: int
    submitted: int
    passed: int

    @property
    def share(self) -> float | None:
        """The share of those who handed in that passed, in 0..1; None if nobody handed in."""
        return self.passed / self.submitted if self.submitted else None


def why_no_test(study: Study) -> str:
    """Return the reason why the study can have no test of its own; empty if it can."""
    if study.qualified_through is None:
        return ""
    return _(
        "This study takes participants who qualified in “%(source)s”, so it has no test of its own. Edit the "
        "test there."
    ) % {"source": study.qualified_through.slug}


def tested(study: Study) -> Tested:
    """Count the annotators who started a round of the study, handed one in, and passed. One query."""
    submitted = Q(state=models.Attempt.State.SUBMITTED)
    attempts = models.Attempt.objects.standing().filter(round__study=study)
    counts = attempts.filter(enrollment__environment=study.environment).aggregate(
        started=Count("enrollment", distinct=True),
        submitted=Count("enrollment", distinct=True, filter=submitted),
        passed=Count("enrollment", distinct=True, filter=submitted & Q(passed=True)),
    )
    return Tested(**counts)


@dataclass(frozen=True, slots=True)
class NextAttempt:
    """An annotator's next attempt: its round, the attempts used, and the attempts allowed."""

    round: models.Round
    used: int
    allowed: int

    @property
    def left(self) -> int:
        """The number of attempts left, including this one."""
        return max(self.allowed - self.used, 0)


def next_attempt(enrollment: Enrollment, active: Sequence[models.Round]) -> NextAttempt | None:
    """Return the annotator's next attempt, given the active rounds of their study; None without any.

    Annotators keep their round while it is active. All attempts that are not void count, over all rounds of
    the study, and their first round says how many are allowed: another round is no extra try.
    """
    if not active:
        return None
    taken = models.Attempt.objects.standing().filter(enrollment=enrollment)
    last = taken.order_by("number").last()
    round = next((one for one in active if last and one.pk == last.round_id), None)
    if round is None:
        place = Enrollment.objects.filter(study=enrollment.study_id, pk__lt=enrollment.pk).count()
        number = round_for(place, [one.number for one in active])
        round = next(one for one in active if one.number == number)
    if last is None:
        return NextAttempt(round, used=0, allowed=round.attempts_allowed)
    return NextAttempt(round, used=taken.count(), allowed=last.attempts_allowed)


@dataclass(frozen=True, slots=True)
class Practice:
    """An annotator's practice: the open practice round, its stories, and the positions of unanswered ones."""

    round: models.Round
    stories: int
    left: list[int]

    @property
    def next(self) -> int:
        """The position of the first story left, or else of the first."""
        return min(self.left, default=1)

    @property
    def is_owed(self) -> bool:
        """Return True if the test cannot start before the stories left are answered."""
        return self.round.kind == models.Round.Kind.REQUIRED and bool(self.left)


def practice_of(enrollment: Enrollment) -> Practice | None:
    """Return the annotator's practice; None if their study has no open practice round."""
    round = models.Round.objects.practice_in(enrollment.study)
    if round is None:
        return None
    given = models.PracticeAnswer.objects.filter(enrollment=enrollment).values("round_story")
    left = round.round_stories.exclude(pk__in=given).values_list("position", flat=True)
    return Practice(round, round.round_stories.count(), list(left))


def last_practised(enrollment: Enrollment, entry: models.RoundStory) -> list[models.PracticeAnswer]:
    """Return the annotator's latest answers to a practice story."""
    given = models.PracticeAnswer.objects.filter(enrollment=enrollment, round_story=entry)
    newest = given.aggregate(turn=Max("turn"))["turn"]
    return list(given.filter(turn=newest).select_related("key"))


def pass_mark(round: models.Round) -> dict[str, int]:
    """Return the round's number of answers, how many must be acceptable, and stories without a mistake."""
    key = round.keys.order_by("-version")[0]
    answers = key.options.order_by().values("round_story", "question", "row").distinct().count()
    return {"answers": answers, "enough": key.enough or answers, "must": len(key.must_pass)}


def cell_of(answer: models.AcceptableOption | models.AttemptAnswer) -> Cell:
    """Return the question about a story of a round that this is about."""
    return Cell(str(answer.round_story_id), answer.question, answer.row)


def grade_by(key: models.AnswerKey, answers: Iterable[models.AttemptAnswer]) -> Grade:
    """Grade the answers of an attempt by its key. Raise like ``annotation.grading.grade``."""
    acceptable: dict[Cell, set[str]] = {}
    for option in key.options.all():
        acceptable.setdefault(cell_of(option), set()).add(option.option)
    must = models.RoundStory.objects.filter(round=key.round_id, position__in=key.must_pass)
    mark = PassMark(key.enough, frozenset(str(entry.pk) for entry in must))
    return grade({cell_of(answer): answer.option for answer in answers}, acceptable, mark)


def saved_version(answers: Iterable[models.AttemptAnswer | models.PracticeAnswer]) -> int:
    """Return a number that grows whenever these answers to one story are saved; 0 without answers."""
    return max((answer.pk for answer in answers), default=0)
