"""The pages in other languages: everything on them is translated, German is German, and right to left holds.

What is not marked for translation at all is found by showing each page with a catalogue that puts
every translated text in brackets: letters outside brackets must be data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.http import HttpResponse
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import trans_real
from lxml import html

from annotation import actions, refusals
from annotation.models import Story, Study, Vote
from annotation.protocols import instructions
from publishing.models import AnswerSides, Release
from publishing.queries import release_facts
from recruitment.links import personal_link
from tests import builders
from tests.annotation.pages import Browser
from tests.browser.pages import OWN, REFUSALS
from tests.publishing.support import judged_study, published
from tests.translated_pages import (
    Brackets,
    assert_german,
    bracketed,
    english,
    headings,
    parsed,
    texts_of,
    unmarked,
)
from tomannot.cache import local as cache

STATES = REFUSALS | OWN


@pytest.fixture
def brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    """German is replaced by the catalogue of brackets; pieces of pages that were kept are forgotten."""
    forget_pages()
    monkeypatch.setitem(trans_real._translations, "de", Brackets())  # type: ignore[attr-defined]


@pytest.fixture
def arabic(settings: Any) -> None:
    """Arabic on offer, for which there is no catalogue of ours."""
    settings.LANGUAGES = [*settings.LANGUAGES, ("ar", "العربية")]


@pytest.fixture(autouse=True)
def fresh_pages() -> Iterator[None]:
    """No piece of a page that another test has rendered, and no language left behind."""
    forget_pages()
    yield
    forget_pages()
    translation.deactivate()


def forget_pages() -> None:
    cache.clear()
    instructions._translated.cache_clear()
    refusals._texts.cache_clear()


@pytest.fixture
def study(db: None) -> Study:
    return builders.make_study("short", stories=4, votes_per_story=1, pay_rate="12.50")


def browser(language: str) -> Browser:
    """A person's browser that asks for the language."""
    return Browser(Client(enforce_csrf_checks=True, headers={"Accept-Language": language}))


def walk(language: str, study: Study, person: Any) -> Browser:
    """From the personal link to the last story and the person's own pages; every page is kept."""
    visitor = browser(language)
    visitor.open(personal_link(person))
    visitor.press()
    visitor.open(visitor.url, {"version": "1", "decision": "agree"})
    work = visitor.url.rpartition("instructions/")[0]
    visitor.open(f"{work}qualification/")
    visitor.open(f"{work}qualification/", {})
    visitor.open(visitor.url, {"q1": "yes", "q2": "elsewhere"})
    visitor.open(f"{work}qualification/review/")
    for position in (1, 2):
        visitor.open(f"{work}qualification/{position}/", builders.ALL_YES)
    visitor.open(f"{work}qualification/review/", {})
    visitor.open(f"{work}stories/")
    form = dict(visitor.forms[0].form_values())
    visitor.open(f"{work}stories/", form)
    visitor.open(f"{work}stories/", form | builders.answers(q1="possibly"))
    for page in ("answers/", "you/", "done/", "instructions/", "withdraw/", "forget/"):
        visitor.open(work + page)
    visitor.open(f"{work}you/email/", {"email": "not an address"})
    visitor.pages = [page for page in visitor.pages if page.status_code != 302]
    return visitor


@pytest.fixture
def testing(db: None) -> tuple[Study, Any]:
    """A study with a test, a pay rate and a description, and somebody who was invited to it."""
    study = builders.make_study(
        "testing", stories=3, qualification=2, pay_rate="12.50", description="A few stories."
    )
    return study, builders.invite(study)[0]


def test_a_german_journey(testing: tuple[Study, Any]) -> None:
    visitor = walk("de-CH, de;q=0.9, en;q=0.5", *testing)

    assert_german(visitor.pages)
    assert [heading for page in visitor.pages for heading in headings(page)] == [
        "Sie sind eingeladen, Geschichten zu lesen",
        "Möchten Sie teilnehmen?",
        "Anleitung",
        "Zuerst 2 Testgeschichten",
        "Testgeschichte 1 von 2",
        "Testgeschichte 1 von 2",
        "Prüfen Sie Ihre Antworten",
        "Testgeschichte 2 von 2",
        "Prüfen Sie Ihre Antworten",
        "Sie haben bestanden",
        "Geschichte 1",
        "Geschichte 1",
        "Geschichte 2",
        "Ihre Antworten",
        "Ihr Konto in dieser Studie",
        "Vielen Dank",
        "Anleitung",
        "Studie verlassen?",
        "Aussteigen und persönliche Daten löschen?",
        "Ihr Link per E-Mail",
    ]
    shown = "\n".join(text for page in visitor.pages for text in texts_of(page))
    for text in (
        "12,50 USD pro Stunde",  # numbers as people write them there
        "„elsewhere“ ist keine der Antworten auf diese Frage.",
        "Bitte wählen Sie eine Antwort.",
        "Gespeichert um",
        "Sie haben eine Geschichte erledigt, und sie ist gespeichert.",
        "Das ist keine E-Mail-Adresse.",
        "Nadia, ein Hotelgast",  # worked examples are part of the instructions
    ):
        assert text in shown
    told = {
        " ".join(part.text_content().split())
        for page in visitor.pages
        for part in parsed(page).xpath("//dd[@lang='en']")
    }
    assert Story.objects.main().earliest("order_key").content["story"] in told  # as the data are, and says so
    assert {"de"} == {page.headers["Content-Language"] for page in visitor.pages}
    assert all("Accept-Language" in page.headers["Vary"] for page in visitor.pages)


