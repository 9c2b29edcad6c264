"""Every address of the API, as every role, as another study's member, and with every scope but its own."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import transaction
from django.test import Client
from django.utils import timezone

from accounts.models import User
from accounts.rate_limits import Limit
from annotation import actions
from annotation.models import ApiToken, Membership, Study
from annotation.rights import RIGHTS, SCOPE_RIGHTS
from api.base import ApiView, StudyView
from api.urls import urlpatterns
from tests import builders
from tests.api.client import EVERYTHING, Program, member, problem
from tomannot import clock

pytestmark = pytest.mark.django_db

Role = Membership.Role
Scope = ApiToken.Scope
OF_STUDIES: dict[tuple[str, str], tuple[str, Any, int]] = {
    ("study", "GET"): ("", None, 200),
    ("study", "PATCH"): ("", {"title": "Another"}, 200),
    ("state", "PUT"): ("state/", {"state": "paused"}, 200),
    ("stories", "GET"): ("stories/", None, 200),
    ("stories", "POST"): ("stories/", b'{"story_id": "x"}\n', 202),
    ("imports", "GET"): ("imports/", None, 200),
    ("import", "GET"): ("imports/{number}/", None, 200),
    ("import", "POST"): ("imports/{number}/", {"decision": "cancel"}, 409),
    ("import_problems", "GET"): ("imports/{number}/problems/", None, 200),
    ("progress", "GET"): ("progress/", None, 200),
    ("statistics", "GET"): ("statistics/", None, 202),
    ("votes_jsonl", "GET"): ("votes.jsonl", None, 200),
    ("votes_csv", "GET"): ("votes.csv", None, 200),
    ("releases", "GET"): ("releases/", None, 200),
    ("release", "GET"): ("releases/1/", None, 404),
    ("releases", "POST"): ("releases/", {}, 202),
}
"""Per address of a study and method: the rest of its path, what is sent, and the status if it is allowed."""


@pytest.fixture
def study(settings: Any, tmp_path: Path) -> Study:
    settings.MEDIA_ROOT = tmp_path
    study = builders.make_study("main", votes_per_story=1)
    builders.vote(builders.qualified(study)[0])
    return study


def ask(program: Program, study: Study, address: tuple[str, str]) -> Any:
    path, sent, _status = OF_STUDIES[address]
    whole = f"studies/{study.slug}/{path.format(number=study.imports.earliest('pk').pk)}"
    options = {"content_type": "application/jsonl"} if isinstance(sent, bytes) else {}
    response = program.ask(address[1], whole, data=sent, **options)
    if response.streaming:
        list(response)  # to its end, which closes it
    return response


def scope_of(address: tuple[str, str]) -> ApiToken.Scope:
    view = {pattern.name: pattern.callback.view_class for pattern in urlpatterns if pattern.name != "openapi"}
    scope: ApiToken.Scope = getattr(view[address[0]], address[1].lower()).scope
    return scope


def methods_of(view: type[ApiView]) -> set[str]:
    return {method.upper() for method in view.http_method_names if hasattr(view, method)} - {"HEAD"}


def test_the_table_names_every_address_and_method() -> None:
    views = {
        pattern.name: pattern.callback.view_class for pattern in urlpatterns if pattern.name != "openapi"
    }
    of_studies = {name: view for name, view in views.items() if issubclass(view, StudyView)}
    assert {(name, method) for name, view in of_studies.items() for method in methods_of(view)} == set(
        OF_STUDIES
    )
    assert set(views) - set(of_studies) == {"token", "studies"}
    for name, view in views.items():
        for method in methods_of(view):
            assert hasattr(getattr(view, method.lower()), "scope"), f"{name}: {method} says what it needs"


def test_a_token_opens_what_its_owners_role_opens_and_nothing_else(study: Study) -> None:
    for role in Role:
        program = Program(member(study, role))
        for address, (_path, _sent, status) in OF_STUDIES.items():
            with transaction.atomic():
                response = ask(program, study, address)
                transaction.set_rollback(True)
            may = SCOPE_RIGHTS[scope_of(address)] in RIGHTS[role]
            assert response.status_code == (status if may else 403), (role, address, response)
            if not may:
                problem(response, 403)


def test_for_a_token_of_another_studys_member_there_is_no_such_study(study: Study) -> None:
    program = Program(member(builders.make_study("other", opened=False)))
    for address in OF_STUDIES:
        response = ask(program, study, address)
        assert problem(response, 404)["detail"].startswith("There is no such study"), address


def test_a_token_without_the_scope_opens_nothing_though_its_owner_may_do_everything(study: Study) -> None:
    owner = member(study)
    for scope in Scope:
        without = [other for other in EVERYTHING if other.partition(":")[0] != scope.partition(":")[0]]
        program = Program(owner, without)
        for address in OF_STUDIES:
            if scope_of(address) == scope:
                assert problem(ask(program, study, address), 403)["code"] == "missing_scope", address
    reading = Program(owner, [scope for scope in EVERYTHING if scope.endswith(":read")])
    writing = Program(owner, [scope for scope in EVERYTHING if scope.endswith(":write")])
    for address in OF_STUDIES:
        if address[1] != "GET":
            assert problem(ask(reading, study, address), 403)["code"] == "missing_scope"
    assert ask(writing, study, ("stories", "GET")).status_code == 200, "who may write may read"
    problem(ask(writing, study, ("votes_jsonl", "GET")), 403)


def test_a_token_for_one_study_opens_no_other(study: Study) -> None:
    owner = member(study)
    other = builders.make_study("other", opened=False)
    actions.set_role(study=other, user=owner, role=Role.OWNER, by=None, now=timezone.now())
    owner.user_permissions.add(Permission.objects.get(codename="add_study"))
    bound, free = Program(owner, study=study), Program(owner)
    assert {row["slug"] for row in bound.get("studies/").json()["results"]} == {"main"}
    assert {row["slug"] for row in free.get("studies/").json()["results"]} == {"main", "other"}
    for address in OF_STUDIES:
        problem(ask(bound, other, address), 404)
    new = {"slug": "third", "title": "Third", "contact": "a@example.org", "consent": "Yes.", "test": "none"}
    problem(bound.post("studies/", new), 403)
    problem(Program(member(study, Role.OWNER)).post("studies/", new), 403)
    assert free.post("studies/", new).status_code == 201


def test_rights_that_are_taken_from_the_owner_are_taken_from_the_token(study: Study) -> None:
    owner, keeper = member(study), member(study)
    program = Program(owner)
    assert ask(program, study, ("study", "PATCH")).status_code == 200
    actions.set_role(study=study, user=owner, role=Role.AUDITOR, by=keeper, now=timezone.now())
    problem(ask(program, study, ("study", "PATCH")), 403)
    actions.remove_member(study=study, user=owner, by=keeper, now=timezone.now())
    problem(ask(program, study, ("study", "GET")), 404)
    User.objects.filter(pk=owner.pk).update(is_active=False)
    assert "deactivated" in problem(program.get("token/"), 401)["detail"]


@pytest.mark.usefixtures("one_moment")
def test_what_is_no_token_opens_nothing_and_after_many_tries_is_told_to_wait(study: Study) -> None:
    owner = member(study)
    revoked, expired, good = Program(owner), Program(owner), Program(owner)
    actions.revoke_api_token(token=revoked.token, by=owner, now=timezone.now())
    assert "revoked" in problem(revoked.get("token/"), 401)["detail"]
    with pytest.MonkeyPatch.context() as patch:
        later = timezone.now() + timedelta(days=2)
        patch.setattr(clock, "now", lambda: later)
        assert "has expired" in problem(expired.get("token/"), 401)["detail"]
    signed_in = Client()
    signed_in.force_login(owner)
    response = signed_in.get("/api/v1/studies/")
    problem(response, 401)
    assert response["WWW-Authenticate"].startswith("Bearer")
    wrong = good.secret[:-1] + ("a" if good.secret[-1] != "a" else "b")
    for header in (f"Token {good.secret}", f"Bearer {wrong}", "Bearer tmn_", "Basic YTpi"):
        problem(Client(headers={"Authorization": header}).get("/api/v1/token/"), 401)
    statuses = {
        Client(headers={"Authorization": f"Bearer {wrong}"}).get("/api/v1/token/").status_code
        for _ in range(30)
    }
    assert statuses == {401, 429}
    response = Client(headers={"Authorization": f"Bearer {wrong}"}).get("/api/v1/token/")
    problem(response, 429)
    assert 0 < int(response["Retry-After"]) <= 601
    response = good.get("token/")
    assert response.status_code == 200, "others' wrong tokens do not keep a right one out"
    assert not response.cookies
    assert response["Cache-Control"] == "no-store"


@pytest.mark.usefixtures("one_moment")
def test_a_program_that_runs_wild_is_slowed_down(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.authentication.API_REQUESTS", Limit("few", 2, timedelta(minutes=1)))
    owner = member(study)
    wild, calm = Program(owner), Program(owner)
    assert [wild.get("token/").status_code for _ in range(3)] == [200, 200, 429]
    assert int(wild.get("token/")["Retry-After"]) <= 61
    assert calm.get("token/").status_code == 200


def test_every_refusal_under_api_is_a_problem_and_english(study: Study) -> None:
    program = Program(member(study))
    german = {"headers": {"Accept-Language": "de", "Accept": "text/html"}}
    assert problem(program.get("nothing-here/", **german), 404)["code"] == "not_found"
    assert problem(program.ask("DELETE", "studies/main/", **german), 405)["code"] == "method_not_allowed"
    assert problem(program.ask("PATCH", "studies/main/", data=b"{", **german), 400)["code"] == "parse_error"
    assert problem(program.ask("PUT", "studies/main/state/", data=b"x", content_type="text/plain"), 415)
    assert problem(program.ask("PATCH", "studies/main/", data={"title": "x" * 1_000_000}), 413)
    refused = problem(program.ask("PATCH", "studies/main/", data={"license": "x"}, **german), 422)
    assert refused["errors"] == [
        {"field": "license", "detail": "The study has been opened: people agreed to this licence."}
    ]
    Study.objects.update(protocol_version="0.0")
    assert problem(program.get("studies/main/votes.csv"), 409)["code"] == "protocol_not_installed"


def test_a_fault_of_ours_is_a_problem_too(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Program(member(study))
    program.let_faults_pass()
    monkeypatch.setattr("dashboard.overview.queries.people_counts", lambda study: 1 / 0)
    assert problem(program.get("studies/main/progress/"), 500)["code"] == "fault"
