"""Hidden checks: accepted options for stories with known answers, and the graded results."""

import pgtrigger
from django.db import models
from django.db.models import Count, Exists, F, OuterRef, Q
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from accounts.models import researcher
from accounts.schema import after, before, check, final, fixed, refuse_if, stays, unique
from annotation.models.enrollments import Enrollment
from annotation.models.stories import Story
from annotation.models.votes import ChosenOption, Vote

_OF_ITS_STORY = refuse_if(
    """NOT EXISTS (
        SELECT FROM annotation_checkkey k
        JOIN annotation_assignment a ON a.story_id = k.story_id
        JOIN annotation_vote v ON v.assignment_id = a.id
        WHERE k.id = NEW.key_id AND v.id = NEW.vote_id)""",
    "a check is graded by the key of its own story",
)
_NOBODY_GRADED = refuse_if(
    "EXISTS (SELECT FROM annotation_checkresult r WHERE r.key_id = NEW.key_id)",
    "pgtrigger: Cannot add to a key by which somebody has been graded",
)
_GRADED_STAYS = refuse_if(
    "EXISTS (SELECT FROM annotation_checkresult r WHERE r.key_id = NEW.id)",
    "pgtrigger: somebody has been graded by this key",
)


class CheckKey(models.Model):
    """The answer key of a hidden check, in versions. It never leaves the server.

    It can be replaced until somebody has answered the check. After that the check can only be left out:
    then nobody gets it, and its results count against nobody.
    """

    class State(models.TextChoices):
        IN_USE = "in_use", _("in use")
        LEFT_OUT = "left_out", _("left out")
        REPLACED = "replaced", _("replaced")

    story = models.ForeignKey(Story, on_delete=models.PROTECT, related_name="check_keys", db_index=False)
    version = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=10, choices=State, default=State.IN_USE)
    created_by = researcher()
    created_at = models.DateTimeField()

    class Meta:
        ordering = ("story", "version")
        constraints = [
            unique("one_check_key_per_version", ["story", "version"]),
            unique("one_check_key_stands_per_story", ["story"], ~Q(state="replaced")),
            check("check_key_has_a_known_state", Q(state__in=["in_use", "left_out", "replaced"])),
        ]
        triggers = [
            stays("check_key_stays"),
            fixed("check_key_is_final", ["story", "version"]),
            before(
                "answered_check_key_is_not_replaced",
                pgtrigger.UpdateOf("state"),
                _GRADED_STAYS,
                condition=pgtrigger.Q(new__state="replaced"),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.story} key {self.version}"

    @cached_property
    def accepted(self) -> dict[str, list[str]]:
        """Return the accepted options by form field. To read those of many keys, prefetch ``options``."""
        found: dict[str, list[str]] = {}
        for option in self.options.all():
            found.setdefault(option.choice.field, []).append(option.option)
        return found


class CheckOption(ChosenOption):
    """An option that a key accepts for a question."""

    key = models.ForeignKey(CheckKey, on_delete=models.PROTECT, related_name="options", db_index=False)

    class Meta:
        ordering = ("key", "question", "row", "option")
        constraints = [unique("a_check_option_is_accepted_once", ["key", "question", "row", "option"])]
        triggers = [
            final("check_option_is_final"),
            before("graded_check_key_does_not_grow", pgtrigger.Insert, _NOBODY_GRADED),
        ]


class CheckResultQuerySet(models.QuerySet["CheckResult"]):
    def newest(self) -> "CheckResultQuerySet":
        """Filter results of the newest revision of each vote."""
        newer = Vote.objects.filter(
            assignment=OuterRef("vote__assignment"), revision__gt=OuterRef("vote__revision")
        )
        return self.filter(~Exists(newer))

    def current(self) -> "CheckResultQuerySet":
        """Filter results of the newest revision of each vote, by keys in use."""
        return self.newest().filter(key__state=CheckKey.State.IN_USE)

    def of_person(self, enrollment: Enrollment) -> "CheckResultQuerySet":
        """Filter the annotator's results that count now: those since their last reinstatement.

        Leave out results of visits whose annotator's identity is only claimed.
        """
        theirs = Q(vote__assignment__session=None) | Q(vote__assignment__session__identity_claimed=False)
        return self.current().filter(
            theirs,
            vote__assignment__enrollment=enrollment,
            vote__assignment__order_position__gt=F("vote__assignment__enrollment__checks_from"),
        )

    def counts(self) -> tuple[int, int]:
        """Return the numbers of all results and of failed ones."""
        found = self.aggregate(answered=Count("pk"), failed=Count("pk", filter=Q(passed=False)))
        return found["answered"], found["failed"]


class CheckResult(models.Model):
    """The graded result of a vote on a check, stored with the vote."""

    vote = models.OneToOneField(Vote, on_delete=models.PROTECT, related_name="check_result", primary_key=True)
    key = models.ForeignKey(CheckKey, on_delete=models.PROTECT, related_name="results")
    passed = models.BooleanField()

    objects = CheckResultQuerySet.as_manager()

    class Meta:
        triggers = [
            final("check_result_is_final"),
            after("check_is_graded_by_its_key", pgtrigger.Insert, _OF_ITS_STORY),
        ]

    def __str__(self) -> str:
        return f"vote {self.vote_id}: {'passed' if self.passed else 'failed'}"
