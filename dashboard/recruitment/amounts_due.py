"""Amounts due to participants whom no platform pays through us.

The table lists what each completion code is owed. Researchers match it with the platform's list of codes, so
no platform id has to leave the one table that holds them.
"""

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db.models import CharField, Exists, OuterRef, Q, QuerySet, Subquery, TextChoices
from django.utils.text import capfirst
from django.utils.translation import gettext as _, gettext_lazy

from accounts.models import PlatformIdentity
from annotation.models import Enrollment, Story, Study
from annotation.queries import paces_of
from annotation.working_time import Pace, estimated_pay
from dashboard.recruitment.queries import NOTHING
from qualification.models import Attempt
from qualification.pay import Earnings, TimeAtTest, times_at_tests
from recruitment.codes import CompletionOutcome, completion_code, normal_form, outcome_of
from recruitment.errors import CannotPay
from recruitment.join_links import person_of, source_of
from recruitment.models import JoinLink, Visit
from recruitment.places import people_with_items
from recruitment.queries import is_past_test, paid_outside
from recruitment.visit_endings import why_ended
from tomannot import clock

LARGEST_TABLE = 4 * 1024 * 1024
"""Bytes of an uploaded table."""
MOST_PROBLEMS = 5
_AMOUNT = re.compile(r"-?[0-9]{1,6}([.,][0-9]{1,2})?")
_WORK = (
    "completion_code", "every_code", "annotator", "came_by", "source", "outcome", "why_ended", "test",
    "test_seconds", "stories", "median_seconds", "stories_cut",
)  # fmt: skip
_PAY = ("owed_for_stories", "owed_for_test", "owed", "paid_so_far", "still_owed", "currency", "as_of", "paid")


class CameBy(TextChoices):
    """The way in which a participant without a campaign arrived."""

    JOIN_LINK = "join_link", gettext_lazy("through the join link")
    PERSONAL_LINK = "personal_link", gettext_lazy("through a personal link or mail")


def columns_of(study: Study) -> tuple[str, ...]:
    """Return the table's columns; a study without pay has none about money."""
    return _WORK if study.pay_rate is None else _WORK + _PAY


def amounts_due(study: Study, way: CameBy | None = None) -> Iterator[dict[str, Any]]:
    """Yield a row for each participant without a campaign, optionally only for one way of arriving.

    Participants are listed once they have answered a story or handed in a test; in a study without work
    left, once they have agreed to take part. The sums equal those on their own pages: stories times their
    pace, plus the time of the test, passed or not, at the hourly rate.
    A story counts for at most ``annotation.working_time.paid_seconds``; ``stories_cut`` counts those cut to
    that.
    """
    for _identity, row in _rows(study, people_with_work(study, way)):
        yield row


