"""Queries of the story list.

With a million stories, no page may read all of them. The list is ordered by story id, and a page starts after
the last story of the page before. A filter looks through a limited number of stories from there, and the page
says when it stopped at that limit.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from django.db import models
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _, gettext_lazy

from annotation.models import Adjudication, Answer, LintFinding, Story, Study, Vote, given_in
from annotation.protocols.questions import Choice
from publishing.facts import NOT_STATED
from publishing.filters import FILTERS, REVISED, Outcome, StoryFilter, Verdict, objections_in
from publishing.study_filters import filters_of

OUTCOMES = {
    Outcome.KEPT: gettext_lazy("kept"),
    Outcome.DROPPED: gettext_lazy("dropped"),
    Outcome.INCOMPLETE: gettext_lazy("incomplete"),
}
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
"""Verdict to search for: complete stories decided by one vote."""
DISAGREE = "disagree"
"""Verdict to search for: stories whose duplicates (same text) have another verdict."""


class Expert(models.TextChoices):
    """Filters by experts' decisions; the newest decision about a story stands."""

    VALID = "valid", gettext_lazy("valid")
    INVALID = "invalid", gettext_lazy("not valid")
    AGAINST = "against", gettext_lazy("against the filter")
    NOBODY = "nobody", gettext_lazy("not decided")


Ballots = dict[int, dict[int, list[tuple[Choice, bool]]]]
"""Per story and counted vote: its choices, and whether each counts against the story."""


@dataclass(frozen=True, slots=True)
class Search:
    """Filters of the list. ``start``: the first id to show; ``after``: the last id of the page before."""

    start: str = ""
    after: str = ""
    text: str = ""
    """Words of the story, as for a search engine."""
    scenario: str = ""
    model: str = ""
    """The model that generated them."""
    lint: str = ""
    """A code, or ``any``."""
    verdict: str = ""
    """An outcome (``publishing.filters.Outcome``) under the all-agree rule so far; or ``split``."""
    dropped_by: str = ""
    """A question that drops them under the all-agree rule."""
    expert: str = ""
    """A value of :class:`Expert`."""

    @property
    def is_filtered(self) -> bool:
        """True if the page skips stories that no index finds."""
        return bool(
            self.scenario or self.model or self.lint or self.verdict or self.dropped_by or self.expert
        )

    @property
    def is_judged(self) -> bool:
        """True if stories match by their votes, which are read story by story."""
        by_votes = self.verdict in (Outcome.KEPT, Outcome.DROPPED, SPLIT, DISAGREE) or self.dropped_by
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
    """Codes of its lint warnings, with repeats."""
    is_split: bool = False
    decision: Adjudication | None = None
    """The newest by an expert."""

    @property
    def text(self) -> str:
        """Return the story as annotators recognise it."""
        protocol = self.story.study.protocol
        return " ".join(part.text for part in protocol.summary(self.story.item))

    @property
    def is_overruled(self) -> bool:
        """True if an expert decided against the filter."""
        return self.decision is not None and (self.verdict.outcome, self.decision.verdict) in OVERRULED

    def fits(self, search: Search) -> bool:
        """Return True if its votes match."""
        if search.expert == Expert.AGAINST and not self.is_overruled:
            return False
        if search.dropped_by and search.dropped_by not in dropped_by(self.verdict):
            return False
        if search.verdict == SPLIT:
            return self.is_split
        return search.verdict in ("", DISAGREE) or self.verdict.outcome == search.verdict


def dropped_by(verdict: Verdict) -> list[str]:
    """Return the questions that dropped the story; none unless it is dropped."""
    return verdict.reason.split(",") if verdict.outcome is Outcome.DROPPED else []


def reason_in_words(study: Study, verdict: Verdict) -> str:
    """Explain why the story is not kept, with the titles of the questions."""
    titles = {question.key: str(question.title) for question in study.protocol.questions}
    titles[REVISED] = _("revised (see its new version)")
    return " · ".join(titles.get(key, key) for key in dropped_by(verdict)) or verdict.reason


