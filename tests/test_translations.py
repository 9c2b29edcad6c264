"""The catalogue: every text of ours has a whole German translation, and what is compiled is what is written.

The texts are read off the source and the templates, as the extracting tool does it, but without the
tool: nobody needs GNU gettext to run tomannot or these tests.
"""

from __future__ import annotations

import ast
import functools
import gettext
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from django.conf import settings
from django.test import RequestFactory
from django.utils import translation
from django.utils.translation.template import templatize

PROJECT = Path(__file__).resolve().parent.parent
WORK_ROOMS = ("accounts", "annotation", "qualification", "recruitment", "publishing")
ROOMS = ("tomannot", *WORK_ROOMS, "dashboard", "api", "integrity", "crowd")
GETTEXT = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy"}
MARKS = GETTEXT | {"pgettext", "pgettext_lazy"}
"""What marks a text. One that is marked elsewhere is shown by ``translation.gettext(text)``."""
LITERAL = r"""u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
MARKED = re.compile(rf"(?<!\w)(?:_|[np]?gettext)\((?:{LITERAL}(?:, count)?(?:, )?)+\)")
PLACEHOLDER = re.compile(r"%\([a-z_]+\)s|%%")
ALIKE = {
    "Filter",
    "{words} ({name})",
    "Label",
    "Webhooks",
    "Optional",
    "Tests",
    "Test",
    "Bonus",
    "Links (CSV)",
    "Bytes.",
    "Person",
    "DOI",
    "Median",
    "Neutral",
    "Plan",
    "Code",
    "Generator",
    "Name",
    "%(slug)s · %(state)s",
    "%(percent)s %%",
    "%(seconds)s s",
}
"""Texts that are the same in both languages."""

Message = tuple[str, ...]
"""A text, or a singular with its plural; behind its context and :data:`WITHIN`, if it has one."""
WITHIN = "\x04"
"""What stands between a context and its text in a compiled catalogue."""


@dataclass
class Entry:
    """One translation as it is written in a catalogue."""

    message: list[str] = field(default_factory=list)
    translations: list[str] = field(default_factory=list)
    fuzzy: bool = False
    obsolete: bool = False

    @property
    def key(self) -> Message:
        return tuple(self.message)


@functools.cache
def entries(path: Path) -> list[Entry]:
    """What a ``.po`` file holds, its header first."""
    found = [Entry()]
    current: list[str] = []
    context = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line:
            found.append(Entry())
        elif line.startswith("#"):
            found[-1].fuzzy |= line.startswith("#,") and "fuzzy" in line
            found[-1].obsolete |= line.startswith("#~")
        else:
            keyword, text = ("", line) if line.startswith('"') else line.split(" ", 1)
            if keyword == "msgctxt":
                context = ast.literal_eval(text) + WITHIN
                continue
            if keyword:
                current = found[-1].translations if keyword.startswith("msgstr") else found[-1].message
                current.append(context)
                context = ""
            current[-1] += ast.literal_eval(text)
    return [entry for entry in found if entry.message or entry.obsolete]


def calls(tree: ast.AST) -> Iterator[Message]:
    """The texts that Python code gives to gettext; nothing but plain text can be extracted."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MARKS):
            continue
        texts = node.args[: 2 if node.func.id[0] in "np" else 1]
        for text in texts:
            assert isinstance(text, ast.Constant), f"line {node.lineno}: {ast.unparse(node)} is no plain text"
        found = [str(text.value) for text in texts if isinstance(text, ast.Constant)]
        yield (WITHIN.join(found),) if node.func.id.startswith("pgettext") else tuple(found)


@functools.cache
def sources() -> dict[str, ast.Module]:
    """Every module of ours, migrations aside, by its path."""
    return {
        str(path.relative_to(PROJECT)): ast.parse(path.read_text(encoding="utf-8"))
        for room in ROOMS
        for path in (PROJECT / room).rglob("*.py")
        if "migrations" not in path.parts
    }


@functools.cache
def marked() -> frozenset[Message]:
    """Every text of ours that is marked for translation."""
    found: set[Message] = set()
    for tree in sources().values():
        found.update(calls(tree))
    for path in (PROJECT / "templates").rglob("*.*"):
        for call in MARKED.findall(templatize(path.read_text(encoding="utf-8"))):
            found.update(calls(ast.parse(call)))
    return frozenset(found)


CATALOGUES = sorted((PROJECT / "locale").glob("*/LC_MESSAGES/django.po"))
by_language = pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.parent.parent.name)


def test_every_language_on_offer_has_its_catalogue() -> None:
    own = {path.parent.parent.name for path in CATALOGUES}

    assert own == {code for code, name in settings.LANGUAGES} - {settings.LANGUAGE_CODE}
    assert "de" in own


def test_the_search_for_texts_finds_them() -> None:
    """One text from each kind of place, so that an empty search proves nothing."""
    assert {
        ("Please choose an answer.",),
        ("Key information",),
        ("The study is finished",),
        ("two of three",),
        (f"a story that somebody holds{WITHIN}Release",),
        ("yes,–",),
        ("Questions: %(contact)s",),
        ("Skip to content",),
        ("Publish a release",),
        ("The study is not open right now, so you can’t start the test.",),
        ("%(kept)s story kept", "%(kept)s stories kept"),
    } <= marked()


