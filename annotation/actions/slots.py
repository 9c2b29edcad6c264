"""The slots of stories: lock stories, see which slots are taken and how many a story has, and free slots.

In most studies every story has as many slots as the study asks for votes. Where the number of votes is
adaptive, a story has more once its votes leave it undecided. See docs/adr/0049.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Q, QuerySet

from annotation.deciding import votes_wanted
from annotation.models import HELD, Assignment, Enrollment, Story, Study, Vote

ANSWERED_WITH_SLOT = (Assignment.State.SUBMITTED, Assignment.State.PENDING)
NEVER = datetime(9999, 1, 1, tzinfo=UTC)
"""The end of leases on stories given by name: never, so that no sweep frees them."""


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
        Story.objects.bulk_update(wanted_and_free(study, locked), changed, batch_size=500)


def wanted_and_free(study: Study, stories: Collection[int]) -> list[Story]:
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


def free_slots(*, held: list[Assignment], given: bool = False) -> None:
    """End leases and reservations, and free their slots. Callers hold the locks of both rows.

    Stories given by name stay reserved for their annotator, unless ``given``.
    """
    kept = {one.pk for one in held if one.given and not given}
    if kept:
        Assignment.objects.filter(pk__in=kept).update(state=Assignment.State.RESERVED, lease_expires_at=NEVER)
    held = [one for one in held if one.pk not in kept]
    Assignment.objects.filter(pk__in=[one.pk for one in held]).update(
        state=Assignment.State.EXPIRED, given=False
    )
    Story.objects.filter(pk__in={one.story_id for one in held}).mark_free()
    left = [one for one in held if one.state == Assignment.State.LEASED and (one.stratum_id or not one.slot)]
    if gone := {one.enrollment_id for one in left}:
        # An annotator whose lease on an item or a check expired has left: let the rest of their set expire.
        last = min(one.lease_expires_at for one in held)
        theirs = Assignment.objects.filter(enrollment__in=gone, state=Assignment.State.RESERVED, given=False)
        rest = theirs.filter(lease_expires_at__gt=last)
        # Nobody waits here (docs/adr/0003): who has these rows locked gives them back now, or has returned.
        free = rest.select_for_update(no_key=True, skip_locked=True).values_list("pk", flat=True)
        Assignment.objects.filter(pk__in=list(free)).update(lease_expires_at=last)


def release_assignments(*, enrollment: Enrollment, only_reserved: bool = False, given: bool = False) -> None:
    """End the annotator's reservations, and their lease too unless ``only_reserved``.

    ``given``: also what was given to them by name; a lease that goes on is an ordinary one from now on.
    Callers hold the enrollment's lock. Stories are locked in the order of their ids (docs/adr/0003).
    """
    if given:  # first: if the sweep makes it reserved just now, this waits, and the next statement sees it
        enrollment.assignments.filter(given=True, state=Assignment.State.LEASED).update(given=False)
    states = (Assignment.State.RESERVED,) if only_reserved else HELD
    lock_and_free(enrollment.assignments.filter(state__in=states), given=given)


def lock_and_free(theirs: QuerySet[Assignment], *, given: bool = False) -> list[Assignment]:
    """Free and return these assignments of an annotator, whose enrollment callers have locked."""
    rows = theirs.select_related("story", "enrollment__study")
    held = list(rows.select_for_update(of=("self",), no_key=True))
    if len(held) > 1:
        lock_in_order(Story.objects.filter(pk__in=[one.story_id for one in held]))
    if held:
        free_slots(held=held, given=given)
        settle_slots(study=held[0].enrollment.study, stories=[one.story_id for one in held])
    return held
