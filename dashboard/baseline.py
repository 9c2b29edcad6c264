"""A sample of a release as a new study: what a researcher decides, and whom that leaves to answer."""

from __future__ import annotations

import enum
from collections.abc import Collection
from dataclasses import dataclass

from annotation.models import Assignment, ConsentText, Enrollment, Study
from dashboard.configuration import RoundConfiguration
from publishing.models import Release


class Who(enum.StrEnum):
    """Who may answer the questions."""

    QUALIFIED = "qualified"
    """People who are qualified in the study that was released."""
    ROUND = "round"
    """People who pass a qualification round of this study's own."""
    ANYONE = "anyone"
    """Everybody who is invited."""


class Viewers(enum.StrEnum):
    """What becomes of people who were shown the drawn stories, with both actions, in the released study."""

    AUTO = "auto"
    """Excluded if enough others remain."""
    EXCLUDE = "exclude"
    ADMIT = "admit"


@dataclass(frozen=True, slots=True)
class BaselinePlan:
    """What a researcher decides about a sample. The numbers are those of the published procedure.

    ``contact`` and ``consent`` are the released study's where they are empty. ``round`` is given
    exactly when ``who`` is ``Who.ROUND``.
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
    """Whom a plan leaves: numbers of annotators."""

    viewers: frozenset[int]
    """Were shown at least one of the drawn stories."""
    qualified: frozenset[int]
    """Are qualified in the released study."""
    excluded: frozenset[int]

    @property
    def remaining(self) -> int:
        """How many of the qualified may take part."""
        return len(self.qualified - self.excluded)


def admission_for(release: Release, plan: BaselinePlan, story_ids: Collection[str]) -> Admission:
    """Who has seen the stories, who is qualified, and who is excluded by the plan."""
    source = release.study
    seen = Assignment.objects.filter(story__study=source, story__story_id__in=story_ids)
    viewers = frozenset(seen.values_list("enrollment__annotator", flat=True))
    qualified = frozenset(
        Enrollment.objects.filter(
            study=source, state=Enrollment.State.QUALIFIED, environment=release.environment
        ).values_list("annotator", flat=True)
    )
    excludes = excludes_viewers(plan, remaining=len(qualified - viewers))
    return Admission(viewers, qualified, viewers if excludes else frozenset())


def excludes_viewers(plan: BaselinePlan, *, remaining: int) -> bool:
    """Whether people who saw the stories are kept out, if ``remaining`` qualified people have not.

    Left to us, they are, unless only people of the released study may answer and too few of them are
    left to give every question its votes.
    """
    if plan.viewers is Viewers.AUTO:
        return plan.who is not Who.QUALIFIED or remaining >= plan.votes_per_question
    return plan.viewers is Viewers.EXCLUDE


def newest_consent(study: Study) -> str:
    """The text that people of the study agree to now."""
    text = ConsentText.objects.filter(study=study).order_by("-version").first()
    return text.text if text else ""
