"""Alerts: chosen on their page, written with their cause, mailed, and sent to webhooks that may get them."""

from __future__ import annotations

import re
import socket
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from annotation import actions
from annotation.actions.alerts import DIGEST_HOUR, LEASE, MOST_TRIES
from annotation.alert_kinds import EVENT_KINDS
from annotation.models import Alert, Event, Membership, Study, Webhook
from dashboard import tasks
from dashboard.alerts import delivery, webhooks
from tests import builders
from tests.doubles.prolific.tls import make_certificate
from tests.doubles.webhooks import Receiver, is_signed, receiving
from tests.recruitment.campaigns import stranger_on_a_platform

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client", "mailing")]


@pytest.fixture
def study() -> Study:
    """Open since yesterday without a vote."""
    yesterday = timezone.now() - timedelta(hours=30)
    return builders.make_study("main", stories=1, votes_per_story=1, now=yesterday)


def member(study: Study, name: str = "olga", kinds: Any = EVENT_KINDS, role: str = "owner") -> User:
    user = User.objects.create_user(name, f"{name}@example.org", None)
    actions.set_role(study=study, user=user, role=role, by=None, now=timezone.now())
    if kinds is not None:
        Membership.objects.filter(study=study, user=user).update(alerts=list(kinds))
    return user


def hook(study: Study, receiver: Receiver) -> Webhook:
    address = f"{receiver.origin}/hook?a=1"
    return actions.add_webhook(study=study, url=address, kinds=list(EVENT_KINDS), by=None, now=timezone.now())


def signed_in(user: User) -> Client:
    desk = Client()
    desk.force_login(user)
    return desk


def address(page: str = "alerts", *args: object) -> str:
    return reverse(f"dashboard:{page}", args=["main", *args])


def stall(study: Study) -> None:
    assert actions.note_progress(study=study, now=timezone.now())


def later(alert: Alert, moment: Any) -> None:
    delivery.deliver((alert.study_id, alert.user_id, alert.webhook_id), now=moment)


def kinds_of(user: User) -> list[str]:
    return list(Alert.objects.filter(user=user).order_by("pk").values_list("kind", flat=True))


# -- mails


def test_one_mail_has_all_that_is_due_in_the_language_chosen(study: Study) -> None:
    user = member(study)
    chosen = {"email": "olga@lab.example", "kinds": ["study_stalled", "payment_mismatch"]}
    desk = signed_in(user)
    assert desk.post(address(), chosen, headers={"Accept-Language": "de"}).status_code == 302
    assert Membership.objects.get(user=user).language == "de"
    stall(study)
    stranger_on_a_platform(study)
    assert mail.outbox == [], "nothing is sent but by a worker"
    tasks.send_alerts()
    tasks.send_alerts()
    [one] = mail.outbox
    assert one.to == ["olga@lab.example"]
    assert one.extra_headers["Auto-Submitted"] == "auto-generated"
    for page in ("overview", "mismatches"):
        assert reverse(f"dashboard:{page}", args=["main"]) + "\n" in one.body
    assert reverse("dashboard:alerts", args=["main"]) in one.body
    assert "UTC UTC" not in one.body


def test_a_member_who_left_gets_no_mail_any_more(study: Study) -> None:
    member(study, "ben")
    user = member(study)
    stall(study)
    actions.remove_member(study=study, user=user, by=None, now=timezone.now())
    tasks.send_alerts()
    assert [one.to for one in mail.outbox] == [["ben@example.org"]]
    assert Alert.objects.get(user=user).given_up_at


def test_without_mail_no_mails_wait(study: Study, settings: Any) -> None:
    settings.SENDS_MAIL = False
    user = member(study)
    stall(study)
    assert kinds_of(user) == []
    assert "EMAIL_URL is not set" in signed_in(user).get(address()).content.decode()


def test_the_digest_comes_once_a_day_if_something_happened() -> None:
    now = timezone.now().replace(hour=DIGEST_HOUR + 1) + timedelta(days=5)  # whenever the test runs
    yesterday = now - timedelta(hours=5)
    study = builders.make_study("main", now=yesterday)
    builders.make_study("quiet", now=now - timedelta(days=3))
    member(study, kinds=["digest"])
    member(Study.objects.get(slug="quiet"), "ben", kinds=["digest"])
    [person] = builders.qualified(study, now=yesterday)
    builders.vote(person, now=yesterday)
    assert actions.queue_digests(now=now) == 1
    actions.queue_digests(now=now + timedelta(hours=1))
    delivery.deliver(delivery.recipients(now=now)[0], now=now)
    [one] = mail.outbox
    assert one.to == ["olga@example.org"]
    assert "vote submitted: 1" in one.body
    assert Alert.objects.count() == 1


