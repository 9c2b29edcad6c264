"""Response bodies: the fields of each object, named as elsewhere in tomannot."""

from typing import Any

from django.urls import reverse
from rest_framework import serializers

from annotation.actions import blockers
from annotation.models import ApiToken, ImportProblem, Story, StoryImport, Study
from dashboard.stories.queries import ListedStory
from publishing.filters import Outcome
from publishing.models import Release
from publishing.views import ARCHIVES


def _page_of(
    row: type[serializers.Serializer], name: str, says: str, next_says: str | None = None
) -> type[serializers.Serializer]:
    fields = {"results": row(many=True), "next": serializers.CharField(allow_null=True, help_text=next_says)}
    return type(name, (serializers.Serializer,), {"__doc__": says, **fields})


class FieldError(serializers.Serializer):
    """One error and its field."""

    field = serializers.CharField(help_text="The field of the request or of a row; may be empty.")
    detail = serializers.CharField()


class Problem(serializers.Serializer):
    """A refusal (RFC 9457, application/problem+json)."""

    type = serializers.CharField()
    title = serializers.CharField(help_text="The status in words.")
    status = serializers.IntegerField()
    code = serializers.CharField(help_text="The kind of error, for programs.")
    detail = serializers.CharField(help_text="The error and how to fix it, for people.")
    errors = FieldError(many=True, required=False, help_text="All errors in the request.")


class TokenOut(serializers.ModelSerializer):
    """The token of the request."""

    owner = serializers.CharField(source="owner.username")
    study = serializers.CharField(
        source="study.slug", default=None, allow_null=True, help_text="The only study it gives access to."
    )
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=ApiToken.Scope.values))

    class Meta:
        model = ApiToken
        fields = ("name", "owner", "study", "scopes", "made_at", "expires_at")


class StudyOut(serializers.ModelSerializer):
    """A study and its settings."""

    protocol = serializers.CharField(source="protocol_name")
    qualification = serializers.ChoiceField(
        source="gate", choices=Study.Gate.choices, help_text="Whether annotators take a test first."
    )

    class Meta:
        model = Study
        fields = (
            "slug", "title", "description", "contact", "protocol", "protocol_version", "state",
            "environment", "votes_per_story", "most_votes", "decided_by", "story_cap", "lease_minutes",
            "change_hours", "skip_allowance", "serving_order", "option_order", "pay_rate", "currency",
            "license", "incomplete_after", "story_language", "intake_questions", "intake_group",
            "qualification", "consent_version", "created_at", "opened_at", "closed_at",
        )  # fmt: skip


class StudyWithBlockers(StudyOut):
    """A study, and the reasons why it cannot open yet."""

    blockers = serializers.SerializerMethodField(help_text="What a draft still lacks, as sentences.")

    class Meta:
        model = Study
        fields = (*StudyOut.Meta.fields, "blockers")

    def get_blockers(self, study: Study) -> list[str]:
        return blockers(study) if study.state == Study.State.DRAFT else []


StudiesOut = _page_of(StudyOut, "StudiesOut", "A page of studies.", "The address of the next page.")


class ImportOut(serializers.ModelSerializer):
    """An import or a check of a file. While it is queued or running, ask again a little later."""

    number = serializers.IntegerField(source="pk")
    findings_by_code = serializers.JSONField(
        help_text="Per kind of lint warning, its “count” and “examples”."
    )

    class Meta:
        model = StoryImport
        fields = (
            "number", "state", "role", "dry_run", "file_name", "sha256", "rows_read", "stories_added",
            "stories_unchanged", "findings", "findings_by_code", "problems_found", "requested_at",
            "finished_at",
        )  # fmt: skip


ImportsOut = _page_of(ImportOut, "ImportsOut", "A page of imports, newest first.")


class ImportProblemOut(serializers.ModelSerializer):
    """One reason why a file was refused, and how to fix it."""

    number = serializers.IntegerField(source="pk")

    class Meta:
        model = ImportProblem
        fields = ("number", "line", "column", "field", "message", "remedy")


ImportProblemsOut = _page_of(
    ImportProblemOut, "ImportProblemsOut", "A page of a file's problems, in file order."
)


class StoryOut(serializers.ModelSerializer):
    """A main story with its verdict so far."""

    votes = serializers.IntegerField(help_text="Counted votes.")
    verdict = serializers.ChoiceField(
        choices=[outcome.value for outcome in Outcome], help_text="By the all-agree filter."
    )
    reason = serializers.CharField(help_text="The questions that dropped it, or the number of votes.")
    findings = serializers.IntegerField(help_text="Number of lint warnings.")
    content = serializers.DictField(help_text="The story's texts, by the fields of its protocol.")

    class Meta:
        model = Story
        fields = (
            "story_id", "core_id", "scenario_name", "story_prompt_example", "severity_original",
            "story_generator_model", "content", "content_hash", "votes", "verdict", "reason", "findings",
        )  # fmt: skip

    def to_representation(self, row: ListedStory) -> Any:
        verdict = {"verdict": row.verdict.outcome, "reason": row.verdict.reason}
        listed = verdict | {"votes": row.votes, "findings": len(row.codes)}
        story = {name: getattr(row.story, name) for name in self.Meta.fields if name not in listed}
        return super().to_representation(story | listed)


StoriesOut = _page_of(
    StoryOut,
    "StoriesOut",
    "A page of stories, by id. A filtered page may be short, or empty, and still have a next one.",
)


class Verdicts(serializers.Serializer):
    """Verdicts of the all-agree filter."""

    stories = serializers.IntegerField()
    kept = serializers.IntegerField()
    dropped = serializers.IntegerField()
    incomplete = serializers.IntegerField()
    dropped_by_question = serializers.DictField(child=serializers.IntegerField())


