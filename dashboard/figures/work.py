"""Working the figures of a study out: one stream over its stories with their counted votes, in a worker."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.db.models import Count, Q

from annotation.models import Assignment, Story, Study, SurplusReason, Vote
from annotation.queries import usable_checks
from dashboard.attention import noticed
from dashboard.figures import forecast, kept
from dashboard.figures.checks import add_checks
from dashboard.figures.kept import Figures
from dashboard.figures.people import PeopleTally
from dashboard.recruiting.earned import earned_by_everybody
from publishing.comparing import Comparison
from publishing.errors import TooManyVotes
from publishing.filters import DEFAULT_FILTER, Outcome, Verdict, get_filter
from publishing.passes import Against, Answers, JudgedStory
from publishing.queries import asked_questions, snapshot
from publishing.statistics.tally import StatisticsTally
from publishing.streaming import judged_stories

_REMEMBERED = 4096
"""Combinations of answers whose reading is at hand; most stories repeat one of few."""


def make(study_id: int, *, now: datetime) -> Figures:
    """Work out the figures of a study and keep them.

    Must not run inside a transaction: the votes are streamed from one snapshot.
    """
    study = Study.objects.get(pk=study_id)
    begun = time.monotonic()
    people: list[dict[str, Any]] = []
    document, failure = None, ""
    try:
        with snapshot(), closing(judged_stories(study)) as stories:
            document, people = figures(study, stories, now=now)
            add_checks(study, people)
            document["lint"] = _lint(study)
            document["votes"] |= _not_counted(study)
            document["checks"] = {"answered": _answered_checks(study), "usable": usable_checks(study)}
    except TooManyVotes as error:
        failure = str(error)
    if document is not None:
        document["noticed"] = noticed(study, people)
        document["paid"] = _add_pay(study, people)
    made = Figures(now, timedelta(seconds=time.monotonic() - begun), document, failure)
    kept.keep(study, made, people)
    return made


def figures(
    study: Study, stories: Iterable[JudgedStory], *, now: datetime
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The figures of a study, and those per person, as plain values; takes every story once.

    ``verdicts``: ``stories``, ``kept``, ``dropped``, ``incomplete`` and ``dropped_by_question`` under the
    default filter. ``statistics``: as in a release's ``statistics.json``. ``filters``: as
    :meth:`publishing.comparing.Comparison.document`. ``everybody``: of
    :meth:`dashboard.figures.people.PeopleTally.document`. ``votes``: ``counted``, ``wanted``.
    ``finish``, ``seconds_per_vote``: of :mod:`dashboard.figures.forecast`. ``hourly``: votes by
    :func:`~dashboard.figures.forecast.hour_of`. ``by_severity``: ``name``, ``generated``, ``complete`` and
    ``kept`` of the stories of each severity, in its order; empty where stories have none.

    Raises :class:`~publishing.errors.TooManyVotes`.
    """
    comparison, people = Comparison(study.votes_per_story), PeopleTally()
    statistics = StatisticsTally(asked_questions(study))
    hourly: Counter[int] = Counter()
    severities: defaultdict[int, Counter[Outcome]] = defaultdict(Counter)
    read = lru_cache(maxsize=_REMEMBERED)(_reading(study))
    for judged in stories:
        story, votes = judged.story, judged.votes
        verdict, objections = read(tuple([vote.answers for vote in votes]), judged.against)
        complete = verdict.outcome is not Outcome.INCOMPLETE
        statistics.see(story, votes, verdict)
        people.see(story.story_id, votes, judged.against, complete=complete)
        if complete:
            comparison.see(
                [(vote.annotator, questions) for vote, questions in zip(votes, objections, strict=True)]
            )
        hourly.update([forecast.hour_of(vote.submitted_at) for vote in votes])
        if story.severity_original is not None:
            severities[story.severity_original][verdict.outcome] += 1
    document, persons = _document(study, statistics, comparison, people, hourly, now=now)
    return document | {"by_severity": _by_severity(severities)}, persons