def test_a_test_alert_reaches_the_reader_and_the_webhooks_of_who_may_change(
    study: Study, receiver: Receiver
) -> None:
    hook(study, receiver)
    user, auditor = member(study, kinds=[]), member(study, "ada", kinds=[], role="auditor")
    for one in (user, auditor):
        assert signed_in(one).post(address("test_alert"))["Location"] == address()
    tasks.send_alerts()
    assert sorted(one.to[0] for one in mail.outbox) == ["ada@example.org", "olga@example.org"]
    [document] = receiver.documents
    assert document["type"] == "test"
    assert "test alert requested" in signed_in(user).get(address()).content.decode()
    assert all("This is a test: alerts reach you by e-mail" in one.body for one in mail.outbox)


def test_a_test_alert_without_any_address_is_refused(study: Study) -> None:
    user = member(study, kinds=[])
    User.objects.filter(pk=user.pk).update(email="")
    page = signed_in(user).post(address("test_alert"), follow=True).content.decode()
    assert "save an e-mail address above" in page
    assert not study.events.filter(type="alerts_tested").exists()


def test_alerts_delivered_long_ago_are_deleted(study: Study) -> None:
    user = member(study)
    stall(study)
    tasks.send_alerts()
    sent = Alert.objects.get(user=user).sent_at
    assert sent
    assert actions.forget_old_alerts(now=sent + timedelta(days=29)) == 0
    assert actions.forget_old_alerts(now=sent + timedelta(days=31)) == 1


# -- webhooks


def test_a_webhook_is_made_on_the_page_and_gets_signed_requests(study: Study, receiver: Receiver) -> None:
    user = member(study, kinds=[])
    given = {"url": f"{receiver.origin}/secret-path", "kinds": ["participant_flagged"]}
    made = signed_in(user).post(address("add_webhook"), given)
    assert made.status_code == 201
    found = re.search(r">(whsec_[^<]+)<", made.content.decode())
    assert found
    page = signed_in(user).get(address()).content.decode()
    assert "whsec_" not in page
    assert "secret-path" not in page
    [person] = builders.qualified(study)
    actions.suspend(enrollment=person, by=None, now=timezone.now(), reason="Two of Ilse’s accounts")
    stall(study)
    tasks.send_alerts()
    tasks.send_alerts()
    [(headers, body)] = receiver.received
    assert is_signed(found[1], headers, body)
    assert not is_signed(found[1], headers, body + b" ")
    assert abs(int(headers["webhook-timestamp"]) - timezone.now().timestamp()) < 60
    [document] = receiver.documents
    assert document["data"]["participant"] == person.pseudonym
    assert document["data"]["event"] == "enrollment_suspended"
    assert b"Ilse" not in body, "reasons are words of a researcher, and may name people"
    log = Event.objects.filter(type=Event.Type.ALERTS_CHANGED).latest("pk")
    assert "secret-path" not in log.note


def test_a_failure_is_tried_again_later_under_the_same_id(study: Study, receiver: Receiver) -> None:
    hook(study, receiver)
    receiver.answers += [500, 503]
    stall(study)
    [alert] = Alert.objects.all()
    now = alert.due_at
    for pause in (timedelta(), timedelta(minutes=1), timedelta(minutes=3)):
        later(alert, now + pause - timedelta(seconds=1))
        later(alert, now + pause)
    ids = [headers["webhook-id"] for headers, _body in receiver.received]
    assert ids == [f"alert_{alert.pk}"] * 3
    alert.refresh_from_db()
    assert (alert.tries, alert.failure) == (3, "")
    assert alert.sent_at


def test_a_receiver_that_never_answers_is_given_up_after_a_day(study: Study, receiver: Receiver) -> None:
    user = member(study, kinds=[])
    hook(study, receiver)
    receiver.answers += [500] * 50
    stall(study)
    [alert] = Alert.objects.all()
    start = alert.due_at
    while not alert.given_up_at:
        later(alert, alert.due_at)
        alert.refresh_from_db()
    assert alert.tries == len(receiver.received) == MOST_TRIES
    assert timedelta(hours=12) < alert.due_at - start < timedelta(days=2)
    assert "status 500" in signed_in(user).get(address()).content.decode()


