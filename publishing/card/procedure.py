"""How the stories were judged, step by step, with the numbers of the study. Pure."""

from __future__ import annotations

from decimal import Decimal

from publishing.baseline.accuracy import wilson
from publishing.card.markdown import (
    code,
    counted,
    interval,
    listed,
    paragraphs,
    percent,
    share_of,
    steps,
    text,
)
from publishing.facts import MOST_SECONDS, ImportedVotes, ReleaseFacts, Tally
from publishing.filters import get_filter

IN_THE_PAPER = "; in the published procedure that this one follows, 19 of 100 people passed theirs"
MOST_NAMED = 8
"""Generators named in the running text; the table has all of them."""

LANGUAGES = {"en": "English", "de": "German"}
SURPLUS = {
    "displaced": "excluded by the researchers, and readmitted when their place was taken",
    "excluded": "excluded by the researchers",
    "late": "their time had run out and their place was taken",
    "not_qualified": "from somebody no longer qualified",
}
"""The reasons for which votes do not count (``publishing.queries.surplus_votes``), as the card has them."""


def procedure(facts: ReleaseFacts, tally: Tally) -> list[str]:
    """The steps from the generated stories to the released ones."""
    return [
        "## How the stories were judged",
        steps(
            filter(
                None,
                (
                    _stories(tally),
                    _people(facts),
                    _qualification(facts),
                    _form(facts),
                    _votes(facts, tally),
                    _checks(facts),
                    _spot_checks(facts),
                    _filter(facts),
                ),
            )
        ),
        "The questions of the form; an answer in bold counts against the story:",
        "\n".join(
            f"- {code(question.key)} {text(question.title)}{_options(question.options, question.against)}"
            for question in facts.asked
        ),
        _pay(facts, tally),
        _languages(facts, tally),
    ]


def _stories(tally: Tally) -> str:
    generators = sorted(tally.by_generator)
    named = listed([code(name) for name in generators[:MOST_NAMED]])
    more = len(generators) - MOST_NAMED
    by = f"{named} and {more:,} more (table below)" if more > 0 else named
    total = sum(tally.outcomes.values())
    return f"**Stories.** {counted(total, 'story was', 'stories were')} to be judged, written by {by}."


def _people(facts: ReleaseFacts) -> str:
    if facts.imported:
        return _imported_people(facts, facts.imported)
    people = facts.people
    arrivals = people.visited or 0  # fewer than consented: not all of them were recorded
    came = f"{counted(arrivals, 'person', 'people')} came, and " if arrivals >= people.consented else ""
    where = " ".join(paragraphs(facts.statement.platform))
    who = f" {where}" if where else ""
    return (
        f"**People.**{who} {came}{counted(people.consented, 'person', 'people')} consented to take part, "
        "after reading what is stored and published."
    )


def _imported_people(facts: ReleaseFacts, imported: ImportedVotes) -> str:
    where = " ".join(["", *paragraphs(facts.statement.platform)])
    here = facts.people.consented - imported.people
    others = (
        f" {counted(here, 'other person', 'other people')} consented to take part in this study, after "
        "reading what is stored and published."
        if here > 0
        else ""
    )
    return (
        f"**People.**{where} {counted(imported.people, 'person', 'people')} voted in another study: this one "
        f"was made of its release, with the votes ({text(imported.source)}). How they came to it, and what "
        f"they agreed to, is said in the card of that release.{others}"
    )


def _qualification(facts: ReleaseFacts) -> str:
    people = facts.people
    if facts.imported:
        return (
            "**Qualification.** This study asked for none; whether the people of the imported votes had to "
            "pass a test is said in the card of the release they come from."
        )
    if facts.admitted_through:
        return (
            f"**Qualification.** Only people who were qualified in the study {code(facts.admitted_through)} "
            "could take part; this study had no test of its own."
        )
    if people.attempted is None or people.passed is None:
        return (
            "**Qualification.** The study asked for no qualification test: everybody who consented could "
            "vote."
        )
    theirs = IN_THE_PAPER if facts.protocol_name == "validity" else ""
    return (
        f"**Qualification.** Before voting, people took a test: {people.attempted:,} completed it, and "
        f"{share_of(people.passed, people.attempted)} passed{theirs}. Only those who passed could vote."
    )


def _form(facts: ReleaseFacts) -> str:
    return (
        f"**Form.** People answered one form about each story (protocol {code(facts.protocol_name)}, version "
        f"{code(facts.protocol_version)}: {text(facts.protocol_title)})"
        f"{'' if facts.imported else ', with instructions at hand'}."
    )


def _votes(facts: ReleaseFacts, tally: Tally) -> str:
    period = ""
    if tally.first_vote and tally.last_vote:
        first, last = f"{tally.first_vote:%-d %B %Y}", f"{tally.last_vote:%-d %B %Y}"
        period = f", given on {first}" if first == last else f", given from {first} to {last}"
    cap = (
        "" if facts.imported else f", and nobody was served another story after answering {facts.story_cap:,}"
    )
    return (
        f"**Votes.** Every story was to get exactly {facts.votes_per_story} votes, each by another "
        f"person{cap}. {counted(tally.votes, 'vote counts', 'votes count')}{period}, by "
        f"{counted(len(tally.annotators), 'person', 'people')}. {_surplus(facts)}"
    )


