"""Find the people who know too much to answer a round blind: they can or could read a key of its texts.

Access counts, not reading: anybody who might have read a key is excluded. Access comes from a role in a study
with such a key, or from a permission that opens keys in all studies. Past access is known from those who had
it when a key was made or answers were revealed (``KeyReader``), and from later roles in the log.
"""

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
"""Permissions that open keys, or answers graded by them, in all studies and the back office."""
MAY_CHANGE = frozenset(role for role, rights in RIGHTS.items() if Right.CHANGE in rights)


@dataclass(frozen=True, slots=True)
class _Sources:
    """Sources that reveal something about a round's texts: rounds, and the first time of one per study."""

    rounds: Collection[int]
    since: dict[int, datetime]


def readers_in(studies: Iterable[int]) -> QuerySet[User]:
    """Return everybody who can read keys and revealed answers of one of these studies now."""
    members = Membership.objects.filter(study__in=list(studies), role__in=MAY_CHANGE)
    return having(members, permissions=OPENING)


def people_who_know(round: Round, people: Iterable[User]) -> list[User]:
    """Return those of these people who can or could read a key or revealed answers of the round's texts.

    Texts count, not ids: rounds and hidden checks of all studies are searched. Rates do not count: they tell
    how many answers were acceptable but not which, and every member may read them, so that nobody would be
    left to ask. Six queries, however many people, rounds and studies there are.
    """
    people = list(people)
    sources = _sources(round)
    if not people or not sources.since:
        return []
    ids = {person.pk for person in people}
    knowing = {
        *readers_in(sources.since).filter(pk__in=ids).values_list("pk", flat=True),
        *KeyReader.objects.filter(round__in=sources.rounds, reader__in=ids).values_list("reader", flat=True),
        *_answered(sources.rounds),
        *_had_a_role(sources.since, ids),
    }
    return [person for person in people if person.pk in knowing]


def _sources(round: Round) -> _Sources:
    texts = round.round_stories.values("story__text_hash")
    since: dict[int, datetime] = {}
    rounds = []
    found = Round.objects.filter(round_stories__story__text_hash__in=texts).annotate(
        key_at=Min("keys__created_at")
    )
    for number, study, *times in found.values_list("pk", "study", "key_at", "revealed_at"):
        revealed = [at for at in times if at]
        if revealed:
            rounds.append(number)
            since[study] = min([*revealed, *filter(None, [since.get(study)])])
    checks = CheckKey.objects.filter(story__text_hash__in=texts).values("story__study")
    for study, at in checks.annotate(at=Min("created_at")).values_list("story__study", "at"):
        since[study] = min([at, *filter(None, [since.get(study)])])
    return _Sources(rounds, since)


def _answered(rounds: Collection[int]) -> Iterable[int]:
    """Return the experts of these rounds who saw the others' answers when they were revealed."""
    handed_in = ExpertReview.objects.filter(round__in=rounds, handed_in_at__isnull=False)
    return handed_in.filter(round__revealed_at__isnull=False).values_list("expert", flat=True)


def _had_a_role(since: dict[int, datetime], people: Collection[int]) -> set[int]:
    """Return those who could change one of these studies at some time since then, by the log."""
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
