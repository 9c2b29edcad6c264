"""Every page that is not on the straight way: refusals, ends, errors, releases, the researchers' pages.

Each entry of :data:`REFUSALS` brings a person into a state through actions and returns the address to open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from annotation import actions
from annotation.models import Enrollment, Study
from qualification import actions as qualification_actions
from qualification.models import Round
from recruitment import actions as recruitment_actions
from recruitment.links import visit_path
from tests import builders
from tests.browser.checks import (
    NARROW,
    PRESSED,
    SMALL_TARGETS,
    TARGET,
    TOO_WIDE,
    assert_accessible_in_both_schemes,
)
from tests.browser.windows import DESKTOP, Window, stories_path

NARROWEST = NARROW[-1]
UNFOLD = "() => document.querySelectorAll('details').forEach((part) => (part.open = true))"


def nothing_free(study: Study) -> str:
    holders = builders.qualified(study, 4)
    for holder in holders:
        builders.claim(holder)
    return stories_path(builders.qualified(study)[0])


def all_done(study: Study) -> str:
    person = builders.qualified(study)[0]
    builders.answer_everything([person])
    return stories_path(person)


def cap_reached(study: Study) -> str:
    capped = builders.make_study(f"{study.slug}-capped", stories=3, story_cap=2)
    person = builders.qualified(capped)[0]
    builders.answer_everything([person])
    return stories_path(person)


def paused(study: Study) -> str:
    person = builders.qualified(study)[0]
    actions.pause_study(study=study, by=None, now=timezone.now())
    return stories_path(person)


def closed(study: Study) -> str:
    person = builders.qualified(study)[0]
    actions.close_study(study=study, by=None, now=timezone.now())
    return stories_path(person)


def not_open(study: Study) -> str:
    draft = builders.make_study(f"{study.slug}-draft", opened=False)
    return stories_path(builders.qualified(draft)[0])


def suspended(study: Study) -> str:
    person = builders.qualified(study)[0]
    actions.suspend(enrollment=person, by=None, now=timezone.now(), reason="test")
    return stories_path(person)


def protocol_changed(study: Study) -> str:
    person = builders.qualified(study)[0]
    # A newer tomannot without the version that this study began with; no action leads there.
    Study.objects.filter(pk=study.pk).update(protocol_version="0.0")
    return stories_path(person)


def declined(study: Study) -> str:
    person = actions.decline_consent(enrollment=builders.invite(study)[0], now=timezone.now())
    return stories_path(person)


def failed(study: Study) -> str:
    strict = builders.make_study(f"{study.slug}-strict", qualification=2)
    person = builders.consent(builders.invite(strict)[0])
    return stories_path(builders.take_test(person, builders.answers(q3="no")))


def failed_once(study: Study) -> str:
    lenient = builders.make_study(f"{study.slug}-lenient", qualification={"rows": 2, "attempts_allowed": 2})
    person = builders.consent(builders.invite(lenient)[0])
    person = builders.take_test(person, builders.answers(q3="no"))
    return _work(person) + "qualification/result/"


def no_test_now(study: Study) -> str:
    strict = builders.make_study(f"{study.slug}-strict", qualification=2)
    person = builders.consent(builders.invite(strict)[0])
    actions.pause_study(study=strict, by=None, now=timezone.now())
    return stories_path(person)


def link_broken(study: Study) -> str:
    return reverse("recruitment:arrive", args=["1.not-ours"])


def visit_broken(study: Study) -> str:
    return reverse("annotation:stories", args=["1-1.not-ours"])


def coming_back(study: Study) -> str:
    from tests.browser.conftest import path_of

    return path_of(builders.qualified(study)[0])


def not_there(study: Study) -> str:
    return "/nothing-here/"


REFUSALS: dict[str, tuple[Callable[[Study], str], str]] = {
    "nothing free": (nothing_free, "No story is free right now"),
    "all done": (all_done, "There are no stories left for you"),
    "cap reached": (cap_reached, "You’ve answered your share"),
    "paused": (paused, "The study is paused"),
    "closed": (closed, "The study is finished"),
    "not open": (not_open, "The study has not started yet"),
    "protocol changed": (protocol_changed, "The study is being fixed"),
    "suspended": (suspended, "You can’t continue right now"),
    "declined": (declined, "No problem"),
    "failed": (failed, "Thank you for trying"),
    "failed once": (failed_once, "Thank you for trying"),
    "test not open": (no_test_now, "The study is paused"),
    "link broken": (link_broken, "This link does not work"),
    "visit broken": (visit_broken, "This link does not work"),
    "coming back": (coming_back, "Welcome back"),
    "not there": (not_there, "Page not found"),
}
"""Per page: what brings somebody there, and its heading."""


def own_answers(study: Study) -> str:
    person = builders.qualified(study)[0]
    builders.vote(person)
    builders.vote(person, builders.answers(q1="possibly", q3="no"))
    late = builders.claim(person)
    actions.suspend(enrollment=person, by=None, now=timezone.now(), reason="test")
    actions.record_vote(
        assignment_id=late.pk, enrollment=person, submitted=builders.ALL_YES, now=timezone.now()
    )
    actions.reinstate(enrollment=person, by=None, now=timezone.now(), reason="test")
    return _work(person) + "answers/"


def no_own_answers(study: Study) -> str:
    return _work(builders.qualified(study)[0]) + "answers/"


def changing(study: Study) -> str:
    person = builders.qualified(study)[0]
    receipt = builders.vote(person)
    return _work(person) + f"answers/{receipt.vote.assignment_id}/"


def nothing_to_change(study: Study) -> str:
    return _work(builders.qualified(study)[0]) + "answers/1234567/"


def start_test(study: Study) -> str:
    strict = builders.make_study(f"{study.slug}-strict", qualification=2)
    person = builders.consent(builders.invite(strict)[0])
    qualification_actions.start_attempt(enrollment=person, now=timezone.now())
    return _work(person) + "qualification/1/"


def practice(study: Study) -> str:
    strict = builders.make_study(f"{study.slug}-strict", qualification=1)
    rows = [builders.story_row(900, prefix="practice"), builders.story_row(901, prefix="practice")]
    why = {str(rows[0]["story_id"]): {"q1": "The lid hides what the jar holds."}}
    made = builders.add_round(strict, rows, kind=Round.Kind.REQUIRED, reasons=why)
    person = builders.consent(builders.invite(strict)[0])
    qualification_actions.practise(
        enrollment=person,
        round_story=made.round_stories.get(position=1),
        submitted=builders.answers(q1="no"),
        now=timezone.now(),
    )
    return _work(person) + "qualification/practice/2/"


def practised(study: Study) -> str:
    return practice(study).replace("practice/2/", "practice/1/answers/")


def practice_owed(study: Study) -> str:
    return practice(study).replace("practice/2/", "")


def place(study: Study) -> str:
    person = builders.qualified(study)[0]
    builders.vote(person)
    return _work(person) + "you/"


def leaving(study: Study) -> str:
    return _work(builders.qualified(study)[0]) + "withdraw/"


def being_forgotten(study: Study) -> str:
    return _work(builders.qualified(study)[0]) + "forget/"


def withdrawn(study: Study) -> str:
    person = builders.qualified(study)[0]
    actions.withdraw(enrollment=person, now=timezone.now())
    return stories_path(person)


def asked_about_oneself(study: Study) -> str:
    asking = builders.make_study(
        f"{study.slug}-asking", intake_questions=["age", "first_language", "gender", "country"]
    )
    return _work(builders.consent(builders.invite(asking)[0])) + "intake/"


OWN: dict[str, tuple[Callable[[Study], str], str]] = {
    "answers": (own_answers, "Your answers"),
    "no answers": (no_own_answers, "Your answers"),
    "changing": (changing, "Change an answer"),
    "nothing to change": (nothing_to_change, "Nothing to change"),
    "practice": (practice, "Practice story 2 of 2"),
    "practised": (practised, "Practice story 1: the right answers"),
    "practice owed": (practice_owed, "First, 1 test story"),
    "place": (place, "Your account in this study"),
    "leaving": (leaving, "Leave the study?"),
    "being forgotten": (being_forgotten, "Leave and delete your personal data?"),
    "withdrawn": (withdrawn, "You have left this study"),
    "asked": (asked_about_oneself, "A few questions about you"),
}
"""The same for the pages about a person's own part."""


