"""Settings, all from the environment. Product rules live on models, not here.

The operator gives DATABASE_URL and REDIS_URL; otherwise ``manage.py`` takes them from ``tomannot.embedded``.
``PUBLIC_URL`` is the only public address: hosts, trusted origins, secure cookies and the script prefix
follow from it.
"""

import hashlib
import os
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.Env()

VAR_DIR = Path(env.str("TOMANNOT_VAR", default=str(BASE_DIR / "var")))


def _required_url(name: str) -> str:
    value: str = env.str(name, default="")
    if not value:
        raise ImproperlyConfigured(
            f"{name} is not set. Set it (see docs/operators.md), or start tomannot through manage.py, "
            "which includes an embedded PostgreSQL and Redis."
        )
    return value


def _secret_key() -> str:
    """Return the key from the environment, or one generated once and kept in the state directory."""
    given: str = env.str("SECRET_KEY", default="")
    if given:
        return given
    path = VAR_DIR / "secret_key"
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with open(path, "x", opener=lambda name, flags: os.open(name, flags, 0o600)) as handle:
            handle.write(secrets.token_urlsafe(64))
    except FileExistsError:
        pass
    return path.read_text()


DEBUG: bool = env.bool("DEBUG", default=False)
SECRET_KEY = _secret_key()
SECRET_KEY_FALLBACKS: list[str] = env.list("SECRET_KEY_FALLBACKS", default=[])
"""Former keys: what they signed still works (:mod:`tomannot.keyed`)."""

_serving = VAR_DIR / "public_url"  # the running demo writes it, for other commands
PUBLIC_URL: str = env.str(
    "PUBLIC_URL", default=_serving.read_text() if _serving.is_file() else "http://127.0.0.1:8000"
).rstrip("/")
_public = urlsplit(PUBLIC_URL)
if _public.scheme not in ("http", "https") or not _public.hostname:
    raise ImproperlyConfigured(f"PUBLIC_URL must be like https://study.example.org, not {PUBLIC_URL!r}.")
_https = _public.scheme == "https"
ALLOWED_HOSTS: list[str] = env.list("ALLOWED_HOSTS", default=[_public.hostname, "localhost", "127.0.0.1"])
CSRF_TRUSTED_ORIGINS = [f"{_public.scheme}://{_public.netloc}"]
FORCE_SCRIPT_NAME = _public.path or None
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if _https else None
SECURE_SSL_REDIRECT = _https
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz|metrics)$"]  # monitors ask the process itself, without TLS
SECURE_HSTS_SECONDS = 31_536_000 if _https else 0
# We only decide about HTTPS for this host, not for its subdomains, as W005 and W021 want.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = _https
_prefix = "" if not _https else "__Secure-" if _public.path else "__Host-"  # browsers hold them to the rules
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = f"{_prefix}sessionid", f"{_prefix}csrftoken"
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = LANGUAGE_COOKIE_PATH = _public.path or "/"
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
FRAME_ANCESTORS: list[str] = env.list(
    "FRAME_ANCESTORS",
    default=["https://worker.mturk.com", "https://www.mturk.com", "https://workersandbox.mturk.com"],
)
"""Sites that may show our pages in a frame, if the visit came from such a platform."""


def _platform_account(name: str, *keys: str, **others: str) -> dict[str, dict[str, str]]:
    """Return a platform's account per environment: ``MTURK_X`` for live, ``MTURK_REHEARSAL_X`` for test runs.

    Variables are named after the ``keys``; ``others`` have names of their own. A test run uses nothing of the
    live account, so it can never spend its money.
    """
    variables = {key: key.upper() for key in keys} | others
    return {
        environment: {key: env.str(f"{name}{infix}_{end}", default="") for key, end in variables.items()}
        for environment, infix in (("live", ""), ("rehearsal", "_REHEARSAL"))
    }


_AWS = {"key_id": "ACCESS_KEY_ID", "secret": "SECRET_ACCESS_KEY"}  # named as by AWS's own tools
MTURK = _platform_account("MTURK", "endpoint", "notification_topic", "notification_password", **_AWS)
MTURK_SUBMIT_HOSTS: dict[str, list[str]] = {
    "live": env.list("MTURK_SUBMIT_HOSTS", default=["https://www.mturk.com"]),
    "rehearsal": env.list("MTURK_REHEARSAL_SUBMIT_HOSTS", default=["https://workersandbox.mturk.com"]),
}
"""The only sites to which a worker's browser may submit, whatever an address says."""
PROLIFIC = _platform_account("PROLIFIC", "token", "api", "workspace", "project")
PROLIFIC_SIGNED_ADDRESSES: dict[str, bool] = {
    "live": env.bool("PROLIFIC_SIGNED_ADDRESSES", default=False),
    "rehearsal": env.bool("PROLIFIC_REHEARSAL_SIGNED_ADDRESSES", default=False),
}
"""True if the workspace has signed study addresses, which only some have."""
PROLIFIC_WEBHOOK_SECRETS: dict[str, str] = {
    "live": env.str("PROLIFIC_WEBHOOK_SECRET", default=""),
    "rehearsal": env.str("PROLIFIC_REHEARSAL_WEBHOOK_SECRET", default=""),
}
"""Secrets with which Prolific signs its notifications; without one, all are refused."""

