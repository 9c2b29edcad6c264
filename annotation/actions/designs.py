"""Set a study's design, and reserve annotators' sets by it. See docs/adr/0041."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, Q
from django.utils.translation import gettext as _

from accounts.models import User, locked
from annotation import design, rules
from annotation.actions.events import record_event
from annotation.actions.slots import lock_in_order, slots_taken
from annotation.errors import InvalidStudy
from annotation.fixed_settings import noted
from annotation.models import LIVING, Assignment, Enrollment, Event, Story, Stratum, Study, WorkSession
from annotation.sql import lock_next_reserved
from annotation.strata import with_strata

Places = dict[tuple[int, int | None], set[int | None]]
"""Taken places by enrollment and stratum."""


@transaction.atomic
def set_design(
    *, study: Study, by_column: str, load: Mapping[str, int], by: User | None, now: datetime
) -> Study:
    """Divide a draft study's items by a column, with so many items of each value per annotator.

    ``by_column`` is a column of the import file, or the stored one. Without a load the study has no design.
    Raise :class:`InvalidStudy` for a study that has been opened, another column, or a load that is not 1 to
    999.
    """
    study = locked(study)
    if study.state != Study.State.DRAFT:
        raise InvalidStudy(problems={"design": _("The study has been opened, so its design stays.")})
    column = study.protocol.columns.get(by_column, by_column) if load else ""
    if load and (problem := _problem_of(study, by_column, column, load)):
        raise InvalidStudy(problems={"design": problem})
    before, after = design_of(study), {"by": column, "load": dict(load)} if load else None
    if before == after:
        return study
    study.stratum_field = column
    study.save(update_fields=["stratum_field"])
    Stratum.objects.filter(study=study).delete()
    Stratum.objects.bulk_create(Stratum(study=study, name=name, load=load[name]) for name in sorted(load))
    note = noted({"design": before}, {"design": after}, ["design"])
    record_event(study=study, type=Event.Type.STUDY_CHANGED, by=by, now=now, note=note)
    return study


def _problem_of(study: Study, by_column: str, column: str, load: Mapping[str, int]) -> str:
    """Return the first reason why the study cannot have this design, with the remedy, or ""."""
    if study.only_given or Assignment.objects.filter(story__study=study, given=True).exists():
        return _("Stories are given by name here. Take them back, and choose another order of stories first.")
    if column not in Study.StratumField:
        known = ", ".join((*study.protocol.columns, *Study.StratumField.values))
        text = _("“%(name)s” is not a column by which items can be divided: %(known)s.")
        return text % {"name": by_column, "known": known}
    for name, number in load.items():
        if not (1 <= number <= design.MOST_PER_STRATUM and 1 <= len(name) <= 100):
            text = _("Give each stratum a name of 1 to 100 characters and a load from 1 to 999, not “%s”.")
            return text % f"{name[:80]}: {number}"
    if study.most_votes:
        return _("A design needs the same number of votes for every story. Empty “Votes per story at most”.")
    return ""


def design_of(study: Study) -> dict[str, object] | None:
    """Return the study's design as ``{"by": column, "load": {name: number}}``, or None."""
    if not study.stratum_field:
        return None
    return {"by": study.stratum_field, "load": dict(study.strata.values_list("name", "load"))}


def reserve_set(*, person: Enrollment, now: datetime) -> bool:
    """Reserve the items that the annotator lacks of their load. Return False if they lack none.

    Callers hold the enrollment's lock. Whoever takes slots of these items locks their strata first, so sets
    of a study are reserved one after another. Then the chosen stories are locked, against those who free
    slots, and slots are counted after that.
    """
    study = person.study
    places = places_held(person.pk)
    strata = list(study.strata.order_by("pk"))
    if all(len(places[person.pk, stratum.pk]) >= stratum.load for stratum in strata):
        return False
    lock_in_order(study.strata.all())
    candidates = _candidates(person)
    seed, name = study.serving_seed, person.pseudonym
    chosen: dict[design.Candidate, Stratum] = {}
    for stratum in strata:
        wanted = stratum.load - len(places[person.pk, stratum.pk])
        found = design.choose(candidates[stratum.name], wanted, seed=seed, person=name)
        chosen |= dict.fromkeys(found, stratum)
    of = {item.pk: stratum for item, stratum in chosen.items()}
    lock_in_order(Story.objects.filter(pk__in=of))
    taken = slots_taken(of)
    reserve(
        person=person,
        chosen={
            item: {
                "slot": _first_free(taken[item.pk], study.votes_per_story),
                "stratum": stratum,
                "place": _first_free(places[person.pk, stratum.pk], stratum.load),
                "load": stratum.load,
            }
            for item, stratum in chosen.items()
        },
        taken=taken,
        before=person.stories_submitted,
        now=now,
        until=now + study.lease * len(chosen),
    )
    return True


