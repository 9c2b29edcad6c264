"""How people come, from where, and what they are paid there. Fields, constraints and queries; no workflow.

Who somebody is on a platform stands in ``accounts.PlatformIdentity`` only. Writes happen in this room's
actions; rows are locked after the person's enrollment, campaign before posting before visit before payment.
"""

from recruitment.models.campaigns import Campaign, Posting
from recruitment.models.joining import JoinLink, Visit
from recruitment.models.orders import PaymentOrder
from recruitment.models.outside import LinkPayment
from recruitment.models.payments import Difference, Grant, Payment, Submission, WebhookEvent

__all__ = [
    "Campaign",
    "Difference",
    "Grant",
    "JoinLink",
    "LinkPayment",
    "Payment",
    "PaymentOrder",
    "Posting",
    "Submission",
    "Visit",
    "WebhookEvent",
]
