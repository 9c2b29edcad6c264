"""Submissions on platforms, mismatches, payments and grants.

What a platform charges on top of a reward or bonus is its own rule, and in no row here.
"""

import uuid
from datetime import datetime
from typing import Self, TypeVar

import pgtrigger
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils.translation import gettext_lazy as _

from accounts.models import Annotator, Environment, PlatformIdentity, researcher
from accounts.schema import check, final, fixed, flag, optional, optional_text, optional_time, stays, unique
from annotation.models import Study
from recruitment import marketplace
from recruitment.models.campaigns import Campaign, Posting
from recruitment.models.visits import Visit


class Submission(models.Model):
    """An annotator's submission, as the platform described it at the last request.

    A submission that was paid outside the platform, and that the platform does not list, is unknown here.
    Platform, environment, remote id and person identify it: Mechanical Turk reuses the id of a returned HIT.
    """

    Status = marketplace.Status

    campaign = models.ForeignKey(  # work_of_campaign is its index
        Campaign, on_delete=models.PROTECT, related_name="submissions", db_index=False
    )
    posting = optional(Posting, "submissions")
    platform = models.CharField(max_length=20, choices=PlatformIdentity.Platform)
    environment = models.CharField(max_length=20, choices=Environment)
    remote_id = models.CharField(max_length=64)
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="submissions")
    visit = models.OneToOneField(
        Visit, on_delete=models.PROTECT, null=True, blank=True, related_name="submission"
    )
    status = models.CharField(max_length=20, choices=Status)
    receipt = optional_text(40, _("The receipt that was handed in with it."))
    submitted_at = optional_time()

    class Meta:
        constraints = [
            unique(
                "one_submission_per_piece_of_work_and_person",
                ["platform", "environment", "remote_id", "annotator"],
            ),
            check("submission_is_named", ~Q(remote_id="")),
        ]
        indexes = [
            models.Index(fields=["campaign", "status", "id"], name="work_by_status"),
            models.Index(fields=["campaign", "id"], name="work_of_campaign"),
        ]

    def __str__(self) -> str:
        return f"submission {self.pk} ({self.get_status_display()})"

    @property
    def may_have_bonus(self) -> bool:
        """True if the platform pays it or never will, or if we have approved it."""
        approvals = (one for one in self.payments.all() if one.kind == Payment.Kind.APPROVAL)
        return self.status in marketplace.PAID | marketplace.NEVER_APPROVED or any(
            payment.state != Payment.State.FAILED for payment in approvals
        )

    @property
    def may_be_overturned(self) -> bool:
        """True if it is rejected on the platform, and neither overturned nor paid in place of that."""
        payments = list(self.payments.all())
        overturned = [one for one in payments if one.kind == Payment.Kind.OVERTURN]
        is_overturned = any(one.state != Payment.State.FAILED for one in overturned)
        is_paid_instead = {one.pk for one in overturned} & {one.repeats_id for one in payments}
        is_rejected = self.status == Submission.Status.REJECTED and self.annotator.erased_at is None
        return is_rejected and not is_overturned and not is_paid_instead


class Mismatch(models.Model):
    """A disagreement between the platform and us, until somebody has settled it."""

    Kind = marketplace.MismatchKind

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="mismatches")
    kind = models.CharField(max_length=20, choices=Kind)
    visit = optional(Visit, "mismatches")
    submission = optional(Submission, "mismatches")
    noticed_at = models.DateTimeField()
    settled_at = optional_time()
    settled_by = researcher()
    settled_how = models.TextField(blank=True)

    class Meta:
        ordering = ("pk",)
        constraints = [
            unique("one_mismatch_of_a_kind_per_visit", ["visit", "kind"]),
            unique("one_mismatch_of_a_kind_per_submission", ["submission", "kind"]),
            check("mismatch_is_about_something", Q(visit__isnull=False) | Q(submission__isnull=False)),
            check(
                "mismatch_is_settled_somehow_or_open",
                Q(settled_at=None, settled_by=None, settled_how="")
                | Q(settled_at__isnull=False) & ~Q(settled_how=""),
            ),
        ]
        indexes = [
            models.Index(
                fields=["campaign", "id"], condition=Q(settled_at=None), name="open_mismatches_of_campaign"
            )
        ]
        triggers = [stays("mismatch_stays")]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.pk}"


Row = TypeVar("Row", bound=models.Model)


class OutboxQuerySet(models.QuerySet[Row]):
    """Rows that a worker sends to the platform, again and again until it answers."""

    def unsettled(self) -> Self:
        """Return the rows that the platform has not carried out or refused yet."""
        raise NotImplementedError

    def due(self, *, now: datetime) -> Self:
        """Return the unsettled rows to send now: the least tried first, then the oldest.

        So what is slow or waits keeps nothing else from being sent.
        """
        its_time = Q(next_try_at=None) | Q(next_try_at__lte=now)
        return self.unsettled().filter(its_time).order_by("tries", "pk")

    def waiting_for_account(self) -> Self:
        """Return the rows that wait until the account's credentials are accepted, or it has money."""
        return self.unsettled().filter(waits_since__isnull=False)

    def stop_waiting(self) -> int:
        """Make what waits for the account due now. Return how much it is."""
        return self.waiting_for_account().update(next_try_at=None, waits_since=None)


