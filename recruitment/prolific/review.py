"""Submissions on Prolific: statuses in our words, decisions about them and bonuses, each once."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy

from recruitment.marketplace import BonusRequest, Refused, Status, Unreachable, Work
from recruitment.prolific.client import READS, ProlificClient, accept_refusal_if, silence_means
from recruitment.prolific.payloads import amount_of, cents

STATUSES: Mapping[str, Status] = {
    "RESERVED": Status.ACTIVE,
    "ACTIVE": Status.ACTIVE,
    "PROCESSING": Status.ACTIVE,
    "AWAITING REVIEW": Status.SUBMITTED,
    "APPROVED": Status.APPROVED,
    "PARTIALLY APPROVED": Status.APPROVED,
    "REJECTED": Status.REJECTED,
    "RETURNED": Status.RETURNED,
    "TIMED-OUT": Status.TIMED_OUT,
    "SCREENED OUT": Status.SCREENED_OUT,
}
"""A submission is PROCESSING for a moment; until that is over, nothing can be decided about it."""

RECRUITING = frozenset({"PUBLISHING", "ACTIVE", "SCHEDULED"})
PAUSED = frozenset({"PAUSED"})
OVER = frozenset({"AWAITING REVIEW", "COMPLETED"})
"""Every place is taken, or the study was stopped."""
PUBLISHED = RECRUITING | PAUSED | OVER


def status_of(said: str) -> Status:
    """Return our status; unknown for an unknown word, so that nothing is done about it."""
    return STATUSES.get(said.strip().upper().replace("_", " "), Status.UNKNOWN)


def work_of(row: Mapping[str, Any], *, study: str = "") -> Work:
    """Return a submission as a list shows it, or as it is shown alone.

    A list names the person ``participant_id`` and not the study; alone it is ``participant`` and
    ``study_id``. The completion code is no receipt: everybody in a study has the same.
    """
    return Work(
        remote_id=row["id"],
        person=row.get("participant_id") or row.get("participant") or "",
        status=status_of(row["status"]),
        posting=row.get("study_id") or study,
        submitted_at=moment_of(row.get("completed_at")),
    )


def moment_of(text: str | None) -> datetime | None:
    """Return a time as Prolific writes it, like ``2026-11-20T11:03:00.457Z``."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC) if text else None
    except (ValueError, TypeError) as error:
        raise Unreachable(_("Prolific’s answer cannot be read (%s).") % text, maybe_done=False) from error


SHORTEST_REJECTION = 100

CATEGORIES: Mapping[str, Promise] = {
    "TOO_QUICKLY": gettext_lazy("done too quickly"),
    "TOO_SLOWLY": gettext_lazy("done too slowly"),
    "FAILED_INSTRUCTIONS": gettext_lazy("did not follow the instructions"),
    "FAILED_CHECK": gettext_lazy("failed a check"),
    "LOW_EFFORT": gettext_lazy("low effort"),
    "NO_CODE": gettext_lazy("no completion code"),
    "BAD_CODE": gettext_lazy("wrong completion code"),
    "NO_DATA": gettext_lazy("no data"),
    "OTHER": gettext_lazy("something else"),
}
"""Prolific's categories of rejections that can apply here."""
RETURN_WAIT = timedelta(days=3)
"""Time to return a submission before it is rejected."""
BONUS_WAIT = timedelta(days=1)
"""Time to look for a bonus that may have been paid: Prolific pays within minutes."""