def _surplus(facts: ReleaseFacts) -> str:
    reasons = [
        f"{number:,} ({SURPLUS.get(reason, text(reason))})"
        for reason, number in sorted(facts.surplus.items())
    ]
    if facts.imported and not reasons:
        return "A release has neither surplus votes nor the stories that lack votes, so none were imported."
    if not reasons:
        return "No vote came too late, or from somebody no longer qualified, and none was excluded."
    return (
        f"{counted(sum(facts.surplus.values()), 'surplus vote is', 'surplus votes are')} stored and credited "
        f"but not counted and not in this release: {listed(reasons)}."
    )


def _checks(facts: ReleaseFacts) -> str:
    """What people met that had known answers, or nothing."""
    found = facts.checks
    if found is None:
        return ""
    rules = found.rules
    often = f", one in each {rules.every:,} stories" if rules.every else ""
    consequences = [
        f"{percent} % or more {what}"
        for percent, what in ((rules.warn_percent, "warned"), (rules.suspend_percent, "suspended"))
        if percent is not None
    ]
    came_of_it = (
        f" From {counted(rules.minimum, 'check', 'checks')} on, failing {' and failing '.join(consequences)} "
        f"a person; {counted(found.warned, 'person was', 'people were')} warned."
        if rules.every and consequences
        else " Failing them had no consequence by itself."
    )
    return (
        f"**Hidden checks.** Among the stories, people met some with known answers and were not told which"
        f"{often}: {counted(found.checks, 'check was', 'checks were')} answered "
        f"{counted(found.answers, 'time', 'times')}, and {share_of(found.failed, found.answers)} "
        f"of these first answers were not acceptable.{came_of_it} Checks are no part of this dataset, and "
        "answers to them are no votes."
    )


def _spot_checks(facts: ReleaseFacts) -> str:
    """What came of judging votes that were drawn at random, or nothing."""
    found = facts.spot_checks
    if found is None:
        return ""
    out = found.uncounted + found.rejected
    bounds = interval(wilson(found.rejected, found.judged))
    return (
        f"**Spot checks.** Researchers judged {counted(found.judged, 'vote', 'votes')} drawn at random, at "
        f"most {found.most_of_one:,} of each of {counted(found.people, 'person', 'people')} chosen at random "
        "from everybody, so that people count alike however many votes they gave. Without seeing whose each "
        "was or what others had said, they rejected "
        f"{share_of(found.rejected, found.judged)} (95 % interval of Wilson{bounds}, which takes "
        f"the answers of one person for independent) and took {out:,} out of the count."
    )


def _filter(facts: ReleaseFacts) -> str:
    rule = get_filter(facts.filter_name)
    return f"**Filter.** {code(facts.filter_name)}: {rule.sentence(facts.votes_per_story)}."


def _options(options: tuple[str, ...], against: tuple[str, ...]) -> str:
    if not options:
        return ""
    offered = " · ".join(f"**{text(option)}**" if option in against else text(option) for option in options)
    return f" ({offered})"


def _pay(facts: ReleaseFacts, tally: Tally) -> str:
    took = _took(tally.median_seconds())
    if facts.imported:
        return f"What the people of the imported votes were paid is not known here.{took}"
    if facts.pay_rate is None:
        return f"The study names no pay rate.{took}"
    return (
        f"The study's pay rate {_rates(facts, facts.pay_rate)} {text(facts.currency)} per hour; what each "
        f"person was paid is not part of a release.{took}"
    )


def _took(seconds: int | None) -> str:
    """How long a vote takes, from the median, rounded up."""
    if seconds is None:
        return ""
    half = (
        "More than half of the counted votes took about an hour or more"
        if seconds >= MOST_SECONDS
        else f"Half of the counted votes took {counted(seconds, 'second', 'seconds')} or less"
    )
    return f" {half} from when the story was shown, breaks included."


def _rates(facts: ReleaseFacts, now: Decimal) -> str:
    """``is 15.00``, or ``was 12.00 until 3 March 2026, then 15.00``."""
    if not facts.pay_before:
        return f"is {now:,.2f}"
    before = [
        f"{'none' if past.rate is None else f'{past.rate:,.2f}'} until {past.until:%-d %B %Y}"
        for past in facts.pay_before
    ]
    return f"was {', then '.join([*before, f'{now:,.2f}'])}"


def _languages(facts: ReleaseFacts, tally: Tally) -> str:
    if facts.imported:
        return "In which language people read the form is not known of imported votes."
    total = sum(tally.languages.values())
    found = [
        f"{text(LANGUAGES.get(name, name))} ({counted(votes, 'vote', 'votes')}, {percent(votes / total)})"
        for name, votes in sorted(tally.languages.items(), key=lambda item: (-item[1], item[0]))
    ]
    return f"People read the form in {listed(found)}." if found else ""