@by_language
def test_the_catalogue_has_exactly_the_texts_that_are_marked(path: Path) -> None:
    """Fails when a text was changed: run makemessages, translate it, run compilemessages (DEVELOPERS.md)."""
    texts = marked()
    known = {entry.key for entry in entries(path)[1:] if not entry.obsolete}

    assert {text for text in texts if text not in known} == set()
    assert {text for text in known if text not in texts} == set()


@by_language
def test_every_text_is_translated_and_nothing_is_guessed(path: Path) -> None:
    _, *found = entries(path)

    assert [entry.key for entry in found if entry.fuzzy or entry.obsolete] == []
    assert [entry.key for entry in found if not all(text.strip() for text in entry.translations)] == []
    assert [entry.key for entry in found if len(entry.translations) != len(entry.message)] == []
    assert {entry.key[0] for entry in found if entry.message == entry.translations} <= ALIKE


@by_language
def test_what_is_filled_in_is_filled_in_in_every_language(path: Path) -> None:
    for entry in entries(path)[1:]:
        for form, text in enumerate(entry.translations):
            original = entry.message[0 if form == 0 else -1]
            assert Counter(PLACEHOLDER.findall(text)) == Counter(PLACEHOLDER.findall(original)), entry.key


@by_language
def test_edges_and_addresses_of_texts_are_kept(path: Path) -> None:
    """White space at an edge joins words on the page; commands and names of files are not translated."""
    for entry in entries(path)[1:]:
        for text in entry.translations:
            assert (text == text.strip()) == (entry.message[0] == entry.message[0].strip()), entry.key
            for name in re.findall(r"manage\.py \w+|MANIFEST|sha256sum -c|tomannot", entry.message[0]):
                assert name in text, entry.key


@by_language
def test_what_is_compiled_is_what_is_written(path: Path) -> None:
    header, *written = entries(path)
    with path.with_suffix(".mo").open("rb") as handle:
        compiled = gettext.GNUTranslations(handle)

    # msgfmt leaves the date of the extraction out, so that the same texts compile to the same bytes.
    about = "".join(
        line for line in header.translations[0].splitlines(keepends=True) if "POT-Creation-Date" not in line
    )
    expected: dict[str | tuple[str, int], str] = {"": about}
    for entry in written:
        if len(entry.message) == 1:
            expected[entry.message[0]] = entry.translations[0]
        else:
            expected |= {(entry.message[0], form): text for form, text in enumerate(entry.translations)}
    assert compiled._catalog == expected  # type: ignore[attr-defined]  # there is no public way to list it


@pytest.mark.parametrize(
    ("accepts", "language"),
    [
        ("de", "de"),
        ("de-AT,de;q=0.8,en;q=0.5", "de"),
        ("fr-CH, fr;q=0.9, de;q=0.7, en;q=0.6", "de"),
        ("en-GB,en;q=0.9,de;q=0.8", "en"),
        ("fr", "en"),
        ("", "en"),
    ],
)
def test_the_browser_chooses_the_language(accepts: str, language: str) -> None:
    request = RequestFactory().get("/", headers={"Accept-Language": accepts})

    assert translation.get_language_from_request(request) == language


def lazy_marks(tree: ast.Module) -> set[str]:
    """The names under which a module calls the marks that translate when a text is shown."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "django.utils.translation"
        for alias in node.names
        if alias.name.endswith("_lazy")
    }


def at_import(node: ast.AST) -> Iterator[ast.AST]:
    """Everything below that runs when the module is imported: not what functions do."""
    yield node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from at_import(child)


def filled_at_once(tree: ast.Module) -> list[int]:
    """The lines where import fills in a lazy text, by ``%`` or a method: that translates it for good."""
    marks = lazy_marks(tree)
    if not marks:
        return []

    def is_lazy(node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in marks

    return [
        node.lineno
        for node in at_import(tree)
        if (isinstance(node, ast.BinOp) and is_lazy(node.left))
        or (isinstance(node, ast.Attribute) and is_lazy(node.value))
        or (isinstance(node, ast.FormattedValue) and is_lazy(node.value))
    ]


def test_no_lazy_text_is_translated_at_import() -> None:
    """It would be English for everybody; ``format_lazy`` waits."""
    wrong = {name: lines for name, tree in sources().items() if (lines := filled_at_once(tree))}
    assert wrong == {}


def test_a_lazy_text_that_is_filled_in_at_once_is_found() -> None:
    head = "from django.utils.translation import gettext_lazy as _\n"
    for code in ('_("%(a)s") % {"a": 1}', '_("{a}").format(a=1)', "f\"{_('a')}\""):
        assert filled_at_once(ast.parse(head + code)) == [2]
    assert filled_at_once(ast.parse(head + '_("a")')) == []
