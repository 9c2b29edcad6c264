"""Which round somebody takes, and how many attempts they have left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from annotation.models import Enrollment
from qualification.models import Attempt, Round
from qualification.rules import form_for


@dataclass(frozen=True, slots=True)
class Turn:
    """A person's next attempt: at which round, after how many, of how many that they may have."""

    round: Round
    used: int
    allowed: int

    @property
    def left(self) -> int:
        """How many attempts are left, this one among them."""
        return max(self.allowed - self.used, 0)


def turn_of(enrollment: Enrollment, active: Sequence[Round]) -> Turn | None:
    """The person's turn, given the active rounds of their study; None where there is none.

    Who has taken a round keeps it for as long as it is active. Attempts that are not void count over all
    rounds of the study, and as many are allowed as the round said that the person was given first: another
    form is no further try.
    """
    if not active:
        return None
    taken = Attempt.objects.standing().filter(enrollment=enrollment)
    last = taken.order_by("number").last()
    theirs = [one for one in active if last and one.pk == last.round_id]
    round = theirs[0] if theirs else _next_form(enrollment, active)
    if last is None:
        return Turn(round, used=0, allowed=round.attempts_allowed)
    return Turn(round, used=taken.count(), allowed=last.attempts_allowed)


def _next_form(enrollment: Enrollment, active: Sequence[Round]) -> Round:
    place = Enrollment.objects.filter(study=enrollment.study_id, pk__lt=enrollment.pk).count()
    number = form_for(place, [one.number for one in active])
    return next(one for one in active if one.number == number)
