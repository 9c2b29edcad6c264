"""Find near-duplicates among many short texts, one text at a time."""

from array import array
from hashlib import blake2b
from zlib import crc32

THRESHOLD = 0.7
"""Texts are near-duplicates from this estimated resemblance (Jaccard, of their sets of three-word runs)
on. In a story of 35 words, one replaced word leaves 0.83 and two words apart from one another 0.69."""

_SKETCH = 24
_KEYS = 4
_BUCKETS = 1 << 21
_MAX_STEPS = 12
_MAX_MATCHES = 5
_MAX_WORDS = 1 << 18
_MASK = (1 << 64) - 1
_FIRST, _SECOND, _THIRD = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0xD6E8FEB86659FD93
"""Odd 64-bit factors of the multilinear hash of three 32-bit words (its value is the sum's upper half)."""


class NearDuplicates:
    """An index of texts that finds, for each new text, the earlier ones that it nearly repeats.

    Resemblance is estimated from bottom-k sketches: of the hashes of all runs of three words the
    k = 24 smallest are kept, and of the 24 smallest of two sketches together, the share that is in both
    estimates the Jaccard coefficient (A. Broder, *On the resemblance and containment of documents*,
    1997). Candidates are texts that share one of the four smallest hashes: at a resemblance of
    0.7 more than 99 of 100 do. The same texts in the same order give the same answers on every machine.

    A text takes some 130 bytes besides its key. Of the texts that share a hash only the 12
    newest are looked at, so that a phrase common to very many texts does not make adding slow.
    """

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._cores = array("I")
        self._sketches = array("I")  # _SKETCH hashes per text, ascending, padded with 0
        self._newest = array("I", bytes(4 * _BUCKETS))  # bucket -> entry, 0 for none
        self._older = array("I", [0])  # entry -> the entry before it in the same bucket
        self._words: dict[str, int] = {}

    def add(self, key: str, core_id: str, text: str) -> list[str]:
        """Index the text. Return the keys of texts that it nearly repeats (at most five, oldest first).

        Texts with the same ``core_id`` are versions of one another and never match. White space separates
        words: pass texts in lower case, without punctuation, and with names unified where they should not
        count.
        """
        sketch = self._sketch(text)
        core = crc32(core_id.encode())
        matches = self._matches(sketch, core)
        self._store(key, core, sketch)
        return matches

    def _sketch(self, text: str) -> list[int]:
        """Return the smallest hashes of the text's runs of three words, ascending."""
        known = self._words
        words = []
        for word in text.split():
            value = known.get(word)
            if value is None:
                if len(known) >= _MAX_WORDS:  # hashes can be had again: forgetting costs time only
                    known.clear()
                digest = blake2b(word.encode(), digest_size=4).digest()
                value = known[word] = int.from_bytes(digest, "little")
            words.append(value)
        if len(words) < 3:
            words += [0] * (3 - len(words))
        runs = {
            (((a * _FIRST + b * _SECOND + c * _THIRD) & _MASK) >> 32) or 1
            for a, b, c in zip(words, words[1:], words[2:], strict=False)
        }
        return sorted(runs)[:_SKETCH]

    def _matches(self, sketch: list[int], core: int) -> list[str]:
        hashes = set(sketch)
        found: list[int] = []
        for index in self._candidates(sketch, core):
            start = index * _SKETCH
            other = self._sketches[start : start + _SKETCH]
            # What is shared is a ceiling of the estimate: most candidates need no more than this.
            if len(hashes.intersection(other)) >= THRESHOLD * len(hashes):
                theirs = {value for value in other if value}
                smallest = sorted(hashes | theirs)[:_SKETCH]
                if len((hashes & theirs).intersection(smallest)) / len(smallest) >= THRESHOLD:
                    found.append(index)
                    if len(found) == _MAX_MATCHES:
                        break
        return [self._keys[index] for index in sorted(found)]

    def _candidates(self, sketch: list[int], core: int) -> list[int]:
        """Yield texts of other cores that share one of the smallest hashes, newest first for each hash."""
        older, sketches, cores = self._older, self._sketches, self._cores
        found: dict[int, None] = {}
        for value in sketch[:_KEYS]:
            entry = self._newest[value % _BUCKETS]
            steps = _MAX_STEPS
            while entry and steps:
                index, place = divmod(entry - 1, _KEYS)
                if sketches[index * _SKETCH + place] == value:
                    steps -= 1
                    if cores[index] != core:
                        found[index] = None
                entry = older[entry]
        return list(found)

    def _store(self, key: str, core: int, sketch: list[int]) -> None:
        index = len(self._keys)
        self._keys.append(key)
        self._cores.append(core)
        self._sketches.extend(sketch)
        self._sketches.extend([0] * (_SKETCH - len(sketch)))
        for place in range(_KEYS):
            entry = index * _KEYS + place + 1
            bucket = sketch[place] % _BUCKETS if place < len(sketch) else 0
            self._older.append(self._newest[bucket])
            self._newest[bucket] = entry
