"""Writes and mails of this part: an invitation is made here, and sent by a worker."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext as _

from accounts.models import User
from annotation import actions
from annotation.models import Invitation, Study
from annotation.rights import standing_of
from dashboard.people.links import invitation_link
from recruitment.mails import hand_over
from recruitment.queueing import later

INVITATION_TASK = "dashboard.tasks.mail_member_invitation"


@transaction.atomic
def invite(
    *, study: Study, address: str, role: str, language: str = "", by: User, now: datetime
) -> Invitation:
    """Offer a role to a colleague, and have the link mailed where this site sends mail.

    ``language`` is that of the mail. Raises what ``annotation.actions.invite_member`` raises, and
    ``recruitment.errors.NotQueued`` when the invitation is stored but no mail could be queued.
    """
    invitation = actions.invite_member(study=study, address=address, role=role, by=by, now=now)
    if settings.SENDS_MAIL:
        later(INVITATION_TASK, invitation.pk, language)
    return invitation


def mail_invitation(*, invitation_id: int, language: str, now: datetime) -> None:
    """Send the link of an invitation, unless it has been accepted or taken back meanwhile.

    Raises ``recruitment.errors.MailFailed`` and ``MailRefused``.
    """
    invitation = Invitation.objects.select_related("study", "invited_by").get(pk=invitation_id)
    if standing_of(invitation, now) is Invitation.Standing.OPEN:
        hand_over(_mail(invitation, language))
        actions.record_mailed(invitation=invitation, now=now)


def _mail(invitation: Invitation, language: str) -> EmailMessage:
    with translation.override(language or settings.LANGUAGE_CODE):
        subject = _("You are invited to work on a study: %(study)s") % {"study": invitation.study.title}
        context = {"invitation": invitation, "link": invitation_link(invitation)}
        body = render_to_string("dashboard/mail_member.txt", context)
    return EmailMessage(
        subject=" ".join(subject.split()),
        body=body.strip() + "\n",
        to=[invitation.address],
        headers={"Auto-Submitted": "auto-generated"},
    )