def test_a_worker_that_died_is_replaced_when_its_lease_ends(study: Study, receiver: Receiver) -> None:
    hook(study, receiver)
    stall(study)
    [alert] = Alert.objects.all()
    to = {"study_id": study.pk, "user_id": None, "webhook_id": alert.webhook_id}
    lost = actions.claim_alerts(**to, most=1, now=alert.due_at)  # type: ignore[arg-type]
    later(alert, alert.due_at + LEASE - timedelta(seconds=1))
    assert receiver.received == []
    later(alert, alert.due_at + LEASE)
    assert len(receiver.received) == 1
    actions.settle_alerts(alerts=lost, now=timezone.now(), failure="late", for_good=True)
    alert.refresh_from_db()
    assert alert.given_up_at is None, "who lost the lease changes nothing"


def test_a_removed_webhook_gets_nothing_that_waits(study: Study, receiver: Receiver) -> None:
    user, made = member(study, kinds=[]), hook(study, receiver)
    stall(study)
    signed_in(user).post(address("remove_webhook", made.pk))
    tasks.send_alerts()
    assert receiver.received == []


def test_redirects_are_not_followed(study: Study, receiver: Receiver) -> None:
    hook(study, receiver)
    receiver.answers, receiver.location = [307], f"{receiver.origin}/elsewhere"
    stall(study)
    later(Alert.objects.get(), timezone.now() + timedelta(days=2))
    assert [headers[":path"] for headers, _body in receiver.received] == ["/hook?a=1"]
    assert "status 307" in Alert.objects.get().failure


def test_such_addresses_are_refused_at_once(study: Study) -> None:
    desk = signed_in(member(study))
    refused = desk.post(
        address("add_webhook"), {"url": "http://hooks.example.org/", "kinds": ["study_complete"]}
    )
    assert refused.status_code == 422
    assert '<a href="#webhook_url">Address: ' in refused.content.decode()
    assert not Webhook.objects.exists()
    for url in (
        "ftp://hooks.example.org/",
        "https://user:word@hooks.example.org/",
        "https://hooks.example.org/#part",
        "https://hooks.example.org:99999/",
        "https:///path",
        "https://hooks.example.org/\r\nX: y",
        "https://[half",
    ):
        with pytest.raises(webhooks.WebhookRefused):
            webhooks.read_address(url)


def test_private_addresses_are_refused_whatever_name_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """One public address beside it does not help: a name is judged by all that it leads to."""
    assert webhooks.is_public("93.184.215.14")
    assert webhooks.is_public("2606:2800:21f:cb07:6820:80da:af6b:8b2c")
    for ip in (
        *("127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.0.1", "100.64.0.1", "0.0.0.0"),  # noqa: S104
        *("224.0.0.1", "::1", "fe80::1%eth0", "fd00::1", "::ffff:10.0.0.1"),
        *("2002:7f00:1::", "64:ff9b::7f00:1"),
    ):
        entries = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 443)) for one in ("93.184.215.14", ip)]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, found=entries, **__: found)
        with pytest.raises(webhooks.WebhookRefused):
            webhooks.post("https://hooks.example.org/", headers={}, body=b"{}")


def test_the_connection_goes_to_the_address_that_was_checked_and_checks_the_name(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name is resolved once: another answer of the DNS afterwards leads nowhere else."""
    certificate = make_certificate(tmp_path, "hooks.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    resolve, asked = socket.getaddrinfo, []

    def once(host: str, port: int, *args: Any, **more: Any) -> Any:
        asked.append(host)
        return resolve("127.0.0.1", port, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", once)
    with receiving(certificate) as receiver:
        origins = [f"https://{name}:{receiver.server_port}" for name in ("hooks.example", "other.example")]
        settings.WEBHOOK_ALLOWED_ORIGINS = origins
        webhooks.post(f"{origins[0]}/x", headers={}, body=b"{}")
        assert receiver.received[0][0]["host"] == f"hooks.example:{receiver.server_port}"
        with pytest.raises(webhooks.WebhookFailed, match="SSLError"):
            webhooks.post(f"{origins[1]}/x", headers={}, body=b"{}")
        assert len(receiver.received) == 1
    assert asked == ["hooks.example", "127.0.0.1", "other.example", "127.0.0.1"]


# -- the page


def test_only_who_may_change_the_study_sees_and_sets_webhooks(study: Study, receiver: Receiver) -> None:
    made = hook(study, receiver)
    desk = signed_in(member(study, "rea", role="reviewer"))
    page = desk.get(address()).content.decode()
    assert f"webhook {made.pk}" not in page
    assert "Hours without votes" not in page
    assert desk.post(address(), {"kinds": ["digest"], "email": "rea@example.org"}).status_code == 302
    assert Membership.objects.get(user__username="rea").alerts == ["digest"]


def test_administrators_without_a_role_get_no_mails(admin_client: Client, study: Study) -> None:
    assert "You are not a member" in admin_client.get(address()).content.decode()
    assert admin_client.post(address(), {"kinds": []}).status_code == 404
