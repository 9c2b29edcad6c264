"""Checks of an installation: each finding says what is wrong and how to mend it. They change nothing."""

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from http.cookies import SimpleCookie
from pathlib import Path
from smtplib import SMTPException
from urllib.parse import urlsplit

import urllib3
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core import checks as system_checks
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.mail import get_connection
from django.db import DatabaseError
from django.db.models import Q
from django.db.models.functions import Substr
from django.http.request import validate_host
from django.urls import reverse
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError

from accounts.models import ForgottenIdentity
from recruitment.links import absolute
from recruitment.marketplace import MarketplaceError
from recruitment.models import Campaign
from recruitment.platforms import platform_named
from recruitment.reconciliation.queries import campaigns_to_ask
from tomannot import beat, clock, health
from tomannot.celery import app
from tomannot.keyed import MARK_LENGTH, key_marks, matches_any

SECONDS = 5.0
"""Timeout of each request, in seconds."""
HTTPS = "Put a proxy with HTTPS in front, and set PUBLIC_URL to its address."
ENOUGH_BYTES, LEAST_BYTES = 5_000_000_000, 500_000_000
READABLE_BY_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Level(StrEnum):
    OK = "ok"
    WARNING = "warning"
    PROBLEM = "PROBLEM"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check, with the remedy if something is wrong."""

    level: Level
    text: str
    remedy: str = ""


ok = partial(Finding, Level.OK)
warning = partial(Finding, Level.WARNING)
problem = partial(Finding, Level.PROBLEM)


def examine() -> Iterator[tuple[str, Finding]]:
    """Run every check. Yield its name with each of its findings."""
    for name, check in CHECKS.items():
        try:
            yield from ((name, finding) for finding in check())
        except (DatabaseError, BrokerError, RedisError, OSError) as error:
            text = f"could not be checked: {type(error).__name__}: {error}".splitlines()[0]
            yield name, problem(text, "Fix the problems above, then run it again.")


def _servers() -> Iterator[Finding]:
    """Database and its version, migrations, broker, clock: as ``/readyz`` checks them."""
    remedies = {
        "database": "Start PostgreSQL, and check DATABASE_URL.",
        "migrations": "Stop worker and beat, run manage.py migrate, and restart everything.",
        "broker": "Start Redis, and check REDIS_URL.",
        "clock": "Run an NTP client here and on the database's machine.",
    }
    found = health.problems()
    for name, remedy in remedies.items():
        said = found.get(name)
        yield problem(f"{name}: {said}", remedy) if said else ok(name)


def _settings() -> Iterator[Finding]:
    """Django's own checks of the settings, with those for a public site if it is one."""
    public = urlsplit(settings.PUBLIC_URL)
    is_https = public.scheme == "https"
    if not is_https and public.hostname not in ("localhost", "127.0.0.1"):
        yield warning("PUBLIC_URL is not https: anyone on the network can read links and passwords", HTTPS)
    if not validate_host(str(public.hostname), settings.ALLOWED_HOSTS):
        yield problem(f"ALLOWED_HOSTS lacks {public.hostname}", "Add it, or unset ALLOWED_HOSTS.")
    messages = [
        message
        for message in system_checks.run_checks(include_deployment_checks=is_https)
        if not message.is_silenced()
    ]
    for message in messages:
        level = Level.PROBLEM if message.is_serious() else Level.WARNING
        yield Finding(level, f"{message.id}: {message.msg}", message.hint or "")
    if not messages:
        yield ok(f"manage.py check{' --deploy' * is_https} finds nothing")


def _keys() -> Iterator[Finding]:
    """Look for marks of deleted people that were made with a key that is not at hand."""
    marks = ForgottenIdentity.objects.annotate(key=Substr("digest", 1, MARK_LENGTH))
    lost = marks.exclude(key__in=key_marks()).count()
    if lost:
        yield problem(
            f"{lost} people who had their data deleted would not be recognised: their marks are of another "
            "SECRET_KEY",
            "Add the former key to SECRET_KEY_FALLBACKS.",
        )
    else:
        yield ok("SECRET_KEY and SECRET_KEY_FALLBACKS recognise all who were deleted")