WEBHOOK_ALLOWED_ORIGINS: list[str] = env.list("WEBHOOK_ALLOWED_ORIGINS", default=[])
"""Origins like ``http://alerts.lab:8080`` that webhooks may use without HTTPS or in a private network."""

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "accounts.apps.BackOfficeConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.forms",
    "django.contrib.postgres",
    "pgtrigger",
    "axes",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.usersessions",
    "csp",
    "django_htmx",
    "drf_spectacular",
    "template_partials",
    "accounts",
    "annotation",
    "qualification",
    "recruitment",
    "publishing",
    "dashboard",
    "integrity",
    "crowd",
    "operations",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "tomannot.middleware.CompressPages",
    "tomannot.middleware.protect_pages",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "accounts.second_factor.RequireSecondFactor",
]

ROOT_URLCONF = "tomannot.urls"
WSGI_APPLICATION = "tomannot.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "annotation.rights.page_context",
            ]
        },
    }
]

FORM_RENDERER = "django.forms.renderers.TemplatesSetting"
"""Forms are rendered by templates/django/forms/ where that has a template, else by Django's own."""

DATABASES = {"default": env.db_url_config(_required_url("DATABASE_URL"))}
if DATABASES["default"]["ENGINE"] != "django.db.backends.postgresql":
    raise ImproperlyConfigured(
        "DATABASE_URL must name a PostgreSQL database: postgres://user:password@host/name."
    )
