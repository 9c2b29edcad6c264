"""Every researchers' page about a study, as every role in it and as somebody of another study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from annotation import actions, rules
from annotation.errors import LastOwner
from annotation.models import Enrollment, Event, Membership, ReviewSample, Story, Study
from annotation.rights import RIGHTS, Right, rights_in, studies_of
from dashboard.urls import urlpatterns
from recruitment import actions as recruitment_actions
from recruitment.models import Difference, Payment, Submission
from tests import builders
from tests.dashboard.baselines import drawn, released_study
from tests.recruitment.campaigns import stranger_on_a_platform

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

Role = Membership.Role
PUBLIC = {"home", "invited"}
OF_ALL_STUDIES = {"studies"}
OF_ONESELF = {"api_tokens", "revoke_api_token"}
"""Whoever has an account opens them and sees their own, see api.test_tokens."""
FOR_MAKERS = {"new_study", "preview_new", "study_from_file", "clone", "draw_baseline"}
"""Who may make studies opens them, see test_creating; a clone and a drawn
baseline need the right to change the study they come from, too."""

OF_A_RELEASE = {"withdraw_release"}
"""See test_releases_page."""

PSEUDONYM = "the pseudonym of the only person in the study"
IMPORT = "the number of the only import"
STORY = "the id of a story that they answered"
CHECK = "the number of the only hidden check"
DIFFERENCE = "the number of the only difference with a platform"
WORK = "the number of the only piece of work on a platform"
PAYMENT = "the number of the only payment"
SAMPLE = "the number of the only sample drawn for review"

PAGES: dict[str, tuple[Right | None, Right | None, tuple[str, ...]]] = {
    "study": (Right.LOOK, None, ()),
    "set_up": (Right.LOOK, Right.CHANGE, ()),
    "new_consent": (None, Right.CHANGE, ()),
    "choose_test": (None, Right.CHANGE, ()),
    "preview": (Right.LOOK, None, ()),
    "configuration": (Right.CHANGE, None, ()),
    "import_stories": (Right.LOOK, Right.CHANGE, ()),
    "import_report": (Right.LOOK, Right.CHANGE, (IMPORT,)),
    "import_problems": (Right.LOOK, None, (IMPORT,)),
    "change_state": (None, Right.CHANGE, ("pause",)),
    "release_lease": (None, Right.CHANGE, ("1",)),
    "chart_file": (Right.LOOK, None, ("verdicts", "csv")),
    "quality": (Right.LOOK, None, ()),
    "quality_file": (Right.LOOK, None, ("people",)),
    "person": (Right.LOOK, None, (PSEUDONYM,)),
    "exclude": (Right.CHANGE, Right.CHANGE, (PSEUDONYM,)),
    "stories": (Right.LOOK, None, ()),
    "story": (Right.LOOK, Right.REVIEW, (STORY,)),
    "checks": (Right.LOOK, Right.CHANGE, ()),
    "check": (Right.CHANGE, Right.CHANGE, (CHECK,)),
    "review": (Right.LOOK, Right.REVIEW, ()),
    "review_sample": (Right.LOOK, None, (SAMPLE,)),
    "review_item": (Right.LOOK, Right.REVIEW, (SAMPLE, "1")),
    "qualification": (Right.LOOK, None, ()),
    "new_round": (Right.CHANGE, Right.CHANGE, ()),
    "round": (Right.LOOK, Right.CHANGE, ("1",)),
    "answer_key": (Right.CHANGE, Right.CHANGE, ("1",)),
    "expert": (Right.LOOK, Right.LOOK, ("1",)),
    "expert_story": (Right.LOOK, Right.LOOK, ("1", "1")),
    "members": (Right.LOOK, Right.MANAGE, ()),
    "member": (None, Right.MANAGE, ("1",)),
    "revoke_invitation": (None, Right.MANAGE, ("1",)),
    "recruitment": (Right.LOOK, None, ()),
    "new_campaign": (Right.CHANGE, Right.CHANGE, ("prolific", "stories")),
    "campaign": (Right.LOOK, None, ("1",)),
    "change_campaign": (Right.CHANGE, Right.CHANGE, ("1",)),
    "work": (Right.LOOK, None, ("1",)),
    "decide_work": (None, Right.CHANGE, (WORK,)),
    "send_again": (None, Right.CHANGE, (PAYMENT,)),
    "move_campaign": (None, Right.CHANGE, ("1", "ask")),
    "differences": (Right.LOOK, None, ()),
    "settle_difference": (None, Right.CHANGE, (DIFFERENCE,)),
    "payments": (Right.LOOK, None, ()),
    "payments_file": (Right.LOOK, None, ()),
    "log": (Right.AUDIT, None, ()),
    "log_file": (Right.AUDIT, None, ("csv",)),
    "filters": (Right.LOOK, None, ()),
    "publish": (Right.PUBLISH, Right.PUBLISH, ()),
    "releases": (Right.LOOK, None, ()),
    "compare_releases": (Right.LOOK, None, ()),
    "compare_file": (Right.LOOK, None, ()),
    "statement": (Right.LOOK, Right.CHANGE, ()),
    "joining": (Right.LOOK, Right.CHANGE, ()),
    "owed_file": (Right.CHANGE, None, ()),
}
"""Per address: the right that reading it needs and that posting to it needs (None: it has no such method),
and what follows the study's slug in its arguments."""


