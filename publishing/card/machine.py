"""The section on what a machine can guess without understanding the stories. Pure."""

from collections.abc import Mapping
from typing import Any

from publishing.card.figures import GUESSES, MACHINE_FIGURE, varied_configs
from publishing.card.markdown import NOTHING, bullets, code, listed, percent, table, text
from publishing.files.rows import HARD_PATH

_HELD_OUT = {
    "entities": "stories that share an entity other than the persons X and Y",
    "scenario": "stories of one scenario",
}
"""Groupings of stories, other than by core, that are held out together."""


def machine_validation(found: Mapping[str, Any] | None) -> list[str]:
    """Return the section, or nothing if there are no multiple-choice questions."""
    if not found or not found["configs"]:
        return []
    varied = varied_configs(found)
    warned = [text(line) for line in found["warnings"]]
    return [
        "## What a machine can guess without understanding",
        "Even if people find a story valid, a machine may guess its answers for the wrong reasons. To "
        "measure this, a simple classifier (words and pairs of words, no language model) was trained on part "
        "of the questions and tested on the rest. Random guessing is right in 50.0 %. In brackets: 95 % "
        "intervals.",
        *_sampled(found["design"], found["configs"]),
        *(
            [_scores(varied), _figure(), *_held_out(found["design"], varied), *_cues(varied)]
            if varied
            else []
        ),
        *_hard(found),
        *(["Warnings, and what to do about them:", bullets(warned)] if warned else []),
        f"The method and all results are in {code('machine_validation.json')}. They only warn: no story was "
        "left out because of them.",
    ]


def _sampled(design: Mapping[str, Any], configs: Mapping[str, Any]) -> list[str]:
    """Return how many questions the figures cover, and whether they are a sample."""
    asked = listed([f"{found['questions']:,} of {code(config)}" for config, found in configs.items()])
    if design["sampled_stories"] is None:
        return [f"All questions were used: {asked}."]
    return [
        f"The release is large, so a sample of whole cores was used: {design['sampled_stories']:,} of its "
        f"{design['stories']:,} stories. The questions are {asked}."
    ]


def _figure() -> str:
    return f"![How many answers are guessed right; the table has the same numbers]({MACHINE_FIGURE})"


def _scores(varied: Mapping[str, Any]) -> str:
    rows = [(label, *(_score(found[key]) for found in varied.values())) for key, label in GUESSES.items()]
    return table(("right answers guessed", *map(code, varied)), rows)


def _score(score: Mapping[str, Any]) -> str:
    if score["accuracy"] is None:
        return NOTHING
    bounds = score["interval"]
    brackets = f" [{100 * bounds[0]:.1f}, {100 * bounds[1]:.1f}]" if bounds else ""
    return percent(score["accuracy"]) + brackets


def _held_out(design: Mapping[str, Any], varied: Mapping[str, Any]) -> list[str]:
    """Return the accuracy of guessing from the choices alone under other ways of holding out."""
    items = [
        f"{code(config)}, choices only, with cores dealt to folds in {design['repetitions']} ways: "
        f"{percent(spread['mean'])} on average, {percent(spread['lowest'])} to {percent(spread['highest'])}."
        for config, found in varied.items()
        if (spread := found["choice_only"].get("repeated"))
    ]
    items += [
        f"{code(config)}, choices only, with all {what} held out together: "
        f"{_score(found['by_group'][grouping]['choice_only'])}."
        for config, found in varied.items()
        for grouping, what in _HELD_OUT.items()
        if found["by_group"][grouping]["choice_only"]["accuracy"] is not None
    ]
    return [bullets(items)] if items else []


def _hard(found: Mapping[str, Any]) -> list[str]:
    """Return how many stories the shorter choice answers as a whole, and how many questions are hard."""
    joint = found["all_questions"]["shorter_choice"]
    hard = [f"{one['hard_questions']:,} of {code(config)}" for config, one in found["configs"].items()]
    return [
        f"The shorter choice answers all questions of a story in {_score(joint)} of the stories (guessing: "
        f"{percent(joint['chance'])}). Questions that no shortcut answers: {listed(hard)}; their ids are in "
        f"{code(HARD_PATH)}."
    ]


def _cues(varied: Mapping[str, Any]) -> list[str]:
    items = [
        f"{code(config)}: {listed([code(cue) for cue in cues])} in a choice point to the {side} answer."
        for config, found in varied.items()
        for side in ("right", "wrong")
        if (cues := [cue["text"] for cue in found["cues"] if cue["points_to"] == side])
    ]
    return ["Its strongest cues:", bullets(items)] if items else []
