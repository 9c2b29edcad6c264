"""English words for linting: splitting, stems, and words that say nothing."""

import tomllib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

_SPACES = str.maketrans(dict.fromkeys("\"#$%&'()*+,-./:;<=>?!@[\\]^_`{|}~’‘“”„–—…«»¡¿\u00a0", " "))


def word_lists(path: Path) -> dict[str, Any]:
    """Read a TOML file of word lists. Words between spaces become a set."""
    lists = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        name: frozenset(words.split()) if isinstance(words, str) else words for name, words in lists.items()
    }


_LISTS = word_lists(Path(__file__).with_name("words.toml"))
DETERMINERS: frozenset[str] = _LISTS["determiners"]
EMPTY_WORDS: frozenset[str] = DETERMINERS | _LISTS["empty"]


def words_of(text: str) -> list[str]:
    """Return the words in lower case, split at apostrophes (“john”, “s”)."""
    return text.lower().translate(_SPACES).split()


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Strip common endings: good enough to match “pays” with “pay” and “paying”."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    return word.removesuffix("e")


def is_uneven(most: int, least: int) -> bool:
    """Return True if a text of ``most`` words is conspicuously longer than one of ``least``."""
    return most >= 2 * least and most - least >= 4


def listed(words: Iterable[str]) -> str:
    return ", ".join(f"“{word}”" for word in dict.fromkeys(words))
