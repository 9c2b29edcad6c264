"""Mails to researchers about their account: confirm an address, choose a new password."""

from contextlib import suppress
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.manage_email import sync_user_email_address
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.core.exceptions import ImmediateHttpResponse
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.tokens import default_token_generator
from django.http import HttpRequest
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import translation
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.rate_limits import address_of_client
from recruitment.errors import NotQueued
from recruitment.links import absolute
from recruitment.mails import compose, hand_over
from recruitment.queue import queue_or_fail

CONFIRM_TASK, RESET_TASK = "dashboard.tasks.mail_confirmation", "dashboard.tasks.mail_password_link"


class AccountAdapter(DefaultAccountAdapter):
    """Let workers send django-allauth's mails, and tell it the true address of clients."""

    def send_confirmation_mail(self, request: HttpRequest, emailconfirmation: Any, signup: bool) -> None:
        """Queue the mail. If that fails, lead back to the page, which says so."""
        problem = _("This site sends no mail.")
        try:
            if settings.SENDS_MAIL:
                number = emailconfirmation.email_address.pk
                return queue_or_fail(CONFIRM_TASK, number, translation.get_language())
        except NotQueued:
            problem = _("We couldn’t send the mail. Please try again in a while.")
        messages.error(request, problem)
        raise ImmediateHttpResponse(redirect("account_email"))

    def get_client_ip(self, request: HttpRequest) -> str:
        return address_of_client(request) or "0.0.0.0"  # noqa: S104  # no network: a client without address


def ask_to_confirm(user: User) -> None:
    """Queue a mail that has a new account's address confirmed. Without Redis, "Your account" offers it again."""
    address = sync_user_email_address(user) if settings.SENDS_MAIL else None
    if address:
        with suppress(NotQueued):
            queue_or_fail(CONFIRM_TASK, address.pk, translation.get_language())


def ask_for_password_link(address: str) -> None:
    """Queue a mail to the account that confirmed this address. Take as long if there is none."""
    found = EmailAddress.objects.filter(email=address, verified=True).values_list("pk", flat=True).first()
    queue_or_fail(RESET_TASK, found, translation.get_language())


def mail_confirmation(*, address_id: int, language: str) -> None:
    """Send the link that confirms an address. Raise ``recruitment.errors.MailFailed`` and ``MailRefused``."""
    for address in EmailAddress.objects.filter(pk=address_id, verified=False).select_related("user"):
        with translation.override(language):
            path = reverse("account_confirm_email", kwargs={"key": EmailConfirmationHMAC(address).key})
            _send(_("Confirm your e-mail address"), "confirmation", path, address)


def mail_password_link(*, address_id: int | None, language: str) -> None:
    """Send the link for a new password. Raise ``recruitment.errors.MailFailed`` and ``MailRefused``."""
    known = EmailAddress.objects.filter(pk=address_id, verified=True, user__is_active=True)
    for address in known.select_related("user"):
        with translation.override(language):
            uid = urlsafe_base64_encode(force_bytes(address.user_id))
            token = default_token_generator.make_token(address.user)
            path = reverse("dashboard:new_password", kwargs={"uidb64": uid, "token": token})
            _send(_("Choose a new password"), "password_link", path, address)


def _send(subject: str, name: str, path: str, address: EmailAddress) -> None:
    context = {"user": address.user, "link": absolute(path)}
    hand_over(compose(subject, f"accounts/mail_{name}.txt", context, to=address.email))