def _document(
    study: Study,
    statistics: StatisticsTally,
    comparison: Comparison,
    people: PeopleTally,
    hourly: Counter[int],
    *,
    now: datetime,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    agreement, filters, persons = statistics.document(), comparison.document(), people.document()
    fared = agreement["stories"]
    by_default = next(row for row in filters["filters"] if row["name"] == DEFAULT_FILTER)
    counted, wanted = hourly.total(), fared["generated"] * study.votes_per_story
    document = {
        "verdicts": {
            "stories": fared["generated"],
            "kept": fared["kept"],
            "dropped": fared["dropped"],
            "incomplete": fared["incomplete"],
            "dropped_by_question": by_default["dropped_by_question"],
        },
        "statistics": agreement,
        "filters": filters,
        "everybody": persons["everybody"],
        "votes": {"counted": counted, "wanted": wanted},
        "hourly": dict(hourly),
        "finish": forecast.finish(hourly, remaining=wanted - counted, now=now),
        "seconds_per_vote": forecast.seconds_per_vote(people.paces()),
    }
    return document, persons["people"]


def _by_severity(severities: Mapping[int, Counter[Outcome]]) -> list[dict[str, Any]]:
    return [
        {
            "name": str(severity),
            "generated": outcomes.total(),
            "complete": outcomes.total() - outcomes[Outcome.INCOMPLETE],
            "kept": outcomes[Outcome.KEPT],
        }
        for severity, outcomes in sorted(severities.items())
    ]


def _reading(study: Study) -> Callable[[Answers, Against], tuple[Verdict, list[frozenset[str]]]]:
    """What becomes of a story under the default filter, and per vote the questions it objects to."""
    verdict_of = get_filter(DEFAULT_FILTER)

    def read(votes: Answers, against: Against) -> tuple[Verdict, list[frozenset[str]]]:
        verdict = verdict_of(
            votes, votes_per_story=study.votes_per_story, counts_against=against.__contains__
        )
        return verdict, [frozenset(choice.question for choice in vote if choice in against) for vote in votes]

    return read


def _lint(study: Study) -> dict[str, int]:
    """Per kind of lint warning: how many main stories it was raised for."""
    found = (
        Story.objects.filter(study=study, lint_findings__isnull=False)
        .main()
        .values("lint_findings__code")
        .annotate(stories=Count("pk", distinct=True))
        .order_by("-stories", "lint_findings__code")
    )
    return {row["lint_findings__code"]: row["stories"] for row in found}


def _not_counted(study: Study) -> dict[str, int]:
    """Votes on main stories that do not count; one that was changed is one.

    ``surplus``: they never will, for their slot is somebody else's. ``excluded``: a colleague took them out,
    and may let them count again.
    """
    excluded = Q(assignment__state=Assignment.State.EXCLUDED)
    displaced = Q(assignment__state=Assignment.State.DISPLACED)
    surplus = ~excluded & (displaced | ~Q(surplus_reason=SurplusReason.NONE))
    return (
        Vote.objects.of_study(study)
        .filter(excluded | surplus, revision=1)
        .aggregate(surplus=Count("pk", filter=surplus), excluded=Count("pk", filter=excluded))
    )


def _add_pay(study: Study, people: list[dict[str, Any]]) -> dict[str, int]:
    """Put ``paid_per_hour`` into the figures of each person, None of who was not paid by a platform.

    Returns how many ``people`` were paid, and how many of them ``below`` the study's rate.
    """
    earned = earned_by_everybody(study)
    for person in people:
        found = earned.get(person["pseudonym"])
        person["paid_per_hour"] = found.per_hour if found else None
    paid = [person["paid_per_hour"] for person in people if person["paid_per_hour"] is not None]
    return {"people": len(paid), "below": sum(rate < (study.pay_rate or 0) for rate in paid)}


def _answered_checks(study: Study) -> int:
    """How many answers to hidden checks people have given; one that was changed is one."""
    given = Vote.objects.filter(assignment__story__study=study, assignment__story__role=Story.Role.CHECK)
    return given.filter(revision=1).count()
