"""A campaign on Prolific: what is put there, who may come, what is decided and paid."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from recruitment.marketplace import Group, NotConfigured, NotEnoughMoney, Refused, Status, Unreachable
from recruitment.prolific import client
from recruitment.prolific.arrivals import completion_url, read_claim
from recruitment.prolific.marketplace import Prolific
from recruitment.prolific.review import BONUS_WAIT, RETURN_WAIT
from tests.doubles.prolific import Fault, ProlificDouble, rules
from tests.doubles.prolific.tls import make_certificate
from tests.recruitment.prolific.conftest import OFFER, REASON, Lab, posting_of


def test_the_cost_is_prolifics_own_reckoning_with_what_it_would_complain_about(lab: Lab) -> None:
    estimate = lab.prolific.estimate(OFFER)
    # 33.3 % of 2.50 is 0.83, with a fifth of it as tax: 3.50 a seat
    assert (estimate.rewards, estimate.fees, estimate.total) == (
        Decimal("7.50"),
        Decimal("3.00"),
        Decimal("10.50"),
    )
    assert sum((line.amount for line in estimate.lines), Decimal(0)) == estimate.total
    assert estimate.warnings == ()
    assert lab.platform.studies == {}

    poor = replace(OFFER, reward=Decimal("0.90"), currency="USD", masters_only=True, seats=20_000)
    told = " ".join(lab.prolific.estimate(poor).warnings)
    assert "5.40 USD per hour" in told
    assert "pays in GBP" in told
    assert "10000.00 GBP left" in told
    assert "no Masters" in told


@pytest.mark.parametrize("people", [3, 4], ids=["a short last page", "full pages"])
def test_a_list_is_read_until_a_page_is_short_without_any_links(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, people: int
) -> None:
    monkeypatch.setattr(client, "PAGE_SIZE", 2)
    study = lab.publish(seats=people)
    submissions = [lab.hand_in(study, lab.double.join()) for _person in range(people)]
    assert [work.remote_id for work in lab.prolific.work(study, study)] == submissions
    assert lab.prolific.client.get("/submissions/", study=study).keys() == {"results"}


def test_a_campaign_is_one_draft_however_often_it_is_asked_for(double: ProlificDouble, lab: Lab) -> None:
    study = lab.prolific.prepare(OFFER)
    assert double.study(study).status == "UNPUBLISHED"
    fields = double.study(study).fields
    assert fields["reward"] == 250
    assert (
        fields["description"]
        == "<p>Four questions on each.</p><p>You may stop &amp; go &lt; at any time.</p>"
    )
    assert {code["code"]: code["actions"] for code in fields["completion_codes"]} == {
        "C-DONE": [{"action": "MANUALLY_REVIEW"}],
        "C-OUT": [{"action": "MANUALLY_REVIEW"}],
    }
    double.faults.order(Fault.FAILED_LATE, "POST", "/studies/$")
    changed = replace(OFFER, title="Judge very short stories")
    assert lab.prolific.prepare(changed) == study
    assert double.study(study).fields["name"] == "Judge very short stories"
    # Another installation of tomannot uses the same workspace and the same name: its draft is not ours.
    other = lab.prolific.prepare(replace(OFFER, entry_url="http://127.0.0.1:9000/join/stories/1/"))
    assert other != study

    double.faults.order(Fault.DROPPED, "POST", "/studies/$")
    lost = lab.prolific.prepare(replace(OFFER, reference="stories-2"))
    assert len(lab.platform.studies) == 3
    assert double.study(lost).fields["internal_name"] == "tomannot stories-2"

    double.faults.order(Fault.DROPPED, "POST", "/transition/$")
    for _time in range(2):
        assert lab.prolific.post(changed, study, posting_of(changed)) == study
    double.settle()
    assert double.study(study).status == "ACTIVE"
    assert lab.prolific.prepare(OFFER) == study


def test_only_who_passed_and_fits_sees_the_study(double: ProlificDouble, lab: Lab) -> None:
    group = lab.prolific.ensure_group(Group.QUALIFIED, reference="stories")
    left = lab.prolific.ensure_group(Group.INCOMPLETE, reference="stories")
    double.faults.order(Fault.DROPPED, "POST", "/participant-groups/$")
    assert lab.prolific.ensure_group(Group.QUALIFIED, reference="other") != group
    assert lab.prolific.ensure_group(Group.QUALIFIED, reference="stories") == group
    assert len(lab.platform.groups) == 3
    study = lab.publish(
        needs_group=group,
        excludes_groups=(left,),
        approved_percent=98,
        approved_work=100,
        countries=("US", "DE"),
    )
    passed, poor, far, outside = (
        double.join(),
        double.join(approval_rate=97),
        double.join(**{"current-country-of-residence": "0"}),
        double.join(),
    )
    for person in (passed, poor, far):
        for _time in range(2):
            lab.prolific.add_to_group(group, person)
    assert set(double.platform.groups[group].members) == {passed, poor, far}
    assert [double.sees(person) for person in (passed, poor, far, outside)] == [[study], [], [], []]
    lab.prolific.add_to_group(left, passed)
    assert double.sees(passed) == []
    lab.prolific.remove_from_group(left, passed)
    assert double.sees(passed) == [study]
    with pytest.raises(Refused, match="country does not have: France"):
        lab.prolific.prepare(replace(OFFER, reference="x", countries=("FR",)))


def test_people_come_with_their_ids_and_work_is_listed_to_the_last_page(
    double: ProlificDouble, lab: Lab
) -> None:
    study = lab.publish(seats=250)
    people = [double.join() for _person in range(205)]
    started = [double.start(person, study) for person in people]
    claim = read_claim(dict(parse_pairs(started[0].url)))
    assert double.sees(people[0]) == [study]  # as many visits as they like; our own cap is known to us alone
    test = lab.publish(reference="test-1", is_test=True)
    double.start(people[0], test)
    assert double.sees(people[0]) == [study]  # the test once
    assert (claim.person, claim.posting, claim.remote_id) == (people[0], study, started[0].submission)
    double.give_back(started[1].submission)
    double.complete(started[2].submission, None)
    found = {work.remote_id: work for work in lab.prolific.work(study, study)}
    assert len(found) == 205
    assert {work.person for work in found.values()} == set(people)
    assert [found[started[n].submission].status for n in range(3)] == [
        Status.ACTIVE,
        Status.RETURNED,
        Status.ACTIVE,  # PROCESSING: nothing can be decided yet
    ]
    double.settle()
    one = lab.prolific.one_work(started[2].submission)
    assert one is not None
    assert (one.status, one.person, one.posting) == (Status.SUBMITTED, people[2], study)
    assert one.submitted_at is not None
    assert lab.prolific.one_work("0" * 24) is None
    assert completion_url("C-DONE") == "https://app.prolific.com/submissions/complete?cc=C-DONE"


def parse_pairs(url: str) -> list[tuple[str, str]]:
    return [(name, values[0]) for name, values in parse_qs(urlsplit(url).query).items()]


def test_an_approval_is_for_the_right_person_and_pays_once(double: ProlificDouble, lab: Lab) -> None:
    study = lab.publish()
    person, other = double.join(), double.join()
    submission = double.start(person, study).submission
    with pytest.raises(Unreachable) as early:
        lab.prolific.approve(submission, person=person)
    assert early.value.maybe_done is False
    double.complete(submission, "C-DONE")
    double.settle()
    with pytest.raises(Refused, match="another participant"):
        lab.prolific.approve(submission, person=other)
    double.faults.order(Fault.DROPPED, "POST", "/transition/")
    lab.prolific.approve(submission, person=person)
    double.faults.order(Fault.STALE, "GET", "/submissions/")
    lab.prolific.approve(submission, person=person)
    assert lab.paid("reward") == [250]
    slow = double.start(other, study).submission
    double.platform.clock.advance(hours=2)
    with pytest.raises(Refused) as late:
        lab.prolific.approve(slow, person=other)
    assert late.value.code == "TIMED_OUT"


def test_a_rejection_comes_after_the_chance_to_return_the_work(double: ProlificDouble, lab: Lab) -> None:
    study = lab.publish()
    stays, leaves = double.join(), double.join()
    kept, returned = lab.hand_in(study, stays), lab.hand_in(study, leaves)
    wrongs: list[dict[str, Any]] = [
        {"reason": "Too short", "category": "LOW_EFFORT"},
        {"reason": REASON, "category": "NOPE"},
    ]
    for wrong in wrongs:
        with pytest.raises(Refused):
            lab.prolific.reject(kept, person=stays, **wrong)
    words: dict[str, Any] = {"reason": REASON, "category": "LOW_EFFORT"}
    for _time in range(4):  # as often as the client tries
        double.faults.order(Fault.FAILED_LATE, "POST", "/request-return/$")
    for submission, person in ((kept, stays), (returned, leaves)):
        with pytest.raises(Unreachable) as asked:
            lab.prolific.reject(submission, person=person, **words)
        assert asked.value.maybe_done is False
        assert double.submission(submission).return_requested
    double.give_back(returned)
    double.platform.clock.advance(seconds=RETURN_WAIT.total_seconds() - 60)
    with pytest.raises(Unreachable):
        lab.prolific.reject(kept, person=stays, **words)
    double.platform.clock.advance(minutes=2)
    again = double.platform.clock.now()
    with pytest.raises(Unreachable) as waits:  # taken back, and rejected anew: the days are given anew
        lab.prolific.reject(kept, person=stays, since=again, **words)
    assert waits.value.not_before == again + RETURN_WAIT
    for _time in range(2):
        lab.prolific.reject(kept, person=stays, **words)
    assert double.submission(kept).rejection == (REASON, "LOW_EFFORT")
    with pytest.raises(Refused) as gone:
        lab.prolific.reject(returned, person=leaves, **words)
    assert gone.value.code == "RETURNED"
    assert lab.platform.ledger == []


def rejected(double: ProlificDouble, lab: Lab, submission: str, person: str) -> None:
    """The submission is rejected: its author was asked to return it, and did not."""
    words: dict[str, Any] = {"reason": REASON, "category": "LOW_EFFORT"}
    with pytest.raises(Unreachable):
        lab.prolific.reject(submission, person=person, **words)
    double.platform.clock.advance(seconds=RETURN_WAIT.total_seconds() + 60)
    lab.prolific.reject(submission, person=person, **words)
    assert double.submission(submission).status == "REJECTED"


def test_a_rejection_is_overturned_and_paid_once(double: ProlificDouble, lab: Lab) -> None:
    person = double.join()
    submission = lab.hand_in(lab.publish(), person)
    rejected(double, lab, submission, person)
    with pytest.raises(Refused):
        lab.prolific.overturn(submission, person=double.join())
    for _time in range(4):  # as often as the client tries
        double.faults.order(Fault.FAILED_LATE, "POST", "/transition/$")
    with pytest.raises(Unreachable):
        lab.prolific.overturn(submission, person=person)
    for _time in range(2):
        lab.prolific.overturn(submission, person=person)
    assert double.submission(submission).status == "APPROVED"
    assert len(lab.paid("reward")) == 1


def test_a_platform_that_does_not_overturn_leaves_the_rejection(
    double: ProlificDouble, lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = double.join()
    submission = lab.hand_in(lab.publish(), person)
    rejected(double, lab, submission, person)

    def refuse(_submission: Any) -> None:
        raise rules.Refused("UNREJECT: not available for this submission.")

    monkeypatch.setattr(double.platform, "unreject", refuse)
    with pytest.raises(Refused, match="its own pages"):
        lab.prolific.overturn(submission, person=person)
    assert lab.paid("reward") == []


@pytest.mark.parametrize("fault", [Fault.FAILED_LATE, Fault.DROPPED])
def test_a_bonus_that_may_have_been_paid_is_looked_for_and_never_sent_again(
    double: ProlificDouble, lab: Lab, fault: Fault
) -> None:
    study = lab.publish()
    submission = lab.hand_in(study, double.join())
    first = lab.bonus_for(submission, "1.25")
    lab.prolific.bonus(first)
    assert lab.paid("bonus") == [125]

    second = lab.bonus_for(submission, "1.25", same_amount_paid=1)
    double.faults.order(fault, "POST", "/pay/$")
    with pytest.raises(Unreachable) as lost:
        lab.prolific.bonus(second)
    assert lost.value.maybe_done is True
    again = replace(second, maybe_paid=True)
    with pytest.raises(Unreachable) as unseen:
        lab.prolific.bonus(again)
    assert unseen.value.maybe_done is True
    for _time in range(4):
        double.faults.order(Fault.FAILED, "GET", "/submissions/")
    with pytest.raises(Unreachable) as away:
        lab.prolific.bonus(again)
    assert away.value.maybe_done is True  # not to look is no proof that it was not paid
    double.settle()
    lab.prolific.bonus(again)
    assert lab.paid("bonus") == [125, 125]


def test_a_stream_that_breaks_after_the_request_may_have_been_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over TLS: that nobody could be reached is certain only where the certificate is not theirs."""
    certificate = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with ProlificDouble(certificate=certificate) as double:
        lab = Lab(double)
        request = lab.bonus_for(lab.hand_in(lab.publish(), double.join()), "1.25")
        double.faults.order(Fault.DROPPED, "POST", "/pay/$")
        with pytest.raises(Unreachable) as broken:
            lab.prolific.bonus(request)
        assert broken.value.maybe_done is True
        assert len([seen for seen in double.seen if seen.endswith("/pay/")]) == 1
        assert lab.paid("bonus") == [125]
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(Unreachable) as stranger:
            Lab(double).prolific.bonus(request)
        assert stranger.value.maybe_done is False


