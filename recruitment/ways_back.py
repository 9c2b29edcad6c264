"""How somebody who came from a platform gets back there, with their work or without. Reads only."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings

from accounts.models import PlatformIdentity
from annotation import actions as annotation_actions
from annotation import queries as annotation_queries
from annotation import rules
from annotation.models import Assignment, Enrollment, Story, WorkSession
from annotation.rules import Reason
from recruitment.arriving.ending import Ending, Outcome, ending, outcome
from recruitment.arriving.mturk import ASSIGNMENT, submit_address
from recruitment.models import Campaign, Submission, Visit
from recruitment.prolific.arrivals import completion_url, participants_site
from recruitment.prolific.client import API

State = Enrollment.State
RECEIPT = "receipt"
"""The form field that goes to Mechanical Turk with the work, beside the assignment's id."""
STEPS = (Reason.INVITED, Reason.CONSENT_CHANGED, Reason.NOT_QUALIFIED_YET)
"""Refusals that are a step the person can still take."""


@dataclass(frozen=True, slots=True)
class WayBack:
    """Where the browser goes: by a link, or by a form with these fields where there are any.

    ``gives_back``: it leads to where work is given back, not handed in.
    """

    url: str
    fields: dict[str, str] = field(default_factory=dict)
    code: str = ""
    gives_back: bool = False


def ending_of(visit: Visit, *, now: datetime) -> Ending:
    """What the visit has come to by now. It must carry its session and enrollment with the study."""
    session, person = visit.session, visit.enrollment
    assert session is not None
    is_test = session.story_limit == 0
    return ending(
        story_limit=session.story_limit,
        stories_submitted=session.stories_submitted,
        passed=_passed(person) if is_test else None,
        left=person.state in (State.DECLINED, State.WITHDRAWN),
        may_go_on=_may_go_on(person, session, now=now),
        handed_in=visit.handed_in_at is not None,
        began_test=is_test and not visit.decided_by_hand and annotation_queries.began_test(person),
    )


def outcome_of(visit: Visit) -> Outcome | None:
    """What became of the visit, as far as it is settled. It must carry its session and submission."""
    assert visit.session is not None
    work: Submission | None = getattr(visit, "submission", None)
    return outcome(session=visit.session.state, status=work.status if work else None)


def way_to_hand_in(visit: Visit, ending: Ending) -> WayBack | None:
    """How the person hands in what the visit has come to, or gives it back; None when only words help."""
    campaign = visit.campaign
    assert campaign is not None
    if campaign.platform == PlatformIdentity.Platform.MTURK:
        fields = {ASSIGNMENT: visit.hit_assignment, RECEIPT: visit.receipt}
        return WayBack(submit_address(visit.submit_to), fields) if ending.is_work else None
    if ending in (Ending.COMPLETED, Ending.PARTIAL):
        return _with_code(campaign, campaign.completion_code)
    if ending == Ending.SCREENED_OUT:
        return _with_code(campaign, campaign.screen_out_code or campaign.completion_code)
    return _without_work(campaign)


def way_of_refused(campaign: Campaign) -> WayBack | None:
    """The way back of somebody who was not let in, where an address leads there: never one that hands in."""
    return None if campaign.platform == PlatformIdentity.Platform.MTURK else _without_work(campaign)


def _with_code(campaign: Campaign, code: str) -> WayBack:
    return WayBack(completion_url(code, api=_api(campaign)), code=code)


def _without_work(campaign: Campaign) -> WayBack:
    return WayBack(f"{participants_site(_api(campaign))}/submissions", gives_back=True)


def _api(campaign: Campaign) -> str:
    return settings.PROLIFIC[campaign.environment]["api"] or API


def _passed(person: Enrollment) -> bool | None:
    """What the person's test came to; None while it is not over, or when there has been none."""
    if person.state in (State.QUALIFIED, State.FAILED):
        return person.state == State.QUALIFIED
    if person.state not in (State.SUSPENDED, State.WITHDRAWN):
        return None
    return annotation_queries.test_outcome(person)


def _may_go_on(person: Enrollment, session: WorkSession, *, now: datetime) -> bool:
    """Whether the person can be given something to do in this session now. Looks only, and takes nothing."""
    if session.state == WorkSession.State.DOUBTED:
        return False
    if session.story_limit == 0:
        reason = rules.may_be_served(annotation_actions.standing(person))
        may_begin = reason in STEPS and annotation_queries.kept_out(person) is None
        return may_begin or annotation_queries.is_in_test(person)
    reason = rules.may_be_served(annotation_actions.standing(person)) or rules.may_go_on(
        state=session.state,
        story_limit=session.story_limit,
        stories_submitted=session.stories_submitted,
        expires_at=session.expires_at,
        now=now,
    )
    if reason in STEPS:
        return annotation_queries.kept_out(person) is None
    return reason is None and _is_a_story_left(person)


def _is_a_story_left(person: Enrollment) -> bool:
    theirs = Assignment.objects.filter(enrollment=person)
    if theirs.filter(state=Assignment.State.LEASED).exists():
        return True
    had = theirs.exclude(state=Assignment.State.EXPIRED).values("story")
    return Story.objects.filter(study=person.study_id, has_free_slot=True).exclude(pk__in=had).exists()
