"""A minimal browser that opens addresses and submits forms over real HTTP.

It only talks to a server on this machine: a simulated crowd on a public address would be an attack, and
simulated answers do not belong in a real study.
"""

import ipaddress
import time
from collections.abc import Mapping
from urllib.parse import urlencode, urljoin, urlsplit

import urllib3

from crowd.page_parser import Form, Page

REDIRECTS = 10
CONNECT_SECONDS = 5.0
READ_SECONDS = 30.0


class NotLoopback(ValueError):
    """The address does not point to this machine."""


class Unreachable(Exception):
    """The server did not answer: nothing listens there, or it took too long."""


class RedirectedAway(Exception):
    """The server redirected the browser to another site, or in circles."""


def loopback_origin(address: str) -> str:
    """Return scheme, host and port of an address on this machine, such as ``http://127.0.0.1:8000``.

    Raise :class:`NotLoopback` for any other address.
    """
    parts = urlsplit(address)
    host = parts.hostname or ""
    if parts.scheme != "http" or not _is_loopback(host):
        raise NotLoopback(
            f"{address!r} is not an address on this machine. The simulated crowd only visits a server "
            "that runs here, such as http://127.0.0.1:8000."
        )
    return f"http://{parts.netloc}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Server:
    """The crowd's shared connections to one server. Thread-safe."""

    def __init__(self, base_url: str, *, connections: int) -> None:
        self.origin = loopback_origin(base_url)
        parts = urlsplit(self.origin)
        self._pool = urllib3.HTTPConnectionPool(
            parts.hostname or "",
            parts.port or 80,
            maxsize=connections,
            timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS),
            # Like a browser, try again when a kept connection turns out to be closed.
            retries=urllib3.Retry(total=2, redirect=0, status=0, allowed_methods=None, backoff_factor=0.1),
        )

    def close(self) -> None:
        self._pool.close()

    def request(
        self, method: str, path: str, *, headers: Mapping[str, str], body: str | None = None
    ) -> urllib3.BaseHTTPResponse:
        """Send one request without following redirects. Raise :class:`Unreachable`."""
        try:
            return self._pool.request(method, path, headers=headers, body=body, redirect=False)
        except urllib3.exceptions.HTTPError as error:
            raise Unreachable(f"No answer from {self.origin}: {error}") from error


class Browser:
    """One annotator's browser. It keeps no cookies: these pages need none."""

    def __init__(self, server: Server, *, javascript: bool) -> None:
        self._server = server
        self.javascript = javascript

    def open(self, address: str) -> Page:
        """Load a page, following redirects. Raise :class:`Unreachable` or :class:`RedirectedAway`."""
        return self._load("GET", address, headers={})

    def submit(self, form: Form, values: Mapping[str, str], *, button: int = 0) -> tuple[Page, float]:
        """Submit a form with these values and one of its buttons. Return the page and the seconds it took.

        With JavaScript, a form that the page's script sends gets back only the part of the page to replace.
        """
        fields = {**form.hidden, **values}
        if button < len(form.buttons) and form.buttons[button][0]:
            fields[form.buttons[button][0]] = form.buttons[button][1]
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if self.javascript and form.sent_by_script:
            headers |= {"HX-Request": "true", "HX-Target": "work"}
        began = time.monotonic()
        page = self._load("POST", form.action, headers=headers, body=urlencode(fields))
        return page, time.monotonic() - began

    def _load(self, method: str, address: str, *, headers: dict[str, str], body: str | None = None) -> Page:
        for _ in range(REDIRECTS):
            parts = urlsplit(urljoin(self._server.origin + "/", address))
            if f"{parts.scheme}://{parts.netloc}" != self._server.origin:
                raise RedirectedAway(
                    f"The server sent the browser away from {self._server.origin}, to {parts.netloc}."
                )
            path = f"{parts.path}?{parts.query}" if parts.query else parts.path
            response = self._server.request(method, path, headers=headers, body=body)
            here = f"{self._server.origin}{path}"
            by_script = response.headers.get("HX-Redirect")
            location = by_script or response.headers.get("Location")
            if not location or not (by_script or response.status in (301, 302, 303, 307, 308)):
                return Page(here, response.status, response.data)
            address = urljoin(here, location)
            if by_script:
                method, body, headers = "GET", None, {}
            elif response.status in (301, 302, 303):
                method, body = "GET", None
                headers = {name: value for name, value in headers.items() if name != "Content-Type"}
        raise RedirectedAway(f"The server redirected the browser more than {REDIRECTS} times in a row.")