class Review:
    """The part of the adapter about decisions. Its clock matters: people have days to return their work."""

    client: ProlificClient
    _now: Callable[[], datetime]

    def approve(self, submission: str, *, person: str) -> None:
        self._decide(submission, person, Status.APPROVED, {"action": "APPROVE"})

    def approve_all(self, submissions: Sequence[str]) -> None:
        """Begin to approve up to 1,000 submissions. Prolific goes on with it after its answer."""
        body = {"submission_ids": list(submissions)}
        self.client.post("/submissions/bulk-approve/", body, repeatable=True)

    def reject(
        self, submission: str, *, person: str, reason: str, category: str = "", since: datetime | None = None
    ) -> None:
        """Ask the person to return the work first, as Prolific wants it; reject it if they do not.

        Until then :class:`Unreachable` says that it is not done. They have their days from ``since`` at the
        least: an earlier rejection may have asked them already, and been withdrawn. Raises
        :class:`Refused` if they returned it, which settles it for both sides.
        """
        if len(reason) < SHORTEST_REJECTION or category not in CATEGORIES:
            message = _("Prolific wants a category and a reason of at least %s characters.")
            raise Refused(message % SHORTEST_REJECTION)
        found = self._submission_of(submission, person)
        if status_of(found["status"]) is Status.SUBMITTED:
            asked_at = moment_of(found.get("return_requested"))
            if asked_at is None:
                with silence_means(done=False):
                    path = f"/submissions/{submission}/request-return/"
                    self.client.post(path, {"request_return_reasons": [reason]}, repeatable=True)
            asked = (asked_at or self._now(), since)
            end = max(moment for moment in asked if moment) + RETURN_WAIT
            if self._now() < end:
                message = _("The person is asked to return the work, and has %s days before it is rejected.")
                raise Unreachable(message % RETURN_WAIT.days, maybe_done=False, not_before=end)
        body = {"action": "REJECT", "message": reason, "rejection_category": category}
        self._decide(submission, person, Status.REJECTED, body)

    def _one(self, submission: str) -> dict[str, Any]:
        return self.client.get(f"/submissions/{submission}/")

    def _submission_of(self, submission: str, person: str) -> dict[str, Any]:
        """Return the submission, if it is this person's: else nothing may be decided about it."""
        found = self._one(submission)
        if found["participant"] != person:
            raise Refused(_("Prolific lists this submission for another participant."))
        return found

    def _decide(self, submission: str, person: str, wanted: Status, body: dict[str, str]) -> None:
        """Decide an undecided submission. Prolific accepts the same decision again, and no other."""
        status = status_of(self._submission_of(submission, person)["status"])
        if status is wanted:
            return
        if status in (Status.ACTIVE, Status.UNKNOWN):
            message = _("On Prolific this work does not wait for a decision yet.")
            raise Unreachable(message, maybe_done=False)
        if status is not Status.SUBMITTED:
            raise Refused(
                _("On Prolific this work is closed already: %s.") % status.value, code=status.value.upper()
            )
        with accept_refusal_if(lambda: status_of(self._one(submission)["status"]) is wanted):
            self.client.post(f"/submissions/{submission}/transition/", body, repeatable=True)

    def overturn(self, submission: str, *, person: str) -> None:
        """Undo a rejection and approve the submission. Leave an approved one as it is.

        The reference names the action and not what follows from it, so the submission's status after it
        decides. Raise :class:`Refused` if it is still rejected.
        """
        if status_of(self._submission_of(submission, person)["status"]) is Status.REJECTED:
            self._take_rejection_back(submission)
        try:
            self.approve(submission, person=person)
        except Refused as error:
            if error.code != Status.REJECTED.value.upper():
                raise
            raise Unreachable(_("Prolific does not show yet that the rejection is overturned.")) from error

    def _take_rejection_back(self, submission: str) -> None:
        refusal: Refused | None = None
        try:
            self.client.post(
                f"/submissions/{submission}/transition/", {"action": "UNREJECT"}, repeatable=True
            )
        except Refused as error:  # also when an earlier request, whose answer was lost, has done it
            refusal = error
        seen = (self._one(submission)["status"] for _read in range(READS))
        if all(status_of(said) is Status.REJECTED for said in seen) and refusal:
            message = _("Prolific does not overturn this rejection (%s). Overturn it on its own pages.")
            raise Refused(message % refusal, code=refusal.code) from refusal

    def prepare_bonus(self, request: BonusRequest) -> str:
        """Set the bonus up. Nothing is paid; setting one up twice leaves one that is never paid."""
        found = self._submission_of(request.submission, request.person)
        lines = f"{request.submission},{request.amount:.2f}"
        body = {"study_id": found["study_id"], "csv_bonuses": lines}
        with silence_means(done=False):
            made = self.client.post("/submissions/bonus-payments/", body, repeatable=True)
        if made.get("amount", cents(request.amount)) != cents(request.amount):
            raise Refused(_("Prolific understood another amount: %s.") % amount_of(made["amount"]))
        return str(made["id"])

    def bonus(self, request: BonusRequest) -> None:
        """Pay a prepared bonus with one request: Prolific pays again for every further one.

        Asked again about one that may have been paid, it is only looked for. Raise :class:`Unreachable`
        while it does not show, and :class:`Refused` once it has not shown for a day.
        """
        if request.maybe_paid:
            with silence_means(done=True):
                self._look_for(request)
            return
        if request.earlier_tokens and self._shows(request):
            return
        bulk = request.remote_id or self.prepare_bonus(request)
        self.client.post(f"/bulk-bonus-payments/{bulk}/pay/", repeatable=False)

    def _shows(self, request: BonusRequest) -> bool:
        """Return True if one bonus more of this amount has been paid than we know of."""
        paid = self._submission_of(request.submission, request.person).get("bonus_payments") or []
        same = [Decimal(said) for said in paid].count(Decimal(cents(request.amount)))
        return same > request.same_amount_paid

    def _look_for(self, request: BonusRequest) -> None:
        if self._shows(request):
            return
        if self._now() < request.first_sent_at + BONUS_WAIT:
            raise Unreachable(_("Prolific did not say whether it paid, and does not show the bonus yet."))
        message = _(
            "Prolific did not say whether it paid this bonus, and does not show it after a day. Look "
            "at the submission there. If it was not paid, request it again."
        )
        raise Refused(message, code="NOT_SHOWN")
