"""Everybody in a study, as the list of people reads them: found by how far they came, by flag, by pseudonym.

The list goes by the order in which people were invited, the newest first, from the last one of the page
before. A pseudonym cannot be turned back; so a search for one makes those of all people who fit else and
compares them, about 2 milliseconds per thousand people (as ``dashboard.queries.enrollment_called`` does).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation import rules
from annotation.models import Enrollment, Study, VoteExclusion
from dashboard.figures import kept
from qualification.models import Attempt
from recruitment.models import Visit

PAGE = 50
"""People on one page."""
ANY = "any"
EXCLUDED = "excluded"
UNDECIDED = "undecided"

STATES: list[tuple[str, str | Promise]] = [
    *Enrollment.State.choices,
    (UNDECIDED, _("suspended, and their votes count")),
    (EXCLUDED, _("all their votes excluded")),
]
STEPS: dict[str, str | Promise] = {
    "came": _("came"),
    "agreed": _("agreed to take part"),
    "began_test": _("began the test"),
    "handed_in_test": _("handed the test in"),
    "passed_test": _("passed the test"),
    "active": _("answered a story"),
}
"""How far somebody came: the steps that the overview counts (``dashboard.overview.people_counts``)."""


@dataclass(frozen=True, slots=True)
class Search:
    """Who is looked for. ``before``: only who was invited earlier than this enrollment (its id)."""

    state: str = ""
    step: str = ""
    flag: str = ""
    """The name of one (``dashboard.figures.flags``), or ``any``."""
    name: str = ""
    """A part of the pseudonym."""
    before: int = 0


@dataclass(frozen=True, slots=True)
class Person:
    """A line of the list. ``test``: ``passed``, ``failed``, ``begun``, or empty."""

    enrollment: Enrollment
    pseudonym: str
    is_excluded: bool
    test: str
    seen_at: datetime | None
    flags: list[str]


@dataclass(frozen=True, slots=True)
class PeoplePage:
    """A page of the list. ``next``: the id of its last line, 0 at the end; ``found``: how many fit in all."""

    rows: list[Person]
    next: int
    found: int


def people_address(study: Study, **search: str) -> str:
    """The list of those who fit: ``state``, ``step``, ``flag`` of :class:`Search`; of all without any."""
    asked = f"?{urlencode(search)}" if search else ""
    return reverse("dashboard:people", args=[study.slug]) + asked


def people_page(study: Study, search: Search, *, size: int = PAGE) -> PeoplePage:
    """The people who fit, ``size`` at most; a constant number of queries."""
    fitting = _fitting(study, search)
    flagged = kept.flagged(study)
    if search.name or search.flag:
        numbers = _called(study, fitting, search, flagged)
        found = len(numbers)
        page = [number for number in numbers if not search.before or number < search.before][: size + 1]
        fitting = Enrollment.objects.filter(pk__in=page)
    else:
        found = fitting.count()
        fitting = fitting.filter(pk__lt=search.before) if search.before else fitting
    people = list(fitting.order_by("-pk")[: size + 1])
    more = len(people) > size
    people = people[:size]
    return PeoplePage(_listed(study, people, flagged), people[-1].pk if more else 0, found)


def undecided_people(study: Study) -> QuerySet[Enrollment]:
    """Who is suspended while nobody has decided what becomes of their votes. In the study's environment."""
    suspended = Enrollment.objects.filter(study=study, state=Enrollment.State.SUSPENDED)
    return suspended.filter(~_is_excluded(), environment=study.environment)


def _is_excluded() -> Exists:
    return Exists(VoteExclusion.objects.standing().of_people().filter(enrollment=OuterRef("pk")))


def _fitting(study: Study, search: Search) -> QuerySet[Enrollment]:
    people = Enrollment.objects.filter(study=study)
    if search.state == EXCLUDED:
        people = people.filter(_is_excluded())
    elif search.state == UNDECIDED:
        people = undecided_people(study)
    elif search.state:
        people = people.filter(state=search.state)
    if search.step:
        people = people.filter(_came_so_far(study, search.step), environment=study.environment)
    return people


def _came_so_far(study: Study, step: str) -> Q | Exists:
    attempts = Attempt.objects.standing().filter(round__study=study, enrollment=OuterRef("pk"))
    handed_in = attempts.filter(state=Attempt.State.SUBMITTED)
    steps: dict[str, Q | Exists] = {
        "came": Exists(Visit.objects.filter(enrollment=OuterRef("pk"))),
        "agreed": Q(consented_at__isnull=False),
        "began_test": Exists(attempts),
        "handed_in_test": Exists(handed_in),
        "passed_test": Exists(handed_in.filter(passed=True)),
        "active": Q(stories_submitted__gt=0),
    }
    return steps[step]


def _called(
    study: Study, people: QuerySet[Enrollment], search: Search, flagged: Mapping[str, list[str]]
) -> list[int]:
    """Those who have the name and the flag that are looked for, the newest first."""
    found = []
    for number, annotator in people.order_by("-pk").values_list("pk", "annotator"):
        pseudonym = rules.pseudonym(study.pseudonym_key, annotator)
        flags = flagged.get(pseudonym, [])
        has_flag = search.flag in flags or (search.flag == ANY and flags)
        if search.name in pseudonym and (has_flag or not search.flag):
            found.append(number)
    return found


def _listed(study: Study, people: list[Enrollment], flagged: Mapping[str, list[str]]) -> list[Person]:
    tests, seen = _tests(people), _seen(people)
    standing = VoteExclusion.objects.standing().of_people().filter(enrollment__in=people)
    excluded = set(standing.values_list("enrollment", flat=True))
    names = {person.pk: rules.pseudonym(study.pseudonym_key, person.annotator_id) for person in people}
    return [
        Person(
            enrollment=person,
            pseudonym=names[person.pk],
            is_excluded=person.pk in excluded,
            test=tests.get(person.pk, ""),
            seen_at=max(
                filter(None, [seen.get(person.pk), person.last_submitted_at, person.consented_at]),
                default=None,
            ),
            flags=flagged.get(names[person.pk], []),
        )
        for person in people
    ]


def _tests(people: Iterable[Enrollment]) -> dict[int, str]:
    """What became of each person's newest test."""
    attempts = Attempt.objects.standing().filter(enrollment__in=people).order_by("pk")
    words = {None: "begun", True: "passed", False: "failed"}
    return {person: words[passed] for person, passed in attempts.values_list("enrollment", "passed")}


def _seen(people: Iterable[Enrollment]) -> dict[int, Any]:
    """When each person arrived last."""
    visits = Visit.objects.filter(enrollment__in=people).order_by().values("enrollment")
    return dict(visits.annotate(at=Max("arrived_at")).values_list("enrollment", "at"))
