"""What the researchers' pages about stories read: a page of the list, and everything about one story.

With a million stories no page may look at all of them. The list goes by the stories' ids, from the last
one of the page before. A filter looks at so many stories from there and says so when that is all it did.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from django.db import models
from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy

from annotation.models import (
    Adjudication,
    Answer,
    LintFinding,
    Story,
    Study,
    Vote,
)
from annotation.protocols.base import Choice
from publishing.filters import DEFAULT_FILTER, FILTERS, Outcome, StoryFilter, Verdict

PAGE = 50
"""Stories on one page of the list."""
LONGEST_PAGE = 500
"""The most that a program may ask for."""
LOOKED_AT = 20_000
"""Stories that one page, or one step of a queue, looks through for a scenario, a lint finding or answers
against a story."""
JUDGED = 300
"""Stories that one page judges by their votes, of those that fit in every other way."""
COUNTED = 2_000
"""Stories of which one page counts the votes when it looks for those that lack some."""
ANY = "any"
SPLIT = "split"
"""Looked for like a verdict: complete stories over which people are split by one vote."""


class Expert(models.TextChoices):
    """Stories by what an expert has decided about them; the newest decision stands."""

    VALID = "valid", gettext_lazy("valid")
    INVALID = "invalid", gettext_lazy("not valid")
    AGAINST = "against", gettext_lazy("against the filter")
    NOBODY = "nobody", gettext_lazy("not decided")


Ballots = dict[int, dict[int, list[tuple[Choice, bool]]]]
"""Per story and counted vote: its choices, and whether each counts against the story."""


@dataclass(frozen=True, slots=True)
class Search:
    """What is looked for. ``start``: the first id that may be shown; ``after``: the last one shown before."""

    start: str = ""
    after: str = ""
    scenario: str = ""
    model: str = ""
    """The one that generated them."""
    lint: str = ""
    """A code, or ``any``."""
    verdict: str = ""
    """An outcome (``publishing.filters.Outcome``) under the all-agree rule so far; or ``split``."""
    dropped_by: str = ""
    """A question that drops them under the all-agree rule."""
    expert: str = ""
    """One of :class:`Expert`."""

    @property
    def filters(self) -> bool:
        """Whether stories are passed over."""
        return bool(
            self.scenario or self.model or self.lint or self.verdict or self.dropped_by or self.expert
        )

    @property
    def is_judged(self) -> bool:
        """Whether stories fit by their votes, which are looked at one story after the other."""
        by_votes = self.verdict in (Outcome.KEPT, Outcome.DROPPED, SPLIT) or self.dropped_by
        return bool(by_votes) or self.expert == Expert.AGAINST


OVERRULED = ((Outcome.KEPT, Adjudication.Verdict.INVALID), (Outcome.DROPPED, Adjudication.Verdict.VALID))
"""Verdicts and decisions that say the opposite of each other."""


@dataclass(frozen=True, slots=True)
class ListedStory:
    """A line of the list."""

    story: Story
    votes: int
    verdict: Verdict
    codes: tuple[str, ...]
    """Of its lint findings, each as often as it was found."""
    is_split: bool = False
    expert: str = ""
    """What the newest decision of an expert says; empty when there is none."""

    def get_expert_display(self) -> str:
        """That in words."""
        return str(Adjudication.Verdict(self.expert).label) if self.expert else ""

    @property
    def findings(self) -> int:
        """How many lint findings it has."""
        return len(self.codes)

    @property
    def is_overruled(self) -> bool:
        """Whether an expert has decided against the filter."""
        return (self.verdict.outcome, self.expert) in OVERRULED

    def fits(self, search: Search) -> bool:
        """Whether its votes are such as are looked for."""
        if search.expert == Expert.AGAINST and not self.is_overruled:
            return False
        if search.dropped_by and search.dropped_by not in dropped_by(self.verdict):
            return False
        if search.verdict == SPLIT:
            return self.is_split
        return not search.verdict or self.verdict.outcome == search.verdict


def dropped_by(verdict: Verdict) -> list[str]:
    """The questions that dropped a story; none for one that is not dropped."""
    return verdict.reason.split(",") if verdict.outcome is Outcome.DROPPED else []


def reason_in_words(study: Study, verdict: Verdict) -> str:
    """Why a story is not kept, with the questions by their titles."""
    titles = {question.key: str(question.title) for question in study.protocol.questions}
    return " · ".join(titles.get(key, key) for key in dropped_by(verdict)) or verdict.reason


@dataclass(frozen=True, slots=True)
class StoryPage:
    """A page of the list. ``next`` is the id after which the next page begins; empty at the end.

    ``looked_through`` says how many stories were looked at when that is why the page ends.
    """

    rows: list[ListedStory]
    next: str
    looked_through: int = 0


def story_page(study: Study, search: Search, *, size: int = PAGE) -> StoryPage:
    """The main stories of the study that fit, by id, ``size`` at most; a constant number of queries."""
    stories: QuerySet[Story] = Story.objects.filter(study=study).main().order_by("story_id")
    stories = stories.filter(story_id__gt=search.after) if search.after else stories
    stories = stories.filter(story_id__gte=search.start) if search.start else stories
    stories = stories.defer("harmfulness_predicted", "unethicality_predicted", "content")
    stories = _decided(study, stories, search.expert)
    looked = _window(search)
    end = _end_of(stories, looked) if looked else ""
    fitting = _fitting(study, stories.filter(story_id__lte=end) if end else stories, search)
    found = list(fitting[: (JUDGED if search.is_judged else size) + 1])
    if search.is_judged and len(found) > JUDGED:
        found = found[:JUDGED]
        end = found[-1].story_id
        looked = stories.filter(story_id__lte=end).count()
    rows = listed(study, found)
    if search.is_judged:
        rows = [row for row in rows if row.fits(search)]
    if len(rows) > size:
        return StoryPage(rows[:size], rows[size - 1].story.story_id)
    return StoryPage(rows, end, looked if end else 0)


def every_story(study: Study, search: Search) -> Iterator[ListedStory]:
    """All that fit, page after page; memory is bounded by a page."""
    while True:
        page = story_page(study, search, size=LONGEST_PAGE)
        yield from page.rows
        if not page.next:
            return
        search = replace(search, after=page.next)


def _window(search: Search) -> int:
    """How many stories a page looks through; 0: none is passed over."""
    if search.verdict == Outcome.INCOMPLETE:
        return COUNTED
    return LOOKED_AT if search.filters else 0


def _decided(study: Study, stories: QuerySet[Story], expert: str) -> QuerySet[Story]:
    """Those about which an expert has decided so: few, so they are looked up before any window is laid."""
    if expert == Expert.NOBODY:
        return stories.filter(~Exists(Adjudication.objects.filter(story=OuterRef("pk"))))
    if not expert:
        return stories
    standing = standing_decisions(study)
    standing = standing if expert == Expert.AGAINST else standing.filter(verdict=expert)
    return stories.filter(pk__in=standing.values("story"))


def standing_decisions(study: Study) -> QuerySet[Adjudication]:
    """The newest decision about each story of the study about which an expert has decided."""
    newer = Adjudication.objects.filter(story=OuterRef("story"), pk__gt=OuterRef("pk"))
    return Adjudication.objects.filter(~Exists(newer), story__study=study)


def _end_of(stories: QuerySet[Story], window: int) -> str:
    """The id at which a window over the stories ends; empty when there are no more than that."""
    ids = stories.values_list("story_id", flat=True)
    found = list(ids[window - 1 : window + 1])
    return found[0] if len(found) > 1 else ""


def _fitting(study: Study, stories: QuerySet[Story], search: Search) -> QuerySet[Story]:
    """Those that are looked for; whether a complete story is kept or dropped is for whoever judges it."""
    if search.verdict == Outcome.INCOMPLETE:
        votes = Vote.objects.counted().filter(assignment__story=OuterRef("pk")).order_by()
        counted = votes.values("assignment__story").annotate(number=Count("pk")).values("number")
        stories = stories.alias(votes=Coalesce(Subquery(counted), 0)).filter(votes__lt=study.votes_per_story)
    if search.verdict in (Outcome.DROPPED, SPLIT) or search.dropped_by:
        stories = objected_to(stories, search.dropped_by)
    if search.scenario:
        stories = stories.filter(scenario_name=search.scenario)
    if search.model:
        stories = stories.filter(story_generator_model=search.model)
    if search.lint:
        findings = LintFinding.objects.filter(story=OuterRef("pk"))
        stories = stories.filter(
            Exists(findings if search.lint == ANY else findings.filter(code=search.lint))
        )
    return stories


def objected_to(stories: QuerySet[Story], question: str = "") -> QuerySet[Story]:
    """Those with all their votes of which one has an answer against the story, to this ``question`` if one is
    named: no other is dropped or split.
    """
    votes = Vote.objects.counted().filter(assignment__story=OuterRef("pk"))
    against = Answer.objects.filter(vote=OuterRef("pk"), counts_against=True)
    against = against.filter(question=question) if question else against
    return stories.filter(Exists(votes.filter(Exists(against))), has_free_slot=False)


def listed(study: Study, stories: Sequence[Story]) -> list[ListedStory]:
    """The stories with what the list says of each; a constant number of queries."""
    numbers = [story.pk for story in stories]
    cast = ballots(numbers)
    codes: dict[int, list[str]] = defaultdict(list)
    for story, code in LintFinding.objects.filter(story__in=numbers).values_list("story_id", "code"):
        codes[story].append(code)
    standing = standing_decisions(study).filter(story__in=numbers)
    expert = {decision.story_id: decision.verdict for decision in standing}
    rule = FILTERS[DEFAULT_FILTER]
    return [
        ListedStory(
            story,
            len(cast[story.pk]),
            judge(study, rule, cast[story.pk]),
            tuple(sorted(codes[story.pk])),
            is_split(cast[story.pk], study.votes_per_story),
            expert.get(story.pk, ""),
        )
        for story in stories
    ]


def ballots(stories: Iterable[int]) -> Ballots:
    """The counted votes on these stories, in one query."""
    cast: Ballots = defaultdict(dict)
    rows = (
        Vote.objects.counted()
        .filter(assignment__story__in=list(stories))
        .order_by("pk", "answers__question", "answers__row")
        .values_list(
            "assignment__story_id",
            "pk",
            "answers__question",
            "answers__row",
            "answers__option",
            "answers__counts_against",
        )
    )
    for story, vote, question, row, option, against in rows:
        cast[story].setdefault(vote, []).append((Choice(question, row, option), against))
    return cast


def judge(study: Study, rule: StoryFilter, votes: dict[int, list[tuple[Choice, bool]]]) -> Verdict:
    """What a filter says of a story's counted votes. Raises ``TooManyVotes`` like the filter."""
    against = {choice for given in votes.values() for choice, counts in given if counts}
    return rule(
        [[choice for choice, _ in given] for given in votes.values()],
        votes_per_story=study.votes_per_story,
        counts_against=against.__contains__,
    )


def is_split(votes: dict[int, list[tuple[Choice, bool]]], votes_per_story: int) -> bool:
    """Whether a story has all its votes and, on some question, one vote decided which side has more.

    With three votes: two against one; with four: two against two. One vote is split over nothing.
    """
    if len(votes) < max(votes_per_story, 2):
        return False
    objecting = Counter(
        question
        for given in votes.values()
        for question in {choice.question for choice, counts in given if counts}
    )
    return any(abs(2 * against - len(votes)) <= 1 for against in objecting.values())
