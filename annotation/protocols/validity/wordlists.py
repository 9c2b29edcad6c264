"""The scenarios, and English words for the lint: ``wordlists.toml`` says what each list is."""

import tomllib
from pathlib import Path
from typing import Any

_LISTS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _words(name: str) -> frozenset[str]:
    return frozenset(_LISTS[name].split())


SCENARIOS = _words("scenarios")
MENTAL_STATE_WORDS = _words("mental_state")
PERCEPT_WORDS = _words("percepts")
GIVE_AWAY_WORDS = _words("give_away")
GIVE_AWAY_PHRASES = tuple(f" {phrase} " for phrase in _LISTS["give_away_phrases"])
NOUNS_TOO = _words("nouns_too")
NOUNS_MOSTLY = _words("nouns_mostly")
ADJECTIVAL_KNOWN = _words("adjectival_known")
DETERMINERS = _words("determiners")
EMPTY_WORDS = DETERMINERS | _words("empty")
PRONOUNS = {form: one for one, forms in _LISTS["pronouns"].items() for form in forms.split()}
ABBREVIATIONS = _words("abbreviations")
