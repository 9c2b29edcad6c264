"""Every researchers' page about a study, as every role in it and as somebody of another study."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import get_resolver, reverse
from django.utils import timezone

from accounts.models import User
from annotation import actions, rules
from annotation.models import Enrollment, Membership, ReviewSample, Story, Study
from annotation.rights import RIGHTS, Right
from recruitment import actions as recruitment_actions
from recruitment.models import Mismatch, Payment, Submission
from tests import builders
from tests.recruitment.campaigns import stranger_on_a_platform

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

Role = Membership.Role
PUBLIC = {"home", "invited", "forgotten_password", "new_password"}
OF_ALL_STUDIES = {"studies"}
OF_ONESELF = {"api_tokens", "revoke_api_token", "revoke_all_api_tokens"}
"""Whoever has an account opens them and sees their own, see api.test_tokens."""
FOR_MAKERS = {"new_study", "preview_new", "study_from_file", "clone", "draw_human_baseline"}
"""Who may make studies opens them, see test_creating; a clone and a drawn
baseline need the right to change the study they come from, too."""

OF_A_RELEASE = {"withdraw_release"}
"""See test_releases_page."""

OF_SOME_PROTOCOLS = {"revise_story"}
"""See stories.test_revising."""

PSEUDONYM = "the pseudonym of the only person in the study"
IMPORT = "the number of the only import"
STORY = "the id of a story that they answered"
CHECK = "the number of the only hidden check"
DIFFERENCE = "the number of the only mismatch with a platform"
WORK = "the number of the only piece of work on a platform"
PAYMENT = "the number of the only payment"
SAMPLE = "the number of the only sample drawn for review"

PAGES: dict[str, tuple[Right | None, Right | None, tuple[str, ...]]] = {
    "overview": (Right.LOOK, None, ()),
    "settings": (Right.LOOK, Right.CHANGE, ()),
    "new_consent": (None, Right.CHANGE, ()),
    "design": (Right.LOOK, Right.CHANGE, ()),
    "instructions": (Right.LOOK, Right.CHANGE, ()),
    "choose_test": (None, Right.CHANGE, ()),
    "preview": (Right.LOOK, None, ()),
    "configuration": (Right.CHANGE, None, ()),
    "configuration_file": (Right.CHANGE, None, ()),
    "decide_stories": (None, Right.REVIEW, ()),
    "import_stories": (Right.LOOK, Right.CHANGE, ()),
    "import_report": (Right.LOOK, Right.CHANGE, (IMPORT,)),
    "import_problems": (Right.LOOK, None, (IMPORT,)),
    "change_state": (Right.CHANGE, Right.CHANGE, ("pause",)),
    "release_lease": (None, Right.CHANGE, ("1",)),
    "chart_file": (Right.LOOK, None, ("verdicts", "csv")),
    "quality": (Right.LOOK, None, ()),
    "quality_file": (Right.LOOK, None, ("people",)),
    "people": (Right.LOOK, None, ()),
    "invite": (Right.CHANGE, Right.CHANGE, ()),
    "invited_links": (Right.CHANGE, None, ("nonsense",)),
    "given_items": (Right.LOOK, Right.CHANGE, ()),
    "take_items_back": (None, Right.CHANGE, (PSEUDONYM,)),
    "person": (Right.LOOK, None, (PSEUDONYM,)),
    "exclude": (Right.CHANGE, Right.CHANGE, (PSEUDONYM,)),
    "persons_link": (None, Right.CHANGE, (PSEUDONYM,)),
    "set_standing": (None, Right.CHANGE, (PSEUDONYM,)),
    "set_group": (None, Right.CHANGE, (PSEUDONYM,)),
    "tests": (Right.LOOK, Right.CHANGE, (PSEUDONYM,)),
    "stories": (Right.LOOK, None, ()),
    "stories_file": (Right.LOOK, None, ()),
    "votes_file": (Right.LOOK, None, ("csv",)),
    "story": (Right.LOOK, None, (STORY,)),
    "decisions": (Right.LOOK, None, ()),
    "decisions_file": (Right.LOOK, None, ()),
    "skips": (Right.LOOK, None, ()),
    "skips_file": (Right.LOOK, None, ()),
    "next_decision": (Right.REVIEW, None, ()),
    "decide_story": (Right.REVIEW, Right.REVIEW, (STORY,)),
    "hidden_checks": (Right.LOOK, Right.CHANGE, ()),
    "hidden_check_keys": (Right.CHANGE, Right.CHANGE, ()),
    "hidden_check": (Right.CHANGE, Right.CHANGE, (CHECK,)),
    "review": (Right.LOOK, Right.REVIEW, ()),
    "review_person": (None, Right.REVIEW, (PSEUDONYM,)),
    "review_sample_file": (Right.LOOK, None, (SAMPLE,)),
    "review_sample": (Right.LOOK, None, (SAMPLE,)),
    "review_item": (Right.LOOK, Right.REVIEW, (SAMPLE, "1")),
    "qualification": (Right.LOOK, None, ()),
    "new_round": (Right.CHANGE, Right.CHANGE, ()),
    "round": (Right.LOOK, Right.CHANGE, ("1",)),
    "answer_key": (Right.CHANGE, Right.CHANGE, ("1",)),
    "expert": (Right.LOOK, Right.LOOK, ("1",)),
    "expert_story": (Right.LOOK, Right.LOOK, ("1", "1")),
    "alerts": (Right.LOOK, Right.LOOK, ()),
    "stall_hours": (None, Right.CHANGE, ()),
    "test_alert": (None, Right.LOOK, ()),
    "add_webhook": (None, Right.CHANGE, ()),
    "remove_webhook": (None, Right.CHANGE, ("1",)),
    "members": (Right.LOOK, Right.MANAGE, ()),
    "member": (None, Right.MANAGE, ("1",)),
    "revoke_invitation": (None, Right.MANAGE, ("1",)),
    "revoke_members_token": (None, Right.MANAGE, ("1",)),
    "recruitment": (Right.LOOK, None, ()),
    "new_campaign": (Right.CHANGE, Right.CHANGE, ("prolific", "stories")),
    "campaign": (Right.LOOK, None, ("1",)),
    "change_campaign": (Right.CHANGE, Right.CHANGE, ("1",)),
    "discard_campaign": (None, Right.CHANGE, ("1",)),
    "submissions": (Right.LOOK, None, ("1",)),
    "decide_submission": (None, Right.CHANGE, (WORK,)),
    "find_by_id": (None, Right.CHANGE, ()),
    "mismatch_ids": (None, Right.CHANGE, (DIFFERENCE,)),
    "submission_ids": (None, Right.CHANGE, (WORK,)),
    "retry_payment": (None, Right.CHANGE, (PAYMENT,)),
    "undo_rejection": (None, Right.CHANGE, (PAYMENT,)),
    "note_external_payment": (None, Right.CHANGE, (PAYMENT,)),
    "retry_payments": (None, Right.CHANGE, ("1",)),
    "move_campaign": (None, Right.CHANGE, ("1", "ask")),
    "mismatches": (Right.LOOK, None, ()),
    "settle_mismatches": (None, Right.CHANGE, ()),
    "settle_mismatch": (None, Right.CHANGE, (DIFFERENCE,)),
    "payments": (Right.LOOK, None, ()),
    "payments_file": (Right.LOOK, None, ()),
    "log": (Right.AUDIT, None, ()),
    "log_file": (Right.AUDIT, None, ("csv",)),
    "filters": (Right.LOOK, None, ()),
    "preview_release": (Right.PUBLISH, None, ()),
    "preview_chart": (Right.PUBLISH, None, ("all-agree", "figures/agreement.svg")),
    "publish": (Right.PUBLISH, Right.PUBLISH, ()),
    "releases": (Right.LOOK, None, ()),
    "compare_releases": (Right.LOOK, None, ()),
    "compare_file": (Right.LOOK, None, ()),
    "data_statement": (Right.LOOK, Right.CHANGE, ()),
    "join_link": (Right.LOOK, Right.CHANGE, ()),
    "change_join_link": (Right.CHANGE, Right.CHANGE, ()),
    "close_join_link": (None, Right.CHANGE, ()),
    "note_amounts_paid": (None, Right.CHANGE, ()),
    "amounts_due_file": (Right.CHANGE, Right.CHANGE, ()),
}
"""Per address: the right that reading it needs and that posting to it needs (None: it has no such method),
and what follows the study's slug in its arguments."""


