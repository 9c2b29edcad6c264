"""Logs as JSON, metrics and error reports hold what operators need, and nothing of people."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from uuid import uuid4

import brotli  # type: ignore[import-untyped]
import pytest
from django.conf import settings as site
from django.http import HttpResponse
from django.test import Client, RequestFactory
from prometheus_client.parser import text_string_to_metric_families

from recruitment import mails
from recruitment.errors import MailFailed
from tests import builders
from tomannot import metrics
from tomannot.celery import app

TOKEN = "token-of-prometheus"
Samples = dict[tuple[str, str], float]
"""Value by name and the label that tells its samples apart."""


def samples(text: str, label: str) -> Samples:
    return {
        (sample.name, sample.labels.get(label, "")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if "le" not in sample.labels or sample.labels["le"] == "+Inf"
    }


@pytest.fixture
def measured(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Metrics are on, and under a key of this test's own."""
    settings.METRICS_TOKEN = TOKEN
    monkeypatch.setattr(metrics, "KEY", f"test-metrics-{uuid4().hex}")
    yield
    metrics.send()
    metrics._redis().delete(metrics.KEY)


def scrape() -> str:
    answer = Client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.django_db
def test_metrics_are_for_those_with_the_token(settings: Any, client: Client) -> None:
    assert client.get("/metrics").status_code == 404
    settings.METRICS_TOKEN = TOKEN
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers={"Authorization": "Bearer another"}).status_code == 401


@pytest.mark.django_db
@pytest.mark.usefixtures("measured")
def test_votes_and_leases_are_of_now() -> None:
    people = builders.qualified(builders.make_study(stories=3), 2)
    receipt = builders.vote(people[0])
    builders.claim(people[1])
    told = samples(scrape(), "queue")
    assert told["tomannot_votes", ""] >= 1
    assert told["tomannot_leases", ""] == 1
    assert all(told["tomannot_queue_length", name] >= 0 for name in ("celery", "builds", "platforms"))
    assert told["tomannot_unfinished_releases", ""] == 0
    builders.vote(people[0])
    assert samples(scrape(), "queue")["tomannot_votes", ""] == told["tomannot_votes", ""] + 1, receipt


@pytest.mark.django_db
@pytest.mark.usefixtures("measured")
def test_a_scrape_costs_the_same_however_much_there_is(django_assert_num_queries: Any) -> None:
    scrape()
    with django_assert_num_queries(3):
        scrape()


@pytest.mark.django_db
@pytest.mark.usefixtures("measured")
def test_durations_are_in_buckets_with_their_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mail:
        def send(self) -> None:
            raise ConnectionRefusedError

    with pytest.raises(MailFailed):
        mails.hand_over(Mail())  # type: ignore[arg-type]
    metrics.observe("task", 0.2, task="build", outcome="ok")
    metrics.observe("task", 20.0, task="build", outcome="ok")
    text = scrape()
    assert samples(text, "outcome")["tomannot_mail_seconds_count", "MailFailed"] == 1
    assert 'tomannot_task_seconds_bucket{le="0.1",outcome="ok",task="build"} 0.0' in text
    assert 'tomannot_task_seconds_bucket{le="0.3",outcome="ok",task="build"} 1.0' in text
    assert 'tomannot_task_seconds_bucket{le="30",outcome="ok",task="build"} 2.0' in text
    assert 'tomannot_task_seconds_sum{outcome="ok",task="build"} 20.2' in text


@pytest.mark.django_db
@pytest.mark.usefixtures("measured")
def test_strangers_make_no_new_labels() -> None:
    respond = metrics.time_requests(lambda _request: HttpResponse(status=404))
    for number in range(3):
        respond(RequestFactory().generic(f"BREW{number}", f"/nothing/{number}"))
    requests = [line for line in scrape().splitlines() if line.startswith("tomannot_request_seconds_count")]
    assert requests == ['tomannot_request_seconds_count{method="other",status="404",view="none"} 3.0']


UNPACK: dict[str | None, Callable[[bytes], bytes]] = {
    None: bytes, "gzip": gzip.decompress, "br": brotli.decompress,
}  # fmt: skip


