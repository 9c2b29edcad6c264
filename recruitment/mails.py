"""The mails people get: their text, in a language, and handing them to the mail server."""

from __future__ import annotations

import smtplib
from collections.abc import Sequence

from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import PlatformIdentity
from annotation.models import Enrollment
from recruitment.errors import MailFailed, MailRefused
from recruitment.links import confirming_link, personal_link

PERMANENT = range(500, 600)
"""Reply codes of SMTP that mean: do not try again (RFC 5321, 4.2.1)."""
_ABOUT_THE_MAIL = (smtplib.SMTPRecipientsRefused, smtplib.SMTPDataError)
"""Answers about the recipient or the mail. All others are about us (signing in, the sender, what the server
can do), and are mended by whoever runs this site: until then the mail waits."""


def confirmation_mail(identity: PlatformIdentity, enrollment: Enrollment) -> EmailMessage:
    """Asks whether an address is the person's own."""
    with _language_of(identity):
        subject = _("Is this your e-mail address?")
        context = {"study": enrollment.study, "link": confirming_link(identity)}
        return _mail(identity, subject, "recruitment/mail_confirm.txt", context, [enrollment])


def change_mail(identity: PlatformIdentity, enrollment: Enrollment) -> EmailMessage:
    """Tells an address that another one is to take its place."""
    with _language_of(identity):
        subject = _("Another e-mail address was given for your place")
        return _mail(
            identity, subject, "recruitment/mail_change.txt", {"study": enrollment.study}, [enrollment]
        )


def links_mail(identity: PlatformIdentity, enrollments: Sequence[Enrollment]) -> EmailMessage:
    """A person's links to these studies."""
    with _language_of(identity):
        subject = ngettext("Here is your personal link", "Here are your personal links", len(enrollments))
        places = [{"study": one.study, "link": personal_link(one)} for one in enrollments]
        return _mail(identity, subject, "recruitment/mail_links.txt", {"places": places}, enrollments)


def invitation_mail(identity: PlatformIdentity, enrollment: Enrollment) -> EmailMessage:
    """Invites somebody whose address a researcher gave."""
    with _language_of(identity):
        subject = _("You are invited to read stories: %(study)s") % {"study": enrollment.study.title}
        context = {"study": enrollment.study, "link": personal_link(enrollment)}
        return _mail(identity, subject, "recruitment/mail_invitation.txt", context, [enrollment])


def hand_over(mail: EmailMessage) -> None:
    """Give a mail to the mail server.

    Raises :class:`MailRefused` when the server refuses the recipient or the mail for good, and
    :class:`MailFailed` for everything else, which trying again may mend.

    What the mail server said is told by its number alone, since its words repeat the address.
    """
    try:
        mail.send()
    except smtplib.SMTPRecipientsRefused as error:
        code = next(iter(error.recipients.values()))[0]
        raise _failure(error, code) from None
    except smtplib.SMTPResponseException as error:
        raise _failure(error, error.smtp_code) from None
    except OSError as error:  # cannot be reached; smtplib's other errors are of this kind, too
        raise MailFailed(f"The mail server cannot be used: {type(error).__name__}.") from None


def _failure(error: smtplib.SMTPException, code: int) -> MailFailed | MailRefused:
    for_good = code in PERMANENT and isinstance(error, _ABOUT_THE_MAIL)
    kind = MailRefused if for_good else MailFailed
    return kind(f"The mail server answered with code {code} ({type(error).__name__}).")


def _language_of(identity: PlatformIdentity) -> translation.override:
    return translation.override(identity.language or settings.LANGUAGE_CODE)


def _mail(
    identity: PlatformIdentity,
    subject: str,
    template: str,
    context: dict[str, object],
    about: Sequence[Enrollment],
) -> EmailMessage:
    """A mail whose answers go to the people who run the studies it is about."""
    body = render_to_string(template, context)
    return EmailMessage(
        subject=" ".join(subject.split()),
        body=body.strip() + "\n",
        to=[identity.person],
        reply_to=list(dict.fromkeys(one.study.contact for one in about)),
        headers={"Auto-Submitted": "auto-generated"},
    )
