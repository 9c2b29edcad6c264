"""The facts that the card and ``release.json`` are written from, as plain values."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from annotation.deciding import span
from annotation.hidden_checks import CheckRules
from publishing.files.sides import Sides
from publishing.filters import StoryFilter, get_filter

NOT_STATED = "not stated"
"""Stands for a missing scenario or generator, in every figure, table and list."""


@dataclass(frozen=True, slots=True)
class People:
    """The number of people at each step, up to the moment the release was requested.

    ``attempted`` and ``passed`` are None if the study has no qualification, ``visited`` if arrivals were not
    recorded. ``marks`` are the pass marks by which people were graded, in words.
    """

    consented: int
    attempted: int | None
    passed: int | None
    visited: int | None = None
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One question of the form, its options, and those that count against a story.

    ``options`` is empty if the options depend on the item.
    """

    key: str
    title: str
    options: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    scale: tuple[str, ...] = ()
    """The words for both ends, if the options are the numbers of a scale."""
    in_words: bool = False
    """True if it is answered in the person's own words."""
    optional: bool = False
    """True if not everybody has to answer it."""

    @property
    def ends(self) -> str:
        """Return the ends of the scale: ``1: disagree – 5: agree``; empty if it has none."""
        ends = zip((self.options[0], self.options[-1]), self.scale, strict=True) if self.scale else ()
        return " – ".join(f"{number}: {said}" for number, said in ends)

    def document(self) -> dict[str, Any]:
        """Return the entry in ``release.json``, which names what is unusual only where it is so."""
        found = {"title": self.title, "options": list(self.options), "against": list(self.against)}
        unusual = {"scale": list(self.scale), "in_words": self.in_words, "optional": self.optional}
        return {"key": self.key, **found, **{name: value for name, value in unusual.items() if value}}


def scales_of(asked: Iterable[AskedQuestion]) -> frozenset[str]:
    """Return the keys of the questions that are answered on a scale."""
    return frozenset(question.key for question in asked if question.scale)


@dataclass(frozen=True, slots=True)
class Statement:
    """The researchers' statement about their data. An item is empty if they stated nothing.

    The items follow dataset cards and Croissant's RAI vocabulary. ``creators`` are people's names in citation
    order.
    """

    creators: tuple[str, ...] = ()
    motivation: str = ""
    platform: str = ""
    demographics: str = ""
    ethics: str = ""
    sensitive_information: str = ""
    biases: str = ""
    limits: str = ""
    intended_use: str = ""
    social_impact: str = ""
    url: str = ""
    doi: str = ""


@dataclass(frozen=True, slots=True)
class ImportedVotes:
    """Votes imported from another study. ``source`` names its release; ``people`` counts the voters."""

    source: str
    people: int


@dataclass(frozen=True, slots=True)
class HiddenChecks:
    """Stories with known answers, hidden among the others, and people's results on them.

    ``answers`` counts each person's first answer to each check, ``failed`` the unacceptable ones, ``warned``
    the people who were warned. ``rules`` are the last ones in force.
    """

    checks: int
    answers: int
    failed: int
    warned: int
    rules: CheckRules


@dataclass(frozen=True, slots=True)
class SpotChecks:
    """Votes drawn at random that researchers judged without knowing the annotator.

    ``uncounted`` votes were accepted but taken out of the count. ``people`` counts the annotators,
    ``most_of_one`` the most votes judged of one annotator.
    """

    accepted: int
    uncounted: int
    rejected: int
    people: int
    most_of_one: int

    @property
    def judged(self) -> int:
        return self.accepted + self.uncounted + self.rejected


@dataclass(frozen=True, slots=True)
class PayBefore:
    """A pay rate per hour (None: unpaid) that was in force until a moment."""

    rate: Decimal | None
    until: datetime


Flagged = Mapping[str, Collection[str] | None]
"""The flagged votes by annotator: ids of their stories, or None for all. No file of a release has them."""


@dataclass(frozen=True, slots=True)
class ReleaseFacts:
    """Everything that the files state about the study and the request, except stories and votes."""

    slug: str
    title: str
    description: str
    environment: str
    license: str
    story_language: str
    protocol_name: str
    protocol_version: str
    protocol_title: str
    asked: tuple[AskedQuestion, ...]
    """The questions in the order of the form."""
    number: int
    filter_name: str
    votes_per_story: int
    """At least, where the number is adaptive."""
    salt: str
    """Belongs to the study, so that all its releases share it."""
    code_version: str
    created: datetime
    study_state: str
    story_cap: int
    """The largest story cap per person since the study was opened."""
    pay_rate: Decimal | None
    """Per hour, when the release was requested; None if unpaid."""
    currency: str
    people: People
    surplus: Mapping[str, int] = field(default_factory=dict)
    """Stored votes that do not count, by reason (:func:`publishing.queries.surplus_votes`)."""
    excluded_people: int = 0
    """People with excluded votes."""
    statement: Statement = Statement()
    pay_before: tuple[PayBefore, ...] = ()
    """Earlier pay rates, oldest first."""
    imported: ImportedVotes | None = None
    """The source of the votes, if the study was made from a release with its votes."""
    checks: HiddenChecks | None = None
    """None if nobody got a hidden check."""
    spot_checks: SpotChecks | None = None
    """None if no randomly drawn vote was judged."""
    medians: Mapping[str, str] = field(default_factory=dict)
    """The medians of question numbers in the study's first release, by question set."""
    instrument: Mapping[str, Any] = field(default_factory=dict)
    """The forms and texts that annotators were shown (:mod:`publishing.instrument`)."""
    sources: Sequence[Mapping[str, Any]] = ()
    """The files of the stories, oldest first: file, sha256, license (empty if not stated), stories."""
    url: str = ""
    """The public address of the release."""
    plan: Mapping[str, Any] | None = None
    """The study's plan and the deviations from it (:mod:`publishing.plans`), if it was opened with one."""
    intake: Mapping[str, Any] | None = None
    """People by what they said about themselves, in groups (``annotation.intake.grouped``)."""
    recruited: Mapping[str, Any] | None = None
    """Figures on recruitment, test and pay for the annotation report; None if they were not given."""
    flagged: Flagged = field(default_factory=dict)
    """The flagged votes. The card reports only the figures without them."""
    given: int = 0
    """Counted votes on stories that were given to their annotator by name."""
    admitted_through: str = ""
    """The study whose qualification admitted people to this one, if any."""
    most_votes: int | None = None
    """The most votes of a story, where their number is adaptive."""

    @property
    def rule(self) -> StoryFilter:
        """Return the filter with the numbers of votes."""
        return get_filter(self.filter_name, self.most_votes)

    @property
    def votes_told(self) -> str:
        """The votes of a story for a text: “3”, or “2–5” where their number is adaptive."""
        return span(self.votes_per_story, self.most_votes)

    def sides(self, config: str) -> Sides:
        """Return the sides of the right answers in a question set."""
        return Sides(self.salt, self.medians.get(config))

    @property
    def is_rehearsal(self) -> bool:
        return self.environment == "rehearsal"
