"""Links, headers and addresses that anybody can write."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

import pytest
from django.test import RequestFactory
from hypothesis import example, given, strategies as st

from accounts.rate_limits import address_of_client, client_of
from annotation import tokens
from annotation.tokens import InvalidToken, VisitClaim
from dashboard.alerts.webhooks import WebhookRefused, read_address as read_webhook
from recruitment.errors import InvalidAddress
from recruitment.mails import read_address as read_mail
from tests.fuzz.near_valid import TEXTS, fuzzed, wounded


def good_tokens() -> dict[str, tuple[str, Callable[[str], object]]]:
    claim = VisitClaim(1, 2, "key", 3)
    return {
        "personal": (tokens.personal_token(1, "key"), tokens.read_personal_token),
        "visit": (tokens.visit_token(claim), tokens.read_visit_token),
        "address": (tokens.address_token(1, "a@example.org"), tokens.read_address_token),
        "invitation": (tokens.invitation_token(1, "nonce"), tokens.read_invitation_token),
    }


@pytest.mark.parametrize("kind", ["personal", "visit", "address", "invitation"])
@given(data=st.data())
@fuzzed(40)
def test_a_token_that_was_changed_opens_nothing(kind: str, data: st.DataObject) -> None:
    good, read = good_tokens()[kind]
    assert read(good)
    others = [token for name, (token, _) in good_tokens().items() if name != kind]
    token = data.draw(
        wounded(good.encode()).map(lambda content: content.decode("latin-1"))
        | st.text()
        | st.sampled_from([*TEXTS, *others])
    )
    if token != good:
        with pytest.raises(InvalidToken):
            read(token)
    assert 0 <= tokens.meant_by(token) < 10**18


HOPS = st.sampled_from(
    [
        "1.2.3.4",
        "::1",
        "::ffff:1.2.3.4",
        "[::1]:80",
        "1.2.3.4:80",
        "fe80::1%eth0",
        "::%a/b",
        "unknown",
        "",
        ",",
    ]
)
HEADERS = st.lists(HOPS | st.text(max_size=12) | st.sampled_from(TEXTS), max_size=4).map(",".join)


@given(header=HEADERS, remote=HOPS | st.text(max_size=20), proxies=st.integers(0, 3))
@example(header="::%a/b", remote="127.0.0.1", proxies=1)  # an address that PostgreSQL does not know
@fuzzed(60)
def test_every_client_has_an_address_that_can_be_stored_or_none(
    header: str, remote: str, proxies: int
) -> None:
    request = RequestFactory().get("/", REMOTE_ADDR=remote)
    request.META["HTTP_X_FORWARDED_FOR"] = header.encode(errors="replace").decode("latin-1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.conf.settings.PROXIES", proxies)
        client_of(request)
        address = address_of_client(request)
    assert address is None or (ipaddress.ip_address(address) and "%" not in address)


def test_clients_of_a_server_on_both_kinds_of_network_are_told_apart() -> None:
    """A server that listens on :: sees IPv4 clients as ::ffff:…, which are no network of one owner."""
    first, second = (RequestFactory().get("/", REMOTE_ADDR=f"::ffff:192.0.2.{last}") for last in (1, 2))
    assert (client_of(first), client_of(second)) == ("192.0.2.1", "192.0.2.2")
    assert address_of_client(first) == "192.0.2.1"


HOOK, MAIL = b"https://hooks.example.org:8443/a?b=c", b"ada@example.org"


def almost(good: bytes) -> st.SearchStrategy[str]:
    return wounded(good).map(lambda content: content.decode("latin-1")) | st.sampled_from(TEXTS) | st.text()


@given(url=almost(HOOK))
@example(url="https://[::1")
@example(url="https://x:99999/")
@example(url="https://\u2100.example.org/")  # urlsplit refuses it: NFKC makes a slash of it
@fuzzed(60)
def test_an_address_of_a_webhook_is_whole_or_refused(url: str) -> None:
    try:
        parts = read_webhook(url)
    except WebhookRefused:
        return
    assert parts.scheme == "https"
    assert parts.hostname
    assert url.isascii()
    assert url.isprintable()


@given(text=almost(MAIL))
@example(text="ada@example.org\nBcc: all@example.org")
@fuzzed(60)
def test_an_address_of_a_mail_is_one_line_or_refused(text: str) -> None:
    try:
        address = read_mail(text)
    except InvalidAddress as error:
        str(error)
        return
    assert address.isprintable()
    assert len(address) <= 200
    assert address.count("@") == 1
