"""The right answers, as simulated annotators know them.

Annotators never see a story's id, so the truth is looked up by the texts on the page. For texts without
a known truth, one is invented from the texts themselves: the same for every annotator who sees them.
"""

import hashlib
import json
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from crowd.behaviour import Options, chance_of


def text_key(texts: Iterable[str]) -> str:
    """Return the key of a story as shown on a page: SHA-256 (hex) over its texts.

    Order, repetition and white space do not matter, because a page may show a part of the story next to
    several questions.
    """
    shown = sorted({" ".join(text.split()) for text in texts})
    return hashlib.sha256(json.dumps(shown).encode()).hexdigest()


@dataclass(frozen=True)
class Truth:
    """The right options for every story: known ones from a table, the rest invented.

    ``known`` maps a story's :func:`text_key` to its right options per form field. ``against`` maps a
    question to the options that count against a story; ``valid`` is the share of invented truths
    without such an option.
    """

    known: Mapping[str, Options]
    against: Mapping[str, Collection[str]] = field(default_factory=dict)
    valid: float = 0.6
    seed: int = 0

    def right(self, story: str, options: Options) -> Options:
        """Return the right options per form field, the best first.

        Known answers that the form does not offer are dropped; a field left without any is invented.
        """
        known = self.known.get(story, {})
        invented = self._invented(story, options)
        return {
            name: [option for option in known.get(name, ()) if option in offered] or [invented[name]]
            for name, offered in options.items()
        }

    def words(self, story: str, fields: Collection[str]) -> dict[str, str]:
        """Return the words for these fields: those known, or any words in the first row."""
        known = {name: said[0] for name, said in self.known.get(story, {}).items() if name in fields and said}
        first = {name.partition(".")[2] for name in list(fields)[:1]}
        anything = {name: "Something in the story" for name in fields if name.partition(".")[2] in first}
        return known or anything

    def _invented(self, story: str, options: Options) -> dict[str, str]:
        """Invent one answer per field: none against the story if it is valid, otherwise at least one."""
        chance = chance_of(self.seed, story)
        names = sorted(options)
        objections = 0 if chance.random() < self.valid else chance.randint(min(1, len(names)), len(names))
        objected = set(chance.sample(names, objections))
        return {name: self._pick(chance, name, options[name], name in objected) for name in names}

    def _pick(self, chance: random.Random, name: str, offered: Sequence[str], objected: bool) -> str:
        against = [option for option in offered if option in self.against.get(name.split(".", 1)[0], ())]
        fine = [option for option in offered if option not in against]
        if (objected and against) or not fine:
            return chance.choice(against)
        return fine[0] if chance.random() < 0.8 else chance.choice(fine)
