"""One test per person: each visit is judged by the test done in it, and one test is paid once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise, product

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import Enrollment, WorkSession
from qualification import actions as qualification_actions
from qualification.models import Attempt
from recruitment import actions
from recruitment.arrival_rules import Arrival, ArrivalProblem, CannotArrive
from recruitment.links import visit_path
from recruitment.models import Campaign, Grant, Mismatch, Payment, Posting, Submission, Visit
from recruitment.platforms import Hint
from tests import builders
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import TEST, make_campaign
from tests.recruitment.handed_in import SITE, Desk

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
STORIES = 2
LEFT_AT = ("page", "consent", "story", "finished", "last page")
SHORT = (("story", True, False), ("last page", False, True))


@pytest.fixture(scope="module")
def built(module_transaction: None) -> Iterator[Desk]:
    with MTurkDouble() as double:
        study = builders.make_study(stories=1, qualification=STORIES, incomplete_after=1)
        yield Desk(double, study, replace(TEST, seats=9, seats_per_posting=9))


def arrive(desk: Desk, worker: str, *, campaign: Campaign | None = None, seat: str = "") -> Visit:
    """A worker takes a seat and opens our page in it. ``seat``: an id that the platform gave them."""
    campaign = campaign or desk.campaign
    hit = Posting.objects.get(campaign=campaign).remote_id
    seat = seat or desk.double.crowd.accept(hit, worker).assignment_id
    arrival = Arrival(seat, hit, worker, SITE)
    return actions.arrive_for_campaign(
        campaign=campaign, arrival=arrival, is_proven=False, now=timezone.now()
    )


def go_to(visit: Visit, step: str) -> None:
    """The worker comes as far as this step."""
    for passed, reached in pairwise(LEFT_AT):
        if passed == step:
            return
        _take(visit, reached)


def _take(visit: Visit, step: str) -> None:
    person = Enrollment.objects.select_related("study", "consent").get(pk=visit.enrollment_id)
    if step == "consent" and person.state == Enrollment.State.INVITED:
        builders.consent(person)
    elif step == "story" and person.state == Enrollment.State.CONSENTED:
        save_stories(visit, 1)
    elif step == "finished" and person.state == Enrollment.State.CONSENTED:
        attempt = save_stories(visit, STORIES)
        qualification_actions.submit_attempt(attempt=attempt, now=timezone.now(), session_id=visit.session_id)
    elif step == "last page":
        Client().get(f"{visit_path(visit)}hand-in/")


def save_stories(visit: Visit, number: int) -> Attempt:
    """The worker answers the first stories of the test, in this visit."""
    person = Enrollment.objects.get(pk=visit.enrollment_id)
    attempt = qualification_actions.start_attempt(
        enrollment=person, now=timezone.now(), session_id=visit.session_id
    )
    for entry in attempt.round.round_stories.select_related("story")[:number]:
        qualification_actions.save_answers(
            attempt=attempt, round_story=entry, submitted=builders.ALL_YES, session_id=visit.session_id
        )
    return attempt


def give_back(desk: Desk, visit: Visit, worker: str, *, is_told: bool) -> None:
    """The worker returns the HIT; ``is_told``: the platform's notification of it arrives."""
    desk.double.crowd.give_back(visit.remote_id, worker)
    if is_told:
        hint = Hint(f"event-{visit.pk}", (), ((visit.remote_id, worker),))
        actions.handle_notification(
            platform="mturk", hint=hint, environment=visit.environment, now=timezone.now()
        )


def hand_in(desk: Desk, visit: Visit) -> None:
    visit.refresh_from_db()
    go_to(visit, "last page")
    page = Client().get(f"{visit_path(visit)}hand-in/").content.decode()
    assert "One last step" in page, page
    desk.submit(visit)


def sweeps(desk: Desk, *campaigns: Campaign, days: int = 0) -> datetime:
    """When the time of every visit is over, two sweeps: after these, what is not handed in is given up."""
    after = max(WorkSession.objects.values_list("expires_at", flat=True)) + timedelta(days=days)
    moments = [after + timedelta(minutes=5), after + timedelta(hours=2)]
    for moment in moments:
        for campaign in campaigns or (desk.campaign,):
            found = Campaign.objects.select_related("study").get(pk=campaign.pk)
            actions.reconcile(campaign=found, marketplace=desk.marketplace, now=moment)
        desk.send_all()
        actions.update_groups(now=moment)
    desk.send_grants()
    return moments[-1]


