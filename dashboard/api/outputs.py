"""What the API answers: the fields of each thing, by the names that the rest of tomannot has for them."""

from __future__ import annotations

from rest_framework import serializers

from annotation.actions import blockers
from annotation.models import ApiToken, ImportProblem, Story, StoryImport, Study
from publishing.filters import Outcome
from publishing.models import Release


class FieldError(serializers.Serializer):
    """Where something is wrong, and what."""

    field = serializers.CharField(help_text="The field of the request or of a row; may be empty.")
    detail = serializers.CharField()


class Problem(serializers.Serializer):
    """A refusal (RFC 9457, application/problem+json)."""

    type = serializers.CharField()
    title = serializers.CharField(help_text="The status in words.")
    status = serializers.IntegerField()
    code = serializers.CharField(help_text="What is wrong, for programs.")
    detail = serializers.CharField(help_text="What is wrong and how to mend it, for people.")
    errors = FieldError(many=True, required=False, help_text="Everything that is wrong with the request.")


class TokenOut(serializers.ModelSerializer):
    """What the token in the request is for."""

    owner = serializers.CharField(source="owner.username")
    study = serializers.CharField(
        source="study.slug", default=None, allow_null=True, help_text="The only study it opens."
    )
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=ApiToken.Scope.values))

    class Meta:
        model = ApiToken
        fields = ("name", "owner", "study", "scopes", "made_at", "expires_at")


class StudyOut(serializers.ModelSerializer):
    """A study and its settings."""

    protocol = serializers.CharField(source="protocol_name")
    qualification = serializers.ChoiceField(
        source="gate", choices=Study.Gate.choices, help_text="Whether people pass a test first."
    )

    class Meta:
        model = Study
        fields = (
            "slug", "title", "description", "contact", "protocol", "protocol_version", "state",
            "environment", "votes_per_story", "story_cap", "lease_minutes", "change_hours", "pay_rate",
            "currency", "license", "qualification", "consent_version", "created_at", "opened_at", "closed_at",
        )  # fmt: skip


class StudyWithBlockers(StudyOut):
    """A study, and what keeps it from opening."""

    blockers = serializers.SerializerMethodField(help_text="What a draft still lacks, as sentences.")

    class Meta:
        model = Study
        fields = (*StudyOut.Meta.fields, "blockers")

    def get_blockers(self, study: Study) -> list[str]:
        """Empty for one that can open, or has been opened."""
        return blockers(study) if study.state == Study.State.DRAFT else []


class StudiesOut(serializers.Serializer):
    """A page of studies."""

    results = StudyOut(many=True)
    next = serializers.CharField(allow_null=True, help_text="The address of the next page.")


class ImportOut(serializers.ModelSerializer):
    """A file brought in, or tried. While it is queued or running, ask again a little later."""

    number = serializers.IntegerField(source="pk")
    findings_by_code = serializers.JSONField(
        help_text="Per kind of lint warning: “count”, and “examples” of it."
    )

    class Meta:
        model = StoryImport
        fields = (
            "number", "state", "role", "dry_run", "file_name", "sha256", "rows_read", "stories_added",
            "stories_unchanged", "findings", "findings_by_code", "problems_found", "requested_at",
            "finished_at",
        )  # fmt: skip


class ImportsOut(serializers.Serializer):
    """A page of imports, the newest first."""

    results = ImportOut(many=True)
    next = serializers.CharField(allow_null=True)


class ImportProblemOut(serializers.ModelSerializer):
    """One reason why a file was refused, and how to mend it."""

    number = serializers.IntegerField(source="pk")

    class Meta:
        model = ImportProblem
        fields = ("number", "line", "column", "field", "message", "remedy")


class ImportProblemsOut(serializers.Serializer):
    """A page of what is wrong with a file, in its order."""

    results = ImportProblemOut(many=True)
    next = serializers.CharField(allow_null=True)


class StoryOut(serializers.ModelSerializer):
    """A main story with what has become of it so far."""

    votes = serializers.IntegerField(help_text="Counted ones.")
    verdict = serializers.ChoiceField(
        choices=[outcome.value for outcome in Outcome], help_text="Of the all-agree filter."
    )
    reason = serializers.CharField(help_text="The questions that dropped it, or how many votes there are.")
    findings = serializers.IntegerField(help_text="Warnings of the lint.")

    class Meta:
        model = Story
        fields = (
            "story_id", "core_id", "scenario_name", "story_prompt_example", "severity_original",
            "story_generator_model", "content_hash", "votes", "verdict", "reason", "findings",
        )  # fmt: skip


class StoriesOut(serializers.Serializer):
    """A page of stories, by id. With a filter a page may be short, or empty, and still have a next one."""

    results = StoryOut(many=True)
    next = serializers.CharField(allow_null=True)


class Verdicts(serializers.Serializer):
    """How the stories fare under the all-agree filter."""

    stories = serializers.IntegerField()
    kept = serializers.IntegerField()
    dropped = serializers.IntegerField()
    incomplete = serializers.IntegerField()
    dropped_by_question = serializers.DictField(child=serializers.IntegerField())