class Received(BaseHTTPRequestHandler):
    """A Sentry that keeps what it is sent."""

    bodies: list[bytes]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.bodies.append(UNPACK[self.headers["Content-Encoding"]](body))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def sentry() -> Iterator[tuple[str, list[bytes]]]:
    handler = type("Handler", (Received,), {"bodies": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}).start()
    try:
        yield f"http://public@127.0.0.1:{server.server_address[1]}/1", handler.bodies  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()


FAIL = """
import manage, django, os
os.environ["DJANGO_SETTINGS_MODULE"] = "tomannot.settings"
django.setup()
from django.test import RequestFactory
from annotation import tokens
def broken(token):
    secret = "in a local variable"
    raise RuntimeError("Key (person)=(5f3a9c0de1b2) of ada@example.org at /join/" + token)
tokens.read_personal_token = broken
request = RequestFactory().post(
    "/join/7-2x3fa.signature/?participant=5f3a9c0de1b2", {"answer": "posted"}, HTTP_HOST="localhost",
    HTTP_COOKIE="sessionid=a-session", REMOTE_ADDR="203.0.113.9", HTTP_X_FORWARDED_FOR="203.0.113.9",
)
from tomannot.wsgi import application
list(application(request.environ, lambda *_: None))
import sentry_sdk
sentry_sdk.flush(10)
"""
LOADED = """
import sys
import manage, django, os
os.environ["DJANGO_SETTINGS_MODULE"] = "tomannot.settings"
django.setup()
from django.conf import settings
from tomannot.wsgi import application
print([name for name in ("sentry_sdk", "django_guid", "pythonjsonlogger") if name in sys.modules])
print([name for name in settings.MIDDLEWARE if "guid" in name or "metrics" in name])
"""


def run(program: str, **more: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], cwd=site.BASE_DIR, env=os.environ | more,
        stdout=subprocess.PIPE, text=True, timeout=60, check=True,
    ).stdout  # fmt: skip


def test_an_error_report_says_where_it_failed_and_of_whom_nothing() -> None:
    with sentry() as (dsn, bodies):
        said = run(FAIL + LOADED, SENTRY_DSN=dsn, LOG_FORMAT="json", METRICS_TOKEN=TOKEN)
    assert said.splitlines()[-2:] == [
        "['sentry_sdk', 'django_guid', 'pythonjsonlogger']",
        "['django_guid.middleware.guid_middleware', 'tomannot.metrics.time_requests']",
    ]
    report = b"".join(bodies).decode()
    assert "RuntimeError" in report
    assert "Key (person)=(***) of ***@*** at /join/***" in report
    assert '"request":{"method":"POST","url":"http://localhost/join/***/"}' in report
    secrets = (
        "5f3a9c", "ada@", "signature", "posted", "a-session", "203.0.113.9", "in a local variable"
    )  # fmt: skip
    assert [secret for secret in secrets if secret in report] == []


def test_what_is_off_is_not_even_loaded() -> None:
    assert run(LOADED).splitlines() == ["[]", "[]"]


@pytest.mark.parametrize(
    ("name", "queue"),
    [
        ("annotation.tasks.run_import", "builds"),
        ("publishing.tasks.build_release", "builds"),
        ("recruitment.tasks.carry_out", "platforms"),
        ("dashboard.tasks.send_alerts", "celery"),
    ],
)
def test_each_kind_of_task_waits_in_the_queue_of_its_kind_and_in_no_other(name: str, queue: str) -> None:
    app.loader.import_default_modules()
    assert name in app.tasks
    with app.connection_for_write() as broker, broker.channel() as channel:
        redis: Any = channel.client  # type: ignore[attr-defined]
        count = {each: redis.llen(each) for each in app.amqp.queues}
        app.send_task(name, args=[0])
        more = {each: redis.llen(each) - count[each] for each in app.amqp.queues}
        for each, added in more.items():
            redis.lpop(each, added) if added else None

    assert more == dict.fromkeys(app.amqp.queues, 0) | {queue: 1}
