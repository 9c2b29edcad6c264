"""Every way to break a promise, and which of them can be found in one world."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.dashboard.worlds import World
from tests.integrity.breaks import (
    answer_keys,
    audit_log,
    hidden_checks,
    join_links,
    people,
    recruitment,
    reviews,
    skips,
    slots,
    votes,
    work_sessions,
)


class Break(NamedTuple):
    """A way to break a promise, the check that must say so, and those that it cannot but break as well."""

    break_it: Callable[[World], None]
    check: str
    implied: set[str]


ALL_BREAKS = tuple(
    Break(*one)
    for one in (
        *slots.SLOT_BREAKS,
        *votes.VOTE_BREAKS,
        *people.PEOPLE_BREAKS,
        *audit_log.LOG_BREAKS,
        *join_links.LINK_BREAKS,
        *reviews.REVIEW_BREAKS,
        *hidden_checks.CHECK_BREAKS,
        *answer_keys.KEY_BREAKS,
        *work_sessions.SESSION_BREAKS,
        *recruitment.RECRUITING_BREAKS,
        *skips.SKIP_BREAKS,
    )
)
_GROUPS: dict[str, tuple[Callable[[World], None], ...]] = {
    "what is not in the log": (
        audit_log.vote_not_logged,
        audit_log.standing_not_logged,
        audit_log.closing_not_logged,
        audit_log.attempt_not_logged,
        audit_log.import_not_logged,
        audit_log.plan_not_logged,
        join_links.revoked_unseen,
        join_links.address_not_logged,
        join_links.visit_not_logged,
        join_links.join_link_not_logged,
        reviews.exclusion_not_logged,
        reviews.readmission_not_logged,
        reviews.spot_check_not_logged,
        reviews.sample_not_logged,
        reviews.adjudication_not_logged,
        hidden_checks.failed_check_not_logged,
        hidden_checks.warning_not_logged,
        answer_keys.expert_not_logged,
        answer_keys.key_not_logged,
        recruitment.campaign_not_logged,
        recruitment.payment_not_logged,
        recruitment.mismatch_not_logged,
    ),
    "slots": (slots.more_votes_than_wanted, slots.free_slot_hidden, reviews.old_version_of_nothing),
    "people": (
        people.story_not_credited,
        people.consent_to_another_study,
        people.voter_never_qualified,
        people.served_past_the_cap,
        join_links.pseudonym_replaced,
        join_links.forgotten_but_let_in,
        join_links.suspended_for_nothing,
        join_links.visit_of_a_rehearsal,
        join_links.participant_in_the_log,
        skips.skip_not_counted,
    ),
    "identities": (
        people.platform_id_in_the_log,
        people.excluded_person_took_part,
        people.served_in_a_rehearsal,
        join_links.id_of_two_people,
    ),
    "stories and votes": (
        people.erased_but_known,
        votes.story_rewritten,
        slots.full_story_offered,
        votes.answer_lost,
        votes.no_turned_into_yes,
        votes.first_answer_moved,
        votes.instructions_of_another_study,
        votes.changed_after_the_release,
        audit_log.plan_altered,
    ),
    "how votes were served": (
        votes.vote_on_another_content,
        votes.vote_at_another_place,
        votes.revision_lost,
        votes.surplus_without_a_vote,
        votes.answered_without_a_vote,
    ),
    "tests": (
        people.one_attempt_too_many,
        people.key_accepts_the_unknown,
        people.wrong_grade,
        people.failed_by_no_attempt,
        answer_keys.waited_for_too_late,
        answer_keys.expert_answer_lost,
        answer_keys.reason_for_a_foreign_story,
        answer_keys.round_without_its_key,
    ),
    "hidden checks and reviews": (
        hidden_checks.check_in_a_slot,
        hidden_checks.check_graded_otherwise,
        reviews.served_though_excluded,
        reviews.exclusion_of_somebody_elses_vote,
        reviews.counted_though_excluded,
        reviews.revision_of_another_core,
    ),
    "recruitment": (
        recruitment.answer_not_credited,
        recruitment.approved_for_more,
        recruitment.campaign_of_a_rehearsal,
        recruitment.paid_and_never_sent,
        recruitment.session_without_a_visit,
    ),
}
_BY_FUNCTION = {one.break_it: one for one in ALL_BREAKS}
_GROUPED = {break_it for group in _GROUPS.values() for break_it in group}
TOGETHER: dict[str, tuple[Break, ...]] = {
    name: tuple(_BY_FUNCTION[break_it] for break_it in group) for name, group in _GROUPS.items()
} | {one.break_it.__name__: (one,) for one in ALL_BREAKS if one.break_it not in _GROUPED}
"""Breaks that don't hide each other, and each of the others alone."""
