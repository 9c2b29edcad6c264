"""The section on how the stories were judged, with the study's numbers. Pure."""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from annotation.protocols import stated_by
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
from publishing.facts import MAX_SECONDS, NOT_STATED, AskedQuestion, ImportedVotes, ReleaseFacts, Tally
from publishing.filters import get_filter
from publishing.statistics.intervals import wilson

MOST_NAMED = 8
"""Generators named in the text; the table has all of them."""

LANGUAGES = {"en": "English", "de": "German"}
EXCLUDED = "excluded"
SURPLUS = {
    "late": "too late: the time had run out and the place was taken",
    "not_qualified": "from annotators who were no longer qualified",
    "displaced": "excluded, and readmitted after the place was taken",
}
"""Reasons why votes are surplus (``publishing.queries.surplus_votes``), in the card's words."""


def procedure(facts: ReleaseFacts, tally: Tally) -> list[str]:
    """Return the steps from the generated stories to the released ones."""
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
        "The questions of the form; answers in bold count against the story:"
        if get_filter(facts.filter_name).selects
        else "The questions of the form:",
        "\n".join(
            f"- {code(question.key)} {text(question.title)}{_options(question)}" for question in facts.asked
        ),
        _pay(facts, tally),
        _languages(tally),
    ]


def planned(plan: Mapping[str, Any] | None) -> list[str]:
    """Return the section on what was fixed before the first answer, and what was done otherwise."""
    if plan is None:
        return []
    fixed, source = datetime.fromisoformat(plan["fixed_at"]), plan["document"].get("qualified_through", "")
    done = [
        f"- {datetime.fromisoformat(one['at']):%-d %B %Y}: {text(one['what'])}" for one in plan["deviations"]
    ]
    return [
        "## Plan and deviations",
        f"The researchers fixed their plan when they opened the study on {fixed:%-d %B %Y}, before anybody "
        f"could answer: settings, test and filter (SHA-256 {code(plan['sha256'])}; {code('plan')} in "
        "release.json). "
        + (f"The test is that of the study {code(source)}; changes of it are not listed. " if source else "")
        + (
            "Changed since then:"
            if done
            else "Nothing was changed since then; the filter is the planned one."
        ),
        "\n".join(done),
    ]


def _stories(tally: Tally) -> str:
    total = counted(sum(tally.outcomes.values()), "story", "stories")
    return f"**Stories.** The study had {total}: {authors(tally, code)}."


def authors(tally: Tally, shown: Callable[[str], str]) -> str:
    """Return who wrote how many of the stories: models, people, or somebody whom no source names."""
    models, by_people, unknown = tally.authors()
    by_models = sum(tally.outcomes.values()) - by_people - unknown
    named = [*map(shown, models[:MOST_NAMED])]
    if len(models) > MOST_NAMED:
        named.append(f"{len(models) - MOST_NAMED:,} more")
    parts = [
        f"{by_models:,} written by the {'model' if len(models) == 1 else 'models'} {listed(named)}"
        if models
        else "",
        f"{by_people:,} written by people" if by_people else "",
        f"{unknown:,} whose author is {NOT_STATED}" if unknown else "",
    ]
    return listed([part for part in parts if part])


def _people(facts: ReleaseFacts) -> str:
    if facts.imported:
        return _imported_people(facts, facts.imported)
    people = facts.people
    arrivals = people.visited or 0  # fewer than consented: not all of them were recorded
    came = f"{counted(arrivals, 'person', 'people')} arrived, and " if arrivals >= people.consented else ""
    where = " ".join(paragraphs(facts.statement.platform))
    who = f" {where}" if where else ""
    return (
        f"**People.**{who} {came}{counted(people.consented, 'person', 'people')} consented to take part "
        "after reading what is stored and published."
    )


