"""The menu of a study: its eight entries, the pages of the current one below, by role."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone
from lxml import html

from accounts.models import User
from annotation import actions
from annotation.models import Membership
from tests import builders

pytestmark = pytest.mark.django_db

PAGES = {
    "Overview": [],
    "Stories": ["Stories", "Import"],
    "People": ["People", "Given stories"],
    "Recruitment": ["Campaigns", "Join link", "Payments", "Mismatches"],
    "Qualification": [],
    "Quality": ["Agreement", "Hidden checks", "Review", "Decisions", "Skipped stories", "Filters"],
    "Releases": ["Releases", "Publish", "Compare", "Data statement"],
    "Settings": ["Settings", "Instructions", "Members", "Alerts", "Log", "Configuration", "API tokens"],
}
WITHOUT: dict[str, set[str]] = {
    Membership.Role.OWNER: set(),
    Membership.Role.REVIEWER: {"Publish", "Log", "Configuration"},
    Membership.Role.AUDITOR: {"Publish", "Configuration"},
}
"""Pages that a role may not open."""


def signed_in(client: Client, role: str) -> Client:
    user = User.objects.create_user("rea")
    study = builders.make_study("main", stories=1)
    actions.set_role(study=study, user=user, role=role, by=None, now=timezone.now())
    client.force_login(user)
    return client


class Menu:
    """A page of researchers as they read it."""

    def __init__(self, client: Client, address: str) -> None:
        response = client.get(address)
        assert response.status_code == 200
        page = html.fromstring(response.content.decode())
        self.heading = page.findtext(".//h1", "").strip()
        self.title = page.findtext(".//title", "").split(" · ")[0].strip()
        links = page.findall(".//nav[@class='menu']//li/a")
        self.labels = ["".join(map(str, link.itertext())).strip() for link in links]
        self.links = {name: link.get("href", "") for name, link in zip(self.labels, links, strict=True)}
        current = [link.get("aria-current") for link in links]
        self.current = {(name, what) for name, what in zip(self.labels, current, strict=True) if what}
        self.up = [link.get("href") for link in page.iter("a") if link.get("rel") == "up"]


@pytest.mark.parametrize(
    "role",
    [
        Membership.Role.OWNER,
        pytest.param(Membership.Role.REVIEWER, marks=pytest.mark.torture),
        pytest.param(Membership.Role.AUDITOR, marks=pytest.mark.torture),
    ],
)
def test_every_entry_and_page_of_the_menu_opens_and_says_where_it_is(client: Client, role: str) -> None:
    start = Menu(signed_in(client, role), "/studies/main/")
    assert start.labels == list(PAGES)
    for entry, pages in PAGES.items():
        below = [page for page in pages if page not in WITHOUT[role]]
        first = Menu(client, start.links[entry])
        assert first.heading == first.title == (pages or [entry])[0]
        assert first.labels == list(PAGES) + below
        assert first.current == {(name, "page") for name in (entry, *below[:1])}
        assert first.up == []
        for page in below[1:]:
            if page == "API tokens":
                continue  # the researcher's own, without the menu of a study
            menu = Menu(client, first.links[page])
            assert menu.heading == menu.title == page
            assert menu.labels == list(PAGES) + below
            assert menu.current == {(entry, "true"), (page, "page")}


def test_the_menu_has_no_page_that_a_role_may_not_open(client: Client) -> None:
    reviewer = Membership.Role.REVIEWER
    client = signed_in(client, reviewer)
    for entry, address in (("Releases", "releases/"), ("Settings", "settings/")):
        below = [page for page in PAGES[entry] if page not in WITHOUT[reviewer]]
        assert Menu(client, f"/studies/main/{address}").labels == list(PAGES) + below


def test_a_page_below_one_of_the_menu_leads_back_to_it(client: Client) -> None:
    client = signed_in(client, Membership.Role.OWNER)
    for path, up in (("people/invite/", "people/"), ("recruitment/new/prolific/test/", "recruitment/")):
        assert Menu(client, f"/studies/main/{path}").up == [f"/studies/main/{up}"]