def _public_url() -> Iterator[Finding]:
    """Go through DNS, proxy and certificate to the web server, and send a form."""
    challenge = secrets.token_hex(8)
    try:
        reply = _ask("GET", f"/healthz?challenge={challenge}")
        if not matches_any(reply.headers.get(health.PROOF, ""), health.proofs_of(challenge)):
            yield problem(
                f"another server answers {settings.PUBLIC_URL}, or one with another SECRET_KEY "
                f"(status {reply.status})",
                "Compare PUBLIC_URL, DNS, the proxy's target, and SECRET_KEY on every machine.",
            )
            return
        yield ok(f"{settings.PUBLIC_URL} leads to this installation")
        yield from _forms()
    except urllib3.exceptions.HTTPError as error:
        yield problem(
            f"{settings.PUBLIC_URL} does not answer ({type(error).__name__})",
            "Start the web server, and check PUBLIC_URL, DNS, the proxy and its certificate.",
        )


def _forms() -> Iterator[Finding]:
    """Fetch the sign-in form and send it empty, which is refused only if something in between is wrong."""
    path = reverse("accounts:sign_in").removeprefix(settings.FORCE_SCRIPT_NAME or "")
    page = _ask("GET", path)
    cookie = SimpleCookie(page.headers.get("Set-Cookie", "")).get(settings.CSRF_COOKIE_NAME)
    if page.status in (301, 302):
        to = page.headers.get("Location")
        yield problem(
            f"the sign-in page redirects to {to}", "Let the proxy set X-Forwarded-Proto: https, and the path."
        )
    elif page.status != 200 or cookie is None:
        yield problem(
            f"the sign-in page answers {page.status}", "Let the proxy pass Host, and check ALLOWED_HOSTS."
        )
    else:
        headers = {
            "Cookie": f"{settings.CSRF_COOKIE_NAME}={cookie.value}",
            "X-CSRFToken": cookie.value,
            "Origin": settings.CSRF_TRUSTED_ORIGINS[0],
            "Referer": settings.PUBLIC_URL + path,
        }
        status = _ask("POST", path, headers).status
        if status in (200, 429):  # asked to fill it in, or to wait
            yield ok("forms arrive")
        else:
            yield problem(
                f"a form is refused with {status}", "Let the proxy pass Host, Origin, Referer and cookies."
            )


def _ask(method: str, path: str, headers: dict[str, str] | None = None) -> urllib3.BaseHTTPResponse:
    url = settings.PUBLIC_URL + path
    return urllib3.request(method, url, headers=headers, timeout=SECONDS, retries=False, redirect=False)


def _workers() -> Iterator[Finding]:
    found = app.control.inspect(timeout=SECONDS).active_queues() or {}
    wanted = set(app.amqp.queues)
    served = {queue["name"] for queues in found.values() for queue in queues}
    if missing := ", ".join(f"“{name}”" for name in sorted(wanted - served)):
        yield problem(
            f"no worker takes work from {missing}",
            "Start one: celery -A tomannot worker --loglevel INFO --concurrency 2",
        )
    else:
        yield ok(f"{', '.join(sorted(found))}: {', '.join(sorted(wanted))}")


def _beat() -> Iterator[Finding]:
    if beat.is_alive():
        yield ok("has sent work within the last two minutes")
    else:
        yield problem(
            "has sent no work for two minutes",
            'Start exactly one: celery -A tomannot beat --loglevel INFO --schedule FILE --pidfile ""',
        )


def _storage() -> Iterator[Finding]:
    """Write and read a file wherever web and workers do."""
    remedy = "Give the account that runs tomannot the right to write there, on every machine."
    for name in ("RELEASES_ROOT", "MEDIA_ROOT"):
        root: Path = getattr(settings, name)
        try:
            root.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=root, prefix=".doctor-") as file:
                file.write(b"ok")
                file.flush()
                Path(file.name).read_bytes()
            yield ok(f"{name} takes files")
        except OSError as error:
            yield problem(f"{name}: {error}", remedy)
    if settings.STORAGE_URL:
        try:
            name = default_storage.save(".doctor", ContentFile(b"ok"))
            default_storage.delete(name)
            yield ok("STORAGE_URL takes files")
        except (BotoCoreError, ClientError) as error:
            yield problem(f"STORAGE_URL: {error}", "Check bucket, credentials and endpoint.")
    try:
        staticfiles_storage.url("tomannot/tomannot.css")
        yield ok("STATIC_ROOT has the style sheet")
    except ValueError:
        yield problem("STATIC_ROOT lacks files of this version", "Run manage.py collectstatic --noinput.")