def test_a_part_that_is_swapped_in_is_in_the_language_of_the_page(study: Study) -> None:
    person = builders.qualified(study)[0]
    visitor = browser("de")
    visitor.open(personal_link(person))
    visitor.press()
    directions = visitor.document.xpath("//form//dl[@class='parts']//dd/@dir")
    assert set(directions) == {"auto"}, "parts of stories find their own direction"
    form = dict(visitor.forms[0].form_values()) | builders.ALL_YES
    part = visitor.open(visitor.url.partition("?")[0], form, htmx=True)

    assert "Geschichte 2" in part.content.decode()
    assert english(part) == set()


@pytest.mark.usefixtures("brackets")
@pytest.mark.parametrize("arrange", [arrange for arrange, _heading in STATES.values()], ids=STATES)
def test_no_text_on_the_page_of_a_state_is_unmarked(study: Study, arrange: Callable[[Study], str]) -> None:
    page = browser("de").open(arrange(study))

    assert unmarked([page]) == set()
    assert "⟦" in page.content.decode()


@pytest.mark.usefixtures("brackets")
def test_everything_on_the_way_of_a_person_is_marked(testing: tuple[Study, Any]) -> None:
    assert unmarked(walk("de", *testing).pages) == set()


@pytest.mark.usefixtures("brackets")
def test_what_is_refused_on_the_way_is_marked(testing: tuple[Study, Any]) -> None:
    """An outdated consent text, a form of somebody else, a test that cannot begin, a change of nothing."""
    study, person = testing
    visitor = browser("de")
    visitor.open(personal_link(person))
    visitor.press()
    work = visitor.url.rpartition("consent/")[0]
    actions.add_consent_text(study=study, text="New words.", by=None, now=timezone.now())
    visitor.open(f"{work}consent/", {"version": "1", "decision": "agree"})
    assert visitor.page.status_code == 409
    visitor.open(f"{work}consent/", {"version": "2", "decision": "agree"})
    visitor.open(f"{work}stories/", {"assignment": "0", **builders.ALL_YES})
    visitor.open(f"{work}answers/0/")
    visitor.open(f"{work}withdraw/", {})

    assert unmarked(page for page in visitor.pages if page.content) == set()
    assert {404, 409} <= {page.status_code for page in visitor.pages}


@pytest.mark.django_db
def test_the_brackets_show_what_is_not_marked() -> None:
    """The control of the tests above: plain English is found, translated text and numbers are not."""
    page = HttpResponse(
        "<title>⟦Story⟧ · tomannot</title><p>⟦Your ⟦pace⟧⟧: 12</p><p>Your account</p>"
        f"<p>{bracketed('Write <code>x</code> or <a href=/>ask</a> us')}</p>"
        "<p><a href='/'>Bare</a> ⟦link⟧</p>"
        "<svg aria-label='a picture'></svg><input type=hidden value=secret>"
    )

    assert unmarked([page]) == {"Your account", "Bare", "a picture"}


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("brackets")
def test_everything_researchers_read_is_marked(admin_client: Client, tmp_path: Path, settings: Any) -> None:
    settings.RELEASES_ROOT = tmp_path / "releases"
    client = admin_client
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = "de"
    pages = [client.get(reverse("dashboard:studies"))]
    draft = builders.make_study(
        "draft", stories=0, opened=False, qualification_required=True, votes_per_story=1
    )
    pages.append(client.get(reverse("dashboard:overview", args=[draft.slug])))
    for move in ("open", "close", "publish"):
        name, arguments = ("change_state", [draft.slug, move]) if move != "publish" else (move, [draft.slug])
        pages.append(client.post(reverse(f"dashboard:{name}", args=arguments), follow=True))
    study = judged_study(
        "judged",
        {"kept-1": (builders.ALL_YES,), "dropped-1": (builders.answers(q3="no"),), "open-1": ()},
        votes_per_story=1,
    )
    telling = builders.story_row(7)
    telling["story_sentence"] = "Luca sees it. Luca knows it."
    telling["story"] = f"{telling['key_information']} {telling['story_sentence']}"
    builders.import_rows(study, [telling])
    waiting = builders.make_study("waiting", votes_per_story=2)
    pages.append(client.post(reverse("dashboard:publish", args=[waiting.slug]), follow=True))
    pages.append(client.get(reverse("dashboard:publish", args=[study.slug])))
    release = published(study)
    pages += [client.post(reverse("dashboard:publish", args=[study.slug]), follow=True) for _ in range(2)]
    pages += [
        client.get(reverse("dashboard:overview", args=[study.slug])),
        client.get(reverse("dashboard:studies")),
        client.get(reverse("dashboard:api_tokens")),
        client.get(reverse("dashboard:home")),
        client.get(reverse("publishing:releases")),
        client.get(reverse("publishing:release", args=[study.slug, release.number])),
    ]

    assert [page.status_code for page in pages] == [200] * len(pages)
    assert unmarked(pages) == set()
    assert all("⟦" in page.content.decode() for page in pages)


