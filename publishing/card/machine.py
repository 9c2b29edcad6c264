"""What a machine can guess without understanding the stories, in plain words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from publishing.card.figures import GUESSES, MACHINE_FIGURE, varied_configs
from publishing.card.markdown import NOTHING, bullets, code, listed, percent, table, text

_HELD_OUT = {
    "entities": "stories that share an entity other than the persons X and Y",
    "scenario": "stories of one scenario",
}
"""Other ways of keeping like stories together, beside those of one core."""


def machine_validation(found: Mapping[str, Any] | None) -> list[str]:
    """The section, or nothing where there are no multiple-choice questions to guess."""
    if not found or not found["configs"]:
        return []
    varied = varied_configs(found)
    warned = [text(line) for line in found["warnings"]]
    return [
        "## What a machine can guess without understanding",
        "That people find a story valid does not keep a machine from guessing its answers for the wrong "
        "reasons. So a simple classifier (words and pairs of words, no language model) was trained on part "
        "of the questions and tried on the others. Guessing blindly is right in 50.0 %; in brackets: "
        "95 % intervals.",
        *_sampled(found["design"], found["configs"]),
        *([_scores(varied), _figure(), *_kept_together(varied), *_cues(varied)] if varied else []),
        *(["What was noticed, and what to do about it:", bullets(warned)] if warned else []),
        f"How it was done, and everything that was found, is in {code('machine_validation.json')}. It is a "
        "warning; no story was left out for it.",
    ]


def _sampled(design: Mapping[str, Any], configs: Mapping[str, Any]) -> list[str]:
    """On how many questions the figures are, and that they are on a sample where they are."""
    asked = listed([f"{found['questions']:,} of {code(config)}" for config, found in configs.items()])
    if design["sampled_stories"] is None:
        return [f"All questions were looked at: {asked}."]
    return [
        f"The release is large, so {design['sampled_stories']:,} of its {design['stories']:,} stories were "
        f"looked at, a sample of whole cores; the questions are {asked}."
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


def _kept_together(varied: Mapping[str, Any]) -> list[str]:
    """How the guess from the choices alone fares when more than the stories of one core stay together."""
    told = [
        f"{code(config)}, choices only, with all {what} kept out of the training together: "
        f"{_score(found['by_group'][grouping]['choice_only'])}."
        for config, found in varied.items()
        for grouping, what in _HELD_OUT.items()
        if found["by_group"][grouping]["choice_only"]["accuracy"] is not None
    ]
    return [bullets(told)] if told else []


def _cues(varied: Mapping[str, Any]) -> list[str]:
    told = [
        f"{code(config)}: {listed([code(cue) for cue in cues])} in a choice point to the {side} answer."
        for config, found in varied.items()
        for side in ("right", "wrong")
        if (cues := [cue["text"] for cue in found["cues"] if cue["points_to"] == side])
    ]
    return ["The strongest cues it went by:", bullets(told)] if told else []
