"""Submissions and the decisions about them: paid, not paid, paid more, each once.

A seat's id goes from one worker to the next until somebody hands in. So no decision is taken by the id alone:
the worker who handed in must be the one whom the decision is about.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from recruitment.marketplace import BonusRequest, NotShown, Refused, Status, Unreachable, Work
from recruitment.mturk import client
from recruitment.mturk.arrivals import receipt_in
from recruitment.mturk.client import PAGE, TOKENS_ARE_KNOWN, Api

STATUS = {"Submitted": Status.SUBMITTED, "Approved": Status.APPROVED, "Rejected": Status.REJECTED}
NOT_SHOWN = (client.NO_ASSIGNMENT, client.WRONG_ASSIGNMENT_STATE)
GONE = (client.NO_HIT, client.WRONG_HIT_STATE)


class Review:
    """The part of the adapter about submissions. Its clock matters: tokens are known for a time only."""

    _api: Api
    _now: Callable[[], datetime]

    def work(self, remote_id: str, posting: str) -> list[Work]:
        """Return everything that was handed in at this HIT; nothing else is ever listed.

        A HIT that was deleted, by hand or after 120 days, lists nothing.
        """
        try:
            rows = self._api.everything("ListAssignmentsForHIT", "Assignments", HITId=posting)
        except Refused as error:
            if error.code not in GONE:
                raise
            return []
        return [_work(row) for row in rows]

    def worth_asking(self, remote_id: str, postings: Sequence[str]) -> list[str]:
        """Return the HITs where work was handed in: one call for a hundred instead of one for each.

        What waits for review is in none of a HIT's counters, so it is what the others leave over.
        """
        if len(postings) <= PAGE:
            return sorted(postings)
        untouched = {
            row["HITId"]
            for row in self._api.everything("ListHITs", "HITs")
            if row["NumberOfAssignmentsAvailable"] + row["NumberOfAssignmentsPending"]
            == row["MaxAssignments"]
        }
        return sorted(set(postings) - untouched)

    def one_work(self, submission: str) -> Work | None:
        """Return one submission; None until it is handed in, and for a moment after that."""
        found = self._api.call("GetAssignment", unless=NOT_SHOWN, AssignmentId=submission)
        return _work(found["Assignment"]) if found else None

    def approve(self, submission: str, *, person: str) -> None:
        self._decide("ApproveAssignment", Status.APPROVED, submission, person, {})

    def reject(
        self, submission: str, *, person: str, reason: str, category: str = "", since: datetime | None = None
    ) -> None:
        feedback = {"RequesterFeedback": reason}
        self._decide("RejectAssignment", Status.REJECTED, submission, person, feedback)

    def overturn(self, submission: str, *, person: str) -> None:
        """Pay the reward of a rejected submission; for 30 days after it was handed in."""
        if self._submission_of(submission, person).status == Status.APPROVED:
            return
        try:
            self._api.call("ApproveAssignment", AssignmentId=submission, OverrideRejection=True)
        except Refused as error:
            if error.code != client.WRONG_ASSIGNMENT_STATE:
                raise
            if self._submission_of(submission, person).status == Status.APPROVED:
                return  # an earlier attempt did it, or somebody on the web site
            raise Refused(
                _("Mechanical Turk overturns a rejection only within 30 days of the handing in."),
                code=client.WRONG_ASSIGNMENT_STATE,
            ) from error

    def _decide(
        self, operation: str, wanted: Status, submission: str, person: str, feedback: dict[str, str]
    ) -> None:
        if self._is_decided(wanted, submission, person):
            return
        try:
            self._api.call(operation, AssignmentId=submission, **feedback)
        except Refused as error:
            if error.code != client.WRONG_ASSIGNMENT_STATE:
                raise
            # Somebody was faster: an earlier attempt, the clock, or a person on the web site.
            if not self._is_decided(wanted, submission, person):
                message = _("Mechanical Turk does not show yet how this work was decided.")
                raise Unreachable(message) from error

    def _is_decided(self, wanted: Status, submission: str, person: str) -> bool:
        """Return True if the work is decided as wanted; raise if it cannot or must not be."""
        work = self._submission_of(submission, person)
        if work.status not in (wanted, Status.SUBMITTED):
            message = (
                _("This work was approved already.")
                if work.status == Status.APPROVED
                else _("This work was rejected already.")
            )
            raise Refused(message, code=client.WRONG_ASSIGNMENT_STATE)
        return work.status == wanted

    def _submission_of(self, submission: str, person: str) -> Work:
        """Return the submission as it is shown now. Raise unless this person handed it in."""
        work = self.one_work(submission)
        if work is None:
            raise NotShown(_("Mechanical Turk does not show this work, or not yet."))
        if work.person != person:
            message = _("Mechanical Turk lists this submission for another participant.")
            raise Refused(message, code="OtherWorker")
        return work

    def bonus(self, request: BonusRequest) -> None:
        """Pay a bonus once, however often it is asked for and however late.

        Mechanical Turk shows no tokens with the bonuses that it lists. So each carries a short reference in
        the text that the worker reads, by which one whose answer was lost is known.
        """
        is_forgotten = self._now() - request.first_sent_at >= TOKENS_ARE_KNOWN
        if (is_forgotten or request.earlier_tokens) and self._is_paid(request):
            return
        try:
            self._api.call(
                "SendBonus",
                WorkerId=request.person,
                AssignmentId=request.submission,
                BonusAmount=f"{request.amount:.2f}",
                Reason=f"{request.reason} {reference_of(request.token)}",
                UniqueRequestToken=str(request.token),
            )
        except Refused as error:
            # What is said of a repeated token is not documented, nor whether the account's money is looked at
            # before: it may be missing because this bonus has been paid. So what was paid decides.
            if not self._is_paid(request):
                if error.code == client.ALREADY_PROCESSED:
                    message = _("Mechanical Turk has paid this bonus, but does not show it yet.")
                    raise Unreachable(message) from error
                raise

    def _is_paid(self, request: BonusRequest) -> bool:
        assignment = request.submission
        paid = self._api.everything("ListBonusPayments", "BonusPayments", AssignmentId=assignment)
        names = [reference_of(token) for token in (request.token, *request.earlier_tokens)]
        return any(
            row["WorkerId"] == request.person and any(name in row["Reason"] for name in names) for row in paid
        )


def reference_of(token: UUID) -> str:
    """Return the name of a bonus in the text that its receiver reads."""
    return f"[{token.hex[:12]}]"


def _work(row: dict[str, Any]) -> Work:
    return Work(
        remote_id=row["AssignmentId"],
        person=row["WorkerId"],
        status=STATUS.get(row["AssignmentStatus"], Status.UNKNOWN),
        posting=row["HITId"],
        receipt=receipt_in(row.get("Answer", "")),
        submitted_at=row.get("SubmitTime"),
    )
