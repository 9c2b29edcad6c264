"""Filters that decide which stories are released. Pure functions; the only definition of each rule.

A filter gets one story's counted votes (the choices of each), the number of votes the study asks for, and
which choices count against a story. It knows nothing of databases, people or time.
"""

import enum
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.utils import translation
from django.utils.translation import gettext_noop, ngettext

from annotation import deciding
from annotation.deciding import span
from annotation.protocols import stated_by
from annotation.protocols.questions import Choice
from publishing.errors import TooManyVotes, UnknownFilter

ONE_OF_EACH = "+one-of-each"
"""Ends the name of a filter that also drops duplicates."""
ONLY_FIRST = "of kept stories with the same text, only the first by id stays"
ADAPTIVE = gettext_noop(
    "every story gets {least} votes or more, one at a time and up to {most} in all, until no vote that could "
    "still come would change its outcome"
)
DUPLICATE = "duplicate"
"""The reason of a story that passed the filter but repeats the text of another one."""
REVISED = "revised"
"""The reason of an old version of a story, whatever its votes say."""
VALID = "valid"
"""An expert's decision for a story; any other one is against it."""


class Outcome(enum.StrEnum):
    """A story's outcome under a filter."""

    KEPT = "kept"
    DROPPED = "dropped"
    INCOMPLETE = "incomplete"

    __hash__ = str.__hash__  # that of an enum is a function in Python, and there are millions of stories


@dataclass(frozen=True, slots=True)
class Verdict:
    """A story's outcome with its reason.

    ``reason`` is empty for a kept story. For a dropped story it lists the questions that dropped it, sorted
    and joined by commas (``q2``, ``q1,q3``); for an incomplete one it counts the votes (``2 of 3 votes``).
    """

    outcome: Outcome
    reason: str = ""
    by_expert: bool = field(default=False, compare=False)
    """True if an expert decided, because the votes split."""
    lacks_votes: bool = field(default=False, compare=False)
    """True of an old version that was revised before it had all its votes."""

    @property
    def is_complete(self) -> bool:
        """True if the story has all its votes."""
        return self.outcome is not Outcome.INCOMPLETE and not self.lacks_votes

    def for_version(self, *, is_old: bool) -> "Verdict":
        """Return this verdict by the votes, or for an old version that it is dropped whatever they say."""
        lacks_votes = self.outcome is Outcome.INCOMPLETE
        return Verdict(Outcome.DROPPED, REVISED, lacks_votes=lacks_votes) if is_old else self


def objections_in(votes: Iterable[Iterable[Choice]], against: Container[Choice]) -> list[frozenset[str]]:
    """Return, for each vote, the questions with an answer that counts against the story."""
    return [frozenset(choice.question for choice in vote if choice in against) for vote in votes]


