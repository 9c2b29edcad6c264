"""The REST API of submissions and of bonuses."""

from __future__ import annotations

from typing import Any

from tests.doubles.prolific import rules
from tests.doubles.prolific.answers import Answer, Request, found, moment, page_of
from tests.doubles.prolific.platform import Bulk, Platform, Study, Submission
from tests.doubles.prolific.rules import Refused


def _short(submission: Submission, platform: Platform) -> dict[str, Any]:
    taken = None
    if submission.completed_at and submission.started_at:
        taken = int((submission.completed_at - submission.started_at).total_seconds())
    siblings = platform.studies[submission.study].submissions
    return {
        "id": submission.id,
        "participant_id": submission.participant,
        "status": submission.status,
        "started_at": moment(submission.started_at or submission.reserved_at),
        "completed_at": moment(submission.completed_at),
        "is_complete": submission.completed_at is not None,
        "time_taken": taken,
        "reward": platform.studies[submission.study].fields["reward"],
        "has_siblings": sum(s.participant == submission.participant for s in siblings) > 1,
        "study_code": submission.entered_code,
        "bonus_payments": [float(cents) for cents in submission.bonus_payments],
        "return_requested": moment(submission.return_requested),
    }


def _detail(submission: Submission) -> dict[str, Any]:
    return {
        "id": submission.id,
        "study_id": submission.study,
        "parent_study_id": None,
        "participant": submission.participant,
        "status": submission.status,
        "started_at": moment(submission.started_at or submission.reserved_at),
        "completed_at": moment(submission.completed_at),
        "entered_code": submission.entered_code,
        "bonus_payments": [float(cents) for cents in submission.bonus_payments],
        "return_requested": moment(submission.return_requested),
    }


def list_submissions(platform: Platform, request: Request) -> Answer:
    study: Study = found(platform.studies, request.query.get("study", ""))
    wanted = request.query.get("status", "").upper().replace("_", " ")
    rows = [s for s in study.submissions if wanted in ("", s.status)]
    return Answer(page_of([_short(submission, platform) for submission in rows], request))


def read_submission(platform: Platform, request: Request, submission_id: str) -> Answer:
    return Answer(_detail(found(platform.submissions, submission_id)))


def move_submission(platform: Platform, request: Request, submission_id: str) -> Answer:
    submission: Submission = found(platform.submissions, submission_id)
    action = request.body.get("action")
    if action == "APPROVE":
        platform.approve(submission)
    elif action == "REJECT":
        rules.check_rejection(request.body)
        platform.reject(submission, request.body["message"], request.body["rejection_category"])
    elif action == "UNREJECT":
        platform.unreject(submission)
    elif action == "COMPLETE":
        platform.finish(submission, request.body.get("completion_code"), actor="researcher")
    else:
        raise Refused({"action": [f"{action}: not available for this submission."]})
    return Answer(_detail(submission))


def request_return(platform: Platform, request: Request, submission_id: str) -> Answer:
    submission: Submission = found(platform.submissions, submission_id)
    if not request.body.get("request_return_reasons"):
        raise Refused({"request_return_reasons": ["This field is required."]})
    if submission.status not in ("ACTIVE", "AWAITING REVIEW"):
        raise Refused(f"Submission {submission.id} is {submission.status}.")
    submission.return_requested = submission.return_requested or platform.clock.now()
    names = ("id", "status", "participant", "return_requested")
    return Answer({name: _detail(submission)[name] for name in names})


def bulk_approve(platform: Platform, request: Request) -> Answer:
    wanted = request.body.get("submission_ids")
    if wanted is None:
        study: Study = found(platform.studies, request.body.get("study_id", ""))
        people = set(request.body.get("participant_ids", ()))
        wanted = [s.id for s in study.submissions if s.participant in people]
    chosen = [found(platform.submissions, submission_id) for submission_id in wanted]

    def approve_them() -> None:
        for submission in chosen:
            if submission.status == "AWAITING REVIEW":
                platform.approve(submission)

    platform.later(0, approve_them)
    return Answer("Bulk approve in progress")


# -- bonuses


def set_up_bonuses(platform: Platform, request: Request) -> Answer:
    study: Study = found(platform.studies, request.body.get("study_id", ""))
    lines, unknown = [], []
    for who, cents in rules.bonus_lines(request.body.get("csv_bonuses") or ""):
        matches = [s for s in study.submissions if who in (s.id, s.participant) and s.status != "RESERVED"]
        if matches:
            lines.append((matches[-1], cents))
        else:
            unknown.append(who)
    if unknown:
        raise Refused({"csv_bonuses": [f"Not part of this study: {', '.join(unknown)}"]})
    bulk = Bulk(platform.new_id("bulk"), study.id, lines)
    platform.bulks[bulk.id] = bulk
    fees = [platform.cost(cents) for _submission, cents in lines]
    sums = {
        "amount": sum(cents for _submission, cents in lines),
        "fees": sum(fee for fee, _vat in fees),
        "vat": sum(vat for _fee, vat in fees),
    }
    return Answer({"id": bulk.id, "study": study.id, **sums, "total_amount": sum(sums.values())}, 201)


def pay_bonuses(platform: Platform, request: Request, bulk_id: str) -> Answer:
    bulk: Bulk = found(platform.bulks, bulk_id)
    total = sum(cents + sum(platform.cost(cents)) for _submission, cents in bulk.lines)
    if total > platform.available:
        raise Refused("You do not have enough funds to pay these bonuses.")
    platform.later(3, lambda: platform.pay_bulk(bulk))
    return Answer("The bonuses will be paid.", 202)
