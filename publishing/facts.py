"""What a release says about itself, as plain values: the input of the card and of ``release.json``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from math import ceil
from typing import Any

from annotation.checks import CheckRules
from publishing.files.rows import CountedVote, ReleasedStory
from publishing.filters import Outcome, Verdict

MOST_SECONDS = 3600
"""Longer than anybody reads two sentences: what is above says nothing about the work."""


@dataclass(frozen=True, slots=True)
class People:
    """How many people came this far, up to the moment the release was asked for.

    ``attempted`` and ``passed`` are None when the study asks for no qualification; ``visited`` when
    arrivals were not recorded.
    """

    consented: int
    attempted: int | None
    passed: int | None
    visited: int | None = None


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One question of the form: the options offered to everybody, and those that count against a story.

    ``options`` is empty where the options depend on the item.
    """

    key: str
    title: str
    options: tuple[str, ...] = ()
    against: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """What only the researchers can say about their data; empty where they said nothing.

    The items are those that dataset cards and Croissant's RAI vocabulary ask for. ``creators`` are
    names of people, in the order in which they want to be cited.
    """

    creators: tuple[str, ...] = ()
    motivation: str = ""
    platform: str = ""
    demographics: str = ""
    sensitive_information: str = ""
    biases: str = ""
    limits: str = ""
    intended_use: str = ""
    url: str = ""
    doi: str = ""


@dataclass(frozen=True, slots=True)
class ImportedVotes:
    """Votes that were given in another study. ``source`` names its release, ``people`` counts who voted."""

    source: str
    people: int


@dataclass(frozen=True, slots=True)
class HiddenChecks:
    """Stories with known answers that people met among the others: how many, and how people fared.

    ``answers`` counts each person's first answer to each check, ``failed`` those that were not acceptable,
    ``warned`` the people who were warned. ``rules`` are those that were last in force.
    """

    checks: int
    answers: int
    failed: int
    warned: int
    rules: CheckRules


@dataclass(frozen=True, slots=True)
class SpotChecks:
    """Votes that researchers judged among those drawn at random, without seeing whose they were.

    ``uncounted``: accepted and not counted. ``people``: whose they are; ``most_of_one``: of each at most.
    """

    accepted: int
    uncounted: int
    rejected: int
    people: int
    most_of_one: int

    @property
    def judged(self) -> int:
        """All of them."""
        return self.accepted + self.uncounted + self.rejected


@dataclass(frozen=True, slots=True)
class PayBefore:
    """A pay rate per hour (None: nothing was paid) that was in force until a moment."""

    rate: Decimal | None
    until: datetime


@dataclass(frozen=True, slots=True)
class ReleaseFacts:
    """Everything about the study and the request that the files state, besides stories and votes."""

    slug: str
    title: str
    description: str
    environment: str
    license: str
    protocol_name: str
    protocol_version: str
    protocol_title: str
    asked: tuple[AskedQuestion, ...]
    """The questions in the order of the form."""
    number: int
    filter_name: str
    votes_per_story: int
    salt: str
    code_version: str
    created: datetime
    study_state: str
    story_cap: int
    """The most stories that one person could answer at any time since the opening."""
    pay_rate: Decimal | None
    """Per hour, when the release was asked for; None: nothing is paid."""
    currency: str
    opened_at: datetime | None
    people: People
    surplus: Mapping[str, int] = field(default_factory=dict)
    """Votes that are stored and do not count, by the reason (``annotation.models.SurplusReason``)."""
    statement: Statement = Statement()
    pay_before: tuple[PayBefore, ...] = ()
    """The rates that were in force before ``pay_rate``, the first one first."""
    imported: ImportedVotes | None = None
    """Where the votes come from, when the study was made of a release with its votes."""
    checks: HiddenChecks | None = None
    """None when nobody was given a hidden check."""
    spot_checks: SpotChecks | None = None
    """None when no vote was judged that had been drawn at random from everybody's."""
    admitted_through: str = ""
    """The study in which people had to be qualified to take part in this one; empty: in none."""

    @property
    def question_keys(self) -> tuple[str, ...]:
        """The keys of the questions in the order of the form."""
        return tuple(question.key for question in self.asked)

    @property
    def can_count_against(self) -> bool:
        """Whether the form offers everybody an answer that counts against a story."""
        return any(question.against for question in self.asked)

    @property
    def is_rehearsal(self) -> bool:
        return self.environment == "rehearsal"


@dataclass(slots=True)
class Share:
    """How the stories of one kind fared."""

    generated: int = 0
    complete: int = 0
    kept: int = 0

    @property
    def retention(self) -> float | None:
        """Kept among those with all their votes, or None when there are none."""
        return self.kept / self.complete if self.complete else None


@dataclass(slots=True)
class Tally:
    """Counts over the stories of a release, one story at a time. Memory grows with people, not stories."""

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    votes: int = 0
    first_vote: datetime | None = None
    last_vote: datetime | None = None
    languages: Counter[str] = field(default_factory=Counter)
    """Votes by the language of the form."""
    seconds: Counter[int] = field(default_factory=Counter)
    """Votes by seconds on task, rounded up; an hour and more is one entry."""
    annotators: set[str] = field(default_factory=set)
    reasons: Counter[str] = field(default_factory=Counter)
    by_scenario: dict[str, Share] = field(default_factory=dict)
    by_generator: dict[str, Share] = field(default_factory=dict)

    def see(self, story: ReleasedStory, votes: Sequence[CountedVote], verdict: Verdict) -> None:
        self.outcomes[verdict.outcome] += 1
        self.votes += len(votes)
        for vote in votes:
            self.annotators.add(vote.annotator)
            self.languages[vote.language] += 1
            self.seconds[min(ceil(vote.seconds_on_task), MOST_SECONDS)] += 1
            if self.first_vote is None or vote.submitted_at < self.first_vote:
                self.first_vote = vote.submitted_at
            if self.last_vote is None or vote.submitted_at > self.last_vote:
                self.last_vote = vote.submitted_at
        if verdict.outcome is Outcome.DROPPED:
            self.reasons[verdict.reason] += 1
        for shares, name in (
            (self.by_scenario, story.scenario_name),
            (self.by_generator, story.story_generator_model),
        ):
            share = shares.setdefault(name, Share())
            share.generated += 1
            share.complete += verdict.outcome is not Outcome.INCOMPLETE
            share.kept += verdict.outcome is Outcome.KEPT

    def median_seconds(self) -> int | None:
        """The median of the seconds on task, rounded up (the lower one of two); None without votes."""
        seen = 0
        for seconds, votes in sorted(self.seconds.items()):
            seen += votes
            if 2 * seen >= self.votes:
                return seconds
        return None

    def dropped_by_question(self) -> dict[str, int]:
        """How many stories each question dropped. A story that two questions drop counts for both."""
        found: Counter[str] = Counter()
        for reason, stories in self.reasons.items():
            for question in reason.split(","):
                found[question] += stories
        return dict(sorted(found.items()))

    def counts(self) -> dict[str, Any]:
        """The counts as ``release.json`` has them."""
        return {
            "stories": sum(self.outcomes.values()),
            "kept": self.outcomes[Outcome.KEPT],
            "dropped": self.outcomes[Outcome.DROPPED],
            "incomplete": self.outcomes[Outcome.INCOMPLETE],
            "votes": self.votes,
            "annotators": len(self.annotators),
            "dropped_by_question": self.dropped_by_question(),
            "dropped_by_reason": dict(sorted(self.reasons.items())),
        }
