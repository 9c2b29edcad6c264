"""Join links, visits, and payments outside platforms. Platform ids are in ``accounts.PlatformIdentity``."""

import re
import uuid
from urllib.parse import urlsplit

import pgtrigger
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from accounts.models import Environment, PlatformIdentity
from accounts.schema import (
    after,
    between,
    check,
    final,
    flag,
    optional,
    optional_text,
    optional_time,
    refuse_if,
    stays,
    unique,
)
from annotation.models import Enrollment, Study, WorkSession
from recruitment.models.campaigns import Campaign, Posting

_REPLACED_IS_DOUBTED = refuse_if(
    """NEW.replaced_at IS NOT NULL AND NOT EXISTS (
        SELECT FROM annotation_worksession w WHERE w.id = NEW.session_id AND w.state = 'doubted')""",
    "a visit whose votes may still count is not replaced",
)


_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?")
_FILLED_IN = re.compile(r"\{(?:code|participant)\}")


def check_return_address(address: str) -> None:
    """Raise ``ValidationError`` unless this is an address of one host, with placeholders that we fill in."""
    fixed = _FILLED_IN.sub("*", address)
    if "{" in fixed or "}" in fixed:
        raise ValidationError(
            _("Braces can only hold {code} and {participant}, unlike in “%(value)s”."),
            params={"value": address},
        )
    try:
        parts = urlsplit(fixed)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme != "https" or not _HOST.fullmatch(parts.netloc.lower()):
        raise ValidationError(
            _("“%(value)s” must begin with https:// and a host, without a placeholder in it."),
            params={"value": address},
        )


