"""Ways to break a promise about campaigns on platforms and what is paid in them."""

from __future__ import annotations

from collections.abc import Callable

from tests.dashboard.worlds import World
from tests.integrity.breaks.core import sql, without


def visit_of_somebody_else(world: World) -> None:
    sql(
        "UPDATE recruitment_visit SET enrollment_id = (SELECT v.enrollment_id FROM recruitment_visit v "
        "WHERE v.campaign_id = %(campaign)s AND v.id <> %(visit)s LIMIT 1) WHERE id = %(visit)s",
        campaign=world.paid.campaign_id,
        visit=world.paid.visit_id,
    )


def session_without_a_visit(world: World) -> None:
    sql(
        "UPDATE recruitment_submission SET visit_id = NULL WHERE visit_id = %(visit)s",
        visit=world.paid.visit_id,
    )
    sql("DELETE FROM recruitment_visit WHERE id = %(visit)s", visit=world.paid.visit_id)


def answer_not_credited(world: World) -> None:
    sql("UPDATE annotation_worksession SET stories_submitted = 0 WHERE stories_submitted = 1")


def approved_twice(world: World) -> None:
    without("recruitment_payment", "one_decision_per_submission")
    sql(
        "UPDATE recruitment_payment SET kind = 'approval', amount = 0.25 "
        "WHERE submission_id = %(work)s AND kind = 'top_up'",
        work=world.paid.pk,
    )


def approved_for_more(world: World) -> None:
    sql("UPDATE recruitment_payment SET amount = 2.50 WHERE kind = 'approval'")


def paid_at_no_time(world: World) -> None:
    without("recruitment_payment", "payment_is_settled_at_a_time")
    sql("UPDATE recruitment_payment SET settled_at = NULL WHERE kind = 'approval'")


def paid_and_never_sent(world: World) -> None:
    sql("UPDATE recruitment_payment SET tries = 0 WHERE kind = 'top_up'")


def campaign_of_a_rehearsal(world: World) -> None:
    sql("UPDATE recruitment_submission SET environment = 'rehearsal'")


def campaign_not_logged(world: World) -> None:
    sql("DELETE FROM annotation_event WHERE type = 'campaign_created'")


def payment_not_logged(world: World) -> None:
    sql("DELETE FROM annotation_event WHERE type = 'payment_requested' AND subject LIKE 'top_up %%'")


def refusal_not_logged(world: World) -> None:
    sql(
        "UPDATE recruitment_payment SET state = 'failed', problem = 'refused', settled_at = now(), "
        "sending_until = NULL WHERE state IN ('requested', 'sending')"
    )


def mismatch_not_logged(world: World) -> None:
    sql("DELETE FROM annotation_event WHERE type = 'platform_synced' AND subject LIKE 'wrong_receipt %%'")


RECRUITING_BREAKS: list[tuple[Callable[[World], None], str, set[str]]] = [
    (visit_of_somebody_else, "session_is_of_a_visit", {"visit_is_in_the_log"}),
    (session_without_a_visit, "session_is_of_a_visit", set()),
    (answer_not_credited, "session_counts_its_votes", set()),
    (approved_twice, "work_is_decided_once", {"payment_is_in_the_log"}),
    (approved_for_more, "payment_is_of_its_amount", set()),
    (paid_at_no_time, "payment_is_settled_when_it_was_sent", set()),
    (paid_and_never_sent, "payment_is_settled_when_it_was_sent", set()),
    (campaign_of_a_rehearsal, "platforms_work_is_of_its_environment", set()),
    (campaign_not_logged, "campaign_is_in_the_log", set()),
    (payment_not_logged, "payment_is_in_the_log", set()),
    (refusal_not_logged, "payment_is_in_the_log", set()),
    (mismatch_not_logged, "settled_mismatch_is_in_the_log", set()),
]