@dataclass(frozen=True, slots=True)
class StoryPage:
    """A page of the list. ``next`` is the id after which the next page begins; empty at the end.

    ``looked_through`` is the number of stories read, if that limit ended the page.
    """

    rows: list[ListedStory]
    next: str
    looked_through: int = 0


def story_page(study: Study, search: Search, *, size: int = PAGE, backwards: bool = False) -> StoryPage:
    """Return the matching main stories by id, ``size`` at most, in a constant number of queries.

    ``backwards``: those before ``search.after`` instead, the nearest first.
    """
    found, end, looked = _found(study, search, size, backwards)
    rows = listed(study, found)
    if search.is_judged:
        rows = [row for row in rows if row.fits(search)]
    if search.verdict == DISAGREE:
        rows = _disagreeing(study, rows)
    if len(rows) > size:
        return StoryPage(rows[:size], rows[size - 1].story.story_id)
    return StoryPage(rows, end, looked if end else 0)


def _disagreeing(study: Study, rows: Sequence[ListedStory]) -> list[ListedStory]:
    texts = {row.story.text_hash for row in rows}
    outcomes: dict[str, set[Outcome]] = defaultdict(set)
    for same in listed(study, [*Story.objects.filter(study=study, text_hash__in=texts).main()]):
        outcomes[same.story.text_hash].add(same.verdict.outcome)
    return [row for row in rows if {Outcome.KEPT, Outcome.DROPPED} <= outcomes[row.story.text_hash]]


def neighbour(study: Study, search: Search, story_id: str, *, backwards: bool) -> str:
    """Return the id of the matching story next to this one; empty if there is none within a page's reach."""
    near = replace(search, after=story_id, start="")
    if search.is_judged:
        found = [row.story for row in story_page(study, near, size=1, backwards=backwards).rows]
    else:
        found = _found(study, near, 1, backwards)[0]
    return found[0].story_id if found else ""


def _found(study: Study, search: Search, size: int, backwards: bool) -> tuple[list[Story], str, int]:
    """Return the stories that match except by verdict, where the search ended early, and after how many."""
    order = "-story_id" if backwards else "story_id"
    main = Story.objects.filter(study=study).main()
    stories: QuerySet[Story] = (main.with_words(search.text) if search.text else main).order_by(order)
    beyond, until = ("story_id__lt", "story_id__gte") if backwards else ("story_id__gt", "story_id__lte")
    stories = stories.filter(**{beyond: search.after}) if search.after else stories
    stories = stories.filter(story_id__gte=search.start) if search.start else stories
    stories = stories.defer("harmfulness_predicted", "unethicality_predicted")
    stories = _decided(study, stories, search.expert)
    looked = LOOKED_AT if search.is_filtered else 0
    looked = COUNTED if search.verdict == Outcome.INCOMPLETE else looked
    last = list(stories.values_list("story_id", flat=True)[looked - 1 : looked + 1]) if looked else []
    end = last[0] if len(last) > 1 else ""
    fitting = _fitting(study, stories.filter(**{until: end}) if end else stories, search)
    found = list(fitting[: (JUDGED if search.is_judged else size) + 1])
    if search.is_judged and len(found) > JUDGED:
        found = found[:JUDGED]
        end = found[-1].story_id
        looked = stories.filter(**{until: end}).count()
    return found, end, looked


def every_story(study: Study, search: Search) -> Iterator[ListedStory]:
    """Yield all matching stories, with one page in memory at a time."""
    while True:
        page = story_page(study, search, size=LONGEST_PAGE)
        yield from page.rows
        if not page.next:
            return
        search = replace(search, after=page.next)


def _decided(study: Study, stories: QuerySet[Story], expert: str) -> QuerySet[Story]:
    """Select the stories with this decision by an expert. They are few, so this comes before any window."""
    if expert == Expert.NOBODY:
        return stories.filter(~Exists(Adjudication.objects.filter(story=OuterRef("pk"))))
    if not expert:
        return stories
    standing = Adjudication.objects.filter(story__study=study).standing()
    standing = standing if expert == Expert.AGAINST else standing.filter(verdict=expert)
    return stories.filter(pk__in=standing.values("story"))


