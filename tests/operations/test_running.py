"""A whole installation at work: the doctor finds nothing, and a request can be followed through its logs."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import urllib3
from django.core.cache import caches
from django.core.management import CommandError, call_command

from annotation.tokens import personal_token
from tests.integration.servers import running
from tests.operations.test_doctor import found
from tests.operations.test_watching import TOKEN, samples
from tomannot import beat, metrics
from tomannot.celery import app


@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(180)
def test_the_doctor_finds_no_problem_and_one_request_is_followed_through_its_task(
    child_environment: dict[str, str], static_root: Path, tmp_path: Path, settings: Any
) -> None:
    caches["shared"].delete(beat.SIGN)
    metrics._redis().delete(metrics.KEY)
    (tmp_path / "var").mkdir()
    environment = child_environment | {
        "TOMANNOT_VAR": str(tmp_path / "var"),
        "EMAIL_URL": f"filemail:///{tmp_path}/var/mail",
        "STATIC_ROOT": str(static_root),
        "LOG_FORMAT": "json",
        "METRICS_TOKEN": TOKEN,
    }
    (tmp_path / "logs").mkdir()
    rest_for_an_hour(tmp_path / "logs" / "beat")
    with running(environment, tmp_path / "logs", with_beat=True) as address:
        follow_one_request(address, tmp_path / "logs")
        settings.PUBLIC_URL, settings.VAR_DIR = address, tmp_path / "var"
        settings.ALLOWED_HOSTS, settings.CSRF_TRUSTED_ORIGINS = ["127.0.0.1"], [address]
        ask_the_doctor(address)
        settings.SECRET_KEY = "another-" + "x" * 50
        assert found("address")[0] == (
            f"PROBLEM another server answers {address}, or one with another SECRET_KEY (status 200)"
        )


def rest_for_an_hour(schedule: Path) -> None:
    """Let the scheduler have been off for an hour, so that work is due as soon as it starts."""
    scheduler = beat.Scheduler(app=app, schedule_filename=str(schedule))
    for entry in scheduler.schedule.values():
        entry.last_run_at = app.now() - timedelta(hours=1)
    scheduler.close()


def ask_the_doctor(address: str) -> None:
    deadline = time.monotonic() + 90
    while not beat.is_alive() or not app.control.ping(timeout=1, limit=1):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    said = StringIO()
    with suppress(CommandError):  # the document says what the problem is
        call_command("doctor", json=True, stdout=said)
    document = json.loads(said.getvalue())
    level = {one["text"]: one["level"] for one in document["findings"]}
    assert set(level.values()) <= {"ok", "warning"}, level  # a disk may be small
    assert document["ok"] is True
    assert level[f"{address} leads to this installation"] == "ok"
    assert level["forms arrive"] == "ok"


def follow_one_request(address: str, logs: Path) -> None:
    request_id, forged = uuid4().hex, personal_token(7, "2x3fa")
    urllib3.request("GET", f"{address}/join/{forged}/", headers={"X-Request-ID": request_id})
    answer = urllib3.request(
        "POST", f"{address}/again/", fields={"email": "ada@example.org"},
        headers={"X-Request-ID": request_id},
    )  # fmt: skip
    assert answer.headers["X-Request-ID"] == request_id
    deadline = time.monotonic() + 60
    task = ("tomannot_task_seconds_count", "recruitment.tasks.send_mail")
    while True:
        scraped = urllib3.request("GET", f"{address}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
        told = samples(scraped.data.decode(), "task")
        if task in told:
            break
        assert time.monotonic() < deadline, scraped.data.decode()
        time.sleep(0.5)
    assert told[task] == 1
    requests = samples(scraped.data.decode(), "view")
    assert requests["tomannot_request_seconds_count", "link:again"] == 1
    seen = [record for record in logged(logs / "web.log") if record["request_id"] == request_id]
    assert {(record.get("view"), record.get("status")) for record in seen} >= {
        ("recruitment:arrive", "410"), ("link:again", "200")
    }  # fmt: skip
    done = [record for record in logged(logs / "worker.log") if record["request_id"] == request_id]
    assert any("recruitment.tasks.send_mail" in record["message"] for record in done)
    everything = (logs / "web.log").read_text() + (logs / "worker.log").read_text()
    assert forged not in everything
    assert "ada@" not in everything
    assert "/join/***/" in everything


def logged(path: Path) -> list[dict[str, Any]]:
    """The records; granian's own lines are not ours."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.startswith("{")]