DATABASES["default"]["ENGINE"] = "tomannot.postgresql"  # the same, with a cheaper check of connections
# Statements are prepared on the server: PostgreSQL then spends half the time on an answer (ADR 0011).
DATABASES["default"].setdefault("OPTIONS", {}).update(
    # A server that is away costs a request five seconds and a 503; the next request tries anew.
    pool={"min_size": 1, "max_size": 16, "timeout": 5, "reconnect_timeout": 2},
    connect_timeout=3,
    server_side_binding=True,
    # A connection that the network dropped in silence is noticed, idle or waiting for what was sent.
    tcp_user_timeout=15_000,
    keepalives_idle=30,
    keepalives_interval=10,
    keepalives_count=3,
    prepare_threshold=None if DATABASES["default"].get("DISABLE_SERVER_SIDE_CURSORS") else 3,  # ADR 0039
)
DATABASES["default"]["CONN_HEALTH_CHECKS"] = True  # before each request, by tomannot.postgresql
PROXIES: int = env.int("PROXIES", default=0)
"""Number of trusted proxies that append to X-Forwarded-For."""

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = _required_url("REDIS_URL")
CACHES: dict[str, dict[str, Any]] = {
    # One per process: figures that may be slightly out of date.
    "local": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 10_000},  # a few entries per annotator at work
    },
    # Shared by all processes: counters and figures. The timeouts keep pages from waiting for it.
    "shared": {
        "BACKEND": "tomannot.cache.ForgivingRedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "tomannot",
        "OPTIONS": {"socket_connect_timeout": 1, "socket_timeout": 5},
    },
}
CACHES["default"] = CACHES["shared"]  # libraries count guesses there, which all processes have to see
CACHES["template_fragments"] = CACHES["local"]  # of {% cache %}: asking Redis costs as much as rendering
CELERY_BROKER_URL = REDIS_URL
# Nothing reads results. Redis away costs whoever sends a task two seconds, not the 20 of Celery's defaults.
CELERY_TASK_IGNORE_RESULT = True
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_connect_timeout": 1, "socket_timeout": 2, "max_retries": 0}
CELERY_TASK_PUBLISH_RETRY = False
# A worker takes from all queues, or from those that -Q names: a long build then holds up nobody's mail.
CELERY_TASK_QUEUES = {
    name: {"exchange": name, "routing_key": name} for name in ("celery", "builds", "platforms")
}
CELERY_TASK_ROUTES = {
    "annotation.tasks.run_import": {"queue": "builds"},
    "dashboard.tasks.compute_figures": {"queue": "builds"},
    "publishing.tasks.*": {"queue": "builds"},
    "recruitment.tasks.*": {"queue": "platforms"},
}
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_TIMEZONE = "UTC"

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "django.contrib.auth.backends.ModelBackend"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
AXES_FAILURE_LIMIT = 8
AXES_COOLOFF_TIME = 1  # hours
AXES_DISABLE_ACCESS_LOG = True  # it would keep the network address of every sign-in for ever
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_CLIENT_IP_CALLABLE = "accounts.rate_limits.address_of_client"
AXES_LOCKOUT_CALLABLE = "accounts.views.locked_out"
# django-allauth asks for codes, confirms addresses and lists sessions; what guards it is in accounts.
ACCOUNT_ADAPTER = "dashboard.settings.mails.AccountAdapter"
ACCOUNT_CHANGE_EMAIL = True  # an account has one address; a new one replaces it once it is confirmed
ACCOUNT_EMAIL_VERIFICATION = "none"  # nobody needs an address to sign in
ACCOUNT_PREVENT_ENUMERATION = "strict"  # a claim that nobody confirmed keeps no owner out
ACCOUNT_RATE_LIMITS = {"login_failed": "10/10m/key"}  # per account: wrong codes, and passwords to confirm
ACCOUNT_REAUTHENTICATION_REQUIRED = True
MFA_ALLOW_UNVERIFIED_EMAIL = True
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_TOTP_ISSUER = "tomannot"
SECOND_FACTOR_REQUIRED: bool = env.bool("SECOND_FACTOR_REQUIRED", default=False)
"""True if every researcher has to set up a second factor before they see a page."""
PASSWORD_RESET_TIMEOUT = 3600  # seconds
OPENID_ISSUER: str = env.str("OPENID_ISSUER", default="")
"""The OpenID Connect provider that researchers may sign in with. Empty: none, and nothing of it is loaded."""
SOCIALACCOUNT_ADAPTER = "accounts.openid.KnownAccountsOnly"
SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True
SOCIALACCOUNT_LOGIN_ON_GET = True  # a form would have to be allowed to lead to the provider's site (CSP)
SOCIALACCOUNT_PROVIDERS: dict[str, Any] = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "APPS": [
            {
                # Its accounts are known by this and their "sub", so another issuer means other people.
                "provider_id": hashlib.sha256(OPENID_ISSUER.encode()).hexdigest()[:16],
                "name": env.str("OPENID_NAME", default=urlsplit(OPENID_ISSUER).hostname or ""),
                "client_id": env.str("OPENID_CLIENT_ID", default=""),
                "secret": env.str("OPENID_CLIENT_SECRET", default=""),
                "settings": {"server_url": OPENID_ISSUER.rstrip("/")},
            }
        ],
    }
}
LOGIN_URL = reverse_lazy("accounts:sign_in")
LOGIN_REDIRECT_URL = reverse_lazy("dashboard:studies")

_mail = env.str("EMAIL_URL", default=f"filemail:///{VAR_DIR}/mail" if _serving.is_file() else "")
SENDS_MAIL = bool(_mail)
"""True if this site sends mail. Without EMAIL_URL it does not, and no page promises mail.

While the demo runs, its mails and those of other commands are files in ``mail/``.
"""
_mail_settings = env.email_url_config(_mail or "dummymail://")
vars().update(_mail_settings)
if _mail_settings.get("EMAIL_FILE_PATH"):  # mails hold personal links
    Path(_mail_settings["EMAIL_FILE_PATH"]).mkdir(mode=0o700, parents=True, exist_ok=True)
EMAIL_TIMEOUT = 20  # seconds
DEFAULT_FROM_EMAIL: str = env.str("DEFAULT_FROM_EMAIL", default="webmaster@localhost")

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [BASE_DIR / "locale"]
USE_TZ = True
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = "tomannot.formats"

STATIC_URL = f"{_public.path}/static/"  # whole: it is read before a request brings the script prefix
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = Path(env.str("STATIC_ROOT", default=str(VAR_DIR / "static")))
MEDIA_ROOT = Path(env.str("MEDIA_ROOT", default=str(VAR_DIR / "media")))
STORAGES: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"file_permissions_mode": 0o600},
    },
    "staticfiles": {"BACKEND": "tomannot.static_storage.CompressedStaticFiles"},
}
STORAGE_URL: str = env.str("STORAGE_URL", default="")
"""``s3://bucket/prefix`` for uploads and releases, which all machines share. Empty: the directories here."""
if STORAGE_URL:
    from botocore.config import Config

    _store = urlsplit(STORAGE_URL)
    STORAGES["default"] = {
        "BACKEND": "storages.backends.s3.S3Storage",
        "OPTIONS": {
            "bucket_name": _store.netloc,
            "location": _store.path.strip("/"),
            "file_overwrite": False,
            "max_memory_size": 1 << 20,  # larger objects go through a temporary file
            "client_config": Config(connect_timeout=3, read_timeout=20, retries={"total_max_attempts": 2}),
        },
    }
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_048_576
IMPORT_MAX_MB: int = env.int("IMPORT_MAX_MB", default=200)
"""The largest story file that can be uploaded, in megabytes (10^6 bytes)."""

