"""A minimal browser: opens addresses and submits forms over real HTTP, and reads what an annotator sees.

It only talks to a server on this machine: a simulated crowd on a public address would be an attack, and
simulated answers do not belong in a real study.
"""

import ipaddress
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlencode, urljoin, urlsplit

import urllib3
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
    """The values of each group of radio buttons, each list and each box to tick, in page order."""
    written: tuple[str, ...]
    """The fields that are filled with words, in page order."""
    buttons: tuple[tuple[str, str], ...]
    """Name and value of each submit button; the first is the default."""
    story: str
    """The key of the texts shown within the form (see ``truth.text_key``)."""

    @property
    def asks(self) -> bool:
        """Return True if the form has questions to answer, not just a button to press."""
        return bool(self.choices or self.written)

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
    def _work(self) -> html.HtmlElement:
        """The part of the page that changes; empty if the page is not ours (an error, no HTML)."""
        parser = html.HTMLParser(encoding="utf-8")
        root: html.HtmlElement = html.document_fromstring(self.body.strip() or b"<p>", parser=parser)
        root.make_links_absolute(self.address)
        found: html.HtmlElement = root.get_element_by_id("work", html.Element("main"))
        return found

    @property
    def is_ours(self) -> bool:
        """Return True for a page of tomannot, False for a bare server error."""
        return bool(self._work.get("id") == "work")

    @cached_property
    def heading(self) -> str:
        return _text(self._work.find(".//h1"))

    @cached_property
    def text(self) -> str:
        """All visible text (or the beginning of a bare error)."""
        if self.is_ours:
            return _text(self._work)
        return " ".join(self.body[:2000].decode("utf-8", "replace").split())[:500]

    @cached_property
    def form(self) -> Form | None:
        """The form to fill in; None if there is none."""
        found = self._work.find(".//form")
        return None if found is None else self._read(found)

    @cached_property
    def links(self) -> list[Link]:
        """Links that look like buttons, in page order."""
        return [
            Link(link.get("href"), "button--quiet" in link.classes)
            for link in self._work.iterfind(".//a[@href]")
            if "button" in link.classes
        ]

    @property
    def onward(self) -> list[Link]:
        return [link for link in self.links if not link.quiet and not link.finishes]

    @cached_property
    def receipt(self) -> Receipt | None:
        for element in self._work.find_class("receipt"):
            time = element.find(".//time[@datetime]")
            if time is not None:
                return Receipt(time.get("datetime"), " ".join((time.tail or "").split()).lstrip(". "))
        return None

    @property
    def complains(self) -> bool:
        """Return True if the page reports an error in what was submitted."""
        return bool(self._work.xpath(".//*[@role='alert' and not(@hidden)]"))

    def _read(self, form: html.HtmlElement) -> Form:
        choices: dict[str, list[str]] = {}
        for radio in form.iterfind(".//input[@type='radio']"):
            choices.setdefault(radio.get("name"), []).append(radio.get("value"))
        for box in form.iterfind(".//input[@type='checkbox'][@name]"):
            choices[box.get("name")] = [box.get("value"), "no"]  # as the server reads one without a tick
        for option in form.iterfind(".//select/option"):
            if option.get("value"):
                choices.setdefault(option.getparent().get("name"), []).append(option.get("value"))
        return Form(
            action=form.get("action") or self.address,
            sent_by_script=form.get("hx-post") is not None,
            hidden={
                field.get("name"): field.get("value") or ""
                for field in form.iterfind(".//input[@type='hidden']")
            },
            choices={name: tuple(values) for name, values in choices.items()},
            written=tuple(line.get("name") for line in form.find_class("words")),
            buttons=tuple(
                (button.get("name") or "", button.get("value") or "")
                for button in form.iterfind(".//button[@type='submit']")
            ),
            story=text_key(_text(part) for part in form.xpath(_PARTS)),
        )


def _text(element: html.HtmlElement | None) -> str:
    return "" if element is None else " ".join(element.text_content().split())


