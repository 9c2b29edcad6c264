"""``manage.py doctor`` finds nothing in a sound installation, and each fault in a broken one."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from django.core.cache import caches
from django.core.management import call_command
from django.core.management.base import CommandError

from operations import doctor
from operations.apps import check_postgresql
from tests import builders
from tests.doubles import openid
from tests.doubles.mturk.client import marketplace_for
from tests.doubles.mturk.server import KEY_ID, SECRET, MTurkDouble
from tests.recruitment.campaigns import make_campaign, publish_campaign, start
from tomannot import beat, health

pytestmark = pytest.mark.django_db


def found(check: str) -> list[str]:
    return [f"{finding.level} {finding.text}" for finding in doctor.CHECKS[check]()]


@contextmanager
def answering(status: int, **headers: str) -> Iterator[str]:
    """A server that gives everybody the same answer."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_another_server_at_the_public_address_is_told_from_none(settings: Any) -> None:
    with answering(200) as settings.PUBLIC_URL:
        assert "PROBLEM another server answers" in found("address")[0]
    settings.PUBLIC_URL = f"http://127.0.0.1:{closed_port()}"
    assert found("address") == [f"PROBLEM {settings.PUBLIC_URL} does not answer (NewConnectionError)"]


def test_a_proxy_that_hides_https_is_named(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "proofs_of", lambda challenge: ["known"])
    with answering(301, Location="https://study.example.org/sign-in/", **{health.PROOF: "known"}) as url:
        settings.PUBLIC_URL = url
        assert found("address")[1] == (
            "PROBLEM the sign-in page redirects to https://study.example.org/sign-in/"
        )


def test_hosts_that_lack_the_public_one_are_named(settings: Any) -> None:
    settings.PUBLIC_URL, settings.ALLOWED_HOSTS = "http://study.example.org", ["other.example.org"]
    assert found("settings")[:2] == [
        "warning PUBLIC_URL is not https: anyone on the network can read links and passwords",
        "PROBLEM ALLOWED_HOSTS lacks study.example.org",
    ]


def test_an_old_database_and_missing_migrations_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_postgresql(None, databases=["default"]) == []
    monkeypatch.setattr(health, "MINIMUM_POSTGRESQL", 99)
    (error,) = check_postgresql(None, databases=["default"])
    assert "is too old: tomannot needs 99 or newer" in error.msg
    assert found("servers")[0] == f"PROBLEM database: {error.msg}"
    assert check_postgresql(None) == []  # no database is asked when none is named


def test_missing_workers_and_beat_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SECONDS", 0.2)
    caches["shared"].delete(beat.SIGN)
    assert found("workers") == ["PROBLEM no worker takes work from “builds”, “celery”, “platforms”"]
    assert found("beat") == ["PROBLEM has sent no work for two minutes"]


