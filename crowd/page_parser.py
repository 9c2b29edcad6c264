"""Parse a page into what an annotator sees: its heading, form, links and receipt."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import cast
from urllib.parse import urljoin

from lxml import html

from crowd.truth import text_key

_PARTS = ".//dl[contains(@class, 'parts')][not(ancestor::details)]//dd"
"""Texts of the story, not those of examples beside it."""


@dataclass(frozen=True)
class Form:
    """A form on a page. Addresses are absolute."""

    action: str
    sent_by_script: bool
    """The page's script submits it and replaces a part of the page; plain forms load a new page."""
    hidden: Mapping[str, str]
    choices: Mapping[str, tuple[str, ...]]
    """The values of each group of radio buttons, in page order."""
    buttons: tuple[tuple[str, str], ...]
    """Name and value of each submit button; the first is the default."""
    story: str
    """The key of the texts shown within the form (see ``truth.text_key``)."""

    @property
    def asks(self) -> bool:
        """Return True if the form has questions to answer, not just a button to press."""
        return bool(self.choices)

    @property
    def assignment(self) -> str:
        """The number of the assignment that the form answers; empty for other forms."""
        return self.hidden.get("assignment", "")


@dataclass(frozen=True, slots=True)
class Link:
    """A link that looks like a button."""

    address: str
    quiet: bool
    """A secondary link: offered, but not the intended next step."""

    @property
    def finishes(self) -> bool:
        """Return True if it hands in the work or leads to the completion code."""
        return "/hand-in/" in self.address


@dataclass(frozen=True, slots=True)
class Receipt:
    """The page's confirmation of a saved answer: the time, and a remark if there is one."""

    saved_at: str
    note: str


@dataclass(frozen=True)
class Page:
    """A response of the server. ``address`` is its address after redirects."""

    address: str
    status: int
    body: bytes

    @cached_property
    def _work(self) -> html.HtmlElement | None:
        """The part of the page that changes; None if the page is not ours (an error, no HTML)."""
        if not self.body.strip():
            return None
        root = html.document_fromstring(self.body, parser=html.HTMLParser(encoding="utf-8"))
        return next(iter(_found(root, "//*[@id='work']")), None)

    @property
    def is_ours(self) -> bool:
        """Return True for a page of tomannot, False for a bare server error."""
        return self._work is not None

    @cached_property
    def heading(self) -> str:
        if self._work is None:
            return ""
        return _text(next(iter(_found(self._work, ".//h1")), None))

    @cached_property
    def text(self) -> str:
        """All visible text (or the beginning of a bare error)."""
        if self._work is None:
            return " ".join(self.body[:2000].decode("utf-8", "replace").split())[:500]
        return _text(self._work)

    @cached_property
    def form(self) -> Form | None:
        """The form to fill in; None if there is none."""
        if self._work is None:
            return None
        found = next(iter(_found(self._work, ".//form")), None)
        return None if found is None else self._read(found)

    @cached_property
    def links(self) -> list[Link]:
        """Links that look like buttons, in page order."""
        if self._work is None:
            return []
        return [
            Link(urljoin(self.address, link.get("href")), "button--quiet" in _classes(link))
            for link in _found(self._work, ".//a[@href]")
            if "button" in _classes(link)
        ]

    @cached_property
    def receipt(self) -> Receipt | None:
        if self._work is None:
            return None
        for element in _found(self._work, ".//*[@class]"):
            if "receipt" in _classes(element):
                time = next(iter(_found(element, ".//time[@datetime]")), None)
                if time is not None:
                    return Receipt(time.get("datetime"), " ".join((time.tail or "").split()).lstrip(". "))
        return None

    @property
    def complains(self) -> bool:
        """Return True if the page reports an error in what was submitted."""
        return self._work is not None and bool(_found(self._work, ".//*[@role='alert' and not(@hidden)]"))

    def _read(self, form: html.HtmlElement) -> Form:
        choices: dict[str, list[str]] = {}
        for radio in _found(form, ".//input[@type='radio']"):
            choices.setdefault(radio.get("name"), []).append(radio.get("value"))
        return Form(
            action=urljoin(self.address, form.get("action") or ""),
            sent_by_script=form.get("hx-post") is not None,
            hidden={
                field.get("name"): field.get("value") or ""
                for field in _found(form, ".//input[@type='hidden']")
            },
            choices={name: tuple(values) for name, values in choices.items()},
            buttons=tuple(
                (button.get("name") or "", button.get("value") or "")
                for button in _found(form, ".//button[@type='submit']")
            ),
            story=text_key(_text(part) for part in _found(form, _PARTS)),
        )


def _classes(element: html.HtmlElement) -> list[str]:
    return (element.get("class") or "").split()


def _found(element: html.HtmlElement, path: str) -> list[html.HtmlElement]:
    return cast("list[html.HtmlElement]", element.xpath(path))


def _text(element: html.HtmlElement | None) -> str:
    return "" if element is None else " ".join(element.text_content().split())
