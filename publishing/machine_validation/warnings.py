"""Warnings derived from the figures, for people who evaluate models. Pure.

A rule that beats guessing is a shortcut that models can take, not proof that one did.
"""

from collections.abc import Iterator, Mapping
from math import sqrt
from typing import Any

from django.utils.translation import gettext as _

CHANCE = 0.5
LEAST_CORES_ALIKE = 6  # two-sided sign test: 2 / 2**6 is the first below 0.05

Config = Mapping[str, Any]


def of_sets(configs: Mapping[str, Config]) -> list[str]:
    """Return all warnings about these configs of ``machine_validation.json``."""
    found: list[str] = []
    for name, config in configs.items():
        found += [f"{name}: {warning}" for warning in _of_config(config)]
    return found


def _of_config(config: Config) -> Iterator[str]:
    if config["constant_answer"]:
        yield (
            f"the right answer is “{config['answer']}” in every question, so a model that always says so "
            "scores 100 % without reading anything. Report how often the model gives that answer at all, and "
            "its results on questions of the same form whose right answer differs; this release has none."
        )
    shortcuts = sides(config)
    if "choice_only" in shortcuts:
        yield (
            "a linear model of words and pairs of words that sees the choices only, never the story, picks "
            f"the right one in {_figure(config['choice_only'])}. This shortcut is open to any model; that it "
            "is open does not show that a model took it. Report results beside this figure, and separately "
            "on the questions that the rule gets wrong."
        )
    if side := shortcuts.get("shorter_choice"):
        yield (
            f"“the {'shorter' if side > 0 else 'longer'} choice is right” holds for "
            f"{_figure(config['shorter_choice'], flipped=side < 0)}, without any training. Report results "
            "beside this rule, and separately on the questions that it gets wrong."
        )
    if side := shortcuts.get("overlap"):
        rule = "more" if side > 0 else "less"
        yield (
            f"“the choice whose words overlap {rule} with the story is right” holds for "
            f"{_figure(config['overlap'][rule])}. Matching words is not understanding: report results beside "
            "this rule."
        )
    share, questions = config["position_majority"], config["questions"]
    # Two standard deviations of fair coins: a sample of balanced questions is not exactly balanced.
    if share is not None and share * questions > questions / 2 + max(1, sqrt(questions)):
        yield (
            f"choice {config['position_letter']} is right in {_percent(share)} % of the questions. Ask each "
            "question with its choices in both orders and report both results."
        )


def advice(configs: Mapping[str, Config]) -> list[str]:
    """Return advice for the authors of the next stories. Not part of a release."""
    words = {
        "choice_only": _(
            "The choices alone give the answer away: write right and wrong ones in the same words."
        ),
        "shorter_choice": _(
            "The length gives the answer away: balance the lengths of right and wrong choices."
        ),
        "overlap": _(
            "Words of the story give the answer away: let both choices name its things equally often."
        ),
    }
    return [f"{name}: {words[rule]}" for name, config in configs.items() for rule in sides(config)]


def sides(config: Config) -> dict[str, int]:
    """Return the rules that beat chance: 1 as they are, -1 the other way round."""
    if config["constant_answer"]:
        return {}
    found = {
        "choice_only": max(_side(config["choice_only"], config), 0),
        "shorter_choice": _side(config["shorter_choice"], config),
        "overlap": _side(config["overlap"]["more"], config),
    }
    return {rule: side for rule, side in found.items() if side}


def of_all_questions(joint: Mapping[str, Any]) -> list[str]:
    """Return a warning if the shorter choice answers all questions of a story too often."""
    return [
        f"“The shorter choice is right” answers all questions of a story in {_percent(score['accuracy'])} % "
        f"of the {score['n']} stories (guessing: {_percent(score['chance'])}): report how many stories a "
        "model answers as a whole beside it."
        for score in joint.values()
        if score["n"] >= LEAST_CORES_ALIKE and (score["interval"] or [score["accuracy"]])[0] > score["chance"]
    ]


def _side(score: Mapping[str, Any], config: Config) -> int:
    """Return 1 if a rule does better than chance, -1 if worse, else 0.

    The whole interval must be on that side. If all cores are equal there is no interval; then there must be
    enough of them for a sign test (p < 0.05).
    """
    if score["accuracy"] is None:
        return 0
    if score["interval"] is None:
        enough = config["by_group"]["core_id"]["groups"] >= LEAST_CORES_ALIKE
        low = high = score["accuracy"] if enough else CHANCE
    else:
        low, high = score["interval"]
    return int(low > CHANCE) - int(high < CHANCE)


def _figure(score: Mapping[str, Any], *, flipped: bool = False) -> str:
    accuracy, interval = score["accuracy"], score["interval"]
    if flipped:
        accuracy, interval = 1 - accuracy, interval and [1 - bound for bound in reversed(interval)]
    bounds = f"95 % interval {_percent(interval[0])} to {_percent(interval[1])}; " if interval else ""
    return f"{_percent(accuracy)} % of the {score['n']} questions ({bounds}guessing gives 50)"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
