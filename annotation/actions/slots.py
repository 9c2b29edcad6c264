"""The slots of stories: lock stories, see which slots are taken, and how many a story has.

In most studies every story has as many slots as the study asks for votes. Where the number of votes is
adaptive, a story has more once its votes leave it undecided. See docs/adr/0049.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Q, QuerySet

from annotation.deciding import votes_wanted
from annotation.models import Assignment, Story, Study, Vote

ANSWERED_WITH_SLOT = (Assignment.State.SUBMITTED, Assignment.State.PENDING)


def lock_in_order(rows: QuerySet[Any]) -> list[int]:
    """Lock rows in the order of their ids, so that writers take turns. Return the ids."""
    return list(rows.order_by("pk").select_for_update(no_key=True).values_list("pk", flat=True))


def lock_stories(assignments: QuerySet[Assignment]) -> list[int]:
    """Lock the stories of these assignments in the order of their ids. Return the ids."""
    return lock_in_order(Story.objects.filter(pk__in=assignments.values("story")))


def slots_taken(stories: Iterable[int]) -> dict[int, set[int | None]]:
    """Return the numbers of the taken slots of each of these stories."""
    taken: dict[int, set[int | None]] = defaultdict(set)
    living = Assignment.objects.living().filter(story__in=stories, slot__isnull=False)
    for story, slot in living.values_list("story_id", "slot"):
        taken[story].add(slot)
    return taken


def slots_of(study: Study, stories: Iterable[int]) -> dict[int, int]:
    """Return how many slots each of these locked stories has now."""
    extra = Story.objects.filter(pk__in=stories).values_list("pk", "extra_votes")
    return {story: study.votes_per_story + more for story, more in extra}


def settle_slots(*, study: Study, stories: Iterable[int]) -> None:
    """Set how many votes stories want, and whether a slot is free, where this depends on their votes.

    Call it in the transaction that changed a vote on a story or who holds its slots, after the change and
    with the enrollment locked. It locks the stories, so that whoever comes second counts the first one's
    vote. Do nothing, without a statement, where every story gets the same number of votes.
    """
    if study.most_votes:
        locked = lock_in_order(Story.objects.wanted().filter(study=study, pk__in=set(stories)))
        changed = ["extra_votes", "has_free_slot"]
        Story.objects.bulk_update(settled(study, locked), changed, batch_size=500)


def settled(study: Study, stories: Collection[int]) -> list[Story]:
    """Return stories of an adaptive study with what :func:`settle_slots` sets, without their other fields.

    Votes that wait for their platform count here: they keep their slot. So does whoever holds one.
    """
    living = Assignment.objects.living().filter(story__in=stories)
    holders = Counter(living.values_list("story_id", flat=True))
    votes = Vote.objects.newest().filter(assignment__in=living.filter(state__in=ANSWERED_WITH_SLOT))
    objections: dict[int, list[frozenset[str]]] = defaultdict(list)
    against = ArrayAgg("answers__question", filter=Q(answers__counts_against=True), default=[])
    for _pk, story, questions in votes.values_list("pk", "assignment__story").annotate(against=against):
        objections[story].append(frozenset(questions))
    least, most, rule = study.votes_per_story, study.slots_per_story, study.decided_by
    found = []
    for story in stories:
        wanted = max(votes_wanted(rule, objections[story], least=least, most=most), holders[story])
        found.append(Story(pk=story, extra_votes=wanted - least, has_free_slot=holders[story] < wanted))
    return found
