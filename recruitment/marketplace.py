"""What every crowd platform can be asked to do, in our words and in plain values.

Mechanical Turk and Prolific are adapters of equal rank behind :class:`Marketplace`. An adapter knows its
platform's protocol, money and errors, and nothing of our database; ``recruitment.actions`` knows the
database and calls adapters outside of any transaction. Every operation is safe to repeat: asked twice, it
does once. Money is ``Decimal`` in whole cents of the platform's currency, never a float.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Protocol
from uuid import UUID


class MarketplaceError(Exception):
    """The platform did not do what it was asked; the message says which operation and why, for people.

    ``maybe_done``: an earlier request for the same, of which nobody heard, may have done it all the same.
    """

    maybe_done: bool = False


class Unreachable(MarketplaceError):
    """It did not answer, or said to come back later. Whether it did it is not known; ask again.

    With ``maybe_done`` false it certainly did not do it, and asking again is asking for the first time.
    """

    def __init__(self, message: str, *, maybe_done: bool = True, not_before: datetime | None = None) -> None:
        """``not_before``: it is not silence, but a wait that is known to end then."""
        super().__init__(message)
        self.maybe_done, self.not_before = maybe_done, not_before


class NotShown(Unreachable):
    """It does not show the work that this is about: not yet, or not any more."""


class Refused(MarketplaceError):
    """It said no, and would say no again. ``code`` is the platform's own name for the reason.

    ``about`` is the platform's id of what it named: messages are stored and shown, and have no ids.
    """

    def __init__(self, message: str, *, code: str = "", about: str = "") -> None:
        super().__init__(message)
        self.code, self.about = code, about


class NotEnoughMoney(Refused):
    """The account does not hold what this costs."""


class NotConfigured(MarketplaceError):
    """There are no credentials for this platform and environment, or it does not accept them.

    The message names the settings, or what it said.
    """


class Group(enum.StrEnum):
    """Our groups of people on a platform: custom qualifications there, or participant groups."""

    QUALIFIED = "qualified"
    INCOMPLETE = "incomplete"


class Status(enum.StrEnum):
    """How a piece of work stands with the platform; the same words as ``recruitment.Submission.Status``."""

    ACTIVE = "active"
    SUBMITTED = "submitted"
    APPROVED = "approved"
    REJECTED = "rejected"
    RETURNED = "returned"
    TIMED_OUT = "timed_out"
    SCREENED_OUT = "screened_out"
    UNKNOWN = "unknown"


class OnOffer(enum.StrEnum):
    """Whether people can begin on the platform, whatever we wanted; as ``Campaign.OfferThere``."""

    OPEN = ""
    PAUSED = "paused"
    """Nobody new can begin, though places are free: somebody, or the platform, has stopped it."""
    OVER = "over"
    """Every place is taken, or it is closed for good."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What people are offered: one campaign, as the platform has to know it.

    ``reference`` is our own name of it (like ``simpletom-2``), by which a repeated request finds what an
    earlier one made. ``entry_url`` is where the platform sends people. ``needs_group`` and
    ``excludes_groups`` are the platform's ids of groups.
    """

    reference: str
    is_test: bool
    title: str
    description: str
    keywords: str
    entry_url: str
    reward: Decimal
    currency: str
    seats: int
    seats_per_posting: int
    minutes_expected: int
    minutes_allowed: int
    days_open: int
    days_to_review: int
    approved_percent: int | None = None
    approved_work: int | None = None
    countries: tuple[str, ...] = ()
    masters_only: bool = False
    needs_group: str = ""
    adds_to_group: str = ""
    excludes_groups: tuple[str, ...] = ()
    completion_code: str = ""
    screen_out_code: str = ""

    @property
    def postings(self) -> tuple[int, ...]:
        """Seats of each posting: full ones, then what is left."""
        full, rest = divmod(self.seats, self.seats_per_posting)
        return (self.seats_per_posting,) * full + ((rest,) if rest else ())


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an estimate."""

    label: str
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an offer costs if every seat is taken and approved: rewards, the platform's fees, and warnings."""

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
    """When it was first asked for: a platform's memory of tokens ends (on Mechanical Turk after 24 hours)."""