def reserve(
    *,
    person: Enrollment,
    chosen: Mapping[design.Candidate, Mapping[str, Any]],
    taken: Mapping[int, Collection[int | None]],
    before: int,
    now: datetime,
    until: datetime,
) -> None:
    """Reserve the items for the annotator, after ``before`` others, in a seeded order of their own.

    ``chosen`` has the slot and the other fields of each item's assignment. ``taken`` has these slots among
    all that are taken: stories without another one are marked as full. Callers hold the locks of the
    enrollment and of the stories, in their transaction.
    """
    study = person.study
    served = design.in_order(list(chosen), seed=study.serving_seed, person=person.pseudonym)
    reserved = [
        Assignment(
            story_id=item.pk,
            enrollment=person,
            state=Assignment.State.RESERVED,
            slots=study.votes_per_story,
            order_position=before + number,
            option_seed=person.option_seed,
            served_at=now,
            lease_expires_at=until,
            **chosen[item],
        )
        for number, item in enumerate(served, start=1)
    ]
    Assignment.objects.bulk_create(
        reserved,
        update_conflicts=True,  # an expired row of theirs takes the item again
        unique_fields=["enrollment", "story"],
        update_fields=_REVIVED,
    )
    full = [story for story in taken if len(taken[story]) >= study.votes_per_story]
    Story.objects.filter(pk__in=full).mark_full()


_KEY = ("id", "enrollment", "story")
_REVIVED = [field.name for field in Assignment._meta.concrete_fields if field.name not in _KEY]


def _candidates(person: Enrollment) -> dict[str, list[design.Candidate]]:
    """Return the items that the annotator may get, by stratum."""
    theirs = Assignment.objects.filter(enrollment=person).exclude(state=Assignment.State.EXPIRED)
    had = set(theirs.values_list("story_id", flat=True))
    free = with_strata(person.study, Story.objects.main().filter(study=person.study, has_free_slot=True))
    taken = Count("assignments", filter=Q(assignments__state__in=LIVING))
    found: dict[str, list[design.Candidate]] = defaultdict(list)
    for name, *item in free.annotate(taken=taken).values_list("stratum", "pk", "story_id", "taken"):
        if item[0] not in had and item[2] < person.study.votes_per_story:
            found[name].append(design.Candidate(*item))
    return found


def lease_reserved(*, person: Enrollment, session: WorkSession | None, now: datetime) -> Assignment | None:
    """Lease the annotator's next reserved item to them. Callers hold the enrollment's lock."""
    reserved = lock_next_reserved(person)
    if reserved:
        reserved.state, reserved.session = Assignment.State.LEASED, session
        reserved.order_position = person.stories_submitted + 1
        reserved.served_at, reserved.lease_expires_at = now, now + person.study.lease
        reserved.save(update_fields=["state", "session", "order_position", "served_at", "lease_expires_at"])
    return reserved


def _first_free(taken: set[int | None], most: int) -> int:
    """Return the lowest free number, and take it."""
    number = rules.lowest_free_slot(taken, most)
    if number is None:
        raise RuntimeError("More was chosen than is free; run check_integrity.")
    taken.add(number)
    return number


def places_held(*people: int) -> Places:
    """Return the taken places of these enrollments."""
    held: Places = defaultdict(set)
    living = Assignment.objects.living().filter(enrollment__in=people, stratum__isnull=False)
    for person, stratum, place in living.values_list("enrollment_id", "stratum_id", "place"):
        held[person, stratum].add(place)
    return held


def take_design_place(*, assignment: Assignment) -> bool:
    """Set the lowest free place for a late answer. Return False if its author has their load without it."""
    if assignment.load:
        taken = places_held(assignment.enrollment_id)[assignment.enrollment_id, assignment.stratum_id]
        assignment.place = rules.lowest_free_slot(taken, assignment.load)
    return assignment.place is not None or not assignment.load


def lock_story_of(assignment: Assignment) -> None:
    """Lock an item that is answered late or skipped, and what a suspension of its author gives back."""
    if assignment.stratum_id:
        lock_in_order(Stratum.objects.filter(pk=assignment.stratum_id))
    reserved = Assignment.objects.filter(enrollment=assignment.enrollment_id, state=Assignment.State.RESERVED)
    stories = Story.objects.filter(Q(pk=assignment.story_id) | Q(pk__in=reserved.values("story")))
    lock_in_order(stories)