class VoteCounts(serializers.Serializer):
    """Votes on main stories, without answers to hidden checks."""

    counted = serializers.IntegerField()
    wanted = serializers.IntegerField()
    surplus = serializers.IntegerField(
        help_text="Never count: they came too late, or their slot was filled while they were excluded."
    )
    excluded = serializers.IntegerField(
        help_text="Excluded by a researcher. They may count again while their slot is free."
    )


class Finish(serializers.Serializer):
    """Forecast of the last vote, with a 90 % interval; null: unknown."""

    finish = serializers.DateTimeField(allow_null=True)
    earliest = serializers.DateTimeField(allow_null=True)
    latest = serializers.DateTimeField(allow_null=True)
    per_day = serializers.FloatField(allow_null=True)
    none = serializers.CharField(allow_null=True, help_text="The reason why there is no forecast.")


class Cost(serializers.Serializer):
    """Cost of the votes at the study's pay rate."""

    so_far = serializers.DecimalField(max_digits=14, decimal_places=2, allow_null=True)
    whole = serializers.DecimalField(max_digits=14, decimal_places=2, allow_null=True)
    low = serializers.DecimalField(max_digits=14, decimal_places=2, allow_null=True)
    high = serializers.DecimalField(max_digits=14, decimal_places=2, allow_null=True)


class People(serializers.Serializer):
    """Numbers of annotators at each step from the invitation to the first vote."""

    invited = serializers.IntegerField()
    came = serializers.IntegerField()
    agreed = serializers.IntegerField()
    began_test = serializers.IntegerField()
    handed_in_test = serializers.IntegerField()
    passed_test = serializers.IntegerField()
    active = serializers.IntegerField(help_text="Have answered a story.")


class FiguresState(serializers.Serializer):
    """The time of figures that a worker computes, and whether newer ones are under way."""

    made_at = serializers.DateTimeField(allow_null=True, help_text="null: there are none yet.")
    underway = serializers.BooleanField()


class Progress(FiguresState):
    """The progress of a study. ``state``, ``people``, ``answers_in_the_last_hour`` and ``stories_held`` are
    current, the rest is as of ``made_at``.
    """

    state = serializers.ChoiceField(choices=Study.State.choices)
    people = People()
    answers_in_the_last_hour = serializers.IntegerField(
        help_text="Votes on main stories, counted or not, without answers to hidden checks."
    )
    stories_held = serializers.IntegerField(help_text="Active leases.")
    verdicts = Verdicts(allow_null=True)
    votes = VoteCounts(allow_null=True)
    finish = Finish(allow_null=True)
    cost = Cost(allow_null=True)


class Statistics(FiguresState):
    """Figures over all votes. ``statistics`` is as in a release's statistics.json (docs/releases.md)."""

    verdicts = Verdicts()
    statistics = serializers.JSONField(help_text="Stories and agreement, by scenario and by generator model.")
    filters = serializers.JSONField(help_text="The result of each filter.")
    lint = serializers.DictField(
        child=serializers.IntegerField(), help_text="Stories per kind of lint warning."
    )


class Counts(serializers.Serializer):
    """The contents of a release in numbers."""

    stories = serializers.IntegerField()
    kept = serializers.IntegerField()
    dropped = serializers.IntegerField()
    incomplete = serializers.IntegerField()
    votes = serializers.IntegerField()
    annotators = serializers.IntegerField()


class WithdrawalOut(serializers.Serializer):
    """The withdrawal of a release, with its reason. The files stay."""

    withdrawn_at = serializers.DateTimeField()
    reason = serializers.CharField()


class _Address(serializers.CharField):
    def to_representation(self, path: str) -> str:
        return str(self.context["request"].build_absolute_uri(path))


class _PageField(_Address):
    def get_attribute(self, release: Release) -> str | None:
        return release.url if release.state == Release.State.PUBLISHED else None


class _ArchivesField(serializers.DictField):
    def get_attribute(self, release: Release) -> dict[str, str]:
        kinds = ARCHIVES if release.state == Release.State.PUBLISHED else ()
        key = (release.study.slug, release.number)
        return {kind: reverse("publishing:archive", args=[*key, kind]) for kind in kinds}


class ReleaseFileOut(serializers.Serializer):
    """A file of a release. It is public: no token is needed."""

    path = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes.")
    sha256 = serializers.CharField()
    url = _Address()


class ReleaseOut(serializers.Serializer):
    """A release. While it is requested or building, ask again a little later."""

    number = serializers.IntegerField()
    state = serializers.ChoiceField(choices=Release.State.choices)
    filter = serializers.CharField(source="filter_name")
    votes_per_story = serializers.IntegerField()
    most_votes = serializers.IntegerField(
        allow_null=True, help_text="Null: every story gets the same number."
    )
    requested_at = serializers.DateTimeField()
    published_at = serializers.DateTimeField(allow_null=True)
    failure = serializers.CharField(help_text="The reason for a failure, and what to do about it.")
    manifest_sha256 = serializers.CharField(help_text="Hash of MANIFEST, which holds the hash of each file.")
    counts = Counts(source="*")
    withdrawal = WithdrawalOut(source="withdrawn", allow_null=True)
    page = _PageField(allow_null=True, help_text="The public page; null until it is published.")
    archives = _ArchivesField(child=_Address(), help_text="Public archives of all files: “tar” and “zip”.")


class ReleaseWithFiles(ReleaseOut):
    """A release and its files."""

    files = ReleaseFileOut(many=True)


ReleasesOut = _page_of(ReleaseOut, "ReleasesOut", "A page of releases, newest first.")