@dataclass(frozen=True, slots=True)
class StoryFilter:
    """A rule that keeps or drops stories, with its name and wording.

    ``judge`` gets a complete story as one set per vote: the questions whose answer counts against the story.
    It returns the questions that drop the story, or an empty set if the story is kept. A "no" is one such
    answer, and a vote is against the story if it has one "no" or more: rules may count either.
    """

    name: str
    title: str
    rule: str
    """The sentence in the dataset card; ``{votes}`` and ``{enough}`` are filled in."""
    adaptive_rule: str = field(kw_only=True, default="")
    """The sentence where the number of votes is adaptive; ``{votes}`` is their span."""
    judge: Callable[[Sequence[frozenset[str]]], frozenset[str]]
    votes_needed: Callable[[int], int]
    """Return how many of so many votes must support a story (or each of its questions)."""
    validates: bool = False
    """True if kept stories may be called validated, because no vote objects to them."""
    ties: str = ""
    """The outcome of a tie, if ties are possible."""
    one_of_each: bool = False
    """True if only the first of kept stories with the same text stays."""
    experts_decide: bool = False
    """True if an expert decides where some votes have an answer against the story and others none."""
    selects: bool = True
    """False if no story is dropped: each with all its votes is released."""
    most_votes: int | None = None
    """Where the number of votes is adaptive: the most that a story gets while its outcome is undecided."""

    def decide(self, objections: deciding.Objections, *, votes_per_story: int, decision: str = "") -> Verdict:
        """Return the verdict on one story, given the questions whose answer counts against it, by vote.

        ``decision`` is an expert's (``valid`` or ``invalid``), if there is one.

        A story that lacks votes is incomplete, whatever its answers so far. Raise
        :class:`~publishing.errors.TooManyVotes` if there are more votes than the study asks for.
        """
        votes, most = len(objections), self.most_votes or votes_per_story
        if votes > most:
            raise TooManyVotes(
                f"A story has {votes} counted votes where the study asks for {most}. "
                "Run manage.py check_integrity to see which."
            )
        if votes < self.votes_wanted(objections, votes_per_story):
            at_most = "at most " if self.most_votes else ""
            return Verdict(Outcome.INCOMPLETE, f"{votes} of {at_most}{most} votes")
        against = self.judge(objections)
        by_expert = bool(self.experts_decide and decision and deciding.are_split(objections))
        if not against or (by_expert and decision == VALID):
            return Verdict(Outcome.KEPT, by_expert=by_expert)
        return Verdict(Outcome.DROPPED, ",".join(sorted(against)), by_expert=by_expert)

    def votes_wanted(self, objections: deciding.Objections, votes_per_story: int) -> int:
        """Return how many votes a story needs, given what each of its votes objects to."""
        if not self.most_votes:
            return votes_per_story
        rule = self.name.removesuffix(ONE_OF_EACH)
        return deciding.votes_wanted(rule, objections, least=votes_per_story, most=self.most_votes)

    @property
    def not_validated(self) -> str:
        """The warning that accompanies every release made with a filter that does not validate."""
        return (
            f"The stories are not “validated”: the filter {self.name} keeps stories even if somebody "
            "judged them flawed."
        )

    def sentence(self, votes_per_story: int) -> str:
        """Return the rule as an English sentence for this number of votes per story."""
        votes = f"{votes_per_story} counted vote{'s' if votes_per_story > 1 else ''}"
        rule = self._worded(votes_per_story, votes, str)
        return f"{rule}; {ONLY_FIRST}" if self.one_of_each else rule

    @property
    def localized_title(self) -> str:
        """Return the title in the current language."""
        return translation.gettext(self.title)

    def localized_rule(self, votes_per_story: int) -> str:
        """Return the rule in the current language."""
        counted = ngettext("%(n)s counted vote", "%(n)s counted votes", votes_per_story)
        return self._worded(votes_per_story, counted % {"n": votes_per_story}, translation.gettext)

    def parameters(self, votes_per_story: int) -> dict[str, int | str]:
        """Return the parameters for ``release.json``: enough to apply the rule again."""
        needed = {"votes_per_story": votes_per_story, "votes_needed": self.votes_needed(votes_per_story)}
        if self.most_votes:
            needed = {"votes_per_story": votes_per_story, "most_votes": self.most_votes}
        return {**needed, "ties": self.ties} if self.ties else {**needed}

    def _worded(self, votes_per_story: int, votes: str, translated: Callable[[str], str]) -> str:
        if not self.most_votes:
            return translated(self.rule).format(votes=votes, enough=self.votes_needed(votes_per_story))
        rule = translated(self.adaptive_rule).format(votes=span(votes_per_story, self.most_votes))
        return f"{rule}; {translated(ADAPTIVE).format(least=votes_per_story, most=self.most_votes)}"


all_agree = StoryFilter(
    name="all-agree",
    title=gettext_noop("all agree"),
    rule=gettext_noop(
        "a story is kept if and only if it has exactly {votes} and none of their answers counts against it"
    ),
    adaptive_rule=gettext_noop(
        "a story is kept if and only if it has as many counted votes as it needed ({votes}) and none of "
        "their answers counts against it"
    ),
    judge=deciding.objected_to,
    votes_needed=int,
    validates=True,
)
"""The rule of SimpleToM (Gu et al., appendix G): one "no" to any question drops a story."""