def test_a_bonus_asked_for_anew_is_the_one_that_was_paid_all_the_same(
    double: ProlificDouble, lab: Lab
) -> None:
    submission = lab.hand_in(lab.publish(), double.join())
    lab.prolific.bonus(lab.bonus_for(submission, "1.25"))
    double.settle()
    for already_known, paid in ((0, [125]), (1, [125, 125])):
        anew = lab.bonus_for(
            submission, "1.25", earlier_tokens=(uuid.uuid4(),), same_amount_paid=already_known
        )
        lab.prolific.bonus(anew)
        assert lab.paid("bonus") == paid


def test_a_bonus_that_never_shows_is_for_somebody_to_look_at(double: ProlificDouble, lab: Lab) -> None:
    study = lab.publish()
    submission = lab.hand_in(study, double.join())
    request = lab.bonus_for(submission, "0.40")
    double.faults.order(Fault.FAILED, "POST", "/pay/$")
    with pytest.raises(Unreachable):
        lab.prolific.bonus(request)
    sent_at = lab.platform.clock.now() - BONUS_WAIT - timedelta(minutes=1)
    with pytest.raises(Refused) as gone:
        lab.prolific.bonus(replace(request, maybe_paid=True, first_sent_at=sent_at))
    assert gone.value.code == "NOT_SHOWN"
    assert lab.paid("bonus") == []
    with pytest.raises(NotEnoughMoney):
        lab.prolific.bonus(lab.bonus_for(submission, "9999.00"))
    for _time in range(4):  # more often than the client tries
        double.faults.order(Fault.THROTTLED, "POST", "/pay/$")
    with pytest.raises(Unreachable) as slow:
        lab.prolific.bonus(request)
    assert slow.value.maybe_done is False


