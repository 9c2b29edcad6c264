"""Studies in full use, for the checks to look at."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.utils import timezone

from accounts.models import PlatformIdentity, User
from annotation import actions
from annotation.errors import ImportRefused
from annotation.models import (
    Adjudication,
    CheckResult,
    Enrollment,
    Membership,
    ReviewSample,
    SpotCheck,
    Story,
    Study,
    SurplusReason,
)
from dashboard.settings.sample_study import SAMPLES
from qualification import actions as qualification_actions
from recruitment import actions as recruitment_actions
from recruitment.models import Grant, Mismatch, Submission
from recruitment.platforms import Hint
from tests import builders
from tests.doubles.mturk.server import MTurkDouble
from tests.recruitment.campaigns import STORIES
from tests.recruitment.handed_in import Desk
from tests.worlds import built_once


@dataclass
class World:
    """Two studies in full use, and one that was reviewed: people at every step, votes of every kind."""

    study: Study
    other: Study
    full: Story
    """A story of the study with all its votes, a late one beside them, and a lease that ran out."""
    free: Story
    """A story of the study that nobody has been given."""
    leaver: Enrollment
    """Was given ``full``, left, and never answered anything."""
    late: Enrollment
    """Answered ``full`` after somebody else had."""
    holder: Enrollment
    """Holds a story now."""
    suspended: Enrollment
    """Answered a story after being suspended."""
    failed: Enrollment
    """Failed the test twice."""
    testing: Enrollment
    """Is in the middle of the test."""
    invited: Enrollment
    judged: Story
    """A story of a third study, whose only vote a spot check rejected."""
    careless: Enrollment
    """Gave that vote."""
    excluded: Enrollment
    """Is excluded from that study with everything they gave."""
    readmitted: Enrollment
    """Was excluded from it, too, and counts again."""
    check_failed: CheckResult
    """Of an answer to a hidden check of a fourth study, whose author was warned for it."""
    paid: Submission
    """Work of a fifth study, handed in on a platform, approved and topped up; others there were doubted."""
    keyed: Study
    """A draft whose test has a key made from experts' answers; one of them was not waited for."""


@built_once
def build_world() -> World:
    now = timezone.now() - timedelta(hours=2)
    later = now + timedelta(hours=1)
    reviewed = _build_reviewed(now=now)
    check_failed = _build_checked(now=now)
    paid = _build_recruited()
    study = builders.make_study(
        "main", stories=3, qualification={"rows": 2, "attempts_allowed": 2}, votes_per_story=2, now=now
    )
    other = builders.make_study("other", stories=2, qualification=1, now=now)
    leaver, late, first, second, holder, suspended = builders.qualified(study, 6, now=now)
    invited, failed, testing, declining = builders.invite(study, 4, now=now)

    full = builders.claim(leaver, now=now).story
    late_one = builders.claim(late, now=now)
    assert late_one.story == full
    for person in (first, second):
        given = builders.vote(person, builders.answers(q2="no"), now=later)
    actions.change_vote(
        assignment_id=given.vote.assignment_id,
        enrollment=second,
        submitted=builders.ALL_YES,
        now=later + timedelta(minutes=5),
    )
    receipt = actions.record_vote(
        assignment_id=late_one.pk, enrollment=late, submitted=builders.ALL_YES, now=later
    )
    assert receipt.vote.surplus_reason == SurplusReason.LATE

    builders.claim(holder, now=later)
    theirs = builders.claim(suspended, now=later)
    actions.suspend(enrollment=suspended, by=None, now=later, reason="too fast")
    actions.record_vote(assignment_id=theirs.pk, enrollment=suspended, submitted=builders.ALL_YES, now=later)

    for person in (failed, testing):
        builders.consent(person, now=now)
    for _ in range(2):
        builders.take_test(failed, builders.answers(q3="no"), now=now)
    qualification_actions.start_attempt(enrollment=testing, now=now)
    actions.decline_consent(enrollment=declining, now=now)
    with pytest.raises(ImportRefused):
        builders.import_rows(study, [builders.story_row(0, entities={})], now=now)
    builders.vote(builders.qualified(other)[0], now=now)

    recruitment_actions.arrive_by_link(enrollment=holder, now=later)
    link = recruitment_actions.set_join_link(study=study, by=None, now=now)
    joined = recruitment_actions.join(link=link, participant="participant-4711", now=now)
    recruitment_actions.arrive_by_link(enrollment=joined, now=now)
    identity = recruitment_actions.give_address(
        enrollment=late, address="late@example.org", language="en", now=now
    )
    assert identity is not None
    recruitment_actions.confirm_address(identity_id=identity.pk, now=now)
    actions.revoke_link(enrollment=invited, by=None, now=now)
    (forgotten,) = builders.invite(study, now=now)
    actions.forget(annotator=forgotten.annotator, now=now)

    free = Story.objects.get(study=study, assignments=None, role=Story.Role.MAIN)
    world = World(
        study,
        other,
        full,
        free,
        leaver,
        late,
        holder,
        suspended,
        failed,
        testing,
        invited,
        *reviewed,
        check_failed,
        paid,
        _build_keyed(now=now),
    )
    for value in vars(world).values():
        value.refresh_from_db()
    return world