@dataclass(frozen=True, slots=True)
class Work:
    """What the platform says of one person's piece of work."""

    hit_assignment: str
    person: str
    status: Status
    posting: str = ""
    receipt: str = ""
    submitted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class BonusRequest:
    """A bonus to be paid once, whatever happens on the way."""

    hit_assignment: str
    person: str
    amount: Decimal
    reason: str
    token: UUID
    first_sent_at: datetime
    remote_id: str = ""
    """What :meth:`Marketplace.prepare_bonus` gave, stored before anything is paid."""
    maybe_paid: bool = False
    """Whether it was sent before and nobody knows what came of it: then it is looked for, not sent again."""
    earlier_tokens: tuple[UUID, ...] = ()
    """Of those in whose place it stands, which were refused: one that was paid all the same is this one."""
    same_amount_paid: int = 0
    """Other bonuses of this amount for this work that are known to be paid: one more is looked for."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a platform can do, so that pages offer only that."""

    lists_unfinished_work: bool
    """Whether it says who has taken work and not handed it in, or only what was handed in."""
    needs_rejection_category: bool
    rejection_categories: tuple[tuple[str, str], ...] = ()
    shortest_rejection: int = 1
    """Characters of a reason for a rejection, at least."""
    longest_rejection: int = 2000
    """And at most."""
    overturning_told: str = ""
    """Until when and how a rejection can be overturned, in a sentence."""
    bonus_fee: Callable[[Decimal], Decimal] | None = None
    """What is taken on top of a bonus or top-up; None where the platform's account decides."""
    bonus_fee_told: str = ""
    """The same in a sentence."""
    returns_receipt: bool = False
    """Whether what is handed in carries our receipt, so that it can be compared."""
    ends_offers: bool = False
    """Whether what is offered ends by itself after the days on offer, or only with its seats."""
    tells_bonus_reason: bool = True
    """Whether who gets a bonus reads why."""
    still_exists: bool = True
    notes: tuple[str, ...] = field(default=())
    """What people should know before they use it, in sentences."""


class Marketplace(Protocol):
    """A crowd platform in one environment. Methods raise the errors above and nothing else."""

    @property
    def platform(self) -> str:
        """Its name, as in ``accounts.PlatformIdentity.Platform``."""

    @property
    def environment(self) -> str:
        """Live or rehearsal, as in ``accounts.Environment``."""

    @property
    def abilities(self) -> Abilities:
        """What it can do."""

    def estimate(self, offer: Offer) -> Estimate:
        """The cost of the offer by the platform's own rules. Creates nothing."""

    def balance(self) -> Decimal | None:
        """What the account can spend; None where the platform does not say."""

    def ensure_group(self, group: Group, *, reference: str) -> str:
        """The platform's id of our group for a study (``reference``), made if there is none."""

    def prepare(self, offer: Offer) -> str:
        """Make what postings belong to (a HIT type; a draft study) and return the platform's id of it.

        People cannot see it yet. The same offer gives the same id.
        """

    def post(self, offer: Offer, remote_id: str, request: PostingRequest) -> str:
        """Make one posting, which people can take from then on; returns the platform's id of it."""

    def pause(self, remote_id: str, postings: Sequence[str]) -> None:
        """Let nobody new begin, until :meth:`resume`; those who work go on."""

    def resume(self, remote_id: str, postings: Sequence[str], *, until: datetime) -> None:
        """Let people begin again."""

    def end(self, remote_id: str, postings: Sequence[str]) -> None:
        """Let nobody new begin, for good; those who work go on."""

    def widen(self, remote_id: str, posting: str, *, seats: int, token: UUID) -> None:
        """Let ``seats`` people in all take a posting. One that has as many already is left as it is."""

    def on_offer(self, remote_id: str, postings: Collection[str]) -> OnOffer:
        """Whether people can begin there now with any of the postings."""

    def work(self, remote_id: str, postings: Collection[str]) -> list[Work]:
        """Everything the platform lists, of all pages, collected before anything is changed."""

    def worth_asking(self, remote_id: str, postings: Sequence[str]) -> list[str]:
        """Of many postings, those in which work may have been handed in; all where it cannot say."""

    def one_work(self, hit_assignment: str) -> Work | None:
        """One piece of work as it stands now; None when the platform does not say (yet)."""

    def approve(self, hit_assignment: str, *, person: str, message: str = "") -> None:
        """Pay the reward. What is approved already is left as it is."""

    def reject(
        self,
        hit_assignment: str,
        *,
        person: str,
        reason: str,
        category: str = "",
        since: datetime | None = None,
    ) -> None:
        """Pay nothing, and say why. What is rejected already is left as it is.

        ``since``: when it was asked for, for a platform that gives people days to answer it.
        """

    def overturn(self, hit_assignment: str, *, person: str) -> None:
        """Pay the reward of work that was rejected, after all. What is approved already is left as it is."""

    def prepare_bonus(self, request: BonusRequest) -> str:
        """Make the bonus without paying it, where the platform pays in two steps; returns its id.

        The empty string where it pays in one.
        """

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