OF_A_BASELINE: dict[str, tuple[Right, Right | None, tuple[str, ...]]] = {
    "draw_human_baseline": (Right.CHANGE, Right.CHANGE, ("pilot", "1")),
    "human_baseline": (Right.LOOK, None, ("questions",)),
    "human_baseline_file": (Right.LOOK, None, ("questions", "csv")),
}
"""The same for pages that only a study with a release, or one drawn from it, has."""


@pytest.fixture(scope="module")
def clients(module_transaction: None) -> dict[str, Client]:
    """By their names, those who are signed in: somebody in every role of a study with something on each
    page, and somebody of another study."""
    study = builders.make_study("main", votes_per_story=1)
    builders.import_rows(study, [builders.story_row(500)], role=Story.Role.CHECK)
    builders.vote(builders.qualified(study)[0])
    work = stranger_on_a_platform(study).submission
    assert work is not None
    recruitment_actions.approve(submission=work, by=None, now=timezone.now())
    builders.make_round(study, [builders.story_row(600)])
    actions.draw_sample(
        study=study, kind=ReviewSample.Kind.RANDOM, people=1, per_person=1, by=None, now=timezone.now()
    )
    people = [member(study, role) for role in Role] + [member(builders.make_study("other"), Role.OWNER)]
    return {person.username: client_of(person) for person in people}


