"""A person's browser, as the annotators' pages meet it: no cookies, CSRF checks on, every page kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from lxml import html

from annotation import actions
from annotation.models import Enrollment, Vote
from annotation.tokens import VisitClaim, visit_token
from recruitment.links import personal_link
from tests import builders

HTMX = {"HX-Request": "true", "HX-Target": "work"}


@dataclass
class Browser:
    """Follows links and fills in forms, and remembers all it was sent."""

    client: Client = field(default_factory=lambda: Client(enforce_csrf_checks=True))
    pages: list[HttpResponse] = field(default_factory=list)
    url: str = ""

    def open(self, url: str, data: dict[str, str] | None = None, *, htmx: bool = False) -> HttpResponse:
        """GET the address (or POST the data to it) and follow redirects, without ever sending a cookie."""
        headers = HTMX if htmx else {}
        response = self._request(url, data, headers)
        while response.status_code in (301, 302):
            response = self._request(response.headers["Location"], None, headers)
        return response

    def press(self, button: str = "", /, **answers: str) -> HttpResponse:
        """Send the form on the page (the one with this button, if there are several)."""
        forms = [form for form in self.forms if not button or button in form.text_content()]
        assert forms, f"no form “{button}” on {self.url}"
        form = forms[0]
        data = dict(form.form_values()) | answers
        for element in form.xpath(".//button[@name]"):
            if button and button in element.text_content():
                data[element.get("name")] = element.get("value")
        return self.open(form.get("action"), data)

    @property
    def page(self) -> HttpResponse:
        return self.pages[-1]

    @property
    def document(self) -> Any:
        return html.document_fromstring(self.page.content.decode())

    @property
    def forms(self) -> list[Any]:
        """The forms of the page, without those of its header."""
        return list(self.document.xpath("//main//form"))

    @property
    def heading(self) -> str:
        return " ".join(self.document.xpath("//h1")[0].text_content().split())

    @property
    def path(self) -> str:
        """The current address after the token: ``/stories/``."""
        return "/" + "/".join(self.url.split("/")[3:])

    def _request(self, url: str, data: dict[str, str] | None, headers: dict[str, str]) -> HttpResponse:
        self.client.cookies.clear()
        parts = urlsplit(url)
        self.url = parts.path + (f"?{parts.query}" if parts.query else "")
        if data is None:
            response: Any = self.client.get(self.url, headers=headers)
        else:
            response = self.client.post(self.url, data, headers=headers)
        self.pages.append(response)
        return self.page


def ago(minutes: float) -> datetime:
    return timezone.now() - timedelta(minutes=minutes)


def answer(person: Enrollment, *, after: datetime, seconds: int = 40, **changes: str) -> Vote:
    assignment = builders.claim(person, now=after)
    receipt = actions.record_vote(
        assignment_id=assignment.pk,
        enrollment=person,
        submitted=builders.answers(**changes),
        now=after + timedelta(seconds=seconds),
    )
    return receipt.vote


def text_of(element: Any) -> str:
    return " ".join(element.text_content().split())


def fact(browser: Browser, name: str) -> str:
    found = browser.document.xpath(f"//dt[normalize-space()='{name}']/following-sibling::dd")
    return text_of(found[0]) if found else ""


def arrive(enrollment: Enrollment) -> Browser:
    """A browser in which the person has opened their link and pressed the button."""
    browser = Browser()
    browser.open(personal_link(enrollment))
    browser.press()
    return browser


def token_of(person: Enrollment) -> str:
    return visit_token(VisitClaim(person.pk, 0, person.link_key))


def at(person: Enrollment, page: str = "") -> Browser:
    """A browser in the middle of the person's visit."""
    browser = Browser()
    browser.open(f"/work/{token_of(person)}/{page}")
    return browser
