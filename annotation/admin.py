from accounts.back_office import inline, show
from annotation.models import (
    Answer,
    ApiToken,
    Assignment,
    ConsentText,
    Enrollment,
    Event,
    ImportProblem,
    LintFinding,
    Story,
    StoryImport,
    StoryRevision,
    Study,
    Vote,
    WorkSession,
)

show(
    Study, "slug", "title", "state", "environment", "gate", "votes_per_story", "opened_at", "closed_at",
    list_filter=("state", "environment", "protocol_name"), search_fields=("slug", "title"),
    exclude=("pseudonym_key",),
)  # fmt: skip
show(
    StoryImport, "file_name", "study", "role", "state", "rows_read", "stories_added", "stories_unchanged",
    "findings", "problems_found", "requested_by", "requested_at",
    list_filter=("state", "role", "study"), exclude=("file",),
    inlines=(inline(ImportProblem, "line", "column", "field", "message", "remedy"),),
)  # fmt: skip
show(
    Story, "story_id", "study", "role", "scenario_name", "story_generator_model", "severity_original",
    list_filter=("study", "role", "scenario_name", "story_generator_model"),
    search_fields=("story_id", "core_id"), inlines=(inline(LintFinding, "code", "field", "message"),),
)  # fmt: skip
show(StoryRevision, "before", "after", "reason", "by", "at", list_filter=("before__study",))
show(ConsentText, "study", "version", "created_at")
show(LintFinding, "story", "code", "field", "message", list_filter=("code", "story__study"))
show(
    Enrollment, "id", "study", "annotator", "state", "environment", "stories_submitted", "state_changed_at",
    list_filter=("study", "state", "environment"), search_fields=("pseudonym",),
)  # fmt: skip
show(
    Assignment, "id", "story", "enrollment", "slot", "state", "served_at", "lease_expires_at",
    list_filter=("state", "story__study"), search_fields=("story__story_id",),
)  # fmt: skip
show(
    Vote, "id", "assignment", "revision", "submitted_at", "environment", "surplus_reason",
    list_filter=("surplus_reason", "environment", "assignment__story__study"),
    search_fields=("assignment__story__story_id",),
    inlines=(inline(Answer, "question", "row", "option", "counts_against"),),
)  # fmt: skip
show(
    WorkSession, "id", "enrollment", "state", "story_limit", "stories_submitted", "opened_at", "expires_at",
    list_filter=("state", "counts_unconfirmed", "framed", "enrollment__study"),
)  # fmt: skip
show(
    ApiToken, "id", "owner", "name", "study", "made_at", "expires_at", "last_used_at", "revoked_at",
    list_filter=("study",), exclude=("digest",),
)  # fmt: skip
show(Event, "at", "study", "type", "actor", "enrollment", "subject", "note", list_filter=("type", "study"))
