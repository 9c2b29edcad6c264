"""Every write of this room. Views, tasks, commands, the back office and tests call these."""

from recruitment.actions.campaigns import (
    CampaignSettings,
    change_campaign,
    create_campaign,
    discard_campaign,
    start_campaign,
)
from recruitment.actions.claims import set_back
from recruitment.actions.differences import (
    approve_for_difference,
    confirm_by_hand,
    reject_for_difference,
    settle_alike,
    settle_difference,
)
from recruitment.actions.draining import campaigns_with_due, send_due
from recruitment.actions.grants import due_grants, grant, send_grant, set_membership
from recruitment.actions.identifying import look_up, show_ids
from recruitment.actions.joining import arrive_by_link, join, remove_join_link, set_join_link
from recruitment.actions.mailing import (
    ask_for_links,
    confirm_address,
    give_address,
    invite_by_mail,
    mail_change,
    mail_confirmation,
    mail_invitation,
    mail_links,
    note_not_mailed,
    send_link,
)
from recruitment.actions.membership import keep_groups
from recruitment.actions.moving import (
    carry_out,
    end_campaign,
    look_again,
    note_problem,
    pause_campaign,
    resume_campaign,
)
from recruitment.actions.ordering import open_orders, order_approvals, order_top_ups, write_payments
from recruitment.actions.outside import note_link_payments
from recruitment.actions.overturning import overturn_for_difference, overturn_rejection, send_payment
from recruitment.actions.payments import (
    approve,
    approve_instead,
    ask_again,
    ask_again_for_all,
    give_bonus,
    reject,
    withdraw_rejection,
)
from recruitment.actions.reconciling import note_offer, note_sync_problem, reconcile, take_in
from recruitment.actions.remedies import note_paid_outside, pay_for_difference
from recruitment.actions.seats import add_seats
from recruitment.actions.sending import due_payments
from recruitment.actions.settling import settle_stranger, settle_visit
from recruitment.actions.visits import arrive_for_campaign, note_refused_visit, send_to_hand_in

__all__ = [
    "CampaignSettings",
    "add_seats",
    "approve",
    "approve_for_difference",
    "approve_instead",
    "arrive_by_link",
    "arrive_for_campaign",
    "ask_again",
    "ask_again_for_all",
    "ask_for_links",
    "campaigns_with_due",
    "carry_out",
    "change_campaign",
    "confirm_address",
    "confirm_by_hand",
    "create_campaign",
    "discard_campaign",
    "due_grants",
    "due_payments",
    "end_campaign",
    "give_address",
    "give_bonus",
    "grant",
    "invite_by_mail",
    "join",
    "keep_groups",
    "look_again",
    "look_up",
    "mail_change",
    "mail_confirmation",
    "mail_invitation",
    "mail_links",
    "note_link_payments",
    "note_not_mailed",
    "note_offer",
    "note_paid_outside",
    "note_problem",
    "note_refused_visit",
    "note_sync_problem",
    "open_orders",
    "order_approvals",
    "order_top_ups",
    "overturn_for_difference",
    "overturn_rejection",
    "pause_campaign",
    "pay_for_difference",
    "reconcile",
    "reject",
    "reject_for_difference",
    "remove_join_link",
    "resume_campaign",
    "send_due",
    "send_grant",
    "send_link",
    "send_payment",
    "send_to_hand_in",
    "set_back",
    "set_join_link",
    "set_membership",
    "settle_alike",
    "settle_difference",
    "settle_stranger",
    "settle_visit",
    "show_ids",
    "start_campaign",
    "take_in",
    "withdraw_rejection",
    "write_payments",
]
