from accounts.back_office import show
from recruitment import models

show(
    models.Visit, "id", "enrollment", "platform", "environment", "arrived_at",
    list_filter=("platform", "environment", "enrollment__study"),
)  # fmt: skip
show(
    models.Posting, "id", "campaign", "number", "state", "seats", "remote_id", "made_at", "synced_at",
    list_filter=("state", "campaign"),
)  # fmt: skip
show(
    models.Grant, "id", "study", "annotator", "kind", "state", "tries", "problem", "requested_at",
    list_filter=("kind", "state", "study"),
)  # fmt: skip
show(models.JoinLink, "study")
show(models.Campaign, "id", "study", "number")
for model in (
    models.Submission,
    models.Payment,
    models.LinkPayment,
    models.Mismatch,
):  # these have pages of their own
    show(model, "id", "__str__")