OF_A_BASELINE: dict[str, tuple[Right, Right | None, tuple[str, ...]]] = {
    "draw_baseline": (Right.CHANGE, Right.CHANGE, ("pilot", "1")),
    "accuracy": (Right.LOOK, None, ("questions",)),
    "accuracy_file": (Right.LOOK, None, ("questions", "csv")),
}
"""The same for pages that only a study with a release, or one drawn from it, has."""


@pytest.fixture
def study() -> Study:
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
    return study


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


def address(page: str) -> str:
    person = Enrollment.objects.select_related("study").get(study__slug="main")
    stands_for = {
        PSEUDONYM: rules.pseudonym(person.study.pseudonym_key, person.annotator_id),
        STORY: person.assignments.get().story.story_id,
        IMPORT: str(person.study.imports.get(role="main").pk),
        CHECK: str(person.study.stories.get(role="check").pk),
        SAMPLE: str(person.study.review_samples.get().pk),
        DIFFERENCE: str(Difference.objects.get(campaign__study=person.study).pk),
        WORK: str(Submission.objects.get(campaign__study=person.study).pk),
        PAYMENT: str(Payment.objects.get(submission__campaign__study=person.study).pk),
    }
    rest = (stands_for.get(argument, argument) for argument in PAGES[page][2])
    return reverse(f"dashboard:{page}", args=["main", *rest])


def test_the_table_names_every_address() -> None:
    of_studies = {*PAGES, *OF_A_BASELINE}
    others = PUBLIC | OF_ALL_STUDIES | OF_ONESELF | FOR_MAKERS | OF_A_RELEASE
    assert {pattern.name for pattern in urlpatterns} == of_studies | others


@pytest.mark.parametrize("role", [*Role, None])
@pytest.mark.parametrize("page", PAGES)
def test_a_role_opens_what_its_rights_open_and_nothing_else(
    study: Study, page: str, role: str | None
) -> None:
    if role:
        client = client_of(member(study, role))
        rights = RIGHTS[role]
    else:
        client = client_of(member(builders.make_study("other"), Role.OWNER))
        rights = frozenset()
    asks: tuple[Callable[[str], Any], ...] = (client.get, client.post)
    for needed, ask in zip(PAGES[page][:2], asks, strict=True):
        if needed is None:
            continue
        status = ask(address(page)).status_code
        if not rights:
            assert status == 404, "for somebody of another study there is no such study"
        elif needed in rights:
            assert status in (200, 302, 400, 422), "400 and 422: an empty form"
        else:
            assert status == 403


@pytest.mark.django_db(transaction=True)  # a release is built in a transaction of its own
def test_the_pages_of_a_baseline_open_by_the_same_rights(settings: Any, tmp_path: Path) -> None:
    settings.RELEASES_ROOT = tmp_path
    release = released_study("pilot")
    studies = {"pilot": release.study, "questions": drawn(release)[0]}
    other = client_of(member(builders.make_study("other", opened=False), Role.OWNER))
    for page, (reading, posting, arguments) in OF_A_BASELINE.items():
        url = reverse(f"dashboard:{page}", args=arguments)
        assert other.get(url).status_code == 404
        assert f"next=/studies/{arguments[0]}/" in Client().get(url)["Location"]
        for role in Role:
            someone = user(f"{role}-at-{page}")
            actions.set_role(
                study=studies[arguments[0]], user=someone, role=role, by=None, now=timezone.now()
            )
            for may_make in (False, True):
                if may_make:
                    someone.user_permissions.add(Permission.objects.get(codename="add_study"))
                client = client_of(someone)
                opens = reading in RIGHTS[role] and (may_make or page not in FOR_MAKERS)
                assert client.get(url).status_code == (200 if opens else 403)
                if posting:
                    opens = may_make and posting in RIGHTS[role]
                    assert client.post(url).status_code == (422 if opens else 403)
                    assert (url in client.get("/studies/pilot/").content.decode()) == opens


