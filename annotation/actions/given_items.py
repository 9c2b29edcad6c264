"""Give stories to people by name, and take back what they have not answered. See docs/adr/0048."""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import PlatformIdentity, User, locked
from annotation import design, queries, rules
from annotation.actions.designs import NEVER, free_held, store_reserved
from annotation.actions.events import record_about
from annotation.actions.slots import lock_in_order, slots_taken
from annotation.errors import InvalidInput
from annotation.hidden_checks import most_checks_among
from annotation.models import HELD, Assignment, Enrollment, Event, Story, StoryRevision, Study
from annotation.sql import lock_person

MOST_PROBLEMS = 20
"""Wrong lines that are named at once."""
Slots = dict[design.Candidate, int | None]
"""The stories given to a person, each with its slot."""


class GivenRow(NamedTuple):
    """A line of a list of stories for named people. ``person``: a pseudonym, or a confirmed address."""

    line: int
    story_id: str
    person: str


def give_items(
    *, study: Study, rows: Sequence[GivenRow], by: User | None, now: datetime, token: UUID | None = None
) -> int:
    """Reserve each row's story for its person, who gets these first. Return the number of people.

    ``token`` identifies the submitted form: submitting it again changes nothing. The log says whom an address
    led to, also if the list is refused. Raise :class:`InvalidInput` with a line per wrong row; then nothing
    is given.
    """
    rows = _by_pseudonym(rows, study, by, now)
    return _give(study, rows, f"form {token}" if token else "", by=by, now=now)


@transaction.atomic
def _by_pseudonym(rows: Sequence[GivenRow], study: Study, by: User | None, now: datetime) -> list[GivenRow]:
    """Replace the confirmed addresses of people in the study by their pseudonyms, and log these looks."""
    confirmed = PlatformIdentity.objects.filter(
        platform=PlatformIdentity.Platform.EMAIL, environment=study.environment, confirmed_at__isnull=False
    )
    of = dict(confirmed.filter(person__in={row.person for row in rows}).values_list("annotator", "person"))
    people = list(Enrollment.objects.filter(study=study, annotator__in=of).select_related("study"))
    for person in people:
        subject = "found by an e-mail address"
        record_about(person=person, type=Event.Type.IDENTITY_SHOWN, by=by, now=now, subject=subject)
    pseudonyms = {of[person.annotator_id]: person.pseudonym for person in people}
    return [row._replace(person=pseudonyms.get(row.person, row.person)) for row in rows]


@transaction.atomic
def _give(study: Study, rows: Sequence[GivenRow], form: str, *, by: User | None, now: datetime) -> int:
    """Lock the study, so that its votes per story and its design stay, then people, then stories."""
    study = locked(study)
    if form and (before := study.events.filter(type=Event.Type.ITEMS_GIVEN, subject=form).count()):
        return before
    if study.state == Study.State.CLOSED:
        raise InvalidInput(_("The study is closed. Open it again, then give stories."))
    if study.stratum_field:
        raise InvalidInput(_("This study has a design, which decides who gets which story."))
    if study.most_votes:
        raise InvalidInput(_("Each story gets votes here until it is decided, so none can be given by name."))
    named = Enrollment.objects.filter(study=study, pseudonym__in={row.person for row in rows}).order_by("pk")
    locked_people = named.select_related("study").select_for_update(of=("self",), no_key=True)
    people = {person.pseudonym: person for person in locked_people}
    kept_out = {person.pk for person in people.values() if queries.kept_out(person)}
    found = Story.objects.wanted().filter(study=study, story_id__in={row.story_id for row in rows})
    stories = dict(found.values_list("story_id", "pk"))
    revisions = StoryRevision.objects.filter(before__study=study)
    revised = dict(revisions.values_list("before__story_id", "after__story_id"))
    lock_in_order(found)
    taken = slots_taken(stories.values())
    theirs = Assignment.objects.filter(enrollment__in=people.values())
    had = set(theirs.exclude(state=Assignment.State.EXPIRED).values_list("enrollment_id", "story_id"))
    held = Counter(theirs.filter(state__in=HELD).values_list("enrollment_id", flat=True))
    given: defaultdict[Enrollment, Slots] = defaultdict(dict)
    problems = [] if rows else [_("Name at least one story.")]
    for row in rows:
        person, story = people.get(row.person), stories.get(row.story_id)
        free = rules.lowest_free_slot(taken[story], study.votes_per_story) if story else None
        last = person.stories_submitted + held[person.pk] + len(given[person]) + 1 if person else 0
        last += most_checks_among(last, every=study.check_every)
        newer = revised.get(row.story_id, "")
        if problem := _problem(row, person, story, free, last, had, kept_out, newer):
            problems.append(_("Line %(line)s: %(problem)s") % {"line": row.line, "problem": problem})
        elif person and story:
            taken[story].add(free)
            had.add((person.pk, story))
            given[person][design.Candidate(story, row.story_id, 0)] = free
    if problems:
        more = [_("More wrong lines: %(more)s.") % {"more": len(problems) - MOST_PROBLEMS}]
        raise InvalidInput("\n".join(problems[:MOST_PROBLEMS] + more * (len(problems) > MOST_PROBLEMS)))
    for person, slots in given.items():
        reserved = _reservations(person, slots, person.stories_submitted + held[person.pk], now=now)
        store_reserved(reserved=reserved, taken=taken, slots=study.votes_per_story)
        note = ", ".join(item.story_id for item in slots)
        record_about(person=person, type=Event.Type.ITEMS_GIVEN, by=by, now=now, subject=form, note=note)
    Enrollment.objects.filter(pk__in=[person.pk for person in given]).update(given_items=True)
    return len(given)


