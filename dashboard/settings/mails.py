"""Mails to researchers with a link: invitations of colleagues, an address to confirm, a new password."""

from datetime import datetime
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.core.exceptions import ImmediateHttpResponse
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.tokens import default_token_generator
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import translation
from django.utils.crypto import constant_time_compare
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from accounts.models import User
from accounts.rate_limits import address_of_client
from annotation import actions
from annotation.models import Invitation, Study
from annotation.rights import invitation_status
from annotation.tokens import InvalidToken, invitation_token, read_invitation_token
from recruitment.errors import NotQueued
from recruitment.links import absolute
from recruitment.mails import compose, hand_over
from recruitment.queue import queue_mail, queue_or_fail


@transaction.atomic
def invite(
    *, study: Study, address: str, role: str, language: str = "", by: User, now: datetime
) -> Invitation:
    """Offer a role to a colleague, and have the link mailed if this site sends mail.

    ``language`` is that of the mail. Raise what ``annotation.actions.invite_member`` raises, and
    ``recruitment.errors.NotQueued`` when the invitation is stored but no mail could be queued.
    """
    invitation = actions.invite_member(study=study, address=address, role=role, by=by, now=now)
    if settings.SENDS_MAIL:
        queue_mail("dashboard.tasks.mail_member_invitation", invitation.pk, language)
    return invitation


def mail_invitation(*, invitation_id: int, language: str, now: datetime) -> None:
    """Send the link of an invitation, unless it was accepted or revoked meanwhile.

    Raise ``recruitment.errors.MailFailed`` and ``MailRefused``.
    """
    invitation = Invitation.objects.select_related("study", "invited_by").get(pk=invitation_id)
    if invitation_status(invitation, now) is Invitation.Status.OPEN:
        context = {"invitation": invitation, "link": invitation_link(invitation)}
        with translation.override(language or settings.LANGUAGE_CODE):
            template, contact = "dashboard/settings/mail_member.txt", invitation.study.contact
            mail = compose(template, context, to=invitation.address, reply_to=[contact])
        hand_over(mail)
        actions.record_mailed(invitation=invitation, now=now)


def invitation_link(invitation: Invitation) -> str:
    """Return the absolute address. Anybody who has it can accept the invitation."""
    token = invitation_token(invitation.pk, invitation.nonce)
    return absolute(reverse("dashboard:invited", kwargs={"token": token}))


def invitation_of(token: str) -> Invitation:
    """Return the invitation whose link has this token. Raise ``annotation.tokens.InvalidToken``."""
    invitation_id, nonce = read_invitation_token(token)
    found = Invitation.objects.select_related("study", "invited_by").filter(pk=invitation_id).first()
    if found is None or not constant_time_compare(found.nonce, nonce):
        raise InvalidToken
    return found


class AccountAdapter(DefaultAccountAdapter):
    """Let workers send django-allauth's mails, and tell it the true address of clients."""

    def send_confirmation_mail(self, request: HttpRequest, emailconfirmation: Any, signup: bool) -> None:
        """Queue the mail. If that fails, lead back to the page, which says so."""
        try:
            return ask_for_link(emailconfirmation.email_address)
        except NotQueued as error:
            messages.error(request, str(error))
        raise ImmediateHttpResponse(redirect("account_email"))

    def respond_user_inactive(self, request: HttpRequest, user: Any) -> HttpResponse:
        return redirect("account_login")

    def get_client_ip(self, request: HttpRequest) -> str:
        return address_of_client(request) or "0.0.0.0"  # noqa: S104  # stored, not listened on


def ask_for_link(address: EmailAddress | None) -> None:
    """Queue the mail. Without an address take equally long: timing reveals nothing. Raise ``NotQueued``."""
    if not settings.SENDS_MAIL:
        raise NotQueued(_("This site sends no mail."))
    problem = _("We couldn’t send the mail. Please try again in a while.")
    task, language = "dashboard.tasks.mail_account_link", translation.get_language()
    queue_or_fail(task, address and address.pk, language, problem=problem)


def ask_for_password_link(address: str) -> None:
    """Queue a mail to the account that confirmed this address. Raise ``NotQueued``."""
    ask_for_link(EmailAddress.objects.filter(email=address, verified=True).first())


def mail_link(*, address_id: int | None, language: str) -> None:
    """Send a confirmed address the link for a new password, another one the link that confirms it.

    Raise ``recruitment.errors.MailFailed`` and ``MailRefused``.
    """
    known = EmailAddress.objects.filter(pk=address_id, user__is_active=True).select_related("user").first()
    with translation.override(language):
        if known and known.verified:
            uid = urlsafe_base64_encode(force_bytes(known.user_id))
            token = default_token_generator.make_token(known.user)
            path = reverse("dashboard:new_password", kwargs={"uidb64": uid, "token": token})
            _send("accounts/mail_password_link.txt", path, known)
        elif known:
            path = reverse("account_confirm_email", kwargs={"key": EmailConfirmationHMAC(known).key})
            _send("accounts/mail_confirmation.txt", path, known)


def _send(template: str, path: str, address: EmailAddress) -> None:
    context = {"user": address.user, "link": absolute(path)}
    hand_over(compose(template, context, to=address.email))
