"""Studies, stories, and the votes people give. Fields, constraints and queries; no workflow.

Writes happen in ``annotation.actions``. Rows are locked in one order everywhere: enrollment, then
assignment or story (a claim takes the story before its own assignment, which only the holder of the
enrollment's lock ever revives; the sweep over expired leases never waits). See docs/adr/0003.
"""

from annotation.models.api_tokens import ApiToken
from annotation.models.checks import CheckKey, CheckOption, CheckResult
from annotation.models.events import Event
from annotation.models.members import Invitation, Membership
from annotation.models.people import Enrollment, Exclusion
from annotation.models.reviews import Adjudication, ReviewItem, ReviewSample, SpotCheck, VoteExclusion
from annotation.models.sessions import WorkSession
from annotation.models.stories import ImportProblem, LintFinding, Story, StoryImport
from annotation.models.studies import ConsentText, Study
from annotation.models.votes import LIVING, UNANSWERED, Answer, Assignment, SurplusReason, Vote

__all__ = [
    "LIVING",
    "UNANSWERED",
    "Adjudication",
    "Answer",
    "ApiToken",
    "Assignment",
    "CheckKey",
    "CheckOption",
    "CheckResult",
    "ConsentText",
    "Enrollment",
    "Event",
    "Exclusion",
    "ImportProblem",
    "Invitation",
    "LintFinding",
    "Membership",
    "ReviewItem",
    "ReviewSample",
    "SpotCheck",
    "Story",
    "StoryImport",
    "Study",
    "SurplusReason",
    "Vote",
    "VoteExclusion",
    "WorkSession",
]
