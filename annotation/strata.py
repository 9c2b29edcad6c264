"""Queries about a study's design: its strata, what fills them, and the hidden checks among their items."""

from collections import Counter
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import Count, F, Max, Q, QuerySet, Sum, TextField, Value
from django.db.models.functions import Cast, Coalesce
from django.utils.translation import gettext as _

from annotation.hidden_checks import most_checks_among
from annotation.models import HELD, LIVING, CheckKey, Enrollment, Story, Stratum, Study
from annotation.opening import cap_problem


def lacking_of(enrollment: Enrollment) -> dict[Stratum, int]:
    """Return the strata in which the annotator has less than their load, and how many items they lack."""
    there = Counter(enrollment.assignments.living().values_list("stratum", flat=True))
    strata = enrollment.study.strata.all()
    return {each: each.load - there[each.pk] for each in strata if there[each.pk] < each.load}


def with_strata(study: Study, stories: QuerySet[Story]) -> QuerySet[Any]:
    """Annotate stories with their ``stratum`` in the study's design; a missing value is ""."""
    name = Coalesce(Cast(study.stratum_field, TextField()), Value(""), output_field=TextField())
    return stories.annotate(stratum=name)


_STRATA = """
    SELECT coalesce(g.name, found.stratum), coalesce(g.load, 0), coalesce(items, 0), coalesce(wanted, 0),
           coalesce(answers, 0), coalesce(short, 0), coalesce(free, 0), coalesce(most, 0),
           coalesce(wanted, 0)::numeric / load
    FROM (SELECT name, load FROM annotation_stratum WHERE study_id = %(study)s) AS g FULL JOIN (
        SELECT stratum, count(*) AS items, count(*) * %(votes)s AS wanted, sum(answers)::int AS answers,
               count(*) FILTER (WHERE answers < %(votes)s) AS short, sum(free)::int AS free, max(free) AS most
        FROM (
            SELECT coalesce(s.{field}::text, '') AS stratum,
                   count(a.id) FILTER (WHERE a.state = 'submitted') AS answers,
                   greatest(0, %(votes)s - count(a.id) FILTER (WHERE a.state = ANY(%(living)s))) AS free
            FROM annotation_story s LEFT JOIN annotation_assignment a ON a.story_id = s.id
            WHERE s.study_id = %(study)s AND s.role = 'main' AND NOT s.is_old_version GROUP BY s.id
        ) AS each GROUP BY stratum
    ) AS found ON found.stratum = g.name ORDER BY 1
"""


class Fill(NamedTuple):
    """A stratum: items, answers wanted and given, items short of them, free slots of all and most of one.

    ``participants`` (a ``Decimal``) with this load give every item its answers; None without a load.
    """

    name: str
    load: int
    items: int
    wanted: int
    answers: int
    short: int
    free: int
    most: int
    participants: Any


def fill_of_strata(study: Study) -> list[Fill]:
    """Return the strata of the study's design and of its items: items without a value have the name ""."""
    if not study.stratum_field:
        return []
    values: dict[str, Any] = {"votes": study.votes_per_story, "living": list(LIVING), "study": study.pk}
    with connection.cursor() as cursor:
        cursor.execute(_STRATA.format(field=study.stratum_field), values)
        return [Fill(*row) for row in cursor.fetchall()]


def stories_of_design(study: Study, *, at_most: bool = False) -> int:
    """Return the stories of a whole set, with its hidden checks; 0 without a design.

    ``at_most``: with as many checks as can come, however many are in use now.
    """
    load = study.strata.aggregate(load=Sum("load"))["load"] or 0
    blocks = most_checks_among(load, every=study.check_every)
    return load + (blocks if at_most else min(blocks, usable_checks(study)))


def limit_problem(study: Study, story_cap: int) -> str:
    """Return what is wrong with a limit below a whole set, or below the stories given to somebody, or ""."""
    if story_cap < (needed := stories_of_design(study, at_most=True)):
        return cap_problem(story_cap, needed)
    waiting = Count("assignments", filter=Q(assignments__given=True, assignments__state__in=HELD))
    people = study.enrollments.filter(given_items=True).annotate(left=waiting).filter(left__gt=0)
    most = people.aggregate(most=Max(F("stories_submitted") + F("left"), default=0))["most"]
    needed = most + most_checks_among(most, every=study.check_every)
    text = _("Somebody was given stories by name and needs a limit of %(needed)s, with hidden checks.")
    return text % {"needed": needed} if story_cap < needed else ""


def unserved_strata(study: Study) -> list[tuple[str, int, int, str]]:
    """Return the strata that the design cannot serve: name, items, load (0: none) and some items.

    Items without a value are of the stratum "", and only these are named.
    """
    found = [fill for fill in fill_of_strata(study) if not fill.load or fill.items < fill.load]
    if not found:
        return []
    lost = with_strata(study, Story.objects.wanted().filter(study=study)).filter(stratum="").order_by("pk")
    some = ", ".join(lost.values_list("story_id", flat=True)[:5])
    return [(fill.name, fill.items, fill.load, "" if fill.name else some) for fill in found]


def usable_checks(study: Study) -> int:
    """Return the number of hidden checks in use."""
    return CheckKey.objects.filter(story__study=study, state=CheckKey.State.IN_USE).count()