def test_pausing_going_on_ending_and_widening_may_each_be_asked_twice(
    double: ProlificDouble, lab: Lab
) -> None:
    study = lab.publish()
    until = lab.platform.clock.now() + timedelta(days=3)
    steps = (
        (lambda: lab.prolific.pause(study, study), "PAUSED"),
        (lambda: lab.prolific.resume(study, study, until=until), "ACTIVE"),
        (lambda: lab.prolific.end(study, study), "COMPLETED"),
    )
    for step, status in steps:
        double.faults.order(Fault.DROPPED, "POST", "/transition/")
        for _time in range(2):
            step()
        assert double.study(study).status == status
    with pytest.raises(Refused, match="More places"):
        lab.prolific.resume(study, study, until=until)
    double.faults.order(Fault.FAILED_LATE, "PATCH", "/studies/")
    for seats in (5, 5, 4):
        lab.prolific.widen(study, study, seats=seats, token=uuid.uuid4())
    assert (double.study(study).places, double.study(study).status) == (5, "ACTIVE")


def test_what_cannot_be_done_says_so_without_telling_who(double: ProlificDouble, lab: Lab) -> None:
    with pytest.raises(NotConfigured, match="PROLIFIC_REHEARSAL_TOKEN"):
        Prolific(token="", environment="rehearsal", workspace="")
    wrong = Prolific(token="wrong", environment="live", workspace="a" * 24, api=double.url)
    with pytest.raises(NotConfigured, match="API token"):
        wrong.balance()
    nobody = Prolific(
        token="x", environment="live", workspace="a", api="http://127.0.0.1:9", sleep=lambda _seconds: None
    )
    with pytest.raises(Unreachable) as away:
        nobody.balance()
    assert away.value.maybe_done is False
    dear = replace(OFFER, seats=10_000, seats_per_posting=10_000)
    study = lab.prolific.prepare(dear)
    with pytest.raises(NotEnoughMoney, match="enough funds"):
        lab.prolific.post(dear, study, posting_of(dear))
    group = lab.prolific.ensure_group(Group.QUALIFIED, reference="stories")
    with pytest.raises(Refused) as unknown:
        lab.prolific.add_to_group(group, "f" * 24)
    assert "f" * 24 not in str(unknown.value)
    for problem in ({"minutes_allowed": 20}, {"completion_code": ""}, {"screen_out_code": "C-DONE"}):
        with pytest.raises(Refused):
            lab.prolific.prepare(replace(OFFER, **problem))
