"""Every page of researchers, each with something on it: axe-core finds nothing, and it fits on every screen.

What the pages say, who may open them and what their forms do is proven in ``tests.dashboard``, by requests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from django.contrib.auth.tokens import default_token_generator
from django.test import Client
from django.urls import get_resolver, reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from playwright.sync_api import expect

from accounts.actions import ensure_researcher
from accounts.models import PlatformIdentity, User
from annotation import actions
from annotation.models import Membership, ReviewSample, SpotCheck, Story, Study
from dashboard.figures import compute
from dashboard.settings.mails import invitation_link
from publishing import tasks
from publishing.actions.published import withdraw_release
from publishing.actions.statements import describe_data
from publishing.models import Release
from qualification import actions as qualification_actions
from recruitment.models import Mismatch
from tests import builders
from tests.annotation.test_revisions import first, inspected, revise
from tests.browser.conftest import PASSWORD, RESEARCHER, OpenWindow
from tests.browser.pages import client_of, look_at, show
from tests.browser.test_open_tables import two_lists
from tests.browser.windows import SIZES, Window
from tests.dashboard.baselines import drawn, released_study
from tests.dashboard.worlds import World, build_world, split_over_labels
from tests.publishing.support import published
from tests.publishing.test_card import SAID
from tests.worlds import built_once

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

pytestmark = pytest.mark.browser

EXPERT = "expert"
Pages = list[tuple[Any, ...]]


@dataclass
class Site:
    """Studies in full use, and one that has two releases and a baseline."""

    studies: World
    release: Release
    lists: Study
    labels: Study
    revised: Story


@built_once
def build_site() -> Site:
    studies = build_world()
    ensure_researcher(username=RESEARCHER, password=PASSWORD)
    release = released_study()
    for study in (release.study, studies.judged.study, studies.check_failed.vote.assignment.story.study):
        compute.make(study.pk, now=timezone.now())
    describe_data(study=release.study, statement=SAID, by=None, now=timezone.now())
    second = published(release.study, filter_name="two-of-three")
    drawn(release)
    tasks.compare_releases(release.pk, second.pk)
    tasks.preview_release(release.study_id, "all-agree")
    revised = first(inspected(slug="revised"))
    revise(revised)
    _ask_expert()
    _review_all_and_draw_anew(studies.judged.study, studies.study)
    return Site(studies, release, two_lists(), split_over_labels("labels", "content.b1"), revised)


def _ask_expert() -> None:
    """A draft whose test somebody who knows no key is asked to answer."""
    study = builders.make_study("asked", stories=0, opened=False, qualification_required=True)
    expert = User.objects.create_user(EXPERT, password=None)
    actions.set_role(study=study, user=expert, role=Membership.Role.REVIEWER, by=None, now=timezone.now())
    round = builders.make_round(study, 1)
    qualification_actions.ask_experts(round=round, experts=[expert], by=None, now=timezone.now())


def _review_all_and_draw_anew(reviewed: Study, other: Study) -> None:
    """Every answer of one sample is judged, none of another study's."""
    now = timezone.now()
    for item in ReviewSample.objects.get(study=reviewed).items.filter(vote__spot_checks=None):
        actions.spot_check(
            vote=item.vote, item=item, decision=SpotCheck.Decision.ACCEPT, reason="", by=None, now=now
        )
    actions.draw_sample(
        study=other, kind=ReviewSample.Kind.RANDOM, people=50, per_person=1, by=None, now=now, seed=1
    )


def settings_pages(site: Site) -> Pages:
    of_main = ("clone", "preview", "settings", "instructions", "design", "configuration")
    return [
        ("studies",),
        ("new_study",),
        ("study_from_file",),
        ("api_tokens",),
        *((name, "main") for name in (*of_main, "alerts", "members", "log")),
    ]


