"""Give stories to people by name, and take back what they have not answered. See docs/adr/0048."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import PlatformIdentity, User, locked
from annotation import design, queries, rules
from annotation.actions.designs import reserve
from annotation.actions.events import record_about
from annotation.actions.slots import NEVER, lock_and_free, lock_in_order, slots_taken
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
    lists = _GivenStories(study, rows)
    refused = [(row.line, problem) for row in rows if (problem := lists.add(row))]
    problems = [_("Line %(line)s: %(problem)s") % {"line": line, "problem": one} for line, one in refused]
    if not rows:
        raise InvalidInput(_("Name at least one story."))
    if problems:
        more = [_("More wrong lines: %(more)s.") % {"more": len(problems) - MOST_PROBLEMS}]
        raise InvalidInput("\n".join(problems[:MOST_PROBLEMS] + more * (len(problems) > MOST_PROBLEMS)))
    for person, slots in lists.given.items():
        reserve(
            person=person,
            chosen={item: {"slot": slot, "given": True} for item, slot in slots.items()},
            taken=lists.taken,
            before=person.stories_submitted + lists.held[person.pk],
            now=now,
            until=NEVER,
        )
        note = ", ".join(item.story_id for item in slots)
        record_about(person=person, type=Event.Type.ITEMS_GIVEN, by=by, now=now, subject=form, note=note)
    Enrollment.objects.filter(pk__in=[person.pk for person in lists.given]).update(given_items=True)
    return len(lists.given)


@transaction.atomic
def take_items_back(*, enrollment: Enrollment, by: User | None, now: datetime) -> int:
    """Free what was given to a person by name and is not on their screen. Return the number of stories.

    The one on their screen stays given.
    """
    person = lock_person(enrollment.pk)
    given = person.assignments.filter(given=True, state__in=HELD)
    list(given.select_for_update(no_key=True))  # if a sweep makes the one on their screen reserved just now
    freed = lock_and_free(given.filter(state=Assignment.State.RESERVED), given=True)
    if freed:
        type, note = Event.Type.ITEMS_TAKEN_BACK, ", ".join(one.story.story_id for one in freed)
        record_about(person=person, type=type, by=by, now=now, subject=f"stories: {len(freed)}", note=note)
    return len(freed)


class _GivenStories:
    """Rows of given stories, checked against people and stories, which are locked."""

    def __init__(self, study: Study, rows: Sequence[GivenRow]) -> None:
        named = Enrollment.objects.filter(study=study, pseudonym__in={row.person for row in rows})
        people = list(
            named.order_by("pk").select_related("study").select_for_update(of=("self",), no_key=True)
        )
        found = Story.objects.wanted().filter(study=study, story_id__in={row.story_id for row in rows})
        lock_in_order(found)
        revised = StoryRevision.objects.filter(before__study=study)
        theirs = Assignment.objects.filter(enrollment__in=people)
        had = theirs.exclude(state=Assignment.State.EXPIRED)
        held = theirs.filter(state__in=HELD).values_list("enrollment_id", flat=True)
        self.study, self._people = study, {person.pseudonym: person for person in people}
        self.refused = {person.pk for person in people if queries.joining_refusal(person)}
        self._stories = dict(found.values_list("story_id", "pk"))
        self.newer = dict(revised.values_list("before__story_id", "after__story_id"))
        self.had = set(had.values_list("enrollment_id", "story_id"))
        self.held, self.taken = Counter(held), slots_taken(self._stories.values())
        self.given: defaultdict[Enrollment, Slots] = defaultdict(dict)

    def add(self, row: GivenRow) -> str:
        """Give the row's story to its person. Return why that cannot be done, or ""."""
        person, story = self._people.get(row.person), self._stories.get(row.story_id)
        slot = rules.lowest_free_slot(self.taken[story], self.study.votes_per_story) if story else None
        problem = _problem(self, row, person, story, slot)
        if person and story and not problem:
            self.taken[story].add(slot)
            self.had.add((person.pk, story))
            self.given[person][design.Candidate(story, row.story_id, 0)] = slot
        return problem

    def with_one_more(self, person: Enrollment) -> int:
        """Return the annotator's number of stories after one more, hidden checks included."""
        stories = person.stories_submitted + self.held[person.pk] + len(self.given[person]) + 1
        return stories + most_checks_among(stories, every=self.study.check_every)


def _problem(
    lists: _GivenStories, row: GivenRow, person: Enrollment | None, story: int | None, slot: int | None
) -> str:
    if row.story_id in lists.newer:
        text = _("“%(story_id)s” was revised. Give “%(newer)s”.")
    elif story is None:
        text = _("The study has no story “%(story_id)s” to annotate. Correct the id.")
    elif not row.person:
        text = _("This line names no participant. Add one after a comma, or enter one above for all lines.")
    elif person is None:
        text = _(
            "“%(person)s” is neither a pseudonym in this study nor a confirmed address. Invite them first."
        )
    elif person.state not in rules.CAN_BE_GIVEN_STORIES:
        text = _("“%(person)s” can’t get stories: %(state)s. Leave the line out.")
    elif person.pk in lists.refused:
        text = _("“%(person)s” may not join this study. Leave the line out.")
    elif (person.pk, story) in lists.had:
        text = _("“%(person)s” has or had “%(story_id)s” already. Leave the line out.")
    elif slot is None:
        text = _("“%(story_id)s” has no free slot: all its votes are given or reserved. Leave the line out.")
    elif lists.with_one_more(person) > lists.study.story_cap:
        text = _("“%(person)s” would get more stories than the limit, with hidden checks. Raise the limit.")
    else:
        return ""
    state = person.get_state_display() if person else ""
    return text % {**row._asdict(), "newer": lists.newer.get(row.story_id, ""), "state": state}
