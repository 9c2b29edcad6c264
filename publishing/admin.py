from accounts.back_office import inline, show
from publishing.models import DataStatement, Deposit, Release, ReleaseFile, Withdrawal

show(
    Release, "study", "number", "state", "environment", "kept", "dropped", "incomplete", "votes",
    "requested_by", "requested_at", "published_at",
    list_filter=("state", "environment", "study"),
    inlines=(inline(Withdrawal), inline(ReleaseFile)),
)  # fmt: skip
show(DataStatement, "study", "version", "written_by", "written_at", list_filter=("study",))
show(
    Deposit, "release", "kind", "place", "state", "public", "requested_by", "requested_at", "done_at",
    list_filter=("state", "kind", "release__study"),
)  # fmt: skip
