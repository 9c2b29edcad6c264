from accounts.back_office import show
from recruitment.models import (
    Campaign,
    Grant,
    JoinLink,
    LinkPayment,
    Mismatch,
    Payment,
    Posting,
    Submission,
    Visit,
)

show(
    Visit, "id", "enrollment", "platform", "environment", "arrived_at",
    list_filter=("platform", "environment", "enrollment__study"),
)  # fmt: skip
show(
    Posting, "id", "campaign", "number", "state", "seats", "remote_id", "made_at", "synced_at",
    list_filter=("state", "campaign"),
)  # fmt: skip
show(
    Grant, "id", "study", "annotator", "kind", "state", "tries", "problem", "requested_at",
    list_filter=("kind", "state", "study"),
)  # fmt: skip
show(JoinLink, "study")
show(Campaign, "id", "study", "number")
for model in (Submission, Payment, LinkPayment, Mismatch):  # these have pages of their own
    show(model, "id", "__str__")