def _build_keyed(*, now: datetime) -> Study:
    """A draft with a round, two experts of whom one handed in, and the key that was made of that."""
    study = builders.make_study("keyed", stories=0, opened=False, qualification_required=True, now=now)
    round = builders.make_round(study, 1, now=now)
    experts = [User.objects.create_user(f"expert-{number}", password=None) for number in (1, 2)]
    for expert in experts:
        actions.set_role(study=study, user=expert, role=Membership.Role.REVIEWER, by=None, now=now)
    review, _late = qualification_actions.ask_experts(round=round, experts=experts, by=None, now=now)
    entry = round.round_stories.select_related("story__study").get()
    qualification_actions.save_expert_answers(review=review, round_story=entry, submitted=builders.ALL_YES)
    qualification_actions.hand_in_review(review=review, by=review.expert, now=now)
    qualification_actions.close_gathering(round=round, by=None, now=now)
    story_id = entry.story.story_id
    qualification_actions.set_answer_key(
        round=round,
        acceptable={story_id: builders.ACCEPTED},
        reasons={story_id: {"q1": "It happens.", "q2": "Some would see it."}},
        by=None,
        now=now,
    )
    return study


def _build_recruited() -> Submission:
    """A study with a campaign: work that was paid, never handed in, handed in without our receipt."""
    study = builders.make_study("recruited", stories=4, incomplete_after=1)
    with MTurkDouble() as double:
        desk = Desk(double, study, replace(STORIES, seats=6))
        idle, careless = desk.come(), desk.come()
        for visit in (idle, careless):
            desk.answer(visit)
        desk.submit(careless, receipt="none")
        paid = desk.hand_in(confirmed=False)
        late = timezone.now() + desk.campaign.time_allowed + timedelta(hours=1)
        idler = PlatformIdentity.objects.get(annotator=idle.enrollment.annotator_id)
        assert idle.posting is not None
        told = Hint("left-1", (idle.posting.remote_id,), ((idle.remote_id, idler.person),))
        recruitment_actions.handle_notification(
            platform="mturk", hint=told, environment="live", now=timezone.now()
        )
        for now in (timezone.now(), late, late + timedelta(minutes=5)):
            desk.sweep(now=now)
        desk.look(paid)
        reason = "The work took longer than we expected."
        for amount, top_up in ((Decimal("0.10"), True), (Decimal("5000.00"), False)):
            recruitment_actions.give_bonus(
                submission=paid, amount=amount, reason=reason, top_up=top_up, by=None, now=timezone.now()
            )
        desk.send_all()
    mismatch = Mismatch.objects.get(kind=Mismatch.Kind.WRONG_RECEIPT, campaign=desk.campaign)
    recruitment_actions.confirm_manually(
        mismatch=mismatch, how="It is complete.", by=None, now=timezone.now()
    )
    assert Grant.objects.get(annotator=idle.enrollment.annotator_id).kind == Grant.Kind.INCOMPLETE
    return paid


def _build_checked(*, now: datetime) -> CheckResult:
    """A study in which more people have answered a hidden check than a story gets votes."""
    study = builders.make_study("with-checks", stories=8, votes_per_story=1, now=now)
    builders.add_checks(study, 1, minimum=1, warn_percent=50, now=now)
    for person in builders.qualified(study, 2, now=now):
        builders.work_through(person, 4, on_checks=builders.answers(q1="no"), now=now)
    builders.work_through(person, 1, now=now)
    return CheckResult.objects.get(vote__assignment__enrollment=person)


def _build_reviewed(*, now: datetime) -> tuple[Story, Enrollment, Enrollment, Enrollment]:
    """A study in which votes were looked at: rejected, excluded with their author, readmitted."""
    study = builders.make_study("reviewed", stories=4, votes_per_story=1, now=now)
    careless, excluded, readmitted = builders.qualified(study, 3, now=now)
    for person in (careless, excluded, readmitted):
        builders.vote(person, now=now)
    sample = actions.draw_sample(
        study=study, kind=ReviewSample.Kind.RANDOM, people=5, per_person=1, by=None, now=now, seed=1
    )
    item = sample.items.get(vote__assignment__enrollment=careless)
    actions.spot_check(
        vote=item.vote, item=item, decision=SpotCheck.Decision.REJECT, reason="careless", by=None, now=now
    )
    for person in (excluded, readmitted):
        actions.exclude_annotator(
            enrollment=person, reason="random", shown_reason="Thank you.", by=None, now=now
        )
    actions.readmit_annotator(enrollment=readmitted, reason="a mistake", by=None, now=now)
    judged = item.vote.assignment.story
    actions.adjudicate(
        story=judged, verdict=Adjudication.Verdict.VALID, reason="clear enough", by=None, now=now
    )
    return judged, careless, excluded, readmitted


@built_once
def split_over_labels(slug: str, field: str) -> Study:
    """A study of labels whose three participants answer as suggested, but each otherwise to one field."""
    file = SAMPLES["belief-labels"].parent / "stories.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()[:2]]
    study = builders.make_study(slug, protocol="belief-labels", stories=rows)
    protocol = study.protocol
    for place, person in enumerate(builders.qualified(study, 3)):
        for _ in rows:
            held = builders.claim(person)
            cells = {cell.field: cell.options for cell in protocol.cells(held.story.item)}
            form: dict[str, str] = {name: options[0].key for name, options in cells.items()}
            form.update({**protocol.suggested(held.story.item), field: cells[field][place].key})
            actions.record_vote(assignment_id=held.pk, enrollment=person, submitted=form, now=timezone.now())
    return study