@pytest.mark.parametrize("template", ["400.html", "403.html", "403_csrf.html", "404.html", "500.html"])
def test_pages_for_errors_are_translated(template: str) -> None:
    with translation.override("de"):
        german = HttpResponse(render_to_string(template))
    with translation.override("ar"):
        arabic: Any = html.document_fromstring(render_to_string(template))

    assert_german([german])
    assert (arabic.get("lang"), arabic.get("dir")) == ("ar", "rtl")


@pytest.mark.usefixtures("arabic")
def test_a_journey_from_right_to_left(testing: tuple[Study, Any]) -> None:
    visitor = browser("ar")
    visitor.open(personal_link(testing[1]))
    visitor.press()
    visitor.open(visitor.url, {"version": "1", "decision": "agree"})

    pages = [parsed(page) for page in visitor.pages if page.content]
    assert {(page.get("lang"), page.get("dir")) for page in pages} == {("ar", "rtl")}
    assert len(pages) == 3


def test_a_choice_of_language_is_kept_wherever_they_come_from(study: Study) -> None:
    person = builders.qualified(study)[0]
    visitor = browser("de")
    visitor.open(personal_link(person))
    (switch,) = visitor.document.xpath("//form[@class='header__languages']")
    assert [button.get("lang") for button in switch.xpath(".//button")] == ["en"]
    address = visitor.url
    visitor.open(switch.get("action"), dict(switch.form_values()) | {"language": "en"})
    assert (visitor.url, headings(visitor.page)) == (address, ["Welcome back"])
    visitor.press("Continue")
    (switch,) = visitor.document.xpath("//form[@class='header__languages']")
    assert [button.get("lang") for button in switch.xpath(".//button")] == ["de"]
    address = visitor.url
    visitor.open(switch.get("action"), dict(switch.form_values()) | {"language": "de"})
    assert (visitor.url, visitor.page.headers["Content-Language"]) == (address, "de")
    visitor.open(switch.get("action"), dict(switch.form_values()) | {"language": "en"})
    assert (visitor.url, headings(visitor.page)) == (address, ["Story 1"])
    assert visitor.page.headers["Content-Language"] == "en"

    visitor.press("Save", **builders.ALL_YES)
    assert Vote.objects.get().language == "en"
    visitor.open(switch.get("action"), {"language": "tlh", "next": "https://elsewhere.example/"})
    assert headings(visitor.page) == ["Story 2"], "still in English, and still here"
    again = browser("de")
    again.open(personal_link(person))
    again.press()
    assert headings(again.page) == ["Story 2"]


def test_a_release_says_the_same_whoever_asks_for_it(study: Study) -> None:
    salt = AnswerSides.objects.create(study=study, salt="salt").salt
    release = Release(study=study, number=1, requested_at=timezone.now(), salt=salt)
    with translation.override("en"):
        plain = release_facts(release)
    with translation.override("de"):
        assert release_facts(release) == plain


@pytest.mark.django_db
def test_commands_and_the_audit_log_speak_english() -> None:
    """What is stored or printed without a request is in the one language of the house."""
    draft = builders.make_study("draft", stories=0, opened=False)
    assert translation.get_language() == settings.LANGUAGE_CODE

    assert actions.blockers(draft) == [
        "It has no stories. To import some: manage.py import_stories SLUG FILE."
    ]