def stories_pages(site: Site) -> Pages:
    revised = (site.revised.study.slug, site.revised.story_id)
    return [
        ("overview", "main"),
        ("overview", "keyed"),
        ("change_state", "recruited", "pause"),
        ("change_state", "keyed", "open"),
        ("import_stories", "main"),
        ("import_report", "main", site.studies.study.imports.filter(problems__isnull=False)[0].pk),
        ("stories", "reviewed"),
        ("story", "reviewed", site.studies.judged.story_id),
        ("story", *revised),
        ("revise_story", revised[0], f"{revised[1]}.r2"),
    ]


def people_pages(site: Site) -> Pages:
    failing = site.studies.check_failed.vote.assignment.enrollment
    return [
        ("people", "main"),
        ("invite", "main"),
        ("given_items", "main"),
        ("person", "with-checks", failing.pseudonym),
        ("tests", "main", site.studies.failed.pseudonym),
        ("exclude", "reviewed", site.studies.careless.pseudonym),
    ]


def recruitment_pages(site: Site) -> Pages:
    return [
        ("recruitment", "recruited"),
        ("new_campaign", "main", "mturk", "stories"),
        ("campaign", "recruited", 1),
        ("change_campaign", "recruited", 1),
        ("submissions", "recruited", 1),
        ("mismatches", "recruited"),
        ("payments", "recruited"),
        ("join_link", "main"),
        ("change_join_link", "main"),
    ]


def qualification_pages(site: Site) -> Pages:
    return [
        ("qualification", "keyed"),
        ("new_round", "keyed"),
        ("round", "keyed", 1),
        ("answer_key", "keyed", 1),
    ]


def expert_pages(site: Site) -> Pages:
    return [("expert", "asked", 1), ("expert_story", "asked", 1, 1)]


def quality_pages(site: Site) -> Pages:
    samples = {sample.study.slug: sample.pk for sample in ReviewSample.objects.select_related("study")}
    undecided = Story.objects.filter(study__slug="reviewed", adjudications=None)[0]
    return [
        ("quality", "pilot"),
        ("filters", "pilot"),
        ("hidden_checks", "with-checks"),
        ("hidden_check_keys", "with-checks"),
        ("hidden_check", "with-checks", site.studies.check_failed.vote.assignment.story_id),
        ("review", "reviewed"),
        ("review_sample", "reviewed", samples["reviewed"]),
        ("review_item", "main", samples["main"], 1),
        ("skips", "main"),
        ("decisions", "reviewed"),
        ("decide_story", "reviewed", undecided.story_id),
        ("decisions", "labels"),
        ("decide_story", "labels", Story.objects.filter(study__slug="labels")[0].story_id),
        ("decide_story", site.lists.slug, "s-0"),
    ]


def release_pages(site: Site) -> Pages:
    return [
        ("releases", "pilot"),
        ("publish", "pilot"),
        ("preview_release", "pilot"),
        ("compare_releases", "pilot"),
        ("withdraw_release", "pilot", 1),
        ("data_statement", "pilot"),
        ("draw_human_baseline", "pilot", 1),
        ("human_baseline", "questions"),
    ]


AREAS: dict[str, Callable[[Site], Pages]] = {
    "settings": settings_pages,
    "stories": stories_pages,
    "people": people_pages,
    "recruitment": recruitment_pages,
    "qualification": qualification_pages,
    EXPERT: expert_pages,
    "quality": quality_pages,
    "releases": release_pages,
}
PUBLIC = {"home", "invited", "forgotten_password", "new_password"}
AFTER_A_PRESS = {"invited_links", "persons_link", "find_by_id", "mismatch_ids", "decide_submission"}
LEAD_ELSEWHERE = {"next_decision"}
FILES = {
    *("chart_file", "preview_chart", "stories_file", "votes_file", "import_problems", "decisions_file"),
    *("skips_file", "quality_file", "review_sample_file", "payments_file", "amounts_due_file"),
    *("compare_file", "human_baseline_file", "configuration_file", "log_file"),
}
PRESSES = {
    *("release_lease", "decide_stories", "take_items_back", "set_standing", "set_group", "review_person"),
    *("move_campaign", "discard_campaign", "settle_mismatch", "settle_mismatches", "submission_ids"),
    *("retry_payment", "retry_payments", "undo_rejection", "note_external_payment", "note_amounts_paid"),
    *("close_join_link", "new_consent", "choose_test", "preview_new", "test_alert", "stall_hours"),
    *("add_webhook", "remove_webhook", "member", "revoke_members_token", "revoke_invitation"),
    *("revoke_api_token", "revoke_all_api_tokens"),
}
"""Addresses of forms. Most lead to a page that is looked at."""


