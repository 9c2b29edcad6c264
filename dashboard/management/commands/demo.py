import hashlib
import os
import secrets
import signal
import socket
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import urlsplit

import psutil
import urllib3
from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections
from django.urls import reverse

from accounts.actions import ensure_researcher
from annotation.actions import invite
from annotation.management.base import ActionCommand
from annotation.models import Study
from dashboard.actions import load_sample_study
from dashboard.settings.sample_study import DEFAULT_SAMPLE, SAMPLES
from recruitment.links import personal_path
from tomannot import clock, embedded, web_server
from tomannot.embedded.locks import FileLock
from tomannot.embedded.system import last_lines
from tomannot.supervisor import Program, ProgramEnded, Supervisor

HOST = "127.0.0.1"
FIRST_PORT = 8000
PORTS_TRIED = 100
RESEARCHER = "researcher"
LINKS = 3
FIRST_ROUND = 1
ANSWER_SECONDS = 60.0


class Stop(Exception):
    """A request to stop the demo."""


class Command(ActionCommand):
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int)
        parser.add_argument("--study", choices=sorted(SAMPLES), default=DEFAULT_SAMPLE)
        parser.add_argument("--started", type=float, metavar="SECONDS")

    def handle(self, *args: Any, **options: Any) -> None:
        lock = FileLock(settings.VAR_DIR / "demo.lock")
        if not lock.try_exclusive():
            raise CommandError(
                f"A demo with the data in {settings.VAR_DIR} runs already. Stop it first, or give this one a "
                "directory of its own in TOMANNOT_VAR."
            )
        started = options["started"] or psutil.Process().create_time()
        port = options["port"] or free_port()
        address = os.environ.get("PUBLIC_URL", f"http://{HOST}:{port}").rstrip("/")
        try:
            with stop_signals():
                self._prepare_site()
                facts = self._prepare_study(options["study"])
                connections.close_all()
                with Supervisor(
                    programs(port),
                    environment={**os.environ, "PUBLIC_URL": address, **mail_into_files()},
                    cwd=settings.BASE_DIR,
                    logs=settings.VAR_DIR / "log",
                ) as supervisor:
                    wait_for_answer(supervisor, f"http://{HOST}:{port}/", host=urlsplit(address).netloc)
                    address_file().write_text(address)
                    self._say(f"serving after {time.time() - started:.1f} seconds")
                    if port != FIRST_PORT and not options["port"]:
                        self._say(f"port {FIRST_PORT} is taken, so it is port {port}")
                    self.stdout.write("")
                    mails = mail_directory() if mail_into_files() else None
                    said = self.text(address=address, logs=supervisor.logs, mails=mails, **facts)
                    self.stdout.write(said)
                    self.stdout.flush()
                    supervisor.watch()
        except Stop as stop:
            self._say(f"{stop}, everything was stopped")
        except ProgramEnded as error:
            raise CommandError(
                f"{error} Everything was stopped. The end of {error.log}:\n{last_lines(error.log)}"
            ) from error
        finally:
            address_file().unlink(missing_ok=True)
            connections.close_all()
            if not embedded.release():
                self._say("the embedded servers go on, because another process uses them too")

    def _prepare_site(self) -> None:
        self._say("preparing the database")
        call_command("migrate", verbosity=0)
        collected, fingerprint = Path(settings.STATIC_ROOT) / ".fingerprint", static_fingerprint()
        if not collected.exists() or collected.read_text() != fingerprint:
            self._say("collecting static files (some seconds, once)")
            call_command("collectstatic", interactive=False, verbosity=0)
            collected.write_text(fingerprint)

    def _prepare_study(self, name: str) -> dict[str, Any]:
        """Load the sample study with an account and links. Return the facts that they are found by."""
        self._say("preparing the sample study")
        now = clock.now()
        study = load_sample_study(now=now, name=name)
        password = secrets.token_urlsafe(12)
        ensure_researcher(username=RESEARCHER, password=password)
        invited = invite(study=study, count=LINKS, by=None, now=now)
        key = reverse("dashboard:answer_key", args=[study.slug, FIRST_ROUND])
        return {
            "overview": reverse("dashboard:overview", args=[study.slug]),
            "answer_key": key if study.gate == Study.Gate.READY else None,
            "back_office": reverse("admin:index"),
            "researcher": RESEARCHER,
            "password": password,
            "links": [personal_path(enrollment) for enrollment in invited],
        }

    def _say(self, line: str) -> None:
        self.stdout.write(f"demo: {line}")
        self.stdout.flush()


def address_file() -> Path:
    """Return the file with the demo's address, for other terminals (see PUBLIC_URL in the settings)."""
    return settings.VAR_DIR / "public_url"


def mail_directory() -> Path:
    """Return the folder for mails of the demo and of commands beside it (see EMAIL_URL in the settings)."""
    return settings.VAR_DIR / "mail"


def mail_into_files() -> dict[str, str]:
    """Return the environment variables that keep the demo's mails in files, unless a server is set."""
    return {} if os.environ.get("EMAIL_URL") else {"EMAIL_URL": f"filemail:///{mail_directory()}"}


def programs(port: int) -> list[Program]:
    """Return the processes of a running tomannot, on this port of the loopback interface."""
    python = [sys.executable, "-m"]
    schedule = str(settings.VAR_DIR / "celerybeat-schedule")
    return [
        Program("web", web_server.command(host=HOST, port=port)),
        Program(
            "worker",
            [*python, "celery", "-A", "tomannot", "worker", "--loglevel", "INFO", "--concurrency", "2"],
        ),
        Program(
            "beat", [*python, "celery", "-A", "tomannot", "beat", "--schedule", schedule, "--pidfile", ""]
        ),
    ]


@contextmanager
def stop_signals() -> Iterator[None]:
    """Turn the first SIGINT, SIGTERM or SIGHUP into :class:`Stop`; ignore the others while stopping."""

    def stop(number: int, frame: FrameType | None) -> None:
        for other in before:
            signal.signal(other, signal.SIG_IGN)
        raise Stop(f"got {signal.Signals(number).name}")

    before = {
        number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    yield


def wait_for_answer(supervisor: Supervisor, url: str, *, host: str) -> None:
    """Wait until the site answers. Raise ProgramEnded when a process ends, CommandError after a minute."""
    client = urllib3.PoolManager(timeout=10, retries=False)
    deadline = time.monotonic() + ANSWER_SECONDS
    while True:
        supervisor.check()
        try:
            status = client.request("GET", url, headers={"Host": host}, redirect=False).status
        except urllib3.exceptions.HTTPError as error:  # not listening yet
            if time.monotonic() > deadline:
                raise CommandError(f"{url} does not answer: {error}") from error
            time.sleep(0.1)
            continue
        if status >= 400:
            raise CommandError(f"{url} answers with status {status}; see {supervisor.logs / 'web.log'}")
        return


def free_port() -> int:
    for port in range(FIRST_PORT, FIRST_PORT + PORTS_TRIED):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
    raise CommandError(
        f"No port from {FIRST_PORT} to {FIRST_PORT + PORTS_TRIED - 1} is free: give one with --port."
    )


def static_fingerprint() -> str:
    """Return the static files with sizes and times, to skip a collection that takes seconds."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for path, storage in finder.list([]):
            status = os.stat(storage.path(path))
            digest.update(f"{storage.path(path)} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()
