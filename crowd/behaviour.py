"""Simulated annotators and their decisions, as pure functions of a seed.

Nothing here depends on time, threads or the server: an annotator answers a story the same way whenever
they get it, so a run can be repeated although the order of events differs.
"""

import enum
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Options = Mapping[str, Sequence[str]]
"""Per form field, its options in page order."""

Answers = dict[str, str]


class DoubleSubmit(enum.Enum):
    NO = "no"
    AT_ONCE = "at once"
    """Two identical requests at the same moment, like a double click."""
    AFTERWARDS = "afterwards"
    """An identical request after the response, like pressing the browser's back button."""


@dataclass(frozen=True, slots=True)
class Population:
    """The mix of annotators. Probabilities are in 0..1 and drawn once per annotator.

    With the defaults, 43 of 100 annotators pass the sample study's test of five stories; with
    ``careful=0.26``, 19 of 100 do, as in the published procedure (SimpleToM, appendix G).
    """

    careful: float = 0.6
    """Share of annotators who work carefully."""
    skill_careful: tuple[float, float] = (0.97, 1.0)
    """Range of a careful annotator's probability of answering a question correctly, drawn uniformly."""
    skill_others: tuple[float, float] = (0.6, 0.8)
    """This range for all others."""
    without_javascript: float = 0.2
    """Share whose browser submits plain forms and follows redirects."""
    declines: float = 0.04
    """Share who decline the consent text."""
    seconds_per_story: tuple[float, float] = (45.0, 0.5)
    """Median think time per story in seconds, and the sigma of its lognormal distribution."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The mishaps of work. Probabilities are in 0..1, drawn once per story and annotator."""

    leaves: float = 0.01
    """Close the page without answering the story."""
    comes_back: float = 0.6
    """After leaving, open the personal link again and continue."""
    submits_twice: float = 0.04
    """Submit a finished form twice: half of the time at once, half of the time afterwards."""
    comes_late: float = 0.01
    """Put the story aside for ``late_seconds``, then submit it."""
    late_seconds: float = 1805.0
    """Wait before a late submission, in real seconds whatever the pace; longer than the study's lease."""
    submits_incomplete: float = 0.03
    """Submit the form with one question unanswered first, and complete it when told to."""
    patience: int = 3
    """The number of times to look again when no story is free."""
    retry_seconds: float = 1.0
    """Seconds between two looks."""


@dataclass(frozen=True, slots=True)
class Profile:
    number: int
    skill: float
    javascript: bool
    declines: bool


@dataclass(frozen=True, slots=True)
class Decision:
    """One annotator's treatment of one story."""

    answers: Answers
    think_seconds: float
    leave: bool
    come_back: bool
    late: bool
    double: DoubleSubmit
    forget: str
    """The field left out of the first submission; empty if the form is complete at once."""


def chance_of(*parts: object) -> random.Random:
    """Return a random generator seeded by these parts: the same parts give the same stream."""
    return random.Random(":".join(map(str, parts)))  # noqa: S311 - nothing secret is drawn from it


def profile(*, seed: int, number: int, population: Population) -> Profile:
    """Return the annotator with this number in a run with this seed."""
    chance = chance_of(seed, number)
    skills = population.skill_careful if chance.random() < population.careful else population.skill_others
    return Profile(
        number=number,
        skill=chance.uniform(*skills),
        javascript=chance.random() >= population.without_javascript,
        declines=chance.random() < population.declines,
    )


def decide(
    person: Profile,
    *,
    seed: int,
    story: str,
    options: Options,
    right: Options,
    words: Mapping[str, str] | None = None,
    population: Population,
    behaviour: Behaviour,
) -> Decision:
    """Decide what the annotator does with a story.

    ``story`` is any text that identifies it, ``options`` what the form offers and ``right`` the options
    that the truth accepts, the best first. The annotator answers each question correctly with the
    probability of their skill, otherwise with one of the other options, all equally likely; of the ``words``
    that the truth has, they write each row with that probability, and at least the first.
    """
    chance = chance_of(seed, person.number, story)
    answers = {name: _answer(chance, person.skill, offered, right[name]) for name, offered in options.items()}
    rows = dict.fromkeys(name.partition(".")[2] for name in words or ())
    written = {row for place, row in enumerate(rows) if chance.random() < person.skill or not place}
    answers |= {name: said for name, said in (words or {}).items() if name.partition(".")[2] in written}
    median, sigma = population.seconds_per_story
    twice = chance.random() < behaviour.submits_twice
    at_once = chance.random() < 0.5
    return Decision(
        answers=answers,
        think_seconds=median * chance.lognormvariate(0.0, sigma),
        leave=chance.random() < behaviour.leaves,
        come_back=chance.random() < behaviour.comes_back,
        late=chance.random() < behaviour.comes_late,
        double=DoubleSubmit.NO if not twice else DoubleSubmit.AT_ONCE if at_once else DoubleSubmit.AFTERWARDS,
        forget=chance.choice(sorted(answers)) if chance.random() < behaviour.submits_incomplete else "",
    )


def _answer(chance: random.Random, skill: float, offered: Sequence[str], right: Sequence[str]) -> str:
    """Choose one option. A right answer is the best one nine times in ten."""
    wrong = [option for option in offered if option not in right]
    if wrong and chance.random() >= skill:
        return chance.choice(wrong)
    return right[0] if chance.random() < 0.9 else chance.choice(right)
