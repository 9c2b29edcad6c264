"""The writes of this room that views, tasks, commands and other rooms call."""

from recruitment.actions.arrivals import (
    arrive_by_link, arrive_for_campaign, join, record_hand_in, record_refused_visit, remove_join_link,
    set_join_link,
)
from recruitment.actions.bulk_payments import approve_all, retry_campaign, top_up_all
from recruitment.actions.campaign_lifecycle import (
    carry_out, end_campaign, pause_campaign, pause_without_stories, record_problem, resume_campaign, sync_now,
)
from recruitment.actions.campaigns import (
    add_seats, change_campaign, create_campaign, discard_campaign, start_campaign,
)
from recruitment.actions.grants import reset_for_retake, set_membership, update_groups
from recruitment.actions.link_payments import record_link_payments
from recruitment.actions.mails import (
    ask_for_links, confirm_address, give_address, invite_by_mail, record_mail_failure, send_link, send_mail,
)
from recruitment.actions.mismatches import (
    confirm_manually, decide_mismatch, pay_for_mismatch, settle_mismatch, settle_similar,
)
from recruitment.actions.payment_delivery import campaigns_with_due, send_due
from recruitment.actions.payments import (
    approve, approve_instead, give_bonus, overturn_rejection, record_external_payment, reject, retry_payment,
    withdraw_rejection,
)
from recruitment.actions.platform_ids import look_up, show_ids
from recruitment.actions.reconciliation import handle_notification, reconcile, record_sync_problem
from recruitment.offers import CampaignSettings