class VoteCounts(serializers.Serializer):
    """Votes on main stories; those to hidden checks are in none of these."""

    counted = serializers.IntegerField()
    wanted = serializers.IntegerField()
    surplus = serializers.IntegerField(
        help_text="That never count: they came too late, or their slot was filled while they were excluded."
    )
    excluded = serializers.IntegerField(
        help_text="That a colleague took out. They may count again while their slot is free."
    )


class Finish(serializers.Serializer):
    """When the last vote comes, with the range of nine tenths of the draws; null: not known."""

    finish = serializers.DateTimeField(allow_null=True)
    earliest = serializers.DateTimeField(allow_null=True)
    latest = serializers.DateTimeField(allow_null=True)
    per_day = serializers.FloatField(allow_null=True)
    none = serializers.CharField(allow_null=True, help_text="Why nothing can be said.")


class Cost(serializers.Serializer):
    """What the votes come to at the study's pay rate."""

    so_far = serializers.DecimalField(max_digits=14, decimal_places=2, allow_null=True)
    whole = serializers.DecimalField(max_digits=14, decimal_places=2, allow_null=True)
    low = serializers.DecimalField(max_digits=14, decimal_places=2, allow_null=True)
    high = serializers.DecimalField(max_digits=14, decimal_places=2, allow_null=True)


class People(serializers.Serializer):
    """From invitation to the first vote: how many people came how far."""

    invited = serializers.IntegerField()
    came = serializers.IntegerField()
    agreed = serializers.IntegerField()
    began_test = serializers.IntegerField()
    handed_in_test = serializers.IntegerField()
    passed_test = serializers.IntegerField()
    active = serializers.IntegerField(help_text="Answered a story.")


class FiguresState(serializers.Serializer):
    """Of when figures are that a worker works out, and whether newer ones are being made."""

    made_at = serializers.DateTimeField(allow_null=True, help_text="null: there are none yet.")
    underway = serializers.BooleanField()


class Progress(FiguresState):
    """How a study stands. ``people`` and what follows is of now, the rest of ``made_at``."""

    state = serializers.ChoiceField(choices=Study.State.choices)
    people = People()
    answers_in_the_last_hour = serializers.IntegerField(
        help_text="Votes on main stories, counted or not; without answers to hidden checks."
    )
    stories_held = serializers.IntegerField(help_text="That people have open now.")
    verdicts = Verdicts(allow_null=True)
    votes = VoteCounts(allow_null=True)
    finish = Finish(allow_null=True)
    cost = Cost(allow_null=True)


class Statistics(FiguresState):
    """The figures over all votes. ``statistics`` is as in a release's statistics.json (docs/releases.md)."""

    verdicts = Verdicts()
    statistics = serializers.JSONField(help_text="Stories and agreement; by scenario and by generator model.")
    filters = serializers.JSONField(help_text="What each filter would keep.")
    lint = serializers.DictField(
        child=serializers.IntegerField(), help_text="Stories with each kind of warning."
    )


class Counts(serializers.Serializer):
    """What is in a release."""

    stories = serializers.IntegerField()
    kept = serializers.IntegerField()
    dropped = serializers.IntegerField()
    incomplete = serializers.IntegerField()
    votes = serializers.IntegerField()
    annotators = serializers.IntegerField()


class WithdrawalOut(serializers.Serializer):
    """That a release is not to be used any more, and why. Its files stay."""

    withdrawn_at = serializers.DateTimeField()
    reason = serializers.CharField()


class ReleaseFileOut(serializers.Serializer):
    """A file of a release. Anybody may fetch it, without a token."""

    path = serializers.CharField()
    size = serializers.IntegerField(help_text="Bytes.")
    sha256 = serializers.CharField()
    url = serializers.CharField()


class ReleaseOut(serializers.Serializer):
    """A release. While it is requested or building, ask again a little later."""

    number = serializers.IntegerField()
    state = serializers.ChoiceField(choices=Release.State.choices)
    filter = serializers.CharField(source="filter_name")
    votes_per_story = serializers.IntegerField()
    requested_at = serializers.DateTimeField()
    published_at = serializers.DateTimeField(allow_null=True)
    failure = serializers.CharField(help_text="Why it failed, and what to do about it.")
    manifest_sha256 = serializers.CharField(help_text="Of MANIFEST, which has the hash of each file.")
    counts = Counts()
    withdrawal = WithdrawalOut(allow_null=True)
    page = serializers.CharField(allow_null=True, help_text="Its public page; null until it is published.")
    archives = serializers.DictField(
        child=serializers.CharField(), help_text="All files in one: “tar” and “zip”, for anybody."
    )


class ReleaseWithFiles(ReleaseOut):
    """A release and its files."""

    files = ReleaseFileOut(many=True)


class ReleasesOut(serializers.Serializer):
    """A page of releases, the newest first."""

    results = ReleaseOut(many=True)
    next = serializers.CharField(allow_null=True)