def test_storage_that_takes_no_file_and_old_static_files_are_named(settings: Any, tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    settings.RELEASES_ROOT, settings.MEDIA_ROOT = in_the_way / "releases", tmp_path / "media"
    said = found("storage")
    assert said[0].startswith("PROBLEM RELEASES_ROOT: [Errno 20]")
    assert said[1] == "ok MEDIA_ROOT takes files"
    assert list(settings.MEDIA_ROOT.iterdir()) == []


def test_a_full_disk_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    for free, level in ((10**12, "ok"), (10**9, "warning"), (10**6, "PROBLEM")):
        usage = shutil.disk_usage("/")._replace(free=free)
        monkeypatch.setattr(shutil, "disk_usage", lambda _path, usage=usage: usage)
        assert found("disk")[0].startswith(f"{level} {free / 1e9:,.1f} GB free")


def test_secrets_that_others_can_read_are_named(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", os.environ | {"TOMANNOT_ENV_FILE": "/absent"})
    var = Path("/tmp") / f"tomannot-doctor-{os.getpid()}"  # noqa: S108  # tmp_path can't be entered by others
    var.mkdir()
    try:
        settings.VAR_DIR, settings.MEDIA_ROOT = var, var / "media"
        key, upload = var / "secret_key", var / "media" / "stories.jsonl"
        upload.parent.mkdir()
        for file in (key, upload):
            file.write_text("secret")
            file.chmod(0o600)
        assert found("permissions") == ["ok other accounts cannot read secrets and uploads"]
        key.chmod(0o640)
        upload.chmod(0o644)
        assert found("permissions") == [
            f"PROBLEM other accounts can read {settings.MEDIA_ROOT}",
            f"PROBLEM other accounts can read {key}",
        ]
        upload.parent.chmod(0o700)
        assert found("permissions") == [f"PROBLEM other accounts can read {key}"]
    finally:
        shutil.rmtree(var)


def test_mail_is_tried_without_sending_any(settings: Any) -> None:
    settings.SENDS_MAIL = False
    assert found("mail") == ["warning no mail is sent"]
    settings.SENDS_MAIL = True
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", closed_port()
    assert found("mail") == ["PROBLEM ConnectionRefusedError: [Errno 111] Connection refused"]


def test_credentials_are_tried_only_where_a_campaign_needs_them(settings: Any) -> None:
    assert found("platforms") == ["ok no campaign needs one"]
    with MTurkDouble() as double:
        study = builders.make_study(stories=3, qualification=1)
        campaign = make_campaign(study)
        assert found("platforms") == ["ok no campaign needs one"]
        publish_campaign(start(campaign, marketplace_for(double)), marketplace_for(double))
        account = {"key_id": KEY_ID, "secret": SECRET, "endpoint": double.url}
        settings.MTURK = {campaign.environment: account}
        assert found("platforms")[0].startswith(f"ok mturk, {campaign.environment}: ")
        settings.MTURK = {campaign.environment: account | {"secret": ""}}
        assert found("platforms")[0].startswith(
            f"PROBLEM mturk, {campaign.environment}: Mechanical Turk needs an AWS access key"
        )


def test_the_provider_of_sign_ins_is_read_as_it_describes_itself(settings: Any) -> None:
    assert found("openid") == ["ok researchers sign in with passwords: there is no OPENID_ISSUER"]
    app = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"][0]
    with openid.running() as provider:
        settings.SOCIALACCOUNT_PROVIDERS = {
            "openid_connect": {"APPS": [app | {"client_id": "a", "secret": "b"}]}
        }
        app = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"][0]
        app["settings"] = {"server_url": provider.issuer}
        settings.OPENID_ISSUER = provider.issuer
        (fine,) = found("openid")
        assert fine.startswith(f"ok {provider.issuer} answers")
        assert fine.endswith("/sign-in/provider/back/")
        provider.lies = {"issuer": "https://elsewhere.example"}
        assert found("openid") == ["PROBLEM the provider names itself 'https://elsewhere.example'"]
        app |= {"secret": "", "settings": {"server_url": f"{provider.issuer}/nowhere"}}
        without_secret, unnamed = found("openid")
        assert without_secret == "PROBLEM OPENID_CLIENT_ID or OPENID_CLIENT_SECRET is missing"
        assert unnamed == "PROBLEM the provider names itself None"
    assert "does not answer as a provider does" in found("openid")[1]


def test_the_command_prints_remedies_and_fails(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def broken() -> Iterator[doctor.Finding]:
        yield doctor.ok("fine")
        yield doctor.problem("broken", "Mend it.")
        raise OSError("no such thing\nand more")

    monkeypatch.setattr(doctor, "CHECKS", {"thing": broken})
    with pytest.raises(CommandError, match=r"^2 problems found\.$"):
        call_command("doctor")
    assert capsys.readouterr().out.splitlines() == [
        "ok       thing        fine",
        "PROBLEM  thing        broken. Mend it.",
        "PROBLEM  thing        could not be checked: OSError: no such thing. "
        "Fix the problems above, then run it again.",
    ]