def test_no_page_breaks_where_the_form_of_a_study_is_gone(study: Study) -> None:
    client = client_of(member(study, Role.OWNER))
    Study.objects.update(protocol_version="0.0")
    for page, (reading, _posting, _arguments) in PAGES.items():
        if reading:
            response = client.get(address(page))
            assert response.status_code in (200, 302, 409), page
    response = client.get(address("stories"))
    assert response.status_code == 409
    assert "not 0.0" in response.content.decode()


@pytest.mark.parametrize("page", PAGES)
def test_who_is_not_signed_in_is_asked_to(study: Study, page: str) -> None:
    for ask in (Client().get, Client().post):
        response: Any = ask(address(page))
        assert response.status_code in (302, 405)
        assert response.status_code == 405 or "next=/studies/main/" in response["Location"]


def test_a_person_sees_the_studies_they_belong_to(study: Study) -> None:
    builders.make_study("other")
    someone = member(study, Role.AUDITOR)
    assert list(studies_of(someone)) == [study]
    page = client_of(someone).get(reverse("dashboard:studies")).content.decode()
    assert "/studies/main/" in page
    assert "/studies/other/" not in page


def test_who_makes_a_study_owns_it() -> None:
    maker = user("maker")
    study = actions.create_study(
        slug="mine",
        settings=actions.StudySettings(title="Mine", contact="me@example.org"),
        by=maker,
        now=timezone.now(),
    )
    assert rights_in(maker, study) == frozenset(Right)


def test_an_account_that_was_switched_off_has_no_rights(study: Study) -> None:
    someone = member(study, Role.OWNER)
    someone.is_active = False
    assert rights_in(someone, study) == frozenset()


def test_a_role_is_given_once_changed_and_taken_each_time_with_an_event(study: Study) -> None:
    owner, someone = member(study, Role.OWNER), user("someone")
    now = timezone.now()
    for role in (Role.REVIEWER, Role.REVIEWER, Role.RESEARCHER):
        actions.set_role(study=study, user=someone, role=role, by=owner, now=now)
    actions.remove_member(study=study, user=someone, by=owner, now=now)
    actions.remove_member(study=study, user=someone, by=owner, now=now)
    told = (
        Event.objects.filter(study=study, subject="someone")
        .order_by("pk")
        .values_list("type", "note", "actor")
    )
    assert list(told) == [
        ("role_given", "reviewer", owner.pk),
        ("role_given", "researcher", owner.pk),
        ("role_taken", "researcher", owner.pk),
    ]
    assert rights_in(someone, study) == frozenset()


def test_the_only_owner_stays(study: Study) -> None:
    owner = member(study, Role.OWNER)
    ways: tuple[Callable[[], object], ...] = (
        lambda: actions.remove_member(study=study, user=owner, by=owner, now=timezone.now()),
        lambda: actions.set_role(study=study, user=owner, role="auditor", by=owner, now=timezone.now()),
    )
    for leave in ways:
        with pytest.raises(LastOwner, match="only owner"):
            leave()
    second = user("second")
    actions.set_role(study=study, user=second, role=Role.OWNER, by=owner, now=timezone.now())
    actions.remove_member(study=study, user=owner, by=second, now=timezone.now())
    assert rights_in(owner, study) == frozenset()


def test_the_database_knows_the_roles_and_one_per_person(study: Study) -> None:
    someone = member(study, Role.AUDITOR)
    with pytest.raises(IntegrityError, match="one_role_per_person_and_study"), transaction.atomic():
        Membership.objects.create(study=study, user=someone, role="owner", added_at=timezone.now())
    with pytest.raises(IntegrityError, match="membership_has_a_known_role"), transaction.atomic():
        Membership.objects.filter(user=someone).update(role="king")