def _work(person: Enrollment) -> str:
    return visit_path(recruitment_actions.arrive_by_link(enrollment=person, now=timezone.now()))


def sign_in(window: Window, researcher: tuple[str, str]) -> None:
    """Give the window the session that signing in would; ``test_own_account`` goes through the page."""
    client, name = client_of(researcher[0]), settings.SESSION_COOKIE_NAME
    window.context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": window.site}])


def show(window: Window, page: str | bytes) -> None:
    """Write this page into the window, which is open on the site and keeps axe-core: faster than a visit."""
    window.page.set_content(page if isinstance(page, str) else page.decode())


def client_of(name: str) -> Client:
    """A client in which this user is signed in."""
    client = Client()
    client.force_login(User.objects.get(username=name), "django.contrib.auth.backends.ModelBackend")
    return client


def look_at(window: Window, *, name: str = "", unfolded: bool = True) -> None:
    """Judge the page that is open: by axe-core in this size and both colour schemes, by its width in all.

    ``name`` stands in the failure, where the address of the window is another.
    """
    page, before = window.page, window.page.viewport_size
    if unfolded:
        page.evaluate(UNFOLD)
    with named(name or page.url):
        assert_accessible_in_both_schemes(page, page)
        for size in (NARROWEST, DESKTOP):
            page.set_viewport_size(size)
            assert page.evaluate(f"({TOO_WIDE})()") == [], f"too wide at {size['width']} px"
            if size == NARROWEST:
                assert page.evaluate(SMALL_TARGETS, [PRESSED, TARGET]) == [], "hard to hit"
    if before:
        page.set_viewport_size(before)


@contextmanager
def named(name: str) -> Iterator[None]:
    """Say in a failure what was looked at."""
    try:
        yield
    except AssertionError as error:
        error.add_note(f"looked at: {name}")
        raise
