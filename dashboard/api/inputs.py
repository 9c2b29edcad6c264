"""What the API takes: the fields of each request, and what is wrong with them before any action sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from accounts.models import Environment
from annotation.models import Story
from annotation.protocols import all_protocols
from dashboard.samples import SAMPLE_PROTOCOL
from dashboard.stories import LONGEST_PAGE, PAGE
from dashboard.study_forms import OWN_TEST, SAMPLE_TEST, TESTS
from publishing.filters import DEFAULT_FILTER, FILTERS, Outcome

MOST_ROWS = 200
"""On a page of a list whose rows are short."""


class Input(serializers.Serializer):
    """Refuses a field that it does not know: a mistyped name would be passed over in silence."""

    def to_internal_value(self, data: Any) -> Any:
        """Raises ``ValidationError`` with everything that is wrong."""
        unknown = set(data) - set(self.fields) if isinstance(data, Mapping) else set()
        if unknown:
            known = ", ".join(self.fields)
            raise serializers.ValidationError(
                {str(name): f"There is no such field. There are: {known}." for name in sorted(unknown)}
            )
        return super().to_internal_value(data)


class StudyChanges(Input):
    """Settings of a study. What can be changed, and until when: docs/researchers.md."""

    title = serializers.CharField(max_length=200, required=False)
    description = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    contact = serializers.EmailField(
        max_length=254, required=False, help_text="An e-mail address that annotators can write to."
    )
    protocol = serializers.ChoiceField(
        choices=sorted(all_protocols()), required=False, help_text="The form that people answer."
    )
    votes_per_story = serializers.IntegerField(min_value=1, max_value=99, required=False)
    story_cap = serializers.IntegerField(
        min_value=1, max_value=1_000_000, required=False, help_text="Stories per person, at most."
    )
    lease_minutes = serializers.IntegerField(
        min_value=1, max_value=10_000, required=False, help_text="How long a story is kept for a person."
    )
    change_hours = serializers.IntegerField(
        min_value=0, max_value=10_000, required=False, help_text="How long an answer can be changed."
    )
    pay_rate = serializers.DecimalField(
        max_digits=8,
        decimal_places=2,
        min_value=0,
        allow_null=True,
        required=False,
        help_text="Per hour; null: not paid.",
    )
    currency = serializers.RegexField(r"^[A-Z]{3}\Z", required=False, help_text="Like USD.")
    license = serializers.CharField(max_length=60, required=False, help_text="Of the published data.")


class NewStudy(StudyChanges):
    """A study. What is left out is as in the published procedure."""

    slug = serializers.RegexField(
        r"^[-a-zA-Z0-9_]+\Z", max_length=60, help_text="Its name in addresses; never changes."
    )
    title = serializers.CharField(max_length=200)
    contact = serializers.EmailField(
        max_length=254, help_text="An e-mail address that annotators can write to."
    )
    consent = serializers.CharField(
        trim_whitespace=False,
        help_text="What people agree to. A blank line starts a paragraph; {contact} becomes the address.",
    )
    test = serializers.ChoiceField(
        choices=[name for name, _ in TESTS],
        default=SAMPLE_TEST,
        help_text=f"What people do first: our test, a test you add afterwards ({OWN_TEST}), or nothing.",
    )

    environment = serializers.ChoiceField(
        choices=Environment.values,
        default=Environment.LIVE,
        help_text="A rehearsal is to try things out: its answers never become data. It never changes.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The sample test is a test for one protocol only."""
        if attrs["test"] == SAMPLE_TEST and attrs.get("protocol", SAMPLE_PROTOCOL) != SAMPLE_PROTOCOL:
            raise serializers.ValidationError({"test": "Our test is for another protocol. Choose another."})
        return attrs


class NewState(Input):
    """Where a study is to be."""

    state = serializers.ChoiceField(choices=["open", "paused", "closed"])


class Decision(Input):
    """What is to become of a file that was checked."""

    decision = serializers.ChoiceField(choices=["import", "cancel"])


class NewRelease(Input):
    """A release."""

    filter = serializers.ChoiceField(
        choices=sorted(FILTERS), default=DEFAULT_FILTER, help_text="By which rule stories are kept."
    )
    number = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2_147_483_647,
        help_text="The number it is to have. If there is a release of this number already, that one is "
        "returned and none is made: so a request that was not answered can be sent again.",
    )


class Upload(Input):
    """How a story file is to be taken."""

    name = serializers.CharField(
        max_length=200, required=False, help_text="What the file is called, in the report."
    )
    role = serializers.ChoiceField(
        choices=[Story.Role.MAIN.value, Story.Role.QUALIFICATION.value],
        default=Story.Role.MAIN.value,
        help_text="What the stories are for: to be judged, or for a test.",
    )
    dry_run = serializers.BooleanField(
        default=False, help_text="Only check the file; it is kept for a day for a decision."
    )


class _Page(Input):
    limit = serializers.IntegerField(
        min_value=1, max_value=MOST_ROWS, default=50, help_text="Rows of a page, at most."
    )


class StudyPage(_Page):
    """Which page of the studies."""

    after = serializers.CharField(required=False, max_length=60, help_text="From “next”.")


class NumberPage(_Page):
    """Which page of something that is numbered."""

    after = serializers.IntegerField(required=False, min_value=1, max_value=2**62, help_text="From “next”.")


class StoryPage(Input):
    """Which stories."""

    after = serializers.CharField(required=False, default="", max_length=100, help_text="From “next”.")
    scenario = serializers.CharField(required=False, default="", max_length=100)
    lint = serializers.CharField(
        required=False, default="", max_length=40, help_text="The code of a lint finding, or “any”."
    )
    verdict = serializers.ChoiceField(
        choices=[outcome.value for outcome in Outcome],
        required=False,
        default="",
        help_text="Under the all-agree filter, of the votes so far.",
    )
    limit = serializers.IntegerField(min_value=1, max_value=LONGEST_PAGE, default=PAGE)


class VotesSince(Input):
    """Which votes."""

    since = serializers.DateTimeField(
        required=False,
        help_text="Only votes submitted then or later. Ask a few minutes further back than the newest one "
        "you have: votes become visible when they are saved, not in the order of their times.",
    )