def assert_paid_once_and_in_peace(desk: Desk) -> None:
    """The test is paid once; nothing asks for a researcher, nobody is kept out."""
    assert [payment.kind for payment in Payment.objects.all()] == [Payment.Kind.APPROVAL]
    assert len(desk.charges()) == 1
    assert not Mismatch.objects.filter(settled_at=None).exists()
    groups = {wanted.kind: wanted.state for wanted in Grant.objects.all()}
    assert groups.pop(Grant.Kind.QUALIFIED) == Grant.State.DONE
    assert set(groups.values()) <= {Grant.State.LEAVING, Grant.State.LEFT}
    assert Enrollment.objects.get().state == Enrollment.State.QUALIFIED


@pytest.mark.parametrize(
    ("left_at", "recycled", "is_told"),
    [
        pytest.param(*case, marks=() if case in SHORT else pytest.mark.torture)
        for case in product(LEFT_AT, [True, False], [True, False])
    ],
)
def test_a_test_returned_at_any_step_and_taken_again_is_paid_once(
    desk: Desk, left_at: str, recycled: bool, is_told: bool
) -> None:
    worker = desk.double.crowd.hire().worker_id
    first = arrive(desk, worker)
    go_to(first, left_at)
    give_back(desk, first, worker, is_told=is_told)
    if not recycled:  # somebody else takes the seat that is free again
        other = desk.double.crowd.hire().worker_id
        hit = Posting.objects.get().remote_id
        assert desk.double.crowd.accept(hit, other).assignment_id == first.remote_id

    second = arrive(desk, worker)

    assert (second.remote_id == first.remote_id) is recycled
    go_to(second, "last page")
    hand_in(desk, second)
    sweeps(desk)
    assert_paid_once_and_in_peace(desk)
    assert Submission.objects.get().visit == second


def test_what_was_noticed_before_the_retake_is_cleared_by_it(desk: Desk) -> None:
    worker = desk.double.crowd.hire().worker_id
    first = arrive(desk, worker)
    go_to(first, "last page")
    give_back(desk, first, worker, is_told=True)
    sweeps(desk)
    assert Mismatch.objects.get().kind == Mismatch.Kind.NOT_HANDED_IN
    assert Grant.objects.get(kind=Grant.Kind.INCOMPLETE).state == Grant.State.DONE
    group = Campaign.objects.get().incomplete_group
    desk.marketplace.remove_from_group(group, worker)  # or they could not see the HIT again

    second = arrive(desk, worker)
    hand_in(desk, second)
    sweeps(desk, days=1)

    assert_paid_once_and_in_peace(desk)


def test_two_campaigns_for_the_test_pay_it_once(desk: Desk) -> None:
    other = second_campaign(desk)
    worker = desk.double.crowd.hire().worker_id
    first, second = arrive(desk, worker), arrive(desk, worker, campaign=other)
    go_to(first, "last page")
    hand_in(desk, first)

    page = Client().get(f"{visit_path(second)}hand-in/").content.decode()

    assert "Nothing to hand in" in page
    desk.double.crowd.give_back(second.remote_id, worker)
    sweeps(desk, desk.campaign, other)
    assert_paid_once_and_in_peace(desk)
    with pytest.raises(CannotArrive) as refused:
        arrive(desk, worker, campaign=other, seat="3OTHER")
    assert refused.value.problem == ArrivalProblem.TEST_TAKEN


def test_what_is_handed_in_twice_all_the_same_is_paid_once_and_shown(desk: Desk) -> None:
    other = second_campaign(desk)
    worker = desk.double.crowd.hire().worker_id
    first, second = arrive(desk, worker), arrive(desk, worker, campaign=other)
    go_to(first, "last page")
    hand_in(desk, first)
    desk.submit(second)

    sweeps(desk, desk.campaign, other)

    assert [payment.kind for payment in Payment.objects.all()] == [Payment.Kind.APPROVAL]
    assert Mismatch.objects.get(settled_at=None).kind == Mismatch.Kind.NO_DATA


def test_a_test_left_in_one_campaign_is_handed_in_with_another(desk: Desk) -> None:
    other = second_campaign(desk)
    worker = desk.double.crowd.hire().worker_id
    first = arrive(desk, worker)
    go_to(first, "last page")
    with pytest.raises(CannotArrive):  # the first may still be handed in
        arrive(desk, worker, campaign=other, seat="3OTHER")
    give_back(desk, first, worker, is_told=True)

    second = arrive(desk, worker, campaign=other)

    hand_in(desk, second)
    sweeps(desk, desk.campaign, other)
    assert_paid_once_and_in_peace(desk)


def second_campaign(desk: Desk) -> Campaign:
    """Another campaign for the test of the same study, which is on the double, too."""
    now = timezone.now()
    draft = make_campaign(desk.study, replace(TEST, title="The test again", seats=9, seats_per_posting=9))
    started = actions.start_campaign(campaign=draft, marketplace=desk.marketplace, by=None, now=now)
    return actions.carry_out(campaign=started, marketplace=desk.marketplace, now=now)