def user(name: str) -> User:
    return User.objects.create_user(name, password=None)


def member(study: Study, role: str) -> User:
    someone = user(f"{role}-of-{study}")
    actions.set_role(study=study, user=someone, role=role, by=None, now=timezone.now())
    return someone


def client_of(someone: User) -> Client:
    client = Client()
    client.force_login(someone)
    return client


@pytest.fixture(scope="module")
def addresses(clients: dict[str, Client]) -> dict[str, str]:
    """The address of each page of the study with something on each page."""
    person = Enrollment.objects.select_related("study").get(study__slug="main")
    stands_for = {
        PSEUDONYM: rules.pseudonym(person.study.pseudonym_key, person.annotator_id),
        STORY: person.assignments.get().story.story_id,
        IMPORT: str(person.study.imports.get(role="main").pk),
        CHECK: str(person.study.stories.get(role="check").pk),
        SAMPLE: str(person.study.review_samples.get().pk),
        DIFFERENCE: str(Mismatch.objects.get(campaign__study=person.study).pk),
        WORK: str(Submission.objects.get(campaign__study=person.study).pk),
        PAYMENT: str(Payment.objects.get(submission__campaign__study=person.study).pk),
    }
    return {
        page: reverse(f"dashboard:{page}", args=["main", *(stands_for.get(one, one) for one in arguments)])
        for page, (_reading, _posting, arguments) in PAGES.items()
    }


def asked_of(page: str) -> list[tuple[str, Right]]:
    """The methods of a page, each with the right that it needs."""
    return [(ask, needed) for ask, needed in zip(("get", "post"), PAGES[page][:2], strict=True) if needed]


def test_the_table_names_every_address() -> None:
    of_studies = {*PAGES, *OF_A_BASELINE}
    others = PUBLIC | OF_ALL_STUDIES | OF_ONESELF | FOR_MAKERS | OF_A_RELEASE | OF_SOME_PROTOCOLS
    names = {name for name in get_resolver("dashboard.urls").reverse_dict if isinstance(name, str)}
    assert names == of_studies | others


@pytest.mark.parametrize(
    "whole", [pytest.param(False, id="pairs"), pytest.param(True, id="grid", marks=pytest.mark.torture)]
)
@pytest.mark.parametrize("role", Role)
def test_a_role_opens_what_its_rights_open_and_nothing_else(
    clients: dict[str, Client], addresses: dict[str, str], role: Role, whole: bool
) -> None:
    """Everybody without the right is refused; of those with it one opens the page, each role in its turn."""
    wrong = {}
    for number, (page, url) in enumerate(addresses.items()):
        for ask, needed in asked_of(page):
            may = [one for one in Role if needed in RIGHTS[one]]
            if not whole and role in may and role != may[number % len(may)]:
                continue
            status = status_of(clients[f"{role}-of-main"], ask, url)
            # 400 and 422: an empty form
            if status not in ((200, 302, 400, 422) if needed in RIGHTS[role] else (403,)):
                wrong[ask, page] = status
    assert wrong == {}


def test_for_somebody_of_another_study_there_is_no_such_study(
    clients: dict[str, Client], addresses: dict[str, str]
) -> None:
    client, found = clients["owner-of-other"], {}
    for page, url in addresses.items():
        for ask, _needed in asked_of(page):
            found[ask, page] = status_of(client, ask, url)
    assert {asked: status for asked, status in found.items() if status != 404} == {}
    assert len(found) > len(PAGES)


def status_of(client: Client, ask: str, url: str) -> int:
    """The status of the answer to a GET or an empty POST, of which nothing stays."""
    with transaction.atomic():
        response: Any = getattr(client, ask)(url)
        if response.streaming:
            list(response.streaming_content)  # a download that nobody reads holds one of its places
        transaction.set_rollback(True)
    status: int = response.status_code
    return status


def test_no_page_breaks_where_the_form_of_a_study_is_gone(
    clients: dict[str, Client], addresses: dict[str, str]
) -> None:
    client = clients["owner-of-main"]
    Study.objects.update(protocol_version="0.0")
    for page in (page for page, (reading, _posting, _arguments) in PAGES.items() if reading):
        response: Any = client.get(addresses[page])
        if response.streaming:
            list(response.streaming_content)
        assert response.status_code in (200, 302, 409), page
        if page == "stories":
            assert response.status_code == 409
            assert "not 0.0" in response.content.decode()


def test_who_is_not_signed_in_is_asked_to(addresses: dict[str, str]) -> None:
    client = Client()
    for page, url in addresses.items():
        for ask, _needed in asked_of(page):
            response: Any = getattr(client, ask)(url)
            assert response.status_code == 302, page
            assert "next=/studies/main/" in response["Location"], page
