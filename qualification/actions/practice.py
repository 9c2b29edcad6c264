"""Practice before the test: answers that are compared with the key at once, and grade nothing."""

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext

from accounts.rows import locked
from annotation.models import Enrollment
from qualification.actions.attempts import check_their_turn
from qualification.errors import NotTheirTurn
from qualification.models import PracticeAnswer, Round, RoundStory
from qualification.queries import last_practised, saved_version

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
    protocol = enrollment.study.protocol
    choices = protocol.read_form(protocol.parse(round_story.story.content), submitted)
    before = last_practised(enrollment, round_story)
    if {one.choice for one in before} == set(choices) and after != saved_version(before):
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