class JoinLink(models.Model):
    """A study's address for everybody: a platform adds the participant's id to it."""

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="join_link")
    parameter = models.CharField(
        _("Parameter name"),
        max_length=40,
        default="participant",
        validators=[
            RegexValidator(
                r"^[A-Za-z][A-Za-z0-9_]*\Z", _("“%(value)s” is not a name like participant or PROLIFIC_PID.")
            )
        ],
        help_text=_("The platform passes the participant’s id under this name, for example participantId."),
    )
    adds_parameter = models.BooleanField(_("The platform adds this parameter automatically"), default=False)
    placeholder = models.CharField(
        _("Placeholder"),
        max_length=60,
        blank=True,
        validators=[RegexValidator(r"^[^&#\x00-\x1f\x7f]*\Z", _("At most 60 characters, without & and #."))],
        help_text=_(
            "The platform or mailer replaces it with the id. Empty: the id is appended to the address."
        ),
    )
    source = models.CharField(
        _("Source of the ids"),
        max_length=60,
        blank=True,
        validators=[
            RegexValidator(
                r"^[a-z0-9][a-z0-9-]*\Z",
                _("“%(value)s” is not a short name of small letters, digits and hyphens."),
            )
        ],
        help_text=_(
            "The same id is the same person in all studies with the same source. Empty: ids are not shared "
            "with other studies. You cannot change this once people have joined."
        ),
    )
    return_url = models.CharField(
        _("Way back after completing the study"),
        max_length=500,
        blank=True,
        validators=[check_return_address],
        help_text=_(
            "An address on the platform; we fill in {code} and {participant}. Empty: participants only see "
            "their code."
        ),
    )
    screen_out_url = models.CharField(
        _("Way back after the test only, or too few stories"),
        max_length=500,
        blank=True,
        validators=[check_return_address],
        help_text=_(
            "Empty: the address above if it contains {code} (with a different code), otherwise only the code."
        ),
    )
    least_stories = models.PositiveIntegerField(
        _("Stories that complete the study"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=_(
            "A participant has completed the study after so many stories. With fewer, the code says "
            "“partial”. Empty: one story."
        ),
    )
    leave_url = models.CharField(
        _("Way back if no work was done"),
        max_length=500,
        blank=True,
        validators=[
            check_return_address,
            RegexValidator(
                r"\{code\}",
                _("Someone who did nothing has no code, so {code} cannot be in it."),
                inverse_match=True,
            ),
        ],
        help_text=_(
            "For people who do not consent, for example. It must not report “completed”. Empty: participants "
            "are asked to return their submission."
        ),
    )
    most_people = models.PositiveIntegerField(
        _("Maximum number of participants"),
        null=True,
        blank=True,
        validators=between(1, 1_000_000),
        help_text=_("The link closes once so many have joined. Empty: no limit."),
    )
    closes_at = models.DateTimeField(
        _("Closes at (UTC)"),
        null=True,
        blank=True,
        help_text=_(
            "Newcomers cannot join after this; everybody else can go on. Empty: as long as the study is open."
        ),
    )
    set_at = models.DateTimeField()

    class Meta:
        constraints = [
            check("join_link_parameter_is_a_name", Q(parameter__regex=r"^[A-Za-z][A-Za-z0-9_]{0,39}$")),
            check("join_link_leads_back_by_https", Q(return_url="") | Q(return_url__startswith="https://")),
            check(
                "join_link_leads_out_by_https",
                (Q(screen_out_url="") | Q(screen_out_url__startswith="https://"))
                & (Q(leave_url="") | Q(leave_url__startswith="https://")),
            ),
            check("no_code_for_who_did_nothing", ~Q(leave_url__contains="{code}")),
            check("join_link_asks_for_a_story_or_more", Q(least_stories=None) | Q(least_stories__gte=1)),
        ]

    def __str__(self) -> str:
        return f"join link of {self.study}"


class Visit(models.Model):
    """An arrival of a person at a study. Every page of the visit carries a token that names it.

    A visit for a campaign is one piece of work there, known by the platform's id of it *and* the person:
    the id may come again with somebody else. Opening the same piece of work again is the same visit, but
    for one that was returned, or ran out, and was then taken again: that is replaced by another one.
    """

    class End(models.TextChoices):
        LEFT = "left", _("left or returned")
        NO_STORY = "no_story", _("no story left")
        LIMIT = "limit", _("limit reached")
        TIME = "time", _("time over")
        STOPPED = "stopped", _("suspended, or study paused")

    enrollment = models.ForeignKey(Enrollment, on_delete=models.PROTECT, related_name="visits")
    platform = models.CharField(max_length=20, choices=PlatformIdentity.Platform)
    environment = models.CharField(max_length=20, choices=Environment)
    arrived_at = models.DateTimeField()
    campaign = optional(Campaign, "visits")
    posting = optional(Posting, "visits")
    remote_id = optional_text(64, _("The platform’s id of this piece of work."))
    session = models.OneToOneField(
        WorkSession, on_delete=models.PROTECT, null=True, blank=True, related_name="visit"
    )
    submit_to = optional_text(200, _("The platform’s site to which the work is handed in."))
    receipt = optional_text(40, _("Goes to the platform with the work, and comes back from it."))
    handed_in_at = optional_time(_("When the person was first sent to hand it in."))
    decided_manually = flag(_("A researcher has said whether its votes count: no comparison says otherwise."))
    return_reported_at = optional_time(
        _("When the platform told that this person gave the work back or let it run out.")
    )
    ended_by = models.CharField(
        max_length=10,
        choices=End,
        blank=True,
        default="",
        db_default="",
        help_text=_("Why it ended with less work than asked for."),
    )
    replaced_at = optional_time(_("When the same person took the same piece of work anew."))

    class Meta:
        ordering = ("-pk",)
        constraints = [
            unique(
                "one_visit_per_piece_of_work_and_person",
                ["platform", "environment", "remote_id", "enrollment"],
                ~Q(remote_id="") & Q(replaced_at=None),
            ),
            check(
                "visit_is_for_a_campaign_or_not",
                Q(campaign=None, session=None, remote_id="", receipt="")
                | Q(campaign__isnull=False, session__isnull=False) & ~Q(remote_id="") & ~Q(receipt=""),
            ),
            check("only_submissions_are_retaken", Q(replaced_at=None) | ~Q(remote_id="")),
        ]
        triggers = [
            after(
                "replaced_visit_is_given_up",
                pgtrigger.Insert | pgtrigger.UpdateOf("replaced_at"),
                _REPLACED_IS_DOUBTED,
            )
        ]

    def __str__(self) -> str:
        return f"visit {self.pk}"

    @property
    def annotator_id(self) -> int:
        return self.enrollment.annotator_id


class LinkPayment(models.Model):
    """A payment outside any platform to a person who came by no campaign, as a researcher recorded it.

    Entries are never edited: one of a negative amount reverts what was recorded by mistake.
    """

    enrollment = models.ForeignKey(Enrollment, on_delete=models.PROTECT, related_name="link_payments")
    amount = models.DecimalField(max_digits=8, decimal_places=2)
    currency = models.CharField(max_length=3)
    reason = models.TextField(help_text=_("How the person was paid; for the log."))
    request_token = models.UUIDField(
        default=uuid.uuid4, editable=False, help_text=_("Of the form or file by which it was noted, once.")
    )
    noted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    noted_at = models.DateTimeField()

    class Meta:
        ordering = ("pk",)
        constraints = [
            unique("one_link_payment_per_request_and_person", ["request_token", "enrollment"]),
            check("link_payment_has_an_amount_and_a_reason", ~Q(amount=0) & ~Q(reason="")),
        ]
        triggers = [stays("link_payment_stays"), final("link_payment_is_final", pgtrigger.Update)]

    def __str__(self) -> str:
        return f"{self.amount} {self.currency} noted as paid ({self.pk})"
