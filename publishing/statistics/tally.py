"""The content of statistics.json, computed one story at a time."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext_noop

from publishing.facts import NOT_STATED, AskedQuestion, Flagged
from publishing.files.rows import CACHE_SIZE, NO_DECISIONS, Answers, AnyVotes, Decisions, ReleasedStory
from publishing.filters import DUPLICATE, REVISED, Outcome, Verdict
from publishing.statistics.agreement import Pattern, agreement_of, undefined
from publishing.statistics.distinct import DistinctStrings, count_together
from publishing.statistics.intervals import Bootstrap, rounded
from publishing.statistics.ratings import LEVELS, ratings_of
from publishing.statistics.scored import ScoredTally

_LETTERS = ("x", "y", "z")
Patterns = defaultdict[Pattern, int]
"""Stories by pattern. Counting takes a third of a ``Counter``'s time."""
VALIDITY = ("valid", "invalid")
WITHOUT_FLAGGED = "without_flagged_votes"
RETAINED = ("generated", "kept", "dropped", "incomplete")
AGREED = ("agreement", "agreement_on_validity", "ratings")
DEPENDS_ON_THE_STORY = gettext_noop(
    "What counts against a story depends on the story here, so a vote has no verdict that can be told "
    "from the questions alone."
)


@dataclass(slots=True, eq=False)
class _Stratum:
    """Stories of one scenario, generator and severity: outcomes, and entities of the kept ones."""

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    revised: int = 0  # old versions of stories, which are in no outcome
    texts: DistinctStrings = field(default_factory=DistinctStrings)
    dropped_texts: DistinctStrings = field(default_factory=DistinctStrings)
    """Texts that votes dropped."""
    entities: dict[str, DistinctStrings] = field(
        default_factory=lambda: {letter: DistinctStrings() for letter in _LETTERS}
    )
    ratings: defaultdict[str, Counter[Pattern]] = field(default_factory=lambda: defaultdict(Counter))
    """Patterns of the complete stories, by question with a scale."""

    def count(self, story: ReleasedStory, verdict: Verdict) -> None:
        """Count a story's outcome and its text."""
        if verdict.reason == REVISED:
            self.revised += 1
            return
        self.outcomes[verdict.outcome] += 1
        if verdict.outcome is Outcome.KEPT:
            self.texts.add(story.text_hash)
        elif verdict.outcome is Outcome.DROPPED and verdict.reason != DUPLICATE:
            self.dropped_texts.add(story.text_hash)


