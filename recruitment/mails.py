"""Annotators' mails: write them in the recipient's language, and send them."""

import enum
import smtplib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.forms import EmailField
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.translation import gettext as _

from accounts.models import PlatformIdentity
from annotation.models import Enrollment
from recruitment.errors import InvalidAddress, MailFailed, MailRefused
from recruitment.links import confirming_link, personal_link
from tomannot.metrics import timed

PERMANENT = range(500, 600)
"""SMTP reply codes for permanent failures (RFC 5321, 4.2.1)."""
_ABOUT_THE_MAIL = (smtplib.SMTPRecipientsRefused, smtplib.SMTPDataError)
"""Errors caused by the recipient or the mail. All others are ours (sign-in, sender, server features): the
mail waits until an operator fixes them."""


_FIELD = EmailField(max_length=200)
"""Accepts addresses that fit into ``accounts.PlatformIdentity.person``."""
MOST_WRONG = 10
"""Wrong addresses that a refusal names."""


class Kind(enum.StrEnum):
    """Mails to annotators, by their templates."""

    CONFIRMATION = "recruitment/mail_confirmation.txt"
    """Asks the owner of an address to confirm it."""
    CHANGE = "recruitment/mail_change.txt"
    """Tells the confirmed address that another one was entered."""
    LINKS = "recruitment/mail_links.txt"
    """Has the annotator's links to one study, or to several."""
    INVITATION = "recruitment/mail_invitation.txt"
    """Invites somebody whose address a researcher entered."""


def read_address(text: str) -> str:
    """Return the address in this text, in small letters. Raise :class:`InvalidAddress`."""
    try:
        address: str = _FIELD.clean(text.strip())
    except ValidationError as error:
        raise InvalidAddress(_("“%(value)s” is not an e-mail address.") % {"value": text.strip()}) from error
    return address.lower()


def read_addresses(texts: Iterable[str]) -> list[str]:
    """Return the addresses, each once. Raise :class:`InvalidAddress` with a line for each wrong one."""
    read, wrong = [], []
    for text in texts:
        try:
            read.append(read_address(text))
        except InvalidAddress as error:
            wrong.append(str(error))
    if wrong:
        raise InvalidAddress("\n".join(wrong[:MOST_WRONG]))
    return list(dict.fromkeys(read))


def mail_of(kind: Kind, identity: PlatformIdentity, enrollments: Sequence[Enrollment]) -> EmailMessage:
    """Write a mail in its recipient's language; replies go to the contacts of the studies it is about."""
    first = enrollments[0]
    with translation.override(identity.language or settings.LANGUAGE_CODE):
        context = {
            "study": first.study,
            "link": confirming_link(identity) if kind == Kind.CONFIRMATION else personal_link(first),
            "places": [{"study": one.study, "link": personal_link(one)} for one in enrollments],
        }
        contacts = list(dict.fromkeys(one.study.contact for one in enrollments))
        return compose(kind, context, to=identity.person, reply_to=contacts)


def compose(
    template: str, context: Mapping[str, Any], *, to: str, reply_to: Sequence[str] = ()
) -> EmailMessage:
    """Return a mail of a template and its partial ``subject``, in the language that is active."""
    subject = render_to_string(f"{template}#subject", dict(context))
    return EmailMessage(
        subject=" ".join(subject.split()),
        body=render_to_string(template, dict(context)).strip() + "\n",
        to=[to],
        reply_to=reply_to,
        headers={"Auto-Submitted": "auto-generated"},
    )


@timed("mail")
def hand_over(mail: EmailMessage) -> None:
    """Give a mail to the mail server.

    Raise :class:`MailRefused` when the server refuses the recipient or the mail for good, and
    :class:`MailFailed` for everything else, which trying again may mend.

    The message has only the server's reply code: its text repeats the address.
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