two_of_three = StoryFilter(
    name="two-of-three",
    title=gettext_noop("two of three"),
    rule=gettext_noop(
        "a story is kept if and only if it has exactly {votes} and at least {enough} of them "
        "(two thirds) have no answer that counts against it"
    ),
    adaptive_rule=gettext_noop(
        "a story is kept if and only if it has as many counted votes as it needed ({votes}) and at least two "
        "thirds of them have no answer that counts against it"
    ),
    judge=deciding.lost_by_votes,
    votes_needed=deciding.two_thirds,
)
"""Counts votes: one with three noes weighs as much as one with a single "no"."""

majority = StoryFilter(
    name="majority",
    title=gettext_noop("majority on every question"),
    rule=gettext_noop(
        "a story is kept if and only if it has exactly {votes} and, for every question taken by itself, at "
        "least {enough} of them (more than half) have no answer that counts against it; a tie drops the story"
    ),
    adaptive_rule=gettext_noop(
        "a story is kept if and only if it has as many counted votes as it needed ({votes}) and, for every "
        "question taken by itself, more than half of them have no answer that counts against it; a tie drops "
        "the story"
    ),
    judge=deciding.lost_by_questions,
    votes_needed=deciding.more_than_half,
    ties="dropped",
)
"""Counts the noes to each question: three votes may each be against another question, and none prevails."""

experts_decide = StoryFilter(
    name="experts-decide-splits",
    title=gettext_noop("experts decide splits"),
    rule=gettext_noop(
        "a story is kept if and only if it has exactly {votes} and either none of their "
        "answers counts against it, or they split (some votes have such an answer, others none) and an "
        "expert decided that it is valid"
    ),
    adaptive_rule=gettext_noop(
        "a story is kept if and only if it has as many counted votes as it needed ({votes}) and either none "
        "of their answers counts against it, or they split (some votes have such an answer, others none) and "
        "an expert decided that it is valid"
    ),
    judge=deciding.objected_to,
    votes_needed=lambda votes: 1,
    experts_decide=True,
)
"""Like all-agree, but a split that an expert decided follows the expert. Undecided splits drop the story."""

every_item = StoryFilter(
    name="every-item",
    title=gettext_noop("every item"),
    rule=gettext_noop("every item that has exactly {votes} is released, whatever they say"),
    judge=lambda against: frozenset(),
    votes_needed=int,
    validates=True,
    selects=False,
)
"""For protocols whose answers are summed up and decide nothing, such as ratings."""

FILTERS: Mapping[str, StoryFilter] = {
    rule.name: rule for rule in (all_agree, two_of_three, majority, experts_decide)
}
"""The filters to choose from, by the name that a release records."""


FILTER_NAMES = sorted([*(name + option for name in FILTERS for option in ("", ONE_OF_EACH)), every_item.name])


def filters_for(protocol_name: str) -> Mapping[str, StoryFilter]:
    """Return the filters that a protocol's resolution offers, the default first."""
    return FILTERS if stated_by(protocol_name).resolution == "filter" else {every_item.name: every_item}


def get_filter(name: str, most_votes: int | None = None) -> StoryFilter:
    """Return the filter of this name, which may end in :data:`ONE_OF_EACH`.

    ``most_votes``: the most votes of a story, where their number is adaptive. Raise
    :class:`~publishing.errors.UnknownFilter` if there is none.
    """
    if name not in FILTER_NAMES:
        raise UnknownFilter(f"There is no filter “{name}”. There are: {', '.join(FILTER_NAMES)}.")
    if name == every_item.name:
        return every_item
    base = FILTERS[name.removesuffix(ONE_OF_EACH)]
    if name == base.name and not most_votes:
        return base
    return replace(base, name=name, one_of_each=name != base.name, most_votes=most_votes)
