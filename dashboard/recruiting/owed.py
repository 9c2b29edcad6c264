"""Who is owed what for work that no platform pays through us: a table to pay by, without names.

A platform lists who handed in which completion code; this lists what each code is owed. So nobody's id on
a platform has to leave the one table that holds them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db.models import CharField, Exists, OuterRef, Q, QuerySet, Subquery, TextChoices
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import PlatformIdentity
from annotation.models import Enrollment, Study
from annotation.queries import paces_of
from annotation.rules import Pace, estimated_pay, pseudonym
from qualification.models import Attempt
from qualification.pay import Earnings, TimeAtTest, times_at_tests
from recruitment.codes import Outcome, completion_code, outcome_of
from recruitment.joining import person_of, source_of
from recruitment.models import JoinLink, Visit
from recruitment.queries import paid_outside

NOTHING = Decimal("0.00")
_WORK = (
    "completion_code",
    "every_code",
    "annotator",
    "came_by",
    "source",
    "outcome",
    "test",
    "test_seconds",
    "stories",
    "median_seconds",
    "stories_cut",
)
_PAY = ("owed_for_stories", "owed_for_test", "owed", "paid_so_far", "still_owed", "currency", "as_of", "paid")


class CameBy(TextChoices):
    """How somebody came who came by no campaign."""

    JOIN_LINK = "join_link", _("who came by a join link")
    PERSONAL_LINK = "personal_link", _("who came by a personal link or mail")


def columns_of(study: Study) -> tuple[str, ...]:
    """The columns of the table; in a study without pay, none about money."""
    return _WORK if study.pay_rate is None else _WORK + _PAY


def owed_rows(study: Study, way: CameBy | None = None) -> Iterator[dict[str, Any]]:
    """Everybody who has worked and came by no campaign, or those who came one way, with what it comes to.

    Who has worked has answered a story, or handed a test in. The sums are those that they read on their own
    pages: stories times their pace, and the time of the test, passed or not, both at the hourly rate. Of a
    story no more counts than ``annotation.rules.paid_seconds``; ``stories_cut`` of those that make the pace
    were open for longer.
    """
    table = _Table.of(study)
    for person in who_worked(study, way):
        yield table.row(person)


def owed_to(study: Study, participants: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The same of these participants of a platform, in their order, each once, named in ``participant``.

    So that who pays by a platform's ids can, and no id leaves us that we were not given. One that has
    not worked here, or is not known, has the outcome ``no work`` and nothing else.
    """
    link = JoinLink.objects.filter(study=study).first()
    asked = {person_of(link.source, one): one for one in participants} if link else {}
    table = _Table.of(study)
    found = {person.identity: table.row(person) for person in who_worked(study, CameBy.JOIN_LINK, asked)}
    nothing = dict.fromkeys(columns_of(study), "") | {"outcome": "no work"}
    for identity, participant in asked.items():
        yield {"participant": participant} | found.get(identity, nothing)


@dataclass(frozen=True, slots=True)
class _Table:
    """What is known of everybody, by their enrollments, as of one moment."""

    study: Study
    paces: dict[int, Pace | None]
    tests: dict[int, TimeAtTest]
    paid: dict[int, Decimal]
    as_of: str

    @classmethod
    def of(cls, study: Study) -> _Table:
        as_of = timezone.now().isoformat(timespec="seconds")
        return cls(study, paces_of(study), times_at_tests(study), paid_outside(study), as_of)

    def row(self, person: Any) -> dict[str, Any]:
        paid = self.paid.get(person.pk, NOTHING)
        found = _row(self.study, person, self.paces.get(person.pk), self.tests.get(person.pk))
        money = {"paid_so_far": str(paid), "still_owed": str(Decimal(found["owed"]) - paid)}
        return found | money | {"as_of": self.as_of, "paid": ""}


def _row(study: Study, person: Any, pace: Pace | None, test: TimeAtTest | None) -> dict[str, Any]:
    outcome = outcome_of(person.stories_submitted)
    # Who has answered stories can have handed in the code of who had not yet.
    shown = [outcome] if outcome == Outcome.SCREENED_OUT else [outcome, Outcome.SCREENED_OUT]
    owed = Earnings(
        estimated_pay(person.stories_submitted, pace.seconds if pace else None, study.pay_rate) or NOTHING,
        test.pay if test and test.pay else NOTHING,
    )
    return {
        "completion_code": completion_code(study.pseudonym_key, person.pk, outcome),
        "every_code": " ".join(completion_code(study.pseudonym_key, person.pk, one) for one in shown),
        "annotator": pseudonym(study.pseudonym_key, person.annotator_id),
        "came_by": (CameBy.JOIN_LINK if person.identity else CameBy.PERSONAL_LINK).value,
        "source": source_of(person.identity or ""),
        "outcome": outcome.value,
        "test": "" if test is None else "passed" if test.passed else "failed",
        "test_seconds": "" if test is None else round(test.seconds, 1),
        "stories": person.stories_submitted,
        "median_seconds": "" if pace is None else round(pace.seconds, 1),
        "stories_cut": "" if pace is None else pace.cut,
        "owed_for_stories": str(owed.stories),
        "owed_for_test": str(owed.test),
        "owed": str(owed.total),
        "currency": study.currency,
    }


def who_worked(
    study: Study, way: CameBy | None = None, only: Collection[str] | None = None
) -> QuerySet[Enrollment, Any]:
    """The people of the table, with the platform's ``identity`` by which a join link knows them, if any.

    ``only``: those with one of these identities.
    """
    link = JoinLink.objects.filter(study=study).first()
    identities = PlatformIdentity.objects.filter(
        annotator=OuterRef("annotator"),
        environment=OuterRef("environment"),
        platform=PlatformIdentity.Platform.LINK,
        person__startswith=person_of(link.source, "") if link else "",
    ).order_by("pk")
    tested = Attempt.objects.to_be_paid().filter(enrollment=OuterRef("pk"))
    by_campaign = Visit.objects.filter(enrollment=OuterRef("pk"), campaign__isnull=False)
    people = (
        Enrollment.objects.filter(~Exists(by_campaign), study=study, environment=study.environment)
        .filter(Q(stories_submitted__gt=0) | Exists(tested))
        .annotate(identity=Subquery(identities.values("person")[:1], output_field=CharField(null=True)))
        .order_by("pk")
    )
    if only is not None:
        people = people.filter(identity__in=only)
    return people if way is None else people.filter(identity__isnull=way is CameBy.PERSONAL_LINK)
