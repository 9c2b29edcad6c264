"""docs/security.md is true: its tests exist, its figures are the code's, and what it promises holds."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client

from accounts import rate_limits
from accounts.actions import ensure_researcher
from accounts.models import User
from accounts.rate_limits import Limit
from tests import builders
from tests.plugin import state_directory
from tests.test_docs import page, section
from tomannot.embedded import PROJECT

NAMED = re.compile(r"`tests/([\w/]+\.py)(?:::(\w+))?`")
ROW = re.compile(
    r"^\| (\d+\.\d+\.\d+)(?:–\d+\.\d+\.(\d+))? \| [^|]+ \| (met|not met|n/a): [^|]+ \| ([^|]+) \|$", re.M
)


@pytest.fixture(scope="module")
def text() -> str:
    return page("docs/security.md")


def test_every_test_that_is_named_exists(text: str) -> None:
    named = set(NAMED.findall(text))
    assert len(named) > 80
    missing = [
        f"{file}::{name}"
        for file, name in sorted(named)
        if not (PROJECT / "tests" / file).is_file()
        or (name and f"\ndef {name}(" not in (PROJECT / "tests" / file).read_text(encoding="utf-8"))
    ]
    assert missing == []


def requirements(text: str) -> Iterator[tuple[tuple[int, ...], str, bool]]:
    """Every requirement of the tables: its number, its status, and whether a test is named."""
    for first, last, status, shown in ROW.findall(text):
        chapter, part, number = map(int, first.split("."))
        for each in range(number, int(last or number) + 1):
            yield (chapter, part, each), status, shown != "–"


def test_the_list_is_whole_in_order_and_counted_right(text: str) -> None:
    found = list(requirements(text))
    numbers = [number for number, _, _ in found]
    assert numbers == sorted(set(numbers))
    assert len(ROW.findall(text)) == len(re.findall(r"^\| \d+\.\d+\.\d+", text, re.MULTILINE))
    counts = Counter(f"{status} {shown}" if status == "met" else status for _, status, shown in found)
    said = section(text, "OWASP ASVS 5.0, levels 1 and 2")
    order = (len(found), counts["met True"], counts["met False"], counts["not met"], counts["n/a"])
    assert (
        tuple(map(int, re.findall(r"\b\d+\b", said.replace("5.0.0", "").replace("level 1 and 2", ""))))
        == order
    )
    assert len(found) == 253  # 70 of level 1 and 183 of level 2


def test_the_limits_are_those_of_the_code(text: str) -> None:
    table = section(text, "Abuse limits")
    stated = {
        name: (int(most), int(minutes))
        for name, most, minutes in re.findall(r"^\| `([A-Z_]+)` \| [^|]+ \| (\d+) \| (\d+) \|$", table, re.M)
    }
    limits = {name: limit for name, limit in vars(rate_limits).items() if isinstance(limit, Limit)}
    assert stated == {name: (limit.most, limit.window.total_seconds() / 60) for name, limit in limits.items()}


def test_every_pinned_requirement_is_in_the_bill_of_materials() -> None:
    written = subprocess.run(
        ["bash", "scripts/sbom.sh"], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    document = json.loads(written.stdout)
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    locked = (PROJECT / "requirements/base.txt").read_text(encoding="utf-8")
    pins = {
        (name.lower(), version)
        for name, version in re.findall(r"^([\w.-]+)(?:\[\S+\])?==(\S+)", locked, re.M)
    }
    assert {(one["name"], one["version"]) for one in document["components"]} == pins
    hashes = [one["content"] for component in document["components"] for one in component["hashes"]]
    assert Counter(hashes) == Counter(re.findall(r"sha256:([0-9a-f]{64})", locked))


COOKIES = """
import os, sys
for path in ("", "/study"):
    os.environ["PUBLIC_URL"] = f"https://study.example.org{path}"
    from tomannot import settings
    for kind in ("SESSION", "CSRF"):
        for name in ("NAME", "PATH", "SECURE", "DOMAIN"):
            print(getattr(settings, f"{kind}_COOKIE_{name}", None))
    del sys.modules["tomannot.settings"], sys.modules["tomannot"].settings