def amounts_due_to(study: Study, participants: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of these platform ids, in their order, each once, with the id as ``participant``.

    Unknown ids and those without any work have the outcome ``no work`` and nothing else.
    """
    link = JoinLink.objects.filter(study=study).first()
    asked = {person_of(link.source, one): one for one in participants} if link else {}
    found = dict(_rows(study, people_with_work(study, CameBy.JOIN_LINK, asked)))
    nothing = dict.fromkeys(columns_of(study), "") | {"outcome": "no work"}
    for identity, participant in asked.items():
        yield {"participant": participant} | found.get(identity, nothing)


def _rows(study: Study, people: Iterable[Any]) -> Iterator[tuple[str | None, dict[str, Any]]]:
    """Yield each person's identity and row, with pace, test time and payments as of one moment."""
    as_of = clock.now().isoformat(timespec="seconds")
    link = JoinLink.objects.filter(study=study).first()
    least = link.least_stories if link else None
    paces, tests, paid = paces_of(study), times_at_tests(study), paid_outside(study)
    for person in people:
        found = _row(study, person, paces.get(person.pk), tests.get(person.pk), least)
        so_far = paid.get(person.pk, NOTHING)
        money = {"paid_so_far": str(so_far), "still_owed": str(Decimal(found["owed"]) - so_far)}
        yield person.identity, found | money | {"as_of": as_of, "paid": ""}


def _row(
    study: Study, person: Any, pace: Pace | None, test: TimeAtTest | None, least: int | None
) -> dict[str, Any]:
    tested = test is not None or is_past_test(person.state, study.gate)
    outcome = outcome_of(person.stories_submitted, least=least, tested=tested)
    # Somebody can still have handed in an earlier code.
    earlier = [CompletionOutcome.PARTIAL] if outcome == CompletionOutcome.COMPLETED and least else []
    shown = dict.fromkeys([outcome, *earlier, CompletionOutcome.SCREENED_OUT, CompletionOutcome.NO_WORK])
    owed = Earnings(
        estimated_pay(person.stories_submitted, pace.seconds if pace else None, study.pay_rate) or NOTHING,
        test.pay if test and test.pay else NOTHING,
    )
    return {
        "completion_code": completion_code(study.pseudonym_key, person.pk, outcome),
        "every_code": " ".join(completion_code(study.pseudonym_key, person.pk, one) for one in shown),
        "annotator": person.pseudonym,
        "came_by": (CameBy.JOIN_LINK if person.identity else CameBy.PERSONAL_LINK).value,
        "source": source_of(person.identity or ""),
        "outcome": outcome.value,
        "why_ended": why_ended(person).value if outcome == CompletionOutcome.PARTIAL else "",
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


def people_with_work(
    study: Study, way: CameBy | None = None, only: Collection[str] | None = None
) -> QuerySet[Enrollment, Any]:
    """Return the table's enrollments, each with the ``identity`` that the join link knows, if any.

    ``only`` restricts them to these identities.
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
        .filter(Q(stories_submitted__gt=0) | Exists(tested) | _found_no_work(study))
        .annotate(identity=Subquery(identities.values("person")[:1], output_field=CharField(null=True)))
        .select_related("study")
        .order_by("pk")
    )
    if only is not None:
        people = people.filter(identity__in=only)
    return people if way is None else people.filter(identity__isnull=way is CameBy.PERSONAL_LINK)


def _found_no_work(study: Study) -> Q:
    """Select people who agreed to take part and have no work, once the study has none (for them)."""
    agreed = Q(state__in=[Enrollment.State.CONSENTED, Enrollment.State.QUALIFIED], consent__isnull=False)
    if study.state == Study.State.CLOSED:
        return agreed
    free = Story.objects.filter(study=study, has_free_slot=True)
    if study.stratum_field or study.only_given or not free.exists():
        return agreed & ~Q(pk__in=people_with_items(study, free).values("pk"))
    return Q(pk__in=[])


AmountsPaid = tuple[dict[int, Decimal], dict[int, Decimal]]
"""Amounts paid now, and the table's earlier payments where it states them, by enrollment."""


def amount_paid_in_form(study: Study, who: str, paid: str) -> AmountsPaid:
    """Return one participant's amount, found by a code or the pseudonym. Raise :class:`CannotPay`."""
    return _read(study, [(1, {"completion_code": who, "annotator": who.strip(), "paid": paid})], lines=False)


def amounts_paid_in_table(study: Study, table: "UploadedFile[bytes]") -> AmountsPaid:
    """Return the rows of a CSV file in which ``paid`` is filled in.

    Raise :class:`CannotPay` with the first invalid lines; the caller then records nothing.
    """
    if (table.size or 0) > LARGEST_TABLE:
        raise CannotPay(_("This file is too large for a table of amounts due."))
    try:
        text = table.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CannotPay(_("This file is not UTF-8. Save the table as “CSV UTF-8”.")) from error
    separator = ";" if ";" in text.partition("\n")[0] else ","
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        rows, columns = [(reader.line_num, row) for row in reader], set(reader.fieldnames or ())
    except csv.Error as error:
        raise CannotPay(_("This file is too large for a table of amounts due.")) from error
    if "paid" not in columns or not columns & {"annotator", "completion_code"}:
        raise CannotPay(_("The table needs the column “paid” and “annotator” or “completion_code”."))
    return _read(study, rows)


def _read(
    study: Study, rows: Iterable[tuple[int, Mapping[str, str | None]]], *, lines: bool = True
) -> AmountsPaid:
    # The table's people by pseudonym and by every code that they may have been shown.
    listed = list(people_with_work(study).values_list("pk", "pseudonym"))
    people = {pseudonym: pk for pk, pseudonym in listed} | {
        completion_code(study.pseudonym_key, pk, outcome): pk
        for pk, _pseudonym in listed
        for outcome in CompletionOutcome
    }
    amounts: dict[int, Decimal] = {}
    seen: dict[int, Decimal] = {}
    problems: list[str] = []
    for line, row in rows:
        said = (row.get("paid") or "").strip()
        if not said:
            continue
        before = (row.get("paid_so_far") or "").strip()
        by_pseudonym = people.get((row.get("annotator") or "").strip())
        by_code = people.get(normal_form(row.get("completion_code") or ""))
        named = {person for person in (by_pseudonym, by_code) if person is not None}
        problem = _problem(named, said, before, amounts)
        if problem:
            at_line = _("Line %(line)s: %(problem)s.") % {"line": line, "problem": problem}
            problems.append(at_line if lines else f"{capfirst(problem)}.")
            continue
        (person,) = named
        amounts[person] = _amount(said)
        if before:
            seen[person] = _amount(before)
    if problems:
        end = [_("Nothing was recorded.")] if lines else []
        raise CannotPay(" ".join(problems[:MOST_PROBLEMS] + end))
    if not amounts:
        raise CannotPay(_("The column “paid” is empty. Nothing was recorded."))
    return amounts, seen


def _problem(named: set[int], said: str, before: str, amounts: Collection[int]) -> str:
    """Return what is wrong with a row that names these people; empty if nothing is."""
    if not named:
        return _("no participant has this code or pseudonym")
    if len(named) > 1:  # one column was sorted without the other
        return _("the code and the pseudonym belong to different participants")
    if not _AMOUNT.fullmatch(said):
        return _("“%(said)s” is not an amount") % {"said": said[:20]}
    if before and not _AMOUNT.fullmatch(before):
        return _("“%(said)s” under “paid_so_far” is not an amount") % {"said": before[:20]}
    return _("this participant appears twice") if named & set(amounts) else ""


def _amount(said: str) -> Decimal:
    return Decimal(said.replace(",", "."))
