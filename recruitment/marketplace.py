"""The interface of every crowd platform's API, in plain values.

Mechanical Turk and Prolific are adapters of equal rank behind :class:`Marketplace`. An adapter knows its
platform's protocol, money and errors, and nothing of our database; ``recruitment.actions`` knows the
database and calls adapters outside of any transaction. Every operation is idempotent. Money is ``Decimal`` in
whole cents of the platform's currency, never a float.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Protocol
from uuid import UUID

from django.db import models
from django.utils.translation import gettext_lazy as _


class MarketplaceError(Exception):
    """The platform did not do what it was asked; the message says which operation and why, for people.

    ``maybe_done``: an earlier, unanswered request may have carried it out.
    """

    maybe_done: bool = False


class Unreachable(MarketplaceError):
    """The platform did not answer, or said to come back later: it may have done it; ask again.

    With ``maybe_done`` false it certainly did not do it, and asking again is asking for the first time.
    """

    def __init__(self, message: str, *, maybe_done: bool = True, not_before: datetime | None = None) -> None:
        """``not_before``: the platform is not silent, but asks to wait until then."""
        super().__init__(message)
        self.maybe_done, self.not_before = maybe_done, not_before


class NotShown(Unreachable):
    """The platform does not show the work in question: not yet, or no longer."""


class Refused(MarketplaceError):
    """The platform refused, and would again. ``code`` is its own name for the reason.

    ``about`` is the platform's id of what it named: messages are stored and shown, and have no ids.
    """

    def __init__(self, message: str, *, code: str = "", about: str = "") -> None:
        super().__init__(message)
        self.code, self.about = code, about


class NotEnoughMoney(Refused):
    """The account does not hold the cost."""


class NotConfigured(MarketplaceError):
    """The credentials for this platform and environment are missing or not accepted.

    The message names the settings, or quotes the platform.
    """


MOST_SILENT = 3
"""A platform that leaves this many requests in a row unanswered is left alone until the next sweep."""
ACCOUNT_PROBLEMS = (NotConfigured, NotEnoughMoney)
"""Problems of the account, not of the submission: a payment waits until somebody has fixed them."""


class Group(models.TextChoices):
    """Our groups of people on a platform: custom qualifications there, or participant groups."""

    QUALIFIED = "qualified", _("passed the test")
    INCOMPLETE = "incomplete", _("left work unfinished")


class Status(models.TextChoices):
    """Status of a submission on the platform."""

    ACTIVE = "active", _("being worked on")
    SUBMITTED = "submitted", _("handed in")
    APPROVED = "approved", _("approved")
    REJECTED = "rejected", _("rejected")
    RETURNED = "returned", _("returned")
    TIMED_OUT = "timed_out", _("ran out of time")
    SCREENED_OUT = "screened_out", _("screened out")
    UNKNOWN = "unknown", _("unknown")


PAID = frozenset({Status.APPROVED, Status.SCREENED_OUT})
"""Statuses of work that the platform pays: the reward, or the smaller one for a test that was not passed."""
HANDED_IN = PAID | {Status.SUBMITTED, Status.REJECTED}
"""Statuses of work that the platform says was handed in."""
NEVER_APPROVED = frozenset({Status.RETURNED, Status.TIMED_OUT})
"""Statuses of work that the platform pays no reward for, whatever was done of it."""


class MismatchKind(models.TextChoices):
    """Disagreements between the platform and us that a researcher has to look at."""

    NO_DATA = "no_data", _("handed in there, no answers here")
    WRONG_RECEIPT = "wrong_receipt", _("handed in there without our receipt")
    NOT_HANDED_IN = "not_handed_in", _("done here, not handed in there")
    DECIDED_BY_PLATFORM = "decided_by_platform", _("decided on the platform")
    SUBMITTED_LATE = "submitted_late", _("handed in after we had given up waiting")
    PARTIAL = "partial", _("handed in with fewer stories than asked for")
    PAID_OTHERWISE = "paid_otherwise", _("paid outside the platform, then handed in there")


class OnOffer(models.TextChoices):
    """Availability of the work on the platform, whatever we wanted."""

    OPEN = "", _("people can begin")
    PAUSED = "paused", _("paused there")
    """Nobody new can begin, though places are free: somebody, or the platform, has stopped it."""
    OVER = "over", _("every place is taken, or it was ended there")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The terms of a campaign that its platform shows or enforces, by the names of the campaign's fields."""

    title: str
    description: str
    keywords: str = ""
    seats: int
    seats_per_posting: int
    reward: Decimal
    screen_out_reward: Decimal | None = None
    currency: str = "USD"
    minutes_expected: int
    minutes_allowed: int
    days_open: int = 7
    days_to_review: int = 14
    approved_percent: int | None = None
    approved_work: int | None = None
    countries: tuple[str, ...] = ()
    masters_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer(Terms):
    """A campaign as the platform has to know it.

    ``reference`` is our own name of it (like ``simpletom-2``), by which a repeated request finds what an
    earlier one made. ``entry_url`` is where the platform sends people. ``needs_group`` and
    ``excludes_groups`` are the platform's ids of groups.
    """

    reference: str
    is_test: bool
    entry_url: str
    needs_group: str = ""
    adds_to_group: str = ""
    excludes_groups: tuple[str, ...] = ()
    completion_code: str = ""
    screen_out_code: str = ""

    @property
    def postings(self) -> tuple[int, ...]:
        """Seats of each posting: full ones, then the rest."""
        full, rest = divmod(self.seats, self.seats_per_posting)
        return (self.seats_per_posting,) * full + ((rest,) if rest else ())


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an estimate."""

    label: str
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Estimate:
    """The cost of an offer if every seat is taken and approved: rewards, the platform's fees, warnings."""

    currency: str
    rewards: Decimal
    fees: Decimal
    lines: tuple[Line, ...]
    warnings: tuple[str, ...] = ()

    @property
    def total(self) -> Decimal:
        return self.rewards + self.fees