"""


def test_cookies_are_held_to_their_host() -> None:
    shown = subprocess.run(
        [sys.executable, "-c", COOKIES], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    told = iter(shown.stdout.split())
    assert [" ".join(cookie) for cookie in zip(told, told, told, told, strict=True)] == [
        "__Host-sessionid / True None",
        "__Host-csrftoken / True None",
        "__Secure-sessionid /study True None",
        "__Secure-csrftoken /study True None",
    ]


@pytest.mark.django_db
def test_cookies_are_set_as_the_settings_say(client: Client, settings: Any) -> None:
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    ensure_researcher(username="ada", password="seven wet otters")
    client.get("/sign-in/")
    client.post("/sign-in/", {"username": "ada", "password": "seven wet otters"})
    session, csrf = (
        client.cookies[name] for name in (settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME)
    )
    for cookie in (session, csrf):
        told = (cookie["secure"], cookie["samesite"], cookie["path"], cookie["domain"])
        assert told == (True, "Lax", "/", ""), cookie.key
    assert session["httponly"] is True


@pytest.mark.django_db
def test_no_other_site_reads_a_response(client: Client) -> None:
    for path in ("/", "/releases/", "/api/v1/studies/", "/api/v1/openapi.yaml"):
        response = client.get(path, headers={"Origin": "https://elsewhere.example"})
        assert not [name for name in response.headers if name.startswith("Access-Control")]


@pytest.mark.django_db
def test_a_form_from_elsewhere_changes_nothing() -> None:
    study = builders.make_study("main")
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ensure_researcher(username="ada", password="seven wet otters"))
    response = strict.post(
        f"/studies/{study.slug}/state/pause/", headers={"Origin": "https://elsewhere.example"}
    )
    assert response.status_code == 403
    study.refresh_from_db()
    assert study.state == "open"


@pytest.mark.django_db
def test_no_page_echoes_a_trace(client: Client) -> None:
    for path in ("/", "/releases/", "/sign-in/", "/again/", "/api/v1/studies/"):
        response = client.generic("TRACE", path, headers={"X-Secret": "of-mine"})
        assert response.status_code in (401, 405)
        assert b"of-mine" not in response.content


@pytest.mark.django_db
def test_a_password_is_masked_and_may_be_filled_in_and_signing_out_is_in_sight(client: Client) -> None:
    shown = client.get("/sign-in/").content.decode()
    (field,) = re.findall(r"<input[^>]*name=\"password\"[^>]*>", shown)
    assert 'type="password"' in field
    assert 'autocomplete="current-password"' in field
    client.force_login(ensure_researcher(username="ada", password="seven wet otters"))
    study = builders.make_study("main")
    for path in ("/studies/", f"/studies/{study.slug}/", "/api-tokens/"):
        assert 'action="/sign-out/"' in client.get(path).content.decode(), path


@pytest.mark.django_db
def test_no_file_of_the_repository_is_served(client: Client) -> None:
    for path in (
        "/.git/config",
        "/.env",
        "/manage.py",
        "/requirements/base.txt",
        "/static/../manage.py",
        "/static/",
    ):
        assert client.get(path).status_code == 404, path


def test_passwords_are_long_of_any_kind_and_not_common() -> None:
    for fine in ("aaaa bbbb cccc", "ключ-от-сейфа-7", "x y" * 40):
        validate_password(fine)
    for bad in ("short", "q1w2e3r4t5y6", "1qaz2wsx3edc"):
        with pytest.raises(ValidationError):
            validate_password(bad)


@pytest.mark.django_db
def test_a_session_is_new_at_every_sign_in_and_ends_with_the_password_or_the_account(client: Client) -> None:
    ada = ensure_researcher(username="ada", password="seven wet otters")
    keys = set()
    for _ in range(2):
        client.post("/sign-in/", {"username": "ada", "password": "seven wet otters"})
        session = Session.objects.get(session_key=client.session.session_key)
        keys.add(session.session_key)
        assert (session.expire_date - ada.date_joined).days <= 14
        client.post("/sign-out/")
    assert len(keys) == 2
    assert not Session.objects.filter(session_key__in=keys).exists()
    for change in (
        lambda user: user.set_password("eight dry otters"),
        lambda user: setattr(user, "is_active", False),
    ):
        user = User.objects.get(username="ada")
        client.force_login(user)
        assert client.get("/studies/").status_code == 200
        change(user)
        user.save()
        assert client.get("/studies/").status_code == 302


def others_may_read(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o044)


def test_nobody_else_reads_what_the_embedded_servers_and_uploads_keep(tmp_path: Path) -> None:
    var = state_directory()
    private = [
        one for one in var.iterdir() if one.name in ("postgres", "redis", "keeper.log", "postgres.log")
    ]
    assert len(private) >= 3 or "DATABASE_URL" in os.environ
    assert [one.name for one in private if others_may_read(one)] == []
    assert not others_may_read(var / "redis" / "url")
    name = default_storage.save("uploads/stories.jsonl", ContentFile(b"{}"))
    assert Path(default_storage.path(name)).stat().st_mode & 0o777 == 0o600
    environment = {
        **os.environ,
        "TOMANNOT_VAR": str(tmp_path),
        "SECRET_KEY": "",
        "EMAIL_URL": f"filemail:///{tmp_path}/mail",
    }
    subprocess.run(
        [sys.executable, "-c", "import tomannot.settings"], cwd=PROJECT, env=environment, check=True
    )
    assert (tmp_path / "secret_key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "mail").stat().st_mode & 0o777 == 0o700