@transaction.atomic
def take_items_back(*, enrollment: Enrollment, by: User | None, now: datetime) -> int:
    """Free what was given to a person by name and is not on their screen. Return the number of stories.

    The one on their screen stays given.
    """
    person = lock_person(enrollment.pk)
    given = person.assignments.filter(given=True, state__in=HELD)
    list(given.select_for_update(no_key=True))  # if a sweep makes the one on their screen reserved just now
    freed = free_held(given.filter(state=Assignment.State.RESERVED), given=True)
    if freed:
        type, note = Event.Type.ITEMS_TAKEN_BACK, ", ".join(one.story.story_id for one in freed)
        record_about(person=person, type=type, by=by, now=now, subject=f"stories: {len(freed)}", note=note)
    return len(freed)


def _problem(
    row: GivenRow,
    person: Enrollment | None,
    story: int | None,
    free: int | None,
    last: int,
    had: Collection[tuple[int, int]],
    kept_out: Collection[int],
    newer: str,
) -> str:
    """Return why the row's story cannot be given to its person, or "". It would be their ``last`` story."""
    if newer:
        said = _("“%(story_id)s” was revised. Give “%(newer)s”.")
    elif story is None:
        said = _("The study has no story “%(story_id)s” to annotate. Correct the id.")
    elif not row.person:
        said = _("It names no participant. Write the participant behind a comma, or above for all lines.")
    elif person is None:
        said = _("“%(person)s” is no pseudonym of this study and no confirmed address. Invite them first.")
    elif person.state not in ("invited", "consented", "qualified"):
        said = _("“%(person)s” can’t get stories: %(state)s. Leave the line out.")
    elif person.pk in kept_out:
        said = _("“%(person)s” may not join this study. Leave the line out.")
    elif (person.pk, story) in had:
        said = _("“%(person)s” has or had “%(story_id)s” already. Leave the line out.")
    elif free is None:
        said = _("“%(story_id)s” has no free slot: all its votes are given or reserved. Leave the line out.")
    elif last > person.study.story_cap:
        said = _("“%(person)s” would get more stories than the limit, with hidden checks. Raise the limit.")
    else:
        return ""
    return said % (row._asdict() | {"newer": newer, "state": person.get_state_display() if person else ""})


def _reservations(person: Enrollment, slots: Slots, before: int, *, now: datetime) -> list[Assignment]:
    """Return reservations of these stories after ``before`` others, in a seeded order of the person's own."""
    study = person.study
    served = design.in_order(list(slots), seed=study.serving_seed, person=person.pseudonym)
    return [
        Assignment(
            story_id=item.pk,
            enrollment=person,
            state=Assignment.State.RESERVED,
            slot=slots[item],
            slots=study.votes_per_story,
            given=True,
            order_position=before + number,
            option_seed=person.option_seed,
            served_at=now,
            lease_expires_at=NEVER,
        )
        for number, item in enumerate(served, start=1)
    ]