def _fitting(study: Study, stories: QuerySet[Story], search: Search) -> QuerySet[Story]:
    """Select the stories that match, except by verdict, which :func:`judge` finds story by story."""
    if search.verdict == Outcome.INCOMPLETE:
        votes = Vote.objects.counted().filter(assignment__story=OuterRef("pk")).order_by()
        counted = votes.values("assignment__story").annotate(number=Count("pk")).values("number")
        stories = stories.alias(votes=Coalesce(Subquery(counted), 0)).filter(is_old_version=False)
        stories = stories.filter(votes__lt=study.votes_per_story + F("extra_votes"))
    if search.verdict in (Outcome.DROPPED, SPLIT) or search.dropped_by:
        stories = objected_to(stories, search.dropped_by)
    if search.verdict == DISAGREE:
        same = Story.objects.filter(text_hash=OuterRef("text_hash"), study=study).main()
        stories = stories.filter(Exists(same.exclude(pk=OuterRef("pk"))))
    if search.scenario:
        stories = stories.filter(scenario_name__in=_named(search.scenario))
    if search.model:
        stories = stories.filter(story_generator_model__in=_named(search.model))
    if search.lint:
        findings = LintFinding.objects.filter(story=OuterRef("pk"))
        stories = stories.filter(
            Exists(findings if search.lint == ANY else findings.filter(code=search.lint))
        )
    return stories


def _named(name: str) -> tuple[str, ...]:
    """Return the stored values that figures show under this name."""
    return (name, "") if name == NOT_STATED else (name,)


def objected_to(stories: QuerySet[Story], question: str = "") -> QuerySet[Story]:
    """Select complete stories with an answer against them, to this ``question`` if given, and old versions.

    No other story can be dropped or split.
    """
    votes = Vote.objects.counted().filter(assignment__story=OuterRef("pk"))
    against = Answer.objects.filter(vote=OuterRef("pk"), counts_against=True)
    against = against.filter(question=question) if question else against
    objected = Exists(votes.filter(Exists(against)))
    return stories.filter(objected | Q(is_old_version=True), has_free_slot=False)


def listed(study: Study, stories: Sequence[Story]) -> list[ListedStory]:
    """Return the stories with their columns of the list, in a constant number of queries."""
    numbers = [story.pk for story in stories]
    cast = ballots(numbers)
    codes: dict[int, list[str]] = defaultdict(list)
    for number, code in LintFinding.objects.filter(story__in=numbers).values_list("story_id", "code"):
        codes[number].append(code)
    standing = Adjudication.objects.filter(story__in=numbers, question="").standing()
    decisions = {decision.story_id: decision for decision in standing}
    rule = next(iter(filters_of(study, FILTERS).values()))
    for each in stories:
        each.study = study
    return [
        ListedStory(
            story,
            len(cast[story.pk]),
            verdict,
            tuple(sorted(codes[story.pk])),
            verdict.outcome is not Outcome.INCOMPLETE and is_split(cast[story.pk], study.votes_per_story),
            decision,
        )
        for story in stories
        for decision in [decisions.get(story.pk)]
        for verdict in [judge(story, rule, cast[story.pk], decision.verdict if decision else "")]
    ]


def ballots(stories: Iterable[int]) -> Ballots:
    """Return the counted votes on these stories, in one query."""
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
            given_in("answers__"),
            "answers__counts_against",
        )
    )
    for story, vote, question, row, option, against in rows:
        cast[story].setdefault(vote, []).append((Choice(question, row, option), against))
    return cast


def judge(
    story: Story, rule: StoryFilter, votes: dict[int, list[tuple[Choice, bool]]], decision: str = ""
) -> Verdict:
    """Return a filter's verdict on a story's counted votes. Raise ``TooManyVotes`` like the filter."""
    against = {choice for given in votes.values() for choice, counts in given if counts}
    objections = objections_in(([choice for choice, _ in given] for given in votes.values()), against)
    verdict = rule.decide(objections, votes_per_story=story.study.votes_per_story, decision=decision)
    return verdict.for_version(is_old=story.is_old_version)


def is_split(votes: dict[int, list[tuple[Choice, bool]]], votes_per_story: int) -> bool:
    """Return True if a complete story was decided by one vote on some question.

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