@dataclass(frozen=True, slots=True)
class PostingRequest:
    """A posting to be made: its number, seats, and the token that makes a repetition known as one."""

    number: int
    seats: int
    token: UUID
    first_asked_at: datetime
    """Time of the first request: a platform forgets its token (Mechanical Turk after 24 hours)."""


@dataclass(frozen=True, slots=True)
class Work:
    """A person's submission as the platform describes it."""

    remote_id: str
    person: str
    status: Status
    posting: str = ""
    receipt: str = ""
    submitted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class BonusRequest:
    """A bonus to be paid once, whatever happens on the way."""

    submission: str
    person: str
    amount: Decimal
    reason: str
    token: UUID
    first_sent_at: datetime
    remote_id: str = ""
    """The id from :meth:`Marketplace.prepare_bonus`, stored before anything is paid."""
    maybe_paid: bool = False
    """True if it was sent before with an unknown outcome: look for it, do not send it again."""
    earlier_tokens: tuple[UUID, ...] = ()
    """Tokens of the refused bonuses that it repeats: one that was paid all the same is this one."""
    same_amount_paid: int = 0
    """Other bonuses of this amount for this work that are known to be paid: one more is looked for."""


class Marketplace(Protocol):
    """A crowd platform in one environment. Methods raise the errors above and nothing else."""

    environment: str
    """Live or rehearsal, as in ``accounts.Environment``."""

    def estimate(self, offer: Offer) -> Estimate:
        """Return the cost of the offer by the platform's own rules. Create nothing."""

    def balance(self) -> Decimal | None:
        """Return what the account can spend; None where the platform does not say."""

    def ensure_group(self, group: Group, *, reference: str) -> str:
        """Return the platform's id of our group for a study (``reference``); make it if there is none."""

    def prepare(self, offer: Offer) -> str:
        """Make what postings belong to (a HIT type; a draft study); return the platform's id of it.

        People cannot see it yet. The same offer gives the same id.
        """

    def post(self, offer: Offer, remote_id: str, request: PostingRequest) -> str:
        """Make one posting, which people can take from then on; return the platform's id of it."""

    def pause(self, remote_id: str, posting: str) -> None:
        """Let nobody new begin, until :meth:`resume`; those who work go on."""

    def resume(self, remote_id: str, posting: str, *, until: datetime) -> None:
        """Let people begin again."""

    def end(self, remote_id: str, posting: str) -> None:
        """Let nobody new begin, for good; those who work go on."""

    def widen(self, remote_id: str, posting: str, *, seats: int, token: UUID) -> None:
        """Let ``seats`` people in all take a posting. One that has as many already is left as it is."""

    def limit_concurrency(self, remote_id: str, most: int) -> None:
        """Let at most so many people work at the same time, where the platform can limit that."""
        return

    def on_offer(self, remote_id: str, postings: Collection[str]) -> OnOffer:
        """Return whether the postings are open, paused or over on the platform."""

    def work(self, remote_id: str, posting: str) -> list[Work]:
        """Return everything the platform lists of a posting, from all pages, before anything is changed."""

    def worth_asking(self, remote_id: str, postings: Sequence[str]) -> list[str]:
        """Return the postings in which work may have been handed in; all where the platform cannot say."""
        return list(postings)

    def one_work(self, submission: str) -> Work | None:
        """Return one submission as it stands now; None when the platform does not say (yet)."""

    def approve(self, submission: str, *, person: str) -> None:
        """Pay the reward. Leave approved work as it is."""

    def approve_all(self, submissions: Sequence[str]) -> None:
        """Begin to pay the rewards of many submissions, on a platform that approves in bulk."""
        return

    def reject(
        self, submission: str, *, person: str, reason: str, category: str = "", since: datetime | None = None
    ) -> None:
        """Pay nothing, and say why. Leave rejected work as it is.

        ``since``: when it was asked for, for a platform that gives people days to answer it.
        """

    def overturn(self, submission: str, *, person: str) -> None:
        """Pay the reward of rejected work after all. Leave approved work as it is."""

    def prepare_bonus(self, request: BonusRequest) -> str:
        """Make the bonus without paying it, where the platform pays in two steps; return its id.

        The empty string where it pays in one.
        """
        return ""

    def bonus(self, request: BonusRequest) -> None:
        """Pay a bonus once, looking for it first when it may have been paid already.

        One at a time for a piece of work. A platform that knows no tokens and does not show a bonus that
        may have been paid raises :class:`Unreachable` for a day and then :class:`Refused`: somebody has to
        look there before it is asked for anew.
        """

    def add_to_group(self, group: str, person: str) -> None:
        """Put a person into one of our groups, without a mail to them."""

    def remove_from_group(self, group: str, person: str) -> None:
        """Take a person out of it."""
