"""Computation of a study's figures in a worker: one stream over its stories and their counted votes."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Count, Q, QuerySet

from annotation.actions import note_flags
from annotation.models import Assignment, CheckResult, Story, Study, SurplusReason, Vote
from annotation.strata import usable_checks
from dashboard.figures import flags, forecast, store
from dashboard.figures.people import SHOWN, PeopleTally
from dashboard.figures.store import Figures
from dashboard.overview.queries import noticed, votes_in_the_last_hour
from dashboard.recruitment.queries import earned_by_everybody
from publishing.errors import TooManyVotes
from publishing.files.rows import CACHE_SIZE, Against, Answers, CountedVote, JudgedStory
from publishing.filter_comparison import FilterComparison
from publishing.filters import FILTERS, Outcome, StoryFilter, Verdict, objections_in
from publishing.queries import asked_questions, snapshot
from publishing.statistics.tally import StatisticsTally
from publishing.story_stream import judged_stories
from publishing.study_filters import filters_of

MOST_MINUTES = 3 * 24 * 60
"""Votes over a longer time are counted by the hour alone."""


def make(study_id: int, *, now: datetime) -> Figures:
    """Compute the figures of a study and store them.

    Must not run inside a transaction: the votes are streamed from one snapshot.
    """
    study = Study.objects.get(pk=study_id)
    begun = time.monotonic()
    people: list[dict[str, Any]] = []
    document, failure = None, ""
    try:
        with snapshot(), closing(judged_stories(study)) as stories:
            document, people = figures(study, stories, now=now)
            _add_checks(study, people)
            _add_signs(study, people)
            document["lint"] = _lint(study)
            document["votes"] |= _not_counted(study)
            document["last_hour"] = votes_in_the_last_hour(study, now=now)
            given = Vote.objects.filter(assignment__story__study=study, assignment__story__role="check")
            answered = given.filter(revision=1).count()  # a changed answer counts once
            document["checks"] = {"answered": answered, "usable": usable_checks(study)}
    except TooManyVotes as error:
        failure = str(error)
    if document is not None:
        document["noticed"] = noticed(study, people)
        document["paid"] = _add_pay(study, people)
        flagged = {person["pseudonym"]: person["flags"] for person in people if person["flags"]}
        note_flags(study=study, flags=flagged, now=now)
    made = Figures(now, timedelta(seconds=time.monotonic() - begun), document, failure)
    store.keep(study, made, people)
    return made


def figures(
    study: Study, stories: Iterable[JudgedStory], *, now: datetime
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the figures of a study and of its participants as plain values. Reads every story once.

    ``verdicts``: ``stories``, ``kept``, ``dropped``, ``incomplete`` and ``dropped_by_question`` under the
    default filter. ``statistics``: as in a release's ``statistics.json``. ``filters``: as
    :meth:`publishing.filter_comparison.FilterComparison.document`. ``everybody``: of
    :meth:`dashboard.figures.people.PeopleTally.document`. ``votes``: ``counted``, ``wanted`` (an old version
    wants none beside those it has). ``finish``, ``seconds_per_vote``: of :mod:`dashboard.figures.forecast`.
    ``hourly``: votes by :func:`~dashboard.figures.forecast.hour_of`; ``minutes``: by minute, if a few days
    have them all.
    ``by_severity``: ``name``, ``generated``, ``complete`` and ``kept`` of the stories of each severity, in
    its order; empty if stories have no severity. ``started``: stories with some but not all of their votes.

    Raise :class:`~publishing.errors.TooManyVotes`.
    """
    filters = filters_of(study, FILTERS)
    comparison = FilterComparison(study.votes_per_story, filters)
    people = PeopleTally(first=study.votes_per_story if study.most_votes else None)
    rule = next(iter(filters.values()))
    statistics = StatisticsTally(
        asked_questions(study), study.protocol_name, study.votes_per_story, study.most_votes
    )
    by_minute: Counter[str] = Counter()
    severities: defaultdict[int, Counter[Outcome]] = defaultdict(Counter)
    read = lru_cache(maxsize=CACHE_SIZE)(_reading(study, rule))
    started, wanted, written = 0, 0, study.protocol.written
    for judged in stories:
        story, votes = judged.story, judged.votes
        verdict, objections = read(tuple([vote.answers for vote in votes]), judged.against, judged.verdict)
        verdict = verdict.for_version(is_old=story.is_old_version)
        complete = verdict.is_complete
        asked = rule.votes_wanted(objections, study.votes_per_story)
        wanted += len(votes) if story.is_old_version else asked
        statistics.add(story, votes, verdict, judged.decisions)
        people.see(story.story_id, _without(written, votes), judged.against, complete=complete)
        if complete and not story.is_old_version:
            comparison.add(
                [(vote.annotator, questions) for vote, questions in zip(votes, objections, strict=True)],
                judged.verdict,
            )
        started += len(votes) > 0 and verdict.outcome is Outcome.INCOMPLETE
        by_minute.update([vote.submitted_at[:16] for vote in votes])
        if story.severity_original is not None and not story.is_old_version:
            severities[story.severity_original][verdict.outcome] += 1
    minutes = Counter(
        {int(datetime.fromisoformat(f"{at}Z").timestamp()) // 60: votes for at, votes in by_minute.items()}
    )
    document, persons = _document(statistics, comparison, people, minutes, wanted, now=now)
    return document | {"by_severity": _by_severity(severities), "started": started}, persons


def _without(written: Collection[str], votes: Sequence[CountedVote]) -> Sequence[CountedVote]:
    """Return the votes without answers in words, which are seldom the same."""
    if not written:
        return votes
    return [
        vote._replace(answers=tuple(one for one in vote.answers if one.question not in written))
        for vote in votes
    ]


def _document(
    statistics: StatisticsTally,
    comparison: FilterComparison,
    people: PeopleTally,
    minutes: Counter[int],
    wanted: int,
    *,
    now: datetime,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    agreement, filters, persons = statistics.document(), comparison.document(), people.document()
    fared = agreement["stories"]
    by_default = filters["filters"][0]
    hourly: Counter[int] = Counter()
    for minute, votes in minutes.items():
        hourly[minute // 60] += votes
    counted = hourly.total()
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
        "minutes": dict(minutes) if minutes and max(minutes) - min(minutes) < MOST_MINUTES else {},
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


def _reading(
    study: Study, rule: StoryFilter
) -> Callable[[Answers, Against, str], tuple[Verdict, list[frozenset[str]]]]:
    """Return a story's verdict under the default filter, and for each vote the questions it objects to."""

    def read(votes: Answers, against: Against, decision: str) -> tuple[Verdict, list[frozenset[str]]]:
        objections = objections_in(votes, against)
        return rule.decide(objections, votes_per_story=study.votes_per_story, decision=decision), objections

    return read


def _lint(study: Study) -> dict[str, int]:
    """Count the main stories with each kind of lint warning."""
    found = (
        Story.objects.filter(study=study, lint_findings__isnull=False)
        .main()
        .values("lint_findings__code")
        .annotate(stories=Count("pk", distinct=True))
        .order_by("-stories", "lint_findings__code")
    )
    return {row["lint_findings__code"]: row["stories"] for row in found}


def _not_counted(study: Study) -> dict[str, int]:
    """Count the votes on main stories that do not count; a changed vote is one vote.

    ``surplus``: votes without a slot, which never count. ``excluded``: votes that a researcher excluded and
    can readmit.
    """
    excluded = Q(assignment__state=Assignment.State.EXCLUDED)
    displaced = Q(assignment__state=Assignment.State.DISPLACED)
    surplus = ~excluded & (displaced | ~Q(surplus_reason=SurplusReason.NONE))
    votes = Vote.objects.of_study(study).uncounted()
    return votes.aggregate(surplus=Count("pk", filter=surplus), excluded=Count("pk", filter=excluded))


def _add_pay(study: Study, people: list[dict[str, Any]]) -> dict[str, int]:
    """Add ``paid_per_hour`` to each participant's figures: None if no platform paid them.

    Return how many ``people`` were paid, and how many of them ``below`` the study's rate.
    """
    earned = earned_by_everybody(study)
    for person in people:
        found = earned.get(person["pseudonym"])
        person["paid_per_hour"] = found.per_hour if found else None
    paid = [person["paid_per_hour"] for person in people if person["paid_per_hour"] is not None]
    return {"people": len(paid), "below": sum(rate < (study.pay_rate or 0) for rate in paid)}


def _add_checks(study: Study, people: list[dict[str, Any]]) -> None:
    """Add ``checks`` to people's figures: the newest answers to checks in use, and the failed ones."""
    given = CheckResult.objects.current().filter(key__story__study=study)
    failed = _part(given, "vote__assignment", "pk", Q(passed=False), "key__story__story_id")
    _add_part(people, "checks", ("answered", "failed"), failed, flags.FAILS_CHECKS, flags.fails_checks)


def _add_signs(study: Study, people: list[dict[str, Any]]) -> None:
    """Add ``signs``: how many counted votes have reported input, and how many of these none by a person."""
    given = Vote.objects.of_study(study).counted()
    without = _part(given, "assignment", "trusted_events", Q(trusted_events=0), "assignment__story__story_id")
    _add_part(people, "signs", ("known", "without"), without, flags.UNTRUSTED, flags.is_untrusted)


def _part(
    rows: QuerySet[Any], assignment: str, counted: str, condition: Q, story: str
) -> dict[str, tuple[int, int, list[str]]]:
    """Return, by pseudonym, how many rows there are, how many meet the condition, and the ids of these."""
    stories = ArrayAgg(story, filter=condition, order_by=story, default=[])
    by_person = rows.order_by().values_list(f"{assignment}__enrollment__pseudonym")
    found = by_person.annotate(whole=Count(counted), part=Count("pk", filter=condition), stories=stories)
    return {pseudonym: (whole, part, ids) for pseudonym, whole, part, ids in found}


def _add_part(
    people: list[dict[str, Any]],
    name: str,
    keys: tuple[str, str],
    found: Mapping[str, tuple[int, int, list[str]]],
    flag: str,
    is_raised: Callable[[Mapping[str, Any]], bool],
) -> None:
    """Add to each participant's figures a whole, a part and its ``share``, and the flag if it is raised."""
    for person in people:
        whole, part, stories = found.get(person["pseudonym"], (0, 0, []))
        person[name] = {keys[0]: whole, keys[1]: part, "share": part / whole if whole else None}
        if is_raised(person):
            person["flags"].append(flag)
            person["evidence"][flag] = stories[:SHOWN]
