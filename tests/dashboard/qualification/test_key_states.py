"""A key in every state of a study and its experts: what cannot be is said before anything is typed."""

from __future__ import annotations

import re

import pytest
from django.utils import timezone

from accounts.models import User
from annotation import actions as annotation_actions
from annotation.errors import WrongState
from annotation.models import Membership, Study
from dashboard.actions import choose_test
from qualification import actions
from qualification.models import AnswerKey, ExpertReview, Round
from tests import builders
from tests.dashboard.qualification.test_answer_key_pages import HERE, hand_in, key_form, member, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

Gate = Study.Gate
NOBODY = "requires no test, so nobody takes its rounds"


def gate_of(study: Study) -> str:
    study.refresh_from_db()
    return study.gate


def test_a_study_that_takes_people_of_another_has_no_test() -> None:
    """It has a round and a key from before it was decided."""
    source = builders.make_study("source", stories=1, qualification=1)
    study = builders.make_study("main", stories=1, opened=False, qualification_required=True)
    round = builders.add_round(study)
    rosa = member(study, "rosa", Membership.Role.OWNER)
    choose_test(study=study, test="none", by=None, now=timezone.now())
    annotation_actions.admit_through(study=study, source=source, by=None, now=timezone.now())
    said = "qualified in “source”, so it has no test of its own"

    for page in (HERE, f"{HERE}1/", f"{HERE}new/", f"{HERE}1/key/"):
        shown = text(rosa, page)
        assert said in shown, page
        for offered in ("<textarea", "Ask them", 'href="/studies/main/qualification/new/"', "1/key/"):
            assert offered not in shown, page
    assert said in text(rosa, f"{HERE}1/key/", key_form(after=1))
    names = list(round.round_stories.values_list("story__story_id", flat=True))
    accepted = dict.fromkeys(names, builders.ACCEPTED)
    now = timezone.now()
    with pytest.raises(WrongState, match="no test of its own"):
        actions.set_answer_key(round=round, acceptable=accepted, by=None, now=now)
    with pytest.raises(WrongState, match="no test of its own"):
        actions.create_round(study=study, story_ids=names, by=None, now=now)
    fresh = Round.objects.create(study=study, number=2, created_at=now)
    with pytest.raises(WrongState, match="no test of its own"):
        actions.ask_experts(round=fresh, experts=[User.objects.create(username="ben")], by=None, now=now)
    assert (AnswerKey.objects.filter(round=round).count(), gate_of(study)) == (1, Gate.NOT_REQUIRED)


def test_a_key_does_not_make_a_study_ask_for_a_test() -> None:
    study = builders.make_study("main", stories=1, opened=False)
    builders.make_round(study)
    rosa = member(study, "rosa", Membership.Role.OWNER)
    for page in (HERE, f"{HERE}1/", f"{HERE}new/"):
        shown = text(rosa, page)
        assert NOBODY in shown, page
        assert "pause the study first" not in shown
    saved = text(rosa, f"{HERE}1/key/", key_form())
    assert "Version 1 of the key is saved" in saved
    assert "so nobody takes the round." in saved
    assert gate_of(study) == Gate.NOT_REQUIRED
    assert rosa.post(f"{HERE}1/key/", key_form(after=1)).status_code == 302
    assert gate_of(study) == Gate.NOT_REQUIRED, "also when a key is mended"
    annotation_actions.open_study(study=study, by=None, now=timezone.now())
    assert "pause the study first" in text(rosa, HERE)
    annotation_actions.pause_study(study=study, by=None, now=timezone.now())
    choose_test(study=study, test="own", by=None, now=timezone.now())
    assert gate_of(study) == Gate.READY
    assert NOBODY not in text(rosa, f"{HERE}1/")


@pytest.fixture
def round() -> Round:
    """Two stories without a key; ada has handed in, ben is still asked."""
    study = builders.make_study("main", stories=1, opened=False, qualification_required=True)
    made = builders.make_round(study)
    for name in ("ada", "ben"):
        member(study, name)
    experts = User.objects.filter(username__in=("ada", "ben"))
    actions.ask_experts(round=made, experts=list(experts), by=None, now=timezone.now())
    hand_in(made, "ada")
    return made


def test_who_is_removed_is_waited_for_no_more(round: Round) -> None:
    rosa = member(round.study, "rosa", Membership.Role.OWNER)
    ben = User.objects.get(username="ben")
    late = ExpertReview.objects.get(expert=ben)
    for entry in round.round_stories.select_related("story__study"):
        actions.save_expert_answers(review=late, round_story=entry, submitted=builders.ALL_YES)
    rosa.post(f"/studies/main/settings/members/{ben.pk}/", {"remove": ""})
    late.refresh_from_db()
    assert late.dismissed_at
    assert "nobody is still answering" in text(rosa, f"{HERE}1/")


def test_somebody_who_left_by_another_way_hands_nothing_in(round: Round) -> None:
    ben = User.objects.get(username="ben")
    late = ExpertReview.objects.get(expert=ben)
    entry = round.round_stories.select_related("story__study")[0]
    annotation_actions.remove_member(study=round.study, user=ben, by=None, now=timezone.now())
    with pytest.raises(WrongState, match="no longer a member"):
        actions.save_expert_answers(review=late, round_story=entry, submitted=builders.ALL_YES)
    with pytest.raises(WrongState, match="no longer a member"):
        actions.hand_in_review(review=late, by=ben, now=timezone.now())


def test_questions_that_failed_equally_many_alone_are_all_named() -> None:
    study = builders.make_study("main", stories=1, qualification=1)
    for wrong in ({"q1": "no"}, {"q3": "no"}):
        builders.take_test(builders.consent(builders.invite(study)[0]), builders.answers(**wrong))
    rosa = member(study, "rosa", Membership.Role.RESEARCHER)
    (said,) = re.findall(r"<p>([^<]*each of these answers alone failed 1 attempt\.)", text(rosa, HERE))
    assert said.count("Story 1, “") == 2
