"""Exclude votes from the count and restore them while slots are free. Callers hold the enrollment's lock.

Only states and slots of assignments change, never a vote. Stories are locked in the order of their ids
(docs/adr/0003), and slots are counted in a new statement after that, as when a story is assigned.
"""

from typing import NamedTuple

from django.db.models import QuerySet

from annotation import rules
from annotation.actions.designs import Places, lock_in_order, places_held, slots_taken
from annotation.models import Assignment, Story, Stratum

State = Assignment.State
ANSWERED_WITH_SLOT = (State.SUBMITTED, State.PENDING)
AT_ONCE = 500
"""Assignments written in one statement."""


class Recount(NamedTuple):
    """The outcome of letting votes count again."""

    counting: int
    """Votes on main stories that count again."""
    displaced: int
    """Votes whose slot was taken meanwhile: surplus from now on."""


def stop_counting(*, assignments: QuerySet[Assignment], become: Assignment.State) -> int:
    """Give answered assignments another state and free their slots. Return how many held a slot."""
    holding = assignments.filter(state__in=ANSWERED_WITH_SLOT)
    stories = lock_stories(holding)
    stopped = holding.update(state=become)
    Story.objects.main().filter(pk__in=stories).update(has_free_slot=True)
    return stopped


def count_again(*, assignments: QuerySet[Assignment]) -> Recount:
    """Give assignments a slot again where their story has a free one; the others become surplus.

    An answer from a visit that its platform does not confirm stays excluded.
    """
    lock_in_order(Stratum.objects.filter(pk__in=assignments.values("stratum")))
    taken = slots_taken(lock_stories(assignments))
    found = list(assignments.select_related("session").order_by("story_id"))
    places = places_held(*{assignment.enrollment_id for assignment in found if assignment.load})
    settled = [_settle(assignment, taken[assignment.story_id], places) for assignment in found]
    full = [story for story in settled if story is not None]
    Assignment.objects.bulk_update(found, ["state", "slot", "place"], batch_size=AT_ONCE)
    Story.objects.filter(pk__in=full).update(has_free_slot=False)
    counting = sum(one.state in ANSWERED_WITH_SLOT and one.slot is not None for one in found)
    return Recount(counting, displaced=sum(one.state == State.DISPLACED for one in found))


def lock_stories(assignments: QuerySet[Assignment]) -> list[int]:
    """Lock the stories of the assignments in the order of their ids, so that writers take turns."""
    return lock_in_order(Story.objects.filter(pk__in=assignments.values("story")))


def _settle(assignment: Assignment, taken: set[int | None], places: Places) -> int | None:
    """Set the assignment's state, slot, and place in a design.

    Return the story's id if it has no free slot left.
    """
    session = assignment.session
    state = rules.state_of_answer(
        session.state if session else None, counts_unconfirmed=bool(session and session.counts_unconfirmed)
    )
    if state == State.DOUBTED or assignment.slot is None:  # a hidden check has none: anybody may answer it
        assignment.state = state
        return None
    slot = rules.lowest_free_slot(taken, assignment.slots)
    held = places[assignment.enrollment_id, assignment.stratum_id]
    place = rules.lowest_free_slot(held, assignment.load) if assignment.load else None
    if slot is None or (assignment.load and place is None):
        assignment.state = State.DISPLACED
        return None
    if place:
        assignment.place = place
        held.add(place)
    assignment.state, assignment.slot = state, slot
    return assignment.story_id if len(taken) + 1 == assignment.slots else None
