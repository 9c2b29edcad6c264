"""Who knows too much to answer a round blind: who can or could read what is accepted about one of its texts.

By right, not by deed: whoever might have read a key is not asked. A right is a role in a study with such a
key, or a permission that opens keys in all studies. What people could read is known from who could when a
key was made or answers were laid open (``KeyReader``), and from the roles that the log has since.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Min, QuerySet

from accounts.models import User
from annotation.models import CheckKey, Event, Membership
from annotation.rights import CHANGE_ALL, RIGHTS, Right, having
from qualification.models import ExpertReview, KeyReader, Round

OPENING = (
    CHANGE_ALL,
    "annotation.view_checkkey",
    "qualification.view_answerkey",
    "qualification.view_attemptanswer",
)
"""The permissions that open keys, or answers graded by them, in all studies (also in the back office)."""
MAY_CHANGE = frozenset(role for role, rights in RIGHTS.items() if Right.CHANGE in rights)


@dataclass(frozen=True, slots=True)
class _Telling:
    """What tells something about a round's texts: rounds, and since when there is something, per study."""

    rounds: Collection[int]
    since: dict[int, datetime]


def readers_in(studies: Iterable[int]) -> QuerySet[User]:
    """Who can read the keys, and answers that are laid open, of one of these studies now."""
    members = Membership.objects.filter(study__in=list(studies), role__in=MAY_CHANGE)
    return having(members, permissions=OPENING)


def who_knows(round: Round, people: Iterable[User]) -> list[User]:
    """Of these people, who can or could read what is accepted for a text of the round, or laid-open answers.

    The text counts, not the id: of rounds and hidden checks of all studies. Not who could read rates: a rate
    says how many answered acceptably, never what is acceptable, and every member may read them, so that
    nobody would be left to ask. Six queries, however many people, rounds and studies there are.
    """
    people = list(people)
    telling = _telling(round)
    if not people or not telling.since:
        return []
    ids = {person.pk for person in people}
    knowing = {
        *readers_in(telling.since).filter(pk__in=ids).values_list("pk", flat=True),
        *KeyReader.objects.filter(round__in=telling.rounds, reader__in=ids).values_list("reader", flat=True),
        *_answered(telling.rounds),
        *_had_a_role(telling.since, ids),
    }
    return [person for person in people if person.pk in knowing]


def _telling(round: Round) -> _Telling:
    texts = round.round_stories.values("story__text_hash")
    since: dict[int, datetime] = {}
    rounds = []
    found = Round.objects.filter(round_stories__story__text_hash__in=texts).annotate(
        key_at=Min("keys__created_at")
    )
    for number, study, *times in found.values_list("pk", "study", "key_at", "laid_open_at"):
        told = [at for at in times if at]
        if told:
            rounds.append(number)
            since[study] = min([*told, *filter(None, [since.get(study)])])
    checks = CheckKey.objects.filter(story__text_hash__in=texts).values("story__study")
    for study, at in checks.annotate(at=Min("created_at")).values_list("story__study", "at"):
        since[study] = min([at, *filter(None, [since.get(study)])])
    return _Telling(rounds, since)


def _answered(rounds: Collection[int]) -> Iterable[int]:
    """The experts of these rounds who saw the others' answers when they were laid open."""
    handed_in = ExpertReview.objects.filter(round__in=rounds, handed_in_at__isnull=False)
    return handed_in.filter(round__laid_open_at__isnull=False).values_list("expert", flat=True)


def _had_a_role(since: dict[int, datetime], people: Collection[int]) -> set[int]:
    """Who might change one of these studies at some time since then, by the log."""
    moves = Event.objects.filter(
        member__in=people, study__in=since, type__in=(Event.Type.ROLE_GIVEN, Event.Type.ROLE_TAKEN)
    )
    knowing = set()
    might: dict[tuple[int, int], bool] = {}
    for study, person, type, role, at in moves.order_by("pk").values_list(
        "study", "member", "type", "note", "at"
    ):
        may = type == Event.Type.ROLE_GIVEN and role in MAY_CHANGE
        if at >= since[study] and (may or might.get((study, person))):
            knowing.add(person)
        might[study, person] = may
    return knowing