@pytest.fixture
def site(releases_root: Path, transactional_db: None) -> Site:
    return build_site()


def test_no_page_is_forgotten(site: Site) -> None:
    looked_at = {page[0] for pages in AREAS.values() for page in pages(site)}
    names = {name for name in get_resolver("dashboard.urls").reverse_dict if isinstance(name, str)}
    assert looked_at | PUBLIC | AFTER_A_PRESS == names - FILES - PRESSES - LEAD_ELSEWHERE


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("area", AREAS)
def test_every_page_of_an_area_is_good(
    open_window: OpenWindow, site: Site, area: str, size: ViewportSize
) -> None:
    client, window = client_of(EXPERT if area == EXPERT else RESEARCHER), open_window(viewport=size)
    window.page.goto("/")
    for name, *arguments in AREAS[area](site):
        address = reverse(f"dashboard:{name}", args=arguments)
        response = client.get(address)
        assert response.status_code == 200, address
        show(window, response.content)
        look_at(window, name=address)


def test_pages_that_answer_a_form_are_good(window: Window, site: Site) -> None:
    submission = site.studies.paid
    assert submission.visit
    worker = PlatformIdentity.objects.get(annotator=submission.visit.enrollment.annotator_id)
    mismatch = Mismatch.objects.filter(campaign__study__slug="recruited")[0]
    bonus = {"way": "bonus", "amount": "500", "reason": "Thank you.", "token": str(uuid4())}
    holder = site.studies.holder.pseudonym
    client = client_of(RESEARCHER)
    window.page.goto("/")
    for name, arguments, form, said in (
        ("new_study", (), {"slug": "tins"}, "The study was not created"),
        ("invite", ("main",), {"do": "links", "count": "3"}, "New links"),
        ("persons_link", ("main", holder), {"do": "renew"}, "A new link"),
        ("find_by_id", ("recruited",), {"remote_id": worker.person}, "Found by platform id"),
        ("mismatch_ids", ("recruited", mismatch.pk), {}, "Platform ids"),
        ("decide_submission", ("recruited", submission.pk), bonus, "Confirm this bonus"),
    ):
        address = reverse(f"dashboard:{name}", args=arguments)
        show(window, client.post(address, form, follow=True).content)
        expect(window.page.get_by_text(said).first).to_be_visible()
        look_at(window, name=address)


def test_pages_for_everybody_are_good(window: Window, site: Site) -> None:
    researcher = User.objects.get(username=RESEARCHER)
    invitation = actions.invite_member(
        study=site.studies.study,
        address="bob@example.org",
        role=Membership.Role.REVIEWER,
        by=researcher,
        now=timezone.now(),
    )
    user = urlsafe_base64_encode(force_bytes(researcher.pk))
    token = default_token_generator.make_token(researcher)
    withdraw_release(release=site.release, reason="A mistake.", by=None, now=timezone.now())
    client = Client()
    window.page.goto("/")
    for address, heading in {
        "/": "Which stories hold up?",
        "/releases/": "Releases",
        "/releases/pilot/1/": "A study for tests · release 1",
        "/releases/pilot/2/": "A study for tests · release 2",
        urlsplit(invitation_link(invitation)).path: "You are invited",
        "/invited/1.x/": "This link does not work",
        "/forgotten-password/": "Forgotten password",
        f"/new-password/{user}:{token}/": "Choose a new password",
        "/sign-in/": "Sign in",
    }.items():
        show(window, client.get(address, follow=True).content)
        expect(window.heading).to_have_text(heading)
        look_at(window, name=address)