def _disk() -> Iterator[Finding]:
    seen = set()
    for path in (settings.VAR_DIR, settings.RELEASES_ROOT, settings.MEDIA_ROOT):
        there = next(parent for parent in (path, *path.parents) if parent.exists())
        if (device := there.stat().st_dev) in seen:
            continue
        seen.add(device)
        free = shutil.disk_usage(there).free
        said = f"{free / 1e9:,.1f} GB free for {there}"
        remedy = "Free some space, or move the directory to another disk."
        level = Level.OK if free >= ENOUGH_BYTES else Level.WARNING if free >= LEAST_BYTES else Level.PROBLEM
        yield Finding(level, said, "" if level == Level.OK else remedy)


def _permissions() -> Iterator[Finding]:
    """Look for secrets, links and uploads that other accounts of the machine can read."""
    environment = Path(os.environ.get("TOMANNOT_ENV_FILE", settings.BASE_DIR / ".env"))
    private = [settings.VAR_DIR / name for name in ("secret_key", "mail", "postgres", "redis", "log")]
    open_to_others = [
        path for path in (environment, settings.MEDIA_ROOT, *private) if _can_be_read_by_others(path)
    ]
    for path in open_to_others:
        yield problem(f"other accounts can read {path}", f"chmod -R go-rwx {path}")
    if not open_to_others:
        yield ok("other accounts cannot read secrets and uploads")


def _can_be_read_by_others(path: Path) -> bool:
    if not path.exists() or any(not above.stat().st_mode & stat.S_IXOTH for above in path.parents):
        return False
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        return bool(mode & stat.S_IXOTH) and any(map(_can_be_read_by_others, path.iterdir()))
    return bool(mode & READABLE_BY_OTHERS)


def _mail() -> Iterator[Finding]:
    if not settings.SENDS_MAIL:
        yield warning("no mail is sent", "Set EMAIL_URL, unless links are handed out in another way.")
        return
    try:
        with get_connection(timeout=SECONDS):
            yield ok("the mail server accepts our sign-in")
    except (SMTPException, OSError) as error:
        yield problem(f"{type(error).__name__}: {error}", "Check EMAIL_URL, the network and the password.")


def _openid() -> Iterator[Finding]:
    """Read what the OpenID Connect provider says about itself, as signing in does."""
    app = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"][0]
    url = f"{app['settings']['server_url']}/.well-known/openid-configuration"
    if not settings.OPENID_ISSUER:
        yield ok("researchers sign in with passwords: there is no OPENID_ISSUER")
        return
    if not app["client_id"] or not app["secret"]:
        yield problem(
            "OPENID_CLIENT_ID or OPENID_CLIENT_SECRET is missing", "Set what the provider gave you."
        )
    try:
        said = dict(urllib3.request("GET", url, timeout=SECONDS, retries=False).json())
    except (urllib3.exceptions.HTTPError, ValueError, TypeError) as error:
        text = f"{url} does not answer as a provider does ({type(error).__name__})"
        yield problem(text, "Check OPENID_ISSUER, the network and the provider's certificate.")
        return
    if said.get("issuer") != settings.OPENID_ISSUER:
        yield problem(f"the provider names itself {said.get('issuer')!r}", "Set OPENID_ISSUER to just that.")
    else:
        yield ok(
            f"{settings.OPENID_ISSUER} answers; it leads back to {absolute(reverse('openid', args=['back']))}"
        )


def _platforms() -> Iterator[Finding]:
    is_busy = Q(pk__in=campaigns_to_ask(now=clock.now()).values("pk")) | Q(state__in=Campaign.UNDERWAY)
    accounts = sorted(set(Campaign.objects.filter(is_busy).values_list("platform", "environment")))
    for platform, environment in accounts:
        name = f"{platform}, {environment}"
        try:
            balance = platform_named(platform).marketplace(environment, is_quick=True).balance()
            yield ok(f"{name}: {'the account answers' if balance is None else f'{balance} to spend'}")
        except MarketplaceError as error:
            yield problem(f"{name}: {error}", "Set the credentials (docs/operators.md, docs/recruiting.md).")
    if not accounts:
        yield ok("no campaign needs one")


CHECKS: dict[str, Callable[[], Iterator[Finding]]] = {
    "servers": _servers,
    "settings": _settings,
    "keys": _keys,
    "address": _public_url,
    "workers": _workers,
    "beat": _beat,
    "storage": _storage,
    "disk": _disk,
    "permissions": _permissions,
    "mail": _mail,
    "openid": _openid,
    "platforms": _platforms,
}
