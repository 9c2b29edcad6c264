"""Studies, stories and votes: fields, constraints and queries; no workflow.

Writes happen in ``annotation.actions``. Rows are locked in one order everywhere: enrollment, then
assignment or story. (Assigning a story locks it before the assignment, which only the holder of the
enrollment's lock ever reuses; the sweep over expired leases never waits.) See docs/adr/0003.
"""

from annotation.models.enrollments import Enrollment, Exclusion, IntakeAnswer, IntakeGroup
from annotation.models.events import Alert, Event, Webhook
from annotation.models.hidden_checks import CheckKey, CheckOption, CheckResult
from annotation.models.members import ApiToken, Invitation, Membership
from annotation.models.reviews import Adjudication, ReviewItem, ReviewSample, SpotCheck, VoteExclusion
from annotation.models.skips import Comment, Skip
from annotation.models.stories import (
    ImportProblem, LintFinding, Story, StoryImport, StoryRevision, StoryWords, Stratum,
)
from annotation.models.studies import ConsentText, InstructionText, Study
from annotation.models.votes import (
    HELD, LIVING, UNANSWERED, Answer, Assignment, SurplusReason, Vote, given_in,
)
from annotation.models.work_sessions import WorkSession