class PaymentQuerySet(OutboxQuerySet["Payment"]):
    """Payments by what was decided with them.

    Three of these define when a submission is decided, each for another reader: :meth:`deciding` for what
    happens automatically, :meth:`standing` for what can be decided still, :meth:`answering` for the list.
    """

    def deciding(self) -> Self:
        """Return what stops automatic decisions: also refused ones, and payments outside the platform.

        That is a bonus for other work as well, unless the platform refused it: it decides ``pays_for``.
        """
        return self.filter(
            Q(kind__in=["approval", "rejection", "outside"]) & ~Q(state="withdrawn")
            | Q(kind="overturn", state="done")
            | Q(pays_for__isnull=False) & ~Q(state="failed")
        )

    def about(self, submission: OuterRef) -> Self:
        """Return the payments for a submission's work: its own, or a bonus that another one carries."""
        return self.filter(Q(submission=submission, pays_for=None) | Q(pays_for=submission))

    def standing(self) -> Self:
        """Return decisions that the platform has carried out or not refused so far; also its own approval.

        A submission has one at the most, or what overturns our rejection before it: the platform's own
        approval, or one of ours.
        """
        decisions = self.filter(kind__in=["approval", "rejection", "overturn"])
        return decisions.exclude(state__in=["failed", "withdrawn"])

    def answering(self) -> Self:
        """Return decisions after which a submission waits for no other; also refused approvals, to retry.

        One whose rejection was withdrawn or refused waits again. One that was paid outside the platform
        waits, too, if it is handed in afterwards: the platform still asks for a decision.
        """
        decisions = self.filter(kind__in=["approval", "rejection"])
        return decisions.exclude(kind="rejection", state__in=["failed", "withdrawn"])

    def retryable(self) -> Self:
        """Return the payments that the platform refused and that no newer payment replaces.

        Each bonus has its own repetition, whatever the amounts.
        """
        newer = Payment.objects.filter(submission=OuterRef("submission"), pk__gt=OuterRef("pk"))
        decided = newer.filter(kind__in=["approval", "rejection"])
        # Noted for a mismatch, which names no payment: the amount tells.
        outside = newer.filter(kind="outside", repeats=None, amount=OuterRef("amount"))
        return self.filter(
            Q(kind="bonus")
            | Q(kind__in=["approval", "rejection"]) & ~Exists(decided) & ~Exists(outside)
            | Q(kind="top_up") & ~Exists(newer.filter(kind="top_up"))
            | Q(kind="overturn") & ~Exists(newer.filter(kind="overturn")),
            state="failed",
            repeated_by=None,
        )

    def unsettled(self) -> Self:
        """Return the payments to be sent, and those whose sending was not answered or was cut off."""
        return self.filter(state__in=Payment.UNSETTLED)

    def due(self, *, now: datetime) -> Self:
        """Return the payments to send now that no other worker is sending."""
        return super().due(now=now).filter(Q(sending_until=None) | Q(sending_until__lte=now))

    def refused_approvals(self) -> Self:
        """Return the approvals to try again, without those of forgotten people: no platform knows them."""
        return self.filter(submission__annotator__erased_at=None, kind="approval").retryable()


class GrantQuerySet(OutboxQuerySet["Grant"]):
    """Memberships by what may become of them."""

    def unsettled(self) -> Self:
        """Return the memberships to be sent or removed."""
        return self.filter(state__in=(Grant.State.REQUESTED, Grant.State.LEAVING))

    def refused(self) -> Self:
        """Return the refused ones of people who passed."""
        return self.filter(state=Grant.State.FAILED, kind=marketplace.Group.QUALIFIED)


