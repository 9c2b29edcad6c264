"""The figures on a study's page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from annotation import rules
from annotation.models import Enrollment, Story, Study, SurplusReason, Vote
from publishing.queries import VerdictCounts
from qualification.queries import Funnel


@dataclass(frozen=True, slots=True)
class Share:
    """A row of a table with a bar: a label, a count, and the count's share in 0..1."""

    label: str
    value: int
    share: float


def votes_of(study: Study, *, now: datetime) -> dict[str, int]:
    """Votes on the study's main stories: counted, surplus, and how many came in the last hour.

    A vote that was changed is one vote, and came when it was first given.
    """
    votes = Vote.objects.of_study(study)
    given = votes.filter(revision=1)
    return {
        "counted": votes.counted().count(),
        "surplus": given.exclude(surplus_reason=SurplusReason.NONE).count(),
        "per_hour": given.filter(submitted_at__gt=now - timedelta(hours=1)).count(),
    }


def people_of(study: Study, funnel: Funnel) -> list[Share]:
    """From invitation to the first vote: how many people came how far."""
    enrollments = Enrollment.objects.filter(study=study, environment=study.environment)
    invited = enrollments.count()
    steps = [
        (_("Invited"), invited),
        (_("Came by their link"), enrollments.filter(visits__isnull=False).distinct().count()),
        (_("Agreed to take part"), enrollments.filter(consented_at__isnull=False).count()),
        (_("Began the test"), funnel.started),
        (_("Handed the test in"), funnel.submitted),
        (_("Passed the test"), funnel.passed),
        (_("Answered a story"), enrollments.filter(stories_submitted__gt=0).count()),
    ]
    return [Share(label, value, value / invited if invited else 0.0) for label, value in steps]


def failures_of(study: Study, funnel: Funnel) -> list[Share]:
    """Per test story and question: how many handed-in tests were failed on it."""
    protocol = study.protocol
    return [
        Share(
            f"{failure.story_id}: {protocol.question(failure.question).title}",
            failure.not_accepted,
            failure.share,
        )
        for failure in funnel.failures
    ]


def droppers_of(study: Study, verdicts: VerdictCounts) -> list[Share]:
    """Per question of the protocol: how many of the complete stories have an answer against them."""
    complete = verdicts.kept + verdicts.dropped
    rows = []
    for question in study.protocol.questions:
        count = verdicts.dropped_by_question.get(question.key, 0)
        rows.append(Share(str(question.title), count, count / complete if complete else 0.0))
    return rows


def lint_of(study: Study) -> list[Share]:
    """Per kind of lint warning: how many main stories it was raised for."""
    stories = Story.objects.filter(study=study).main()
    total = stories.count()
    labels = study.protocol.finding_labels
    found = (
        stories.filter(lint_findings__isnull=False)
        .values("lint_findings__code")
        .annotate(stories=Count("pk", distinct=True))
        .order_by("-stories", "lint_findings__code")
    )
    return [
        Share(str(labels.get(code, code.replace("_", " "))), row["stories"], row["stories"] / total)
        for row in found
        for code in [row["lint_findings__code"]]
    ]


def enrollment_called(study: Study, pseudonym: str) -> Enrollment | None:
    """Who has this pseudonym in the study; None when nobody has.

    A pseudonym cannot be turned back, so those of all people of the study are made and compared: about
    2 milliseconds per thousand people.
    """
    people = Enrollment.objects.filter(study=study).values_list("pk", "annotator")
    found = (pk for pk, annotator in people if rules.pseudonym(study.pseudonym_key, annotator) == pseudonym)
    number = next(found, None)
    return Enrollment.objects.select_related("study").get(pk=number) if number is not None else None


def studies(found: QuerySet[Study]) -> QuerySet[Study]:
    """Studies with their numbers of stories and people (``story_count``, ``people_count``)."""
    stories = (
        Story.objects.main().filter(study=OuterRef("pk")).order_by().values("study").annotate(n=Count("pk"))
    )
    people = (
        Enrollment.objects.filter(study=OuterRef("pk")).order_by().values("study").annotate(n=Count("pk"))
    )
    return found.annotate(
        story_count=Coalesce(Subquery(stories.values("n")), 0),
        people_count=Coalesce(Subquery(people.values("n")), 0),
    )
