"""Plan a human baseline: a study that asks a sample of a release's questions, and who may answer."""

import enum
from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy

from annotation.models import Assignment, ConsentText, Enrollment, Study
from dashboard.settings.configuration import RoundConfiguration
from publishing.models import Release


class Who(enum.StrEnum):
    """The groups of people who may answer the questions."""

    QUALIFIED = "qualified"
    """People who are qualified in the released study."""
    ROUND = "round"
    """People who pass a qualification round of the baseline study."""
    ANYONE = "anyone"
    """Everybody who is invited."""


class Viewers(TextChoices):
    """The treatment of people who saw the drawn stories, with both actions, in the released study."""

    AUTO = "auto", gettext_lazy("Exclude them if enough others remain")
    EXCLUDE = "exclude", gettext_lazy("Exclude them")
    ADMIT = "admit", gettext_lazy("They may take part")


@dataclass(frozen=True, slots=True)
class BaselinePlan:
    """The settings of a human baseline. The default numbers are those of the published procedure.

    Empty ``contact`` and ``consent`` mean the released study's. ``round`` is given exactly when ``who`` is
    ``Who.ROUND``.
    """

    slug: str
    title: str
    seed: int
    per_scenario: int = 5
    votes_per_question: int = 3
    who: Who = Who.QUALIFIED
    viewers: Viewers = Viewers.AUTO
    contact: str = ""
    consent: str = ""
    round: RoundConfiguration | None = None

    def __post_init__(self) -> None:
        if (self.round is not None) != (self.who is Who.ROUND):
            raise ValueError("A qualification round is given exactly when people are to pass one.")


@dataclass(frozen=True, slots=True)
class Admission:
    """The annotators whom a plan admits and excludes, by id."""

    viewers: frozenset[int]
    """Were shown at least one of the drawn stories."""
    qualified: frozenset[int]
    """Are qualified in the released study."""
    excluded: frozenset[int]

    @property
    def remaining(self) -> int:
        """Return how many qualified people may take part."""
        return len(self.qualified - self.excluded)


def admission_for(release: Release, plan: BaselinePlan, story_ids: Collection[str]) -> Admission:
    """Return who has seen the stories, who is qualified, and whom the plan excludes."""
    source = release.study
    seen = Assignment.objects.filter(story__study=source, story__story_id__in=story_ids)
    viewers = frozenset(seen.values_list("enrollment__annotator", flat=True))
    qualified = frozenset(
        Enrollment.objects.filter(
            study=source, state=Enrollment.State.QUALIFIED, environment=release.environment
        ).values_list("annotator", flat=True)
    )
    excludes = plan.viewers is Viewers.EXCLUDE
    if plan.viewers is Viewers.AUTO:  # unless too few of the only people who may answer would remain
        remaining = len(qualified - viewers)
        excludes = plan.who is not Who.QUALIFIED or remaining >= plan.votes_per_question
    return Admission(viewers, qualified, viewers if excludes else frozenset())


def newest_consent(study: Study) -> str:
    """Return the study's newest consent text; empty if it has none."""
    text = ConsentText.objects.filter(study=study).order_by("-version").first()
    return text.text if text else ""
