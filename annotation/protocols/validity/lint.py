"""Lint stories: warn about signs that a story may be unfit as a test item. ``wordlists.toml`` has the words.

A warning refuses nothing. It is stored with the story for researchers.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from annotation.importing.rows import StoryRow, quote
from annotation.protocols.base import DUPLICATES, Finding
from annotation.protocols.questions import _
from annotation.protocols.words import DETERMINERS, EMPTY_WORDS, is_uneven, listed, stem, word_lists, words_of

_LISTS = word_lists(Path(__file__).with_name("wordlists.toml"))
SCENARIOS: frozenset[str] = _LISTS["scenarios"]
MENTAL_STATE_WORDS: frozenset[str] = _LISTS["mental_state"]
PERCEPT_WORDS: frozenset[str] = _LISTS["percepts"]
GIVE_AWAY_WORDS: frozenset[str] = _LISTS["give_away"]
GIVE_AWAY_PHRASES = tuple(f" {phrase} " for phrase in _LISTS["give_away_phrases"])
NOUNS_TOO, NOUNS_MOSTLY = _LISTS["nouns_too"], _LISTS["nouns_mostly"]
ADJECTIVAL_KNOWN, ABBREVIATIONS = _LISTS["adjectival_known"], _LISTS["abbreviations"]
PRONOUNS = {form: one for one, forms in _LISTS["pronouns"].items() for form in forms.split()}

SHARE_IN_STORY = 0.75
"""An action is in the story already when the story sentence holds two or more of its content words, and
at least this share of those that are not the name of somebody or something taking part."""

_SENTENCE_END = re.compile(r"[.!?][\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9])")
_POSSESSIVE = re.compile("['’]")
_SUSPECTS = MENTAL_STATE_WORDS | PERCEPT_WORDS | GIVE_AWAY_WORDS
_TELLING = _SUSPECTS | {word for phrase in GIVE_AWAY_PHRASES for word in phrase.split()[:2]}
_LABELS = {"key_information": "key information", "story_sentence": "story sentence"}

LABELS_OF_CODES: dict[str, str] = {
    "not_two_sentences": _("not two sentences"),
    "mental_state_word": _("a word of thinking or knowing"),
    "percept_word": _("a word of seeing or hearing"),
    "give_away_word": _("a word that gives it away"),
    "person_x_not_named": _("main character not named"),
    "action_in_story": _("an action is in the story already"),
    "action_lengths_differ": _("actions differ much in length"),
    **DUPLICATES,
}
"""Labels of the codes. The messages are stored with the story, in English."""


def lint(story: StoryRow) -> list[Finding]:
    """Return warnings about a story in a fixed order; each quotes the words that caused it.

    Codes: ``not_two_sentences``, ``mental_state_word``, ``percept_word``, ``give_away_word``,
    ``person_x_not_named``, ``action_in_story``, ``action_lengths_differ``.
    """
    content = story.content
    findings: list[Finding] = []
    words: list[str] = []
    for field in ("key_information", "story_sentence"):
        words = words_of(content[field])
        findings += _sentences(field, content[field])
        if not _TELLING.isdisjoint(words):
            findings += _suspect_words(field, words)
    text, person_x = f" {' '.join(words)} ", content["entities"].get("Person X", "")
    if not any(form in text for form in _short_forms(person_x)):
        message = f"The story sentence does not name Person X ({quote(person_x)})."
        findings.append(Finding("person_x_not_named", "story_sentence", message))
    actions = {field: words_of(content[field]) for field in ("action_unaware", "action_aware")}
    findings += _in_story(actions, words, tuple(content["entities"].values()))
    findings += _lengths(actions["action_unaware"], actions["action_aware"])
    return findings


def text_for_duplicates(story: StoryRow) -> str:
    """Return the story's words in lower case, with persons and pronouns unified.

    Generated stories often differ in nothing but the name of a person.
    """
    words = [PRONOUNS.get(word, word) for word in words_of(story.content["story"])]
    text = f" {' '.join(words)} "
    entities = story.content["entities"].items()
    for name in _names(tuple(name for role, name in entities if role.startswith("Person"))):
        text = text.replace(name, " person ")
    return text.strip()


def _sentences(field: str, text: str) -> list[Finding]:
    """Warn about a part with several sentences, or one that ends in a comma, semicolon or colon."""
    message = ""
    for end in _SENTENCE_END.finditer(text):
        bare = "".join(text[: end.start()].rsplit(None, 1)[-1:]).strip("\"'“‘([").lower()
        is_abbreviation = bare in ABBREVIATIONS or (len(bare) == 1 and bare.isalpha()) or "." in bare
        if not is_abbreviation:
            second = quote(text[end.end() :], 40)
            message = f"The {_LABELS[field]} is more than one sentence; a second one starts at {second}."
            break
    else:
        if text.endswith((",", ";", ":")):
            message = f"The {_LABELS[field]} ends in “{text[-1]}”, so it is not a whole sentence."
    return [Finding("not_two_sentences", field, message)] if message else []


def _suspect_words(field: str, words: list[str]) -> Iterator[Finding]:
    kinds = (
        ("mental_state_word", MENTAL_STATE_WORDS, "says what somebody thinks or knows"),
        ("percept_word", PERCEPT_WORDS, "says what somebody perceives"),
        ("give_away_word", GIVE_AWAY_WORDS, "gives away that something is not as it seems"),
    )
    for code, suspects, what in kinds:
        found = [word for index, word in enumerate(words) if word in suspects and not _is_other(words, index)]
        if found:
            yield Finding(code, field, f"The {_LABELS[field]} {what}: {listed(found)}.")
    text = f" {' '.join(words)} "
    found = [phrase.strip() for phrase in GIVE_AWAY_PHRASES if phrase in text]
    if found:
        message = f"The {_LABELS[field]} gives away that something is not as it seems: {listed(found)}."
        yield Finding("give_away_word", field, message)


def _is_other(words: list[str], index: int) -> bool:
    """Return True if the word is a noun (“a notice”) or an adjective (“well known for”) here."""
    before = words[index - 1] if index else ""
    after = words[index + 1] if index + 1 < len(words) else ""
    if words[index] == "known":
        return before in ADJECTIVAL_KNOWN or after in ("for", "as")
    if words[index] in NOUNS_MOSTLY:
        return after not in DETERMINERS and after not in PRONOUNS
    return words[index] in NOUNS_TOO and before in DETERMINERS


def _in_story(
    actions: dict[str, list[str]], sentence_words: list[str], entities: tuple[str, ...]
) -> Iterator[Finding]:
    stems = {stem(word) for word in sentence_words}
    names = _name_words(entities)
    for field, action in actions.items():
        telling = dict.fromkeys(word for word in action if word not in EMPTY_WORDS)
        shared = [word for word in telling if stem(word) in stems]
        if len(shared) < 2:
            continue
        wanted = [word for word in telling if stem(word) not in names]
        done = [word for word in wanted if stem(word) in stems]
        if done and len(done) >= SHARE_IN_STORY * len(wanted):
            message = f"The story sentence has this action already: it shares {listed(shared)}."
            yield Finding("action_in_story", field, message)


def _lengths(unaware: list[str], aware: list[str]) -> Iterator[Finding]:
    shorter, longer = sorted((len(unaware), len(aware)))
    if is_uneven(longer, shorter):  # “the shorter choice is right” may find 0.95 of the answers
        field = "action_aware" if len(aware) > len(unaware) else "action_unaware"
        message = (
            f"Action A has {len(unaware)} words and action B {len(aware)}:"
            " the length alone may tell which of them is right."
        )
        yield Finding("action_lengths_differ", field, message)


def _forms(name: str) -> list[str]:
    """Return the forms in which a story may name ``Ann Lee, a car owner`` or ``Tom (John's landlord)``."""
    forms = []
    for form in (re.sub(r"\(.*?\)", " ", name), *re.split(r"[(),]", name)):
        words = words_of(form)
        while words and words[0] in DETERMINERS:
            words = words[1:]
        if words:
            forms.append(" ".join(words))
        if form.lstrip()[:1].isupper() and not _POSSESSIVE.search(form):
            forms += [word for word in words[:1] if word not in ABBREVIATIONS]  # “Ann” for “Ann Lee”
    return forms


@lru_cache(maxsize=4096)
def _short_forms(name: str) -> tuple[str, ...]:
    """Return all forms of the name, and their last words (“friend” of “Lisa's friend”), between spaces."""
    forms = _forms(name)
    return tuple(f" {form} " for form in dict.fromkeys([*forms, *(form.split()[-1] for form in forms)]))


@lru_cache(maxsize=4096)
def _names(persons: tuple[str, ...]) -> tuple[str, ...]:
    """Return all forms of all persons' names between spaces, longest first."""
    forms = {form for name in persons for form in _forms(name)}
    return tuple(f" {form} " for form in sorted(forms, key=lambda form: (-len(form), form)))


@lru_cache(maxsize=4096)
def _name_words(entities: tuple[str, ...]) -> frozenset[str]:
    return frozenset(stem(word) for name in entities for word in words_of(name))
