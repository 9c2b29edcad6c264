"""Invitations of colleagues: create one, have a worker mail it, and its signed link."""

from datetime import datetime

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.urls import reverse
from django.utils import translation
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import actions
from annotation.models import Invitation, Study
from annotation.rights import invitation_status
from annotation.tokens import InvalidToken, InvitationClaim, invitation_token, read_invitation_token
from recruitment.links import absolute
from recruitment.mails import compose, hand_over
from recruitment.queue import queue_mail

INVITATION_TASK = "dashboard.tasks.mail_member_invitation"


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
        queue_mail(INVITATION_TASK, invitation.pk, language)
    return invitation


def mail_invitation(*, invitation_id: int, language: str, now: datetime) -> None:
    """Send the link of an invitation, unless it was accepted or revoked meanwhile.

    Raise ``recruitment.errors.MailFailed`` and ``MailRefused``.
    """
    invitation = Invitation.objects.select_related("study", "invited_by").get(pk=invitation_id)
    if invitation_status(invitation, now) is Invitation.Status.OPEN:
        hand_over(_mail(invitation, language))
        actions.record_mailed(invitation=invitation, now=now)


def _mail(invitation: Invitation, language: str) -> EmailMessage:
    with translation.override(language or settings.LANGUAGE_CODE):
        subject = _("You are invited to work on a study: %(study)s") % {"study": invitation.study.title}
        context = {"invitation": invitation, "link": invitation_link(invitation)}
        return compose(subject, "dashboard/settings/mail_member.txt", context, to=invitation.address)


def invitation_link(invitation: Invitation) -> str:
    """Return the absolute address. Anybody who has it can accept the invitation."""
    token = invitation_token(InvitationClaim(invitation.pk, invitation.nonce))
    return absolute(reverse("dashboard:invited", kwargs={"token": token}))


def invitation_of(token: str) -> Invitation:
    """Return the invitation whose link has this token. Raise ``annotation.tokens.InvalidToken``."""
    claim = read_invitation_token(token)
    found = Invitation.objects.select_related("study", "invited_by").filter(pk=claim.invitation_id).first()
    if found is None or not constant_time_compare(found.nonce, claim.nonce):
        raise InvalidToken
    return found
