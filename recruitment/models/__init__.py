"""Visits, campaigns, submissions and payments. Fields, constraints and queries; no workflow.

Who somebody is on a platform stands in ``accounts.PlatformIdentity`` only. Writes happen in this room's
actions; rows are locked after the person's enrollment, campaign before posting before visit before payment.
"""

from recruitment.models.campaigns import Campaign, Posting
from recruitment.models.payments import Grant, Mismatch, Payment, Submission
from recruitment.models.visits import JoinLink, LinkPayment, Visit