class Payment(models.Model):
    """A decision about somebody's work that moves money, sent once.

    It is written before the platform is asked, with the token under which the platform (or, where it has
    no tokens, a look at what it has done) knows a repetition. Amounts never change; a failed one stays.
    What a researcher paid somebody outside the platform, because that could not, is written and not sent;
    so is the reward that the platform itself paid.
    """

    class Kind(models.TextChoices):
        APPROVAL = "approval", _("approval")
        REJECTION = "rejection", _("rejection")
        OVERTURN = "overturn", _("rejection overturned")
        BONUS = "bonus", _("bonus")
        TOP_UP = "top_up", _("top-up to the hourly rate")
        OUTSIDE = "outside", _("paid outside the platform")

    class State(models.TextChoices):
        REQUESTED = "requested", _("to be sent")
        SENDING = "sending", _("sent, not answered yet")
        DONE = "done", _("done")
        FAILED = "failed", _("not carried out")
        WITHDRAWN = "withdrawn", _("undone")

    UNSETTLED = (State.REQUESTED, State.SENDING)

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="payments")
    pays_for = optional(
        Submission,
        "payments_elsewhere",
        help_text=_("Of a bonus: the person’s other work that it pays, and that the platform did not list."),
    )
    repeats = models.OneToOneField(
        "self",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="repeated_by",
        help_text=_("The refused payment that this one retries, or records as paid outside the platform."),
    )
    kind = models.CharField(max_length=10, choices=Kind)
    state = models.CharField(max_length=10, choices=State, default=State.REQUESTED)
    decided_by_platform = flag(_("The platform decided it without us: on its own pages, or by its clock."))
    amount = models.DecimalField(max_digits=8, decimal_places=2)
    currency = models.CharField(max_length=3)
    reason = models.TextField(blank=True, help_text=_("The person reads it."))
    category = optional_text(40, _("Of a rejection, where one is asked for."))
    votes_count = flag()
    """For an overturned rejection: its votes count again once it is carried out."""
    request_token = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    remote_id = optional_text(64, _("The platform’s, where it gives one."))
    tries = models.PositiveIntegerField(default=0)
    sending_until = optional_time(_("Until then one worker is sending it, and no other tries."))
    next_try_at = optional_time(_("Not before: it waits for credentials that are accepted, or for money."))
    waits_since = optional_time(_("Since when it waits for those."))
    problem = models.TextField(blank=True)
    requested_by = researcher()
    requested_at = models.DateTimeField()
    first_sent_at = optional_time()
    settled_at = optional_time()

    objects = PaymentQuerySet.as_manager()

    class Meta:
        ordering = ("pk",)
        constraints = [
            unique(
                "one_decision_per_submission",
                ["submission"],
                Q(kind__in=["approval", "rejection"], decided_by_platform=False)
                & ~Q(state__in=["failed", "withdrawn"]),
            ),
            unique("one_decision_by_platform_per_submission", ["submission"], Q(decided_by_platform=True)),
            unique("one_overturning_per_submission", ["submission"], Q(kind="overturn") & ~Q(state="failed")),
            unique("one_top_up_per_submission", ["submission"], Q(kind="top_up") & ~Q(state="failed")),
            check(
                "payment_has_an_amount_and_a_reason",
                Q(kind="rejection", amount=0) & ~Q(reason="")
                | Q(kind__in=["approval", "overturn"], amount__gte=0)
                | Q(kind__in=["bonus", "top_up", "outside"], amount__gt=0) & ~Q(reason=""),
            ),
            check(
                "payment_outside_is_somebodys_word_and_never_sent",
                ~Q(kind="outside") | Q(state="done", tries=0, requested_by__isnull=False),
            ),
            check(
                "payment_by_platform_is_an_approval_never_sent",
                Q(decided_by_platform=False) | Q(kind="approval", state="done", tries=0, requested_by=None),
            ),
            check(
                "payment_is_settled_at_a_time",
                Q(state__in=["requested", "sending"], settled_at=None)
                | Q(state__in=["done", "failed", "withdrawn"], settled_at__isnull=False),
            ),
            check("only_rejections_are_taken_back", ~Q(state="withdrawn") | Q(kind="rejection")),
            check("only_a_bonus_pays_other_work", Q(pays_for=None) | Q(kind="bonus")),
            check("only_overturning_lets_votes_count", Q(votes_count=False) | Q(kind="overturn")),
        ]
        indexes = [
            # Few of many: what is to be sent, and what was refused.
            models.Index(fields=["state", "id"], condition=~Q(state="done"), name="payments_not_done")
        ]
        triggers = [
            stays("payment_stays"),
            fixed("payment_is_final", [
                "submission", "pays_for", "repeats", "kind", "amount", "currency", "reason", "votes_count",
                "request_token",
            ]),
            final(
                "settled_payment_is_final",
                pgtrigger.Update,
                condition=pgtrigger.Q(old__state__in=["done", "failed", "withdrawn"]),
            ),
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.get_kind_display()} {self.pk} ({self.get_state_display()})"


class Grant(models.Model):
    """A person's membership in one of our groups on a platform: people who passed, or who left work."""

    Kind = marketplace.Group

    class State(models.TextChoices):
        REQUESTED = "requested", _("to be sent")
        DONE = "done", _("done")
        FAILED = "failed", _("refused by the platform")
        LEAVING = "leaving", _("to be removed")
        LEFT = "left", _("removed")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="grants")
    campaign = models.ForeignKey(
        Campaign, on_delete=models.PROTECT, related_name="grants", help_text=_("In which it was earned.")
    )
    platform = models.CharField(max_length=20, choices=PlatformIdentity.Platform)
    environment = models.CharField(max_length=20, choices=Environment)
    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="grants")
    kind = models.CharField(max_length=20, choices=Kind)
    state = models.CharField(max_length=10, choices=State, default=State.REQUESTED)
    set_manually = flag(
        _("A researcher has put the person in or taken them out: no comparison does otherwise.")
    )
    tries = models.PositiveIntegerField(default=0)
    next_try_at = optional_time(_("Not before: it waits for credentials that are accepted."))
    waits_since = optional_time(_("Since when it waits for those."))
    problem = models.TextField(blank=True)
    requested_at = models.DateTimeField()
    settled_at = optional_time()

    objects = GrantQuerySet.as_manager()

    class Meta:
        constraints = [
            unique("one_grant_of_a_kind", ["study", "platform", "environment", "annotator", "kind"])
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: annotator {self.annotator_id}"