def _imported_people(facts: ReleaseFacts, imported: ImportedVotes) -> str:
    where = " ".join(["", *paragraphs(facts.statement.platform)])
    here = facts.people.consented - imported.people
    others = (
        f" {counted(here, 'other person', 'other people')} consented to take part in this study after "
        "reading what is stored and published."
        if here > 0
        else ""
    )
    return (
        f"**People.**{where} {counted(imported.people, 'person', 'people')} voted in another study, and the "
        f"votes were imported from its release ({text(imported.source)}). The card of that release describes "
        f"how they were recruited and what they consented to.{others}"
    )


def _qualification(facts: ReleaseFacts) -> str:
    people = facts.people
    if facts.imported:
        return (
            "**Qualification.** This study had no test. The card of the imported release says whether its "
            "annotators had to pass one."
        )
    if facts.admitted_through:
        return (
            f"**Qualification.** Only people who had qualified in the study {code(facts.admitted_through)} "
            "could take part; this study had no test of its own."
        )
    if people.attempted is None or people.passed is None:
        return "**Qualification.** The study had no qualification test: everybody who consented could vote."
    mark = f" Passing took {' or '.join(map(text, people.marks))}." if people.marks else ""
    follows = stated_by(facts.protocol_name).follows
    theirs = (
        f"; in the published procedure that this study follows, {follows.passed} people passed"
        if follows and follows.passed
        else ""
    )
    return (
        f"**Qualification.** {counted(people.attempted, 'person', 'people')} completed a qualification test, "
        f"and {share_of(people.passed, people.attempted)} passed{theirs}.{mark} "
        "Only those who passed could vote."
    )


def _form(facts: ReleaseFacts) -> str:
    return (
        f"**Form.** Annotators filled in one form per story (protocol {code(facts.protocol_name)}, version "
        f"{code(facts.protocol_version)}: {text(facts.protocol_title)})"
        f"{'' if facts.imported else ', with instructions at hand'}."
    )


def _votes(facts: ReleaseFacts, tally: Tally) -> str:
    period = ""
    if tally.votes:
        moments = (datetime.fromisoformat(moment) for moment in (tally.first_vote, tally.last_vote))
        first, last = (f"{moment:%-d %B %Y}" for moment in moments)
        period = f", given on {first}" if first == last else f", given from {first} to {last}"
    cap = "" if facts.imported else f"; nobody was given another story after answering {facts.story_cap:,}"
    return (
        f"**Votes.** Every story needed exactly {counted(facts.votes_per_story, 'vote', 'votes')}, each by a "
        f"different annotator{cap}. {counted(tally.votes, 'vote', 'votes')} by "
        f"{counted(len(tally.annotators), 'annotator', 'annotators')} "
        f"{'counts' if tally.votes == 1 else 'count'}{period}. {_surplus(facts)}"
    )


def _surplus(facts: ReleaseFacts) -> str:
    if facts.imported and not facts.surplus:
        return "A release contains no votes that do not count, so none were imported."
    if not facts.surplus:
        return "No vote was too late, excluded, or from an annotator who was no longer qualified."
    surplus = {name: number for name, number in facts.surplus.items() if name != EXCLUDED}
    reasons = [
        f"{number:,} ({SURPLUS.get(reason, text(reason))})" for reason, number in sorted(surplus.items())
    ]
    late = (
        f"{counted(sum(surplus.values()), 'surplus vote is', 'surplus votes are')} stored and credited, but "
        f"not counted and not in this release: {listed(reasons)}."
    )
    return " ".join([*([late] if surplus else []), *_excluded(facts)])


def _excluded(facts: ReleaseFacts) -> list[str]:
    """Return the sentence on votes that the researchers excluded, if any."""
    out = facts.surplus.get(EXCLUDED, 0)
    votes, people = counted(out, "vote", "votes"), counted(facts.excluded_people, "person", "people")
    said = f"The researchers excluded {votes} by {people}; no file of this release has them."
    return [said] if out else []


