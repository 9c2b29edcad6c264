"""Search in the list of participants, by step, by flag and by pseudonym.

The list is ordered by invitation, the newest first. A page starts after the last participant of the page
before.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import Case, Count, Exists, Max, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Greatest
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from annotation.models import HELD, UNANSWERED, Assignment, Enrollment, Story, Study, VoteExclusion
from annotation.rules import PSEUDONYM_PREFIX
from dashboard.figures import store
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
"""The steps that the overview counts too (``dashboard.overview.queries.people_counts``)."""


@dataclass(frozen=True, slots=True)
class Search:
    """Filters of the list. ``before``: only enrollments with a smaller id."""

    state: str = ""
    step: str = ""
    flag: str = ""
    """The name of one (``dashboard.figures.flags``), or ``any``."""
    name: str = ""
    """A part of the pseudonym."""
    before: int = 0


@dataclass(frozen=True, slots=True)
class PeoplePage:
    """A page of the list. ``next``: the id of its last line, 0 at the end; ``found``: all matches.

    ``rows`` are enrollments with ``is_excluded``, ``test`` (``passed``, ``failed``, ``begun``, or None),
    ``seen_at`` and ``flags``.
    """

    rows: list[Any]
    next: int
    found: int


def people_address(study: Study, **search: str) -> str:
    """Return the address of the list with these filters of :class:`Search`, or of the whole list."""
    asked = f"?{urlencode(search)}" if search else ""
    return reverse("dashboard:people", args=[study.slug]) + asked


def people_page(study: Study, search: Search, *, size: int = PAGE) -> PeoplePage:
    """Return the participants who match, ``size`` at most; a constant number of queries."""
    flagged = store.flagged(study)
    fitting = _fitting(study, search, flagged)
    found = fitting.count()
    fitting = fitting.filter(pk__lt=search.before) if search.before else fitting
    listed = list(_described(fitting).order_by("-pk")[: size + 1])
    people = listed[:size]
    for person in people:
        person.flags = flagged.get(person.pseudonym, [])
    return PeoplePage(people, people[-1].pk if len(listed) > size else 0, found)


def progress_of(people: QuerySet[Enrollment]) -> QuerySet[Any]:
    """Count, for those who were given stories by name, these, the ``answered`` and the ones ``left``."""
    given = Q(assignments__given=True)
    done, left = ~Q(assignments__state__in=UNANSWERED), Q(assignments__state__in=HELD)
    found = people.filter(given_items=True).order_by("-pk")
    return found.annotate(
        given=Count("assignments", filter=given),
        answered=Count("assignments", filter=given & done),
        left=Count("assignments", filter=given & left),
    )


def given_to_nobody(study: Study) -> int:
    """Count the stories that nobody is given or has answered, if the study serves only given ones."""
    taken = Exists(Assignment.objects.living().filter(story=OuterRef("pk")))
    return Story.objects.wanted().filter(~taken, study=study).count() if study.only_given else 0


def undecided_people(study: Study) -> QuerySet[Enrollment]:
    """Return suspended participants whose votes still count, in the study's environment."""
    suspended = Enrollment.objects.filter(study=study, state=Enrollment.State.SUSPENDED)
    return suspended.filter(~_is_excluded(), environment=study.environment)


def _is_excluded() -> Exists:
    return Exists(VoteExclusion.objects.in_force().of_people().filter(enrollment=OuterRef("pk")))


def _fitting(study: Study, search: Search, flagged: Mapping[str, list[str]]) -> QuerySet[Enrollment]:
    people = Enrollment.objects.filter(study=study)
    if search.name.startswith(PSEUDONYM_PREFIX):
        people = people.filter(pseudonym__startswith=search.name)  # a range of the index
    elif search.name:
        people = people.filter(pseudonym__contains=search.name)
    if search.flag:
        names = [name for name, flags in flagged.items() if search.flag in (ANY, *flags)]
        people = people.filter(pseudonym__in=names)
    if search.state == EXCLUDED:
        people = people.filter(_is_excluded())
    elif search.state == UNDECIDED:
        people = undecided_people(study)
    elif search.state:
        people = people.filter(state=search.state)
    if search.step:
        people = people.filter(steps_of(study)[search.step], environment=study.environment)
    return people


def steps_of(study: Study) -> dict[str, Q | Exists]:
    """Return the condition of each step in :data:`STEPS`, from the invitation to the first vote."""
    attempts = Attempt.objects.standing().filter(round__study=study, enrollment=OuterRef("pk"))
    handed_in = attempts.filter(state=Attempt.State.SUBMITTED)
    return {
        "came": Exists(Visit.objects.filter(enrollment=OuterRef("pk"))),
        "agreed": Q(consented_at__isnull=False),
        "began_test": Exists(attempts),
        "handed_in_test": Exists(handed_in),
        "passed_test": Exists(handed_in.filter(passed=True)),
        "active": Q(stories_submitted__gt=0),
    }


def _described(people: QuerySet[Enrollment]) -> QuerySet[Enrollment, Any]:
    """Annotate the columns of the list: the newest test, the last visit, answer or consent."""
    words = Case(
        When(passed=True, then=Value("passed")),
        When(passed=False, then=Value("failed")),
        default=Value("begun"),
    )
    attempts = Attempt.objects.standing().filter(enrollment=OuterRef("pk")).order_by("-pk")
    visits = Visit.objects.filter(enrollment=OuterRef("pk")).order_by().values("enrollment")
    arrived = Subquery(visits.annotate(at=Max("arrived_at")).values("at"))
    return people.annotate(
        is_excluded=_is_excluded(),
        test=Subquery(attempts.annotate(word=words).values("word")[:1]),
        seen_at=Greatest(arrived, "last_submitted_at", "consented_at"),
    )
