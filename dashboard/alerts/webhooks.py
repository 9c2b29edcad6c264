"""Signed requests to webhooks, as https://www.standardwebhooks.com describes, never into private networks."""

import base64
import hashlib
import hmac
import socket
from datetime import datetime
from ipaddress import IPv6Address, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

import urllib3
from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.utils.translation import gettext as _

from annotation.models import Webhook
from tomannot.keyed import keyed_hashes

SECONDS = urllib3.Timeout(connect=5.0, read=10.0)
_NAT64 = (ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48"))


class WebhookFailed(Exception):
    """The receiver did not take an alert; the message says why and names no address."""


class WebhookRefused(WebhookFailed):
    """Nothing is sent to such an address; the message says why."""


def read_address(url: str) -> SplitResult:
    """Check an address without asking the network. Raise :class:`WebhookRefused`."""
    try:
        parts = urlsplit(url)
        is_whole = bool(parts.hostname) and parts.port != 0 and url.isascii() and url.isprintable()
    except ValueError:  # of the port or the brackets
        is_whole = False
    if not is_whole or " " in url:
        raise WebhookRefused(_("Give an address like https://hooks.example.org/tomannot."))
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise WebhookRefused(_("The address must have no user name, password or fragment."))
    if parts.scheme != "https" and not _is_allowed(parts):
        raise WebhookRefused(_("The address must begin with https://."))
    return parts


def _is_allowed(parts: SplitResult) -> bool:
    """Return True if the operator allows this origin, whatever it is."""
    return f"{parts.scheme}://{parts.netloc}" in settings.WEBHOOK_ALLOWED_ORIGINS


def is_public(address: str) -> bool:
    """Return True if an IP address belongs to the public internet, also behind IPv6 transition forms."""
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner is not None:
            return is_public(str(inner))
        if any(ip in network for network in _NAT64):
            return False
    return ip.is_global and not ip.is_multicast


def secret_of(webhook: Webhook) -> str:
    """Return the webhook's signing secret in the form of Standard Webhooks."""
    return "whsec_" + base64.b64encode(_keys(webhook)[0]).decode()


def signed_headers(webhook: Webhook, *, message_id: str, body: bytes, now: datetime) -> dict[str, str]:
    """Return the id, the time, and the HMAC-SHA256 of both with the body.

    There is one signature for each former SECRET_KEY, too, since receivers know only the secret from then.
    """
    timestamp = str(int(now.timestamp()))
    signed = f"{message_id}.{timestamp}.".encode() + body
    digests = [hmac.digest(key, signed, hashlib.sha256) for key in _keys(webhook)]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(f"v1,{base64.b64encode(digest).decode()}" for digest in digests),
        "Content-Type": "application/json",
        "User-Agent": "tomannot",
    }


def post(url: str, *, headers: dict[str, str], body: bytes) -> None:
    """Send one request, to the very IP address that was checked; redirects are not followed.

    Raise :class:`WebhookFailed`, and :class:`WebhookRefused` for a private address.
    """
    parts = read_address(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        with _pool(parts) as pool:
            reply = pool.urlopen(
                "POST",
                target,
                body=body,
                headers=headers | {"Host": parts.netloc},
                retries=False,
                redirect=False,
                assert_same_host=False,
                preload_content=False,
            )
            reply.close()
    except (urllib3.exceptions.HTTPError, OSError, SoftTimeLimitExceeded) as error:
        raise WebhookFailed(_("No answer (%(kind)s).") % {"kind": type(error).__name__}) from None
    if not 200 <= reply.status < 300:
        raise WebhookFailed(_("The receiver answered with status %(status)s.") % {"status": reply.status})


def _pool(parts: SplitResult) -> urllib3.HTTPConnectionPool:
    """Return connections to one IP address of the host. A private one among them refuses the host."""
    host, port = str(parts.hostname), parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise WebhookFailed(_("The host name cannot be resolved.")) from None
    ips = [str(entry[4][0]) for entry in found]
    if not _is_allowed(parts) and not all(is_public(ip) for ip in ips):
        raise WebhookRefused(_("The address leads into a private network."))
    if parts.scheme == "http":
        return urllib3.HTTPConnectionPool(ips[0], port, timeout=SECONDS)
    return urllib3.HTTPSConnectionPool(
        ips[0], port, timeout=SECONDS, server_hostname=host, assert_hostname=host
    )


def _keys(webhook: Webhook) -> list[bytes]:
    return [bytes.fromhex(found) for found in keyed_hashes("dashboard.alerts.webhooks", webhook.nonce)]