RELEASES_ROOT = Path(env.str("RELEASES_ROOT", default=str(VAR_DIR / "releases")))
"""Directory of published releases: ``<RELEASES_ROOT>/<study slug>/<number>/``."""

S3_ENDPOINT_URL: str = env.str("S3_ENDPOINT_URL", default="")
"""An S3-compatible store for deposits. Empty: Amazon's, or the one of ``AWS_ENDPOINT_URL_S3``."""
HF_ENDPOINT: str = env.str("HF_ENDPOINT", default="https://huggingface.co").rstrip("/")
"""The Hugging Face Hub for deposits."""

for _name in ("S3_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "HF_ENDPOINT"):
    if "@" in env.str(_name, default=""):  # the address is printed, logged and recorded
        raise ImproperlyConfigured(
            f"{_name} must be an address without a user name or password (it contains an @). See "
            "docs/releases.md for credentials."
        )

VISIT_TOKEN_DAYS: int = env.int("VISIT_TOKEN_DAYS", default=14)
"""Days for which the address of an annotator's page works; then they open their personal link again."""

METRICS_TOKEN: str = env.str("METRICS_TOKEN", default="")
"""Opens ``/metrics``. Without it nothing is measured."""
_formatter: dict[str, Any] = {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}
_filters: dict[str, Any] = {}
_json_logs = env.str("LOG_FORMAT", default="plain") == "json"
if _json_logs:
    from django_guid.integrations.celery import CeleryIntegration

    INSTALLED_APPS.append("django_guid")
    MIDDLEWARE.insert(0, "django_guid.middleware.guid_middleware")
    DJANGO_GUID = {"GUID_HEADER_NAME": "X-Request-ID", "INTEGRATIONS": [CeleryIntegration()]}
    _filters["id"] = {"()": "django_guid.log_filters.CorrelationId", "correlation_id_field": "request_id"}
    _formatter = {
        "()": "pythonjsonlogger.json.JsonFormatter",
        "fmt": "%(asctime)s %(levelname)s %(name)s %(message)s %(request_id)s",
    }
if _json_logs or METRICS_TOKEN:
    MIDDLEWARE.insert(int(_json_logs), "tomannot.metrics.time_requests")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": _filters,
    "formatters": {"chosen": _formatter},
    "handlers": {
        "console": {
            "class": "tomannot.log_masking.MaskingHandler",
            "formatter": "chosen",
            "filters": [*_filters],
        }
    },
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="INFO")},
    "loggers": {
        "django": {"handlers": ["console"], "level": "INFO", "propagate": False},
        "axes": {"level": "WARNING"},
        "django_guid": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},  # at lower levels it logs signed addresses
        "tomannot.metrics": {"level": "INFO" if _json_logs else "WARNING"},
    },
}
if _dsn := env.str("SENTRY_DSN", default=""):
    from tomannot import error_reports

    error_reports.start(_dsn)

REST_FRAMEWORK = {
    # Tokens only: cookies are ignored under /api/, so that no other site can use them (CSRF).
    "DEFAULT_AUTHENTICATION_CLASSES": ["api.authentication.TokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["api.authentication.HasScope"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_METADATA_CLASS": None,
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "api.problems.answer",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "tomannot",
    "DESCRIPTION": "Studies, stories, votes and releases for programs. The guide is docs/api.md.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {
        "NewStudyState": ["open", "paused", "closed"],
        "StudyState": "annotation.models.Study.State",
        "ImportState": "annotation.models.StoryImport.State",
        "ReleaseState": "publishing.models.Release.State",
    },
}

UNFOLD = {
    "SITE_TITLE": "tomannot",
    "SITE_HEADER": "tomannot",
    "SITE_SUBHEADER": _("Back office"),
    "SITE_URL": reverse_lazy("dashboard:studies"),
    "SITE_ICON": lambda request: static("tomannot/logo.svg"),
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("tomannot/favicon.svg")}
    ],
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    # The accent of static/tomannot/tomannot.css, from the lightest shade to the darkest.
    "COLORS": {
        "primary": {
            "50": "#eefaf8", "100": "#d3f1ec", "200": "#a8e3da", "300": "#73cfc3", "400": "#42b3a6",
            "500": "#26978b", "600": "#187a71", "700": "#0d6b62", "800": "#13504b", "900": "#14423e",
            "950": "#052725",
        }
    },
}  # fmt: skip
