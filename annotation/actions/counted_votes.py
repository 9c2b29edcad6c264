"""Exclude votes from the count and restore them while slots are free. Callers hold the enrollment's lock.

Only states and slots of assignments change, never a vote. Stories are locked in the order of their ids
(docs/adr/0003), and slots are counted in a new statement after that, as when a story is assigned.
"""

from collections import defaultdict

from django.db.models import QuerySet

from annotation import rules
from annotation.models import Assignment, Story

State = Assignment.State
COUNTING = (State.SUBMITTED, State.PENDING)
"""States of an answer that holds a slot."""
AT_ONCE = 500
"""Assignments written in one statement."""


def stop(*, assignments: QuerySet[Assignment], become: Assignment.State) -> int:
    """Give answered assignments another state and free their slots. Return how many held a slot."""
    holding = assignments.filter(state__in=COUNTING)
    stories = lock_stories(holding)
    stopped = holding.update(state=become)
    Story.objects.main().filter(pk__in=stories).update(has_free_slot=True)
    return stopped


def again(*, assignments: QuerySet[Assignment]) -> tuple[int, int]:
    """Give assignments a slot again where their story has a free one; the others become surplus.

    An answer from a visit that its platform does not confirm stays excluded. Return how many hold a slot
    now (answers to hidden checks never do), and how many are surplus because their slot was taken.
    """
    stories = lock_stories(assignments)
    taken: dict[int, set[int]] = defaultdict(set)
    living = Assignment.objects.living().filter(story__in=stories)
    for story, slot in living.values_list("story_id", "slot"):
        if slot is not None:
            taken[story].add(slot)
    found = list(assignments.select_related("session").order_by("story_id"))
    settled = [_settle(assignment, taken[assignment.story_id]) for assignment in found]
    full = [story for story in settled if story is not None]
    Assignment.objects.bulk_update(found, ["state", "slot"], batch_size=AT_ONCE)
    Story.objects.filter(pk__in=full).update(has_free_slot=False)
    holding = sum(assignment.state in COUNTING and assignment.slot is not None for assignment in found)
    return holding, sum(assignment.state == State.DISPLACED for assignment in found)


def lock_stories(assignments: QuerySet[Assignment]) -> list[int]:
    """Lock the stories of the assignments in the order of their ids, so that writers take turns."""
    stories = Story.objects.filter(pk__in=assignments.values("story")).order_by("pk")
    return list(stories.select_for_update(no_key=True).values_list("pk", flat=True))


def _settle(assignment: Assignment, taken: set[int]) -> int | None:
    """Set the assignment's state and slot. Return the story's id if it has no free slot left."""
    session = assignment.session
    state = rules.state_of_answer(
        session.state if session else None, counts_unconfirmed=bool(session and session.counts_unconfirmed)
    )
    if state == State.DOUBTED:
        assignment.state = state
        return None
    if assignment.slot is None:  # a hidden check: anybody may answer it
        assignment.state = state
        return None
    slot = rules.lowest_free_slot(taken, assignment.slots)
    if slot is None:
        assignment.state = State.DISPLACED
        return None
    assignment.state, assignment.slot = state, slot
    return assignment.story_id if len(taken) + 1 == assignment.slots else None
