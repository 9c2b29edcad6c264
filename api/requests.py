"""Request bodies and query strings: their fields and validation, before any action is called."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework import serializers

from accounts.models import Environment
from annotation.models import Story, Study
from annotation.protocols import all_protocols
from dashboard.settings.forms import OWN_TEST, SAMPLE_TEST, TESTS, SettingsForm
from dashboard.settings.sample_study import SAMPLE_PROTOCOL
from dashboard.stories.queries import LONGEST_PAGE, PAGE
from publishing.filters import FILTER_NAMES, Outcome

MOST_ROWS = 200
"""The largest page of a list whose rows are short."""


class Input(serializers.Serializer):
    """Refuse unknown fields: otherwise a mistyped name would be ignored silently."""

    def to_internal_value(self, data: Any) -> Any:
        unknown = set(data) - set(self.fields) if isinstance(data, Mapping) else set()
        if unknown:
            known = ", ".join(self.fields)
            raise serializers.ValidationError(
                {str(name): f"Unknown field. Known fields: {known}." for name in sorted(unknown)}
            )
        return super().to_internal_value(data)


class StudyChanges(Input, serializers.ModelSerializer):
    """Settings of a study. docs/researchers.md says until when each can change."""

    protocol = serializers.ChoiceField(
        choices=sorted(all_protocols()), required=False, help_text="The form that annotators answer."
    )

    class Meta:
        model = Study
        fields: ClassVar[Any] = SettingsForm.Meta.fields
        extra_kwargs: ClassVar[Any] = {
            "title": {"required": False},
            "contact": {"required": False},
            "description": {"trim_whitespace": False},
        }


class NewStudy(StudyChanges):
    """A new study. Omitted settings are those of the published procedure."""

    slug = serializers.RegexField(
        r"^[-a-zA-Z0-9_]+\Z", max_length=60, help_text="The study's name in addresses; it never changes."
    )
    consent = serializers.CharField(
        trim_whitespace=False,
        help_text="The consent text. A blank line starts a paragraph; {contact} becomes the address.",
    )
    test = serializers.ChoiceField(
        choices=[name for name, _ in TESTS],
        default=SAMPLE_TEST,
        help_text=f"The qualification test: the sample test, one that you add later ({OWN_TEST}), or none.",
    )
    environment = serializers.ChoiceField(
        choices=Environment.choices,
        default=Environment.LIVE,
        help_text="“rehearsal” is a test run: its answers never become data. It never changes.",
    )

    class Meta(StudyChanges.Meta):
        fields = (*StudyChanges.Meta.fields, "slug", "consent", "test", "environment")
        extra_kwargs: ClassVar[Any] = {"description": {"trim_whitespace": False}}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["test"] == SAMPLE_TEST and attrs.get("protocol", SAMPLE_PROTOCOL) != SAMPLE_PROTOCOL:
            raise serializers.ValidationError({"test": "The sample test needs another protocol."})
        return attrs


class NewState(Input):
    """The state that a study should have."""

    state = serializers.ChoiceField(choices=["open", "paused", "closed"])
    campaigns = serializers.ListField(
        child=serializers.IntegerField(min_value=1),
        required=False,
        help_text="Numbers of the campaigns that pause or resume with it. Without it: all that offer work "
        "pause, and those that were paused with the study resume.",
    )
    accepted = serializers.ListField(
        child=serializers.ChoiceField(choices=["consent_edited", "pay", "mail"]),
        default=list,
        help_text="Gaps of the checklist with which a real study may open; the refusal names them.",
    )


class Decision(Input):
    """Import or drop a checked file."""

    decision = serializers.ChoiceField(choices=["import", "cancel"])


class NewRelease(Input):
    """A new release."""

    filter = serializers.ChoiceField(
        choices=FILTER_NAMES,
        required=False,
        help_text="The rule that keeps stories; without it “all-agree”, or “every-item” for ratings.",
    )
    number = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2_147_483_647,
        help_text="The number of the release. If it exists already, it is returned and none is made, so "
        "that a request without a response can be repeated.",
    )


class Upload(Input):
    """Options of an import."""

    name = serializers.CharField(max_length=200, required=False, help_text="The file's name in the report.")
    role = serializers.ChoiceField(
        choices=[Story.Role.MAIN.value, Story.Role.QUALIFICATION.value, Story.Role.QUIZ.value],
        default=Story.Role.MAIN.value,
        help_text="The stories' purpose: main stories, or stories for a test.",
    )
    dry_run = serializers.BooleanField(
        default=False, help_text="Only check the file; it is kept for a day until you decide."
    )


class _Page(Input):
    limit = serializers.IntegerField(
        min_value=1, max_value=MOST_ROWS, default=50, help_text="Most rows per page."
    )


class StudyPage(_Page):
    """A page of studies."""

    after = serializers.CharField(required=False, max_length=60, help_text="From “next”.")


class NumberPage(_Page):
    """A page of a numbered list."""

    after = serializers.IntegerField(required=False, min_value=1, max_value=2**62, help_text="From “next”.")


class StoryPage(Input):
    """A filtered page of stories."""

    after = serializers.CharField(required=False, default="", max_length=100, help_text="From “next”.")
    scenario = serializers.CharField(required=False, default="", max_length=100)
    lint = serializers.CharField(
        required=False, default="", max_length=40, help_text="The code of a lint warning, or “any”."
    )
    verdict = serializers.ChoiceField(
        choices=[outcome.value for outcome in Outcome],
        required=False,
        default="",
        help_text="The verdict of the all-agree filter on the votes so far.",
    )
    limit = serializers.IntegerField(min_value=1, max_value=LONGEST_PAGE, default=PAGE)


class VotesSince(Input):
    """The votes to export."""

    since = serializers.DateTimeField(
        required=False,
        help_text="Only votes submitted then or later. Go back a few minutes before the newest one that you "
        "have: votes become visible when they are saved, not in the order of their times.",
    )
