"""What a page says in another language: what is translated on it, what is data, and what is neither."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator
from typing import Any

from lxml import html

from accounts.models import User
from annotation.models import ConsentText, Enrollment, Story, Study
from qualification.models import KeyReason
from tests.test_translations import CATALOGUES, entries

SPOKEN = ("aria-label", "alt", "title", "placeholder")
"""Attributes that people read or hear."""

NOT_WORDS = re.compile(r"\b(tomannot|UTC|SHA-256|all-agree|Croissant|CITATION\.cff)\b")

DATA = (
    "//script|//style|//pre|//code|//output|//*[contains(@class, 'hash')]|//a[contains(@href, '/files/')]"
    "|//body//*[@lang='en']"  # a card and a citation are English in every language, and the page says so
    "|//*[@class='header__languages']|//option[@lang]"  # each language by its own name
)

BRACKETED = re.compile(r"⟦[^⟦⟧]*⟧")

TAG = re.compile(r"(</?[a-z][^<>]*>)")


def bracketed(message: str) -> str:
    """The message in brackets; each piece on its own where links and code divide it."""
    return "".join(part if TAG.fullmatch(part) else f"⟦{part}⟧" for part in TAG.split(message))


class Brackets:
    """A catalogue that shows what went through it."""

    def to_language(self) -> str:
        return "de"

    def gettext(self, message: str) -> str:
        return bracketed(message)

    def ngettext(self, singular: str, plural: str, number: int) -> str:
        return bracketed(singular if number == 1 else plural)


def data() -> list[str]:
    """Every text of studies and stories and every user's name, which stay as they are, the longest first."""
    texts: set[str] = set()
    for study in Study.objects.all():
        texts |= {study.title, study.description, study.contact, study.currency, study.slug, study.license}
    for text in ConsentText.objects.all():
        texts |= {" ".join(paragraph.split()) for paragraph in text.text.split("\n")}
    texts |= set(User.objects.values_list("username", flat=True))
    texts |= set(Enrollment.objects.values_list("suspension_reason", flat=True))
    texts |= set(KeyReason.objects.values_list("reason", flat=True))
    for story in Story.objects.all():
        texts |= {value for value in story.content.values() if isinstance(value, str)}
        texts |= {story.story_id, *story.content["entities"].values()}
    return sorted(filter(None, texts), key=len, reverse=True)


def parsed(page: Any) -> Any:
    """The page as a document."""
    return html.document_fromstring(page.content.decode())


def headings(page: Any) -> list[str]:
    """The headings of the first level; a page has one."""
    return [" ".join(found.text_content().split()) for found in parsed(page).xpath("//h1")]


def texts_of(page: Any) -> Iterator[str]:
    """What people read or hear of a page, piece by piece."""
    document = parsed(page)
    for element in document.xpath(DATA):
        element.drop_tree()
    for text in document.xpath("//title//text()|//body//text()"):
        yield " ".join(text.split())
    for element in document.iter():
        for name in SPOKEN:
            if element.get(name):
                yield " ".join(element.get(name).split())


def unmarked(pages: Iterable[Any]) -> set[str]:
    """The pieces of pages in brackets that have letters which are neither translated nor data."""
    known = data()
    found = set()
    for text in (text for page in pages for text in texts_of(page)):
        rest = text
        for known_text in known:
            rest = rest.replace(known_text, "")
        while BRACKETED.search(rest):
            rest = BRACKETED.sub("", rest)
        if re.search(r"[^\W\d_]", NOT_WORDS.sub("", rest)):
            found.add(text)
    return found


@functools.cache
def english_texts() -> frozenset[str]:
    """Every English text of more than one word that has nothing filled in."""
    return frozenset(
        text
        for path in CATALOGUES
        if path.parent.parent.name == "de"
        for entry in entries(path)[1:]
        for text in entry.message
        if "%(" not in text and " " in text and text not in entry.translations
    )


def english(page: Any) -> set[str]:
    """The English texts that are still on a page."""
    return set(texts_of(page)) & english_texts()


def assert_german(pages: Iterable[Any]) -> None:
    for page in pages:
        document = parsed(page)
        assert (document.get("lang"), document.get("dir")) == ("de", "ltr")
        assert english(page) == set()