def _checks(facts: ReleaseFacts) -> str:
    """Return the step on hidden checks, or an empty string."""
    found = facts.checks
    if found is None:
        return ""
    rules = found.rules
    often = f", one in every {rules.every:,} stories" if rules.every else ""
    consequences = [
        f"{percent} % or more led to a {what}"
        for percent, what in ((rules.warn_percent, "warning"), (rules.suspend_percent, "suspension"))
        if percent is not None
    ]
    came_of_it = (
        f" From {counted(rules.minimum, 'check', 'checks')} on, failing {' and failing '.join(consequences)}"
        f"; {counted(found.warned, 'annotator was', 'annotators were')} warned."
        if rules.every and consequences
        else " Failing them had no automatic consequence."
    )
    return (
        f"**Hidden checks.** Annotators also got stories with known answers, without being told which"
        f"{often}: {counted(found.checks, 'check was', 'checks were')} answered "
        f"{counted(found.answers, 'time', 'times')}, and {share_of(found.failed, found.answers)} "
        f"of these first answers were not acceptable.{came_of_it} Checks are not part of this dataset, and "
        "answers to them are not votes."
    )


def _spot_checks(facts: ReleaseFacts) -> str:
    """Return the step on spot checks, or an empty string."""
    found = facts.spot_checks
    if found is None:
        return ""
    out = found.uncounted + found.rejected
    bounds = interval(wilson(found.rejected, found.judged))
    return (
        f"**Spot checks.** Researchers judged {counted(found.judged, 'vote', 'votes')} drawn at random: at "
        f"most {found.most_of_one:,} from each of {counted(found.people, 'annotator', 'annotators')}, who "
        "were drawn at random too, so that each weighs the same however many votes they gave. Without seeing "
        f"the annotator or any other vote, they rejected {share_of(found.rejected, found.judged)} (Wilson's "
        f"95 % interval{bounds}, which treats one annotator's answers as independent) and excluded {out:,} "
        "from the count."
    )


def _filter(facts: ReleaseFacts) -> str:
    rule = get_filter(facts.filter_name)
    named = "Filter" if rule.selects else "Resolution"
    return f"**{named}.** {code(facts.filter_name)}: {rule.sentence(facts.votes_per_story)}."


def _options(question: AskedQuestion) -> str:
    options, against = question.options, question.against
    if not options:
        return ""
    if question.scale:
        return f" ({text(question.ends)})"
    offered = " · ".join(f"**{text(option)}**" if option in against else text(option) for option in options)
    return f" ({offered})"


def _pay(facts: ReleaseFacts, tally: Tally) -> str:
    took = _took(tally.median_seconds())
    if facts.imported:
        return f"What the annotators of the imported votes were paid is not known here.{took}"
    if facts.pay_rate is None:
        return f"The study states no pay rate.{took}"
    return (
        f"The study's pay rate {_rates(facts, facts.pay_rate)} {text(facts.currency)} per hour; individual "
        f"payments are not part of a release.{took}"
    )


def _took(seconds: int | None) -> str:
    """Return the sentence on the median time per vote, which is rounded up."""
    if seconds is None:
        return ""
    half = (
        "More than half of the counted votes took about an hour or more"
        if seconds >= MAX_SECONDS
        else f"Half of the counted votes took {counted(seconds, 'second', 'seconds')} or less"
    )
    return f" {half} from the moment the story was shown, including breaks."


def _rates(facts: ReleaseFacts, now: Decimal) -> str:
    """``is 15.00``, or ``was 12.00 until 3 March 2026, then 15.00``."""
    if not facts.pay_before:
        return f"is {now:,.2f}"
    before = [
        f"{'none' if past.rate is None else f'{past.rate:,.2f}'} until {past.until:%-d %B %Y}"
        for past in facts.pay_before
    ]
    return f"was {', then '.join([*before, f'{now:,.2f}'])}"


def _languages(tally: Tally) -> str:
    total, languages = tally.votes, Counter[str]()
    for (_version, name), votes in tally.forms.items():
        languages[name] += votes
    found = [
        f"{text(LANGUAGES.get(name, name))} ({counted(votes, 'vote', 'votes')}, {percent(votes / total)})"
        for name, votes in sorted(languages.items(), key=lambda item: (-item[1], item[0]))
    ]
    return f"Annotators read the form in {listed(found)}." if found else ""