REDIRECTS = 10
CONNECT_SECONDS = 5.0
READ_SECONDS = 30.0


class NotLoopback(ValueError):
    """The address does not point to this machine."""


class Unreachable(Exception):
    """The server did not answer, or redirected the browser to another site or in circles."""


def loopback_origin(address: str) -> str:
    """Return scheme, host and port of an address on this machine, such as ``http://127.0.0.1:8000``.

    Raise :class:`NotLoopback` for any other address.
    """
    parts = urlsplit(address)
    host = parts.hostname or ""
    try:
        is_here = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_here = False
    if parts.scheme != "http" or not is_here:
        raise NotLoopback(
            f"{address!r} is not an address on this machine. The simulated crowd only visits a server "
            "that runs here, such as http://127.0.0.1:8000."
        )
    return f"http://{parts.netloc}"


class Server:
    """The crowd's shared connections to one server. Thread-safe."""

    def __init__(self, base_url: str, *, connections: int) -> None:
        self.origin = loopback_origin(base_url)
        parts = urlsplit(self.origin)
        self._pool = urllib3.HTTPConnectionPool(
            parts.hostname or "",
            parts.port or 80,
            maxsize=connections,
            timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS),
            # Like a browser, try again when a kept connection turns out to be closed.
            retries=urllib3.Retry(total=2, redirect=0, status=0, allowed_methods=None, backoff_factor=0.1),
        )

    def close(self) -> None:
        self._pool.close()

    def request(
        self, method: str, path: str, *, headers: Mapping[str, str], body: str | None = None
    ) -> urllib3.BaseHTTPResponse:
        """Send one request without following redirects. Raise :class:`Unreachable`."""
        try:
            return self._pool.request(method, path, headers=headers, body=body, redirect=False)
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"No answer from {self.origin}: {error}") from error


class Browser:
    """One annotator's browser. It keeps no cookies: these pages need none."""

    def __init__(self, server: Server, *, javascript: bool) -> None:
        self._server = server
        self.javascript = javascript

    def open(self, address: str) -> Page:
        """Load a page, following redirects. Raise :class:`Unreachable`."""
        return self._load("GET", address, headers={})

    def submit(self, form: Form, values: Mapping[str, str], *, button: int = 0) -> tuple[Page, float]:
        """Submit a form with these values and one of its buttons. Return the page and the seconds it took.

        With JavaScript, a form that the page's script sends gets back only the part of the page to replace.
        """
        fields = {**form.hidden, **values}
        if button < len(form.buttons) and form.buttons[button][0]:
            fields[form.buttons[button][0]] = form.buttons[button][1]
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if self.javascript and form.sent_by_script:
            headers |= {"HX-Request": "true", "HX-Target": "work"}
        began = time.monotonic()
        page = self._load("POST", form.action, headers=headers, body=urlencode(fields))
        return page, time.monotonic() - began

    def _load(self, method: str, address: str, *, headers: dict[str, str], body: str | None = None) -> Page:
        for _ in range(REDIRECTS):
            parts = urlsplit(urljoin(self._server.origin + "/", address))
            if f"{parts.scheme}://{parts.netloc}" != self._server.origin:
                raise Unreachable(
                    f"The server sent the browser away from {self._server.origin}, to {parts.netloc}."
                )
            path = f"{parts.path}?{parts.query}" if parts.query else parts.path
            response = self._server.request(method, path, headers=headers, body=body)
            here = f"{self._server.origin}{path}"
            by_script = response.headers.get("HX-Redirect")
            location = by_script or response.headers.get("Location")
            if not location or not (by_script or response.status in (301, 302, 303, 307, 308)):
                return Page(here, response.status, response.data)
            address = urljoin(here, location)
            if by_script:
                method, body, headers = "GET", None, {}
            elif response.status in (301, 302, 303):
                method, body = "GET", None
                headers = {name: value for name, value in headers.items() if name != "Content-Type"}
        raise Unreachable(f"The server redirected the browser more than {REDIRECTS} times in a row.")