class StatisticsTally:
    """Counts over the stories of a release. Add every story once, in any order, then get the document.

    Memory grows with distinct patterns of answers (ten for three votes on three options), with scenarios and
    generator models, and by 8 bytes per distinct entity of the kept stories; not with the number of stories.
    """

    def __init__(
        self,
        asked: Sequence[AskedQuestion],
        protocol_name: str = "",
        votes_per_story: int = 1,
        most_votes: int | None = None,
        *,
        flagged: Flagged | None = None,
    ) -> None:
        """``votes_per_story``: at least, if their number is adaptive; then ``most_votes`` is the most."""
        asked = tuple(question for question in asked if not question.in_words)
        self._asked = asked
        self._least, self._most = votes_per_story, most_votes
        self._complete: Counter[int] = Counter()
        """Complete stories by their number of votes."""
        self._scored = ScoredTally(protocol_name, votes_per_story)
        """The statistics that the protocol names, instead of verdicts of votes."""
        self._against = {(question.key, option) for question in asked for option in question.against}
        self._scales = [question for question in asked if question.scale]
        fixed = all(question.options for question in asked)
        self._has_agreement = len(self._scales) < len(self._asked) and (fixed or not self._scored)
        self._has_verdicts = self._has_agreement and not self._scored
        self._patterns: tuple[Patterns, ...] = tuple(defaultdict(int) for _ in self._asked)
        self._validity: Patterns = defaultdict(int)
        self._strata: defaultdict[tuple[str, str, str], _Stratum] = defaultdict(_Stratum)
        self._names_entities = False
        self._flagged, self._flagged_votes = flagged or {}, 0
        arguments = (asked, protocol_name, votes_per_story, most_votes)
        self._without = StatisticsTally(*arguments) if flagged else None
        self._waiting: defaultdict[tuple[Answers, _Stratum | None], int] = defaultdict(int)

    def add(
        self, story: ReleasedStory, votes: AnyVotes, verdict: Verdict, decisions: Decisions = NO_DECISIONS
    ) -> None:
        """Add a story, its counted votes, its verdict, and experts' decisions.

        Votes on stories that lack some do not enter the agreement; those on dropped stories do. Where the
        number of votes is adaptive, the first ones that every story gets do, also of stories that want more:
        these votes decide how many are asked for, so to wait for them would select stories by agreement.
        Answers to unknown questions are ignored.
        """
        if self._without and not self._count_flagged(story, votes):
            self._without.add(story, votes, verdict, decisions)
        severity = NOT_STATED if story.severity_original is None else str(story.severity_original)
        author = story.story_generator_model or NOT_STATED
        stratum = self._strata[story.scenario_name or NOT_STATED, author, severity]
        stratum.count(story, verdict)
        if verdict.is_complete:
            self._complete[len(votes)] += 1
            self._count_entities(story, verdict, stratum)
        if len(votes) < self._least if self._most else not verdict.is_complete:
            return
        votes = votes[: self._least] if self._most else votes
        if self._scored:
            self._scored.add(story, votes, decisions)
        self._waiting[tuple([vote.answers for vote in votes]), stratum if self._scales else None] += 1
        if len(self._waiting) >= CACHE_SIZE:
            self._count_waiting()

    def _count_entities(self, story: ReleasedStory, verdict: Verdict, stratum: _Stratum) -> None:
        entities = story.content.get("entities")
        if isinstance(entities, Mapping):
            self._names_entities = True
            for name, text in entities.items() if verdict.outcome is Outcome.KEPT else ():
                letter = _letter(name)
                if letter and isinstance(text, str):
                    stratum.entities[letter].add(text)

    def _count_waiting(self) -> None:
        for (answers, stratum), stories in self._waiting.items():
            patterns, validity = self._patterns_of(answers)
            for question, counter, pattern in zip(self._asked, self._patterns, patterns, strict=True):
                (stratum.ratings[question.key] if stratum and question.scale else counter)[pattern] += stories
            self._validity[validity] += stories
        self._waiting.clear()

    def _count_flagged(self, story: ReleasedStory, votes: AnyVotes) -> int:
        marked = [self._flagged.get(vote.annotator, ()) for vote in votes]
        flagged = sum(stories is None or story.story_id in stories for stories in marked)
        self._flagged_votes += flagged
        return flagged

    def document(self) -> dict[str, Any]:
        """Return the content of statistics.json: plain values, names and patterns in a fixed order.

        Fractions are rounded to ten decimals; undefined values are None with a reason beside them. The
        order of stories does not matter.
        """
        self._count_waiting()
        return {
            "stories": self._outcomes(self._strata.values()),
            **self._disputed(),
            **self._adaptive(),
            "by_scenario": self._by(0),
            "by_generator_model": self._by(1),
            "by_severity": self._by(2),
            "agreement": self._agreement(),
            **({"agreement_on_validity": self._agreement_on_validity()} if self._has_verdicts else {}),
            **({"ratings": self._ratings()} if self._scales else {}),
            **self._scored.document(),
            **self._without_flagged(),
            "bootstrap": asdict(Bootstrap()) | {"unit": "story", "method": "percentile"},
        }

    def _agreement(self) -> dict[str, Any]:
        """Return the agreement per question without a scale, over complete stories, before the filter.

        There is none where the protocol names other statistics and options are the item's own.
        """
        return {
            question.key: agreement_of(patterns, question.options)
            for question, patterns in zip(self._asked, self._patterns, strict=True)
            if self._has_agreement and not question.scale
        }

    def _disputed(self) -> dict[str, int]:
        """Return how many texts are kept in one story and dropped by the votes on another, if any are."""
        kept = [stratum.texts for stratum in self._strata.values()]
        dropped = [stratum.dropped_texts for stratum in self._strata.values()]
        both = count_together(kept) + count_together(dropped) - count_together([*kept, *dropped])
        return {"disputed_texts": both} if both else {}

    def _adaptive(self) -> dict[str, Any]:
        """Return complete stories by their number of votes, and how many the most for each would add."""
        if not self._most:
            return {}
        by_votes = {str(votes): stories for votes, stories in sorted(self._complete.items())}
        saved = sum((self._most - votes) * stories for votes, stories in self._complete.items())
        return {"stories_by_votes": by_votes, "votes_saved": saved}

    def _without_flagged(self) -> dict[str, Any]:
        """Return agreement and retention again, over the stories none of whose votes is flagged."""
        if self._without is None or not self._flagged_votes:
            return {}
        again = self._without.document()
        found = {"votes": self._flagged_votes, "stories": {name: again["stories"][name] for name in RETAINED}}
        for name in AGREED:
            found |= {name: again[name]} if name in again else {}
        return {WITHOUT_FLAGGED: found}

    def _ratings(self) -> dict[str, Any]:
        """Return the statistics of each question with a scale; levels also by scenario and author."""
        found = {}
        for question in self._scales:
            patterns = _patterns_together(self._strata.values(), question.key)
            entry = ratings_of(patterns, question.options)
            for place, by in enumerate(("by_scenario", "by_generator_model")):
                entry[by] = {
                    name: ratings_of(_patterns_together(strata, question.key), question.options, LEVELS)
                    for name, strata in self._strata_by(place).items()
                }
            found[question.key] = entry
        return found

    def _agreement_on_validity(self) -> dict[str, Any]:
        """Return the agreement on verdicts: a vote is valid if no answer counts against the story."""
        if not all(question.options for question in self._asked):
            return undefined(DEPENDS_ON_THE_STORY, VALIDITY, stories=sum(self._validity.values()))
        return agreement_of(self._validity, VALIDITY)

    def _patterns_of(self, votes: Answers) -> tuple[tuple[Pattern, ...], Pattern]:
        chosen: dict[str, defaultdict[str, list[str]]] = {
            question.key: defaultdict(list) for question in self._asked
        }
        for vote in votes:
            for choice in vote:
                if choice.question in chosen:
                    chosen[choice.question][choice.row].append(choice.option)
        patterns = tuple(
            tuple(sorted(tuple(sorted(options)) for options in rows.values())) for rows in chosen.values()
        )
        verdicts = (VALIDITY[any((c.question, c.option) in self._against for c in vote)] for vote in votes)
        return patterns, (tuple(sorted(verdicts)),)

    def _by(self, place: int) -> dict[str, dict[str, Any]]:
        """Return the counts by scenario (place 0), generator model (1) or severity (2)."""
        return {name: self._outcomes(strata) for name, strata in self._strata_by(place).items()}

    def _strata_by(self, place: int) -> dict[str, list[_Stratum]]:
        """Group the strata as :meth:`_by` does, sorted by name. Takes one pass, however many names."""
        groups: defaultdict[str, list[_Stratum]] = defaultdict(list)
        for names, stratum in self._strata.items():
            groups[names[place]].append(stratum)
        return dict(sorted(groups.items()))

    def _outcomes(self, strata: Iterable[_Stratum]) -> dict[str, Any]:
        """Return counts, retention, and the number of distinct X, Y and Z in kept stories."""
        strata = list(strata)
        outcomes = sum((stratum.outcomes for stratum in strata), Counter[Outcome]())
        generated, revised = sum(outcomes.values()), sum(stratum.revised for stratum in strata)
        return {
            "generated": generated,
            "kept": outcomes[Outcome.KEPT],
            "dropped": outcomes[Outcome.DROPPED],
            "incomplete": outcomes[Outcome.INCOMPLETE],
            **({"revised": revised} if revised else {}),
            "retention": rounded(outcomes[Outcome.KEPT] / generated) if generated else None,
            "unique_texts": count_together(stratum.texts for stratum in strata),
            **{
                f"unique_{letter}": count_together(stratum.entities[letter] for stratum in strata)
                if self._names_entities
                else None
                for letter in _LETTERS
            },
        }


def _patterns_together(strata: Iterable[_Stratum], question: str) -> Counter[Pattern]:
    found: Counter[Pattern] = Counter()
    for stratum in strata:
        found.update(stratum.ratings[question])
    return found


@lru_cache(maxsize=CACHE_SIZE)
def _letter(name: str) -> str:
    """Return the letter of Person X, Person Y, or anything called Z (object, action or person); else none."""
    return name[-1:].lower() if name in ("Person X", "Person Y") or name.endswith(" Z") else ""
