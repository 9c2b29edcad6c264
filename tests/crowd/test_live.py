"""The simulated crowd at work on a live server, and what the database says afterwards."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Count
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from accounts.models import Environment
from annotation import actions
from annotation.models import Assignment, Enrollment, Study, SurplusReason, Vote
from annotation.refusals import refusal_page
from annotation.rules import Reason, Refusal
from crowd.behaviour import Behaviour, Population
from crowd.knowledge import truth_of
from crowd.report import Report
from crowd.run import Settings, run as run_crowd
from crowd.truth import Truth
from qualification.models import Attempt, Round
from recruitment.actions import set_join_link
from recruitment.links import personal_link
from tests import builders

pytestmark = pytest.mark.django_db(transaction=True)

EVERYBODY_GOOD = Population(careful=1.0, skill_careful=(1.0, 1.0), declines=0.0)
NOTHING_HAPPENS = Behaviour(leaves=0, submits_twice=0, comes_late=0, submits_incomplete=0)


def heading(reason: Reason) -> str:
    return str(refusal_page(Refusal(reason)).title)


def ready(
    study: Study, server: LiveServer, count: int, *, seed: int = 1, **options: Any
) -> Callable[[], Report]:
    """Invite people; calling what comes back lets them work, which needs no database connection here.

    Everybody is able and nothing unusual happens unless told so.
    """
    people = builders.invite(study, count)
    links = [server.url + personal_link(person).removeprefix("http://testserver") for person in people]
    settings: dict[str, Any] = {
        "population": EVERYBODY_GOOD,
        "behaviour": NOTHING_HAPPENS,
        "concurrency": 4,
        "max_seconds": 60,
        "truth": truth_of(study, table={}, valid=0.6, seed=seed),
    } | options
    return lambda: run_crowd(links, base_url=server.url, settings=Settings(seed, **settings))


def work(study: Study, server: LiveServer, count: int, *, seed: int = 1, **options: Any) -> Report:
    """Let newly invited people work (see :func:`ready`)."""
    return ready(study, server, count, seed=seed, **options)()


@contextmanager
def late_by(seconds: float, study: Study, server: LiveServer) -> Iterator[list[Report]]:
    """One person takes a story and puts it aside until their lease has run out, and ``seconds`` more.

    Within the block they hold it; the list has their report after it.
    """
    late = dataclasses.replace(NOTHING_HAPPENS, comes_late=1.0, late_seconds=seconds)
    with ThreadPoolExecutor(1) as pool:
        latecomer = pool.submit(ready(study, server, 1, behaviour=late))
        for _ in range(200):
            if study.stories.filter(assignments__state="leased").exists():
                break
            time.sleep(0.02)
        else:
            pytest.fail("nobody took a story")
        actions.release_expired_leases(now=timezone.now() + timedelta(hours=1))
        reports: list[Report] = []
        yield reports
        reports.append(latecomer.result())


def check_receipts(report: Report, study: Study) -> None:
    """Everybody's receipts are votes in the database, and there are no other votes (invariant 2)."""
    held = {(number, datetime.fromisoformat(receipt.saved_at)) for number, receipt in report.receipts}
    assert held == set(Vote.objects.of_study(study).values_list("assignment_id", "submitted_at"))
    assert len(held) == len(report.receipts) == Vote.objects.of_study(study).count()


def check_slots(study: Study) -> None:
    """No story has more counted votes than it asks for, and never two of one person (invariant 1)."""
    counted = Vote.objects.of_study(study).counted()
    per_story = counted.values("assignment__story").annotate(votes=Count("pk"))
    assert all(row["votes"] <= study.votes_per_story for row in per_story)
    per_person = counted.values("assignment__story", "assignment__enrollment").annotate(votes=Count("pk"))
    assert all(row["votes"] == 1 for row in per_person)


def test_people_qualify_and_vote_until_there_is_nothing_left(live_server: LiveServer) -> None:
    study = builders.make_study(stories=3, qualification=2)
    builders.add_round(study, [builders.story_row(900, prefix="practice")], kind=Round.Kind.REQUIRED)
    report = work(study, live_server, 3, population=Population(
        careful=1.0, skill_careful=(1.0, 1.0), declines=0.0, without_javascript=0.5))  # fmt: skip
    assert report.errors == ()
    assert report.votes == 9
    assert report.people == {"finished": 3}
    assert set(report.endings) <= {heading(Reason.ALL_DONE), heading(Reason.NOTHING_FREE)}
    assert report.tests_handed_in == 3
    assert Attempt.objects.filter(passed=True).count() == 3
    check_receipts(report, study)
    check_slots(study)


def test_everybody_answers_by_the_truth_that_the_server_knows(live_server: LiveServer) -> None:
    study = builders.make_study(stories=3)
    table = {
        "story_00000_sev1": {"q1": "possibly", "q2": "no", "q3": "yes", "q4": "no"},
        "story_00001_sev1": builders.answers(),
        "story_00002_sev1": builders.answers(q3="no"),
    }
    truth = truth_of(study, table=table, valid=0.6, seed=1)
    assert work(study, live_server, 1, truth=truth).errors == ()
    assert Vote.objects.of_study(study).count() == 3
    for vote in Vote.objects.of_study(study).select_related("assignment__story"):
        given = {answer.question: answer.option for answer in vote.answers.all()}
        assert given == table[vote.assignment.story.story_id]


def test_people_of_little_skill_fail_the_test_once_and_are_served_nothing(live_server: LiveServer) -> None:
    study = builders.make_study(stories=3, qualification=2)
    set_join_link(study=study, by=None, now=timezone.now(), source="pool")  # so the result links to the end
    report = work(study, live_server, 2, population=Population(
        careful=0.0, skill_others=(0.0, 0.0), declines=0.0))  # fmt: skip
    assert report.errors == ()
    assert report.people == {"not qualified": 2}
    assert list(Attempt.objects.values_list("number", "passed")) == [(1, False)] * 2
    assert report.votes == Vote.objects.count() == 0


def test_people_who_decline_leave_no_answers(live_server: LiveServer) -> None:
    study = builders.make_study(stories=3)
    report = work(study, live_server, 3, population=Population(declines=1.0))
    assert report.errors == ()
    assert report.people == {"declined": 3}
    assert set(study.enrollments.values_list("state", flat=True)) == {Enrollment.State.DECLINED}


def test_a_form_sent_twice_is_one_vote_with_one_receipt(live_server: LiveServer) -> None:
    study = builders.make_study(stories=2)
    behaviour = Behaviour(leaves=0, submits_twice=1.0, comes_late=0, submits_incomplete=0)
    report = work(study, live_server, 3, behaviour=behaviour)
    assert report.errors == ()
    assert report.submitted_twice == report.same_receipt_twice == report.votes == 6
    check_receipts(report, study)
    check_slots(study)


def test_an_incomplete_form_comes_back_and_stores_nothing_until_it_is_complete(
    live_server: LiveServer,
) -> None:
    study = builders.make_study(stories=2)
    behaviour = Behaviour(leaves=0, submits_twice=0, comes_late=0, submits_incomplete=1.0)
    report = work(study, live_server, 2, behaviour=behaviour)
    assert report.errors == ()
    assert report.incomplete == report.votes == 4
    check_receipts(report, study)


def test_people_who_leave_and_come_back_get_the_same_story_again(live_server: LiveServer) -> None:
    study = builders.make_study(stories=2)
    behaviour = Behaviour(leaves=1.0, comes_back=1.0, submits_twice=0, comes_late=0, submits_incomplete=0)
    report = work(study, live_server, 2, behaviour=behaviour)
    assert report.errors == ()
    assert report.came_back == report.votes == 4
    assert study.stories.filter(assignments__state="leased").count() == 0


def test_people_who_leave_for_good_hold_one_story_each(live_server: LiveServer) -> None:
    study = builders.make_study(stories=3)
    behaviour = Behaviour(leaves=1.0, comes_back=0.0)
    report = work(study, live_server, 2, behaviour=behaviour)
    assert report.people == {"left": 2}
    assert Assignment.objects.filter(state=Assignment.State.LEASED).count() == 2
    assert report.votes == 0


def test_somebody_late_is_counted_only_if_the_slot_is_still_free(live_server: LiveServer) -> None:
    study = builders.make_study(stories=1, votes_per_story=1)
    with late_by(3.0, study, live_server) as reports:
        punctual = work(study, live_server, 1, seed=2)
    [report] = reports
    assert punctual.votes == report.votes == report.late == 1
    assert punctual.remarks == {}
    assert sum(report.remarks.values()) == 1, "the person is told that it came too late to count"
    check_slots(study)
    reasons = Counter(Vote.objects.of_study(study).values_list("surplus_reason", flat=True))
    assert reasons == {SurplusReason.NONE: 1, SurplusReason.LATE: 1}


def test_somebody_late_with_nobody_before_them_counts(live_server: LiveServer) -> None:
    study = builders.make_study(stories=1, votes_per_story=1)
    with late_by(0.5, study, live_server) as reports:
        pass
    assert reports[0].late == 1
    assert reports[0].remarks == {}
    assert Vote.objects.of_study(study).counted().count() == 1


def test_a_person_reaches_the_cap_and_is_told_so(live_server: LiveServer) -> None:
    study = builders.make_study(stories=5, story_cap=2)
    report = work(study, live_server, 1)
    assert report.votes == 2
    assert report.endings == {heading(Reason.CAP_REACHED): 1}


def test_a_closed_study_refuses_with_its_own_page(live_server: LiveServer) -> None:
    study = builders.make_study(stories=2)
    actions.close_study(study=study, by=None, now=timezone.now())
    report = work(study, live_server, 2)
    assert report.endings == {heading(Reason.STUDY_CLOSED): 2}
    assert report.votes == 0


def test_a_run_ends_when_its_time_is_up(live_server: LiveServer) -> None:
    study = builders.make_study(stories=3)
    report = work(study, live_server, 2, pace=10.0, concurrency=2, max_seconds=1.0)
    assert report.people == {"still there": 2}
    assert report.seconds < 4


def test_what_should_not_happen_is_reported_without_the_secret_in_the_address(
    live_server: LiveServer,
) -> None:
    report = run_crowd(
        [live_server.url + "/join/not-a-link/"],
        base_url=live_server.url,
        settings=Settings(1, Truth(known={})),
    )
    assert report.people == {"error": 1}
    assert "404" in report.errors[0]
    assert "not-a-link" not in report.errors[0]


def simulate(slug: str, base_url: str, **options: Any) -> str:
    out = StringIO()
    call_command("simulate", slug, base_url=base_url, stdout=out, stderr=StringIO(), **options)
    return out.getvalue()


def test_the_crowd_works_where_an_event_loop_runs(
    live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    study = builders.make_study(stories=2)

    async def in_a_notebook() -> str:
        return simulate(study.slug, live_server.url, annotators=1, seed=11, careful=1.0, leaves=0.0)

    assert "votes with a receipt" in asyncio.run(in_a_notebook())
    assert Vote.objects.exists()


def test_the_command_fills_a_study_and_marks_it_a_rehearsal(live_server: LiveServer) -> None:
    study = builders.make_study(stories=2, qualification=2)
    said = simulate(
        study.slug, live_server.url, annotators=3, seed=11, concurrency=4, careful=1.0, leaves=0.0
    )
    study.refresh_from_db()
    assert study.environment == Environment.REHEARSAL
    assert set(Vote.objects.values_list("environment", flat=True)) == {Environment.REHEARSAL}
    assert f"{Vote.objects.count()} votes with a receipt" in said
    per_person = Attempt.objects.values("enrollment").annotate(attempts=Count("pk"))
    assert all(row["attempts"] == 1 for row in per_person)
    check_slots(study)
    again = simulate(study.slug, live_server.url, annotators=1, seed=12)
    assert "1 people" in again, "a rehearsal can be filled further"


def test_the_command_refuses_a_study_with_real_people_in_it(live_server: LiveServer) -> None:
    study = builders.make_study()
    builders.consent(builders.invite(study)[0])
    with pytest.raises(CommandError, match="cannot become a test run"):
        simulate(study.slug, live_server.url, annotators=1, seed=1)
    study.refresh_from_db()
    assert study.environment == Environment.LIVE
    assert study.enrollments.count() == 1


@pytest.mark.parametrize(
    "address", ["http://study.example.org", "https://127.0.0.1:8000", "http://10.0.0.4", "localhost:8000"]
)
def test_the_command_visits_only_this_machine(address: str) -> None:
    study = builders.make_study()
    with pytest.raises(CommandError, match="not an address on this machine") as refusal:
        simulate(study.slug, address, annotators=1, seed=1)
    assert refusal.value.returncode == 2
    study.refresh_from_db()
    assert study.environment == Environment.LIVE, "a refused command changes nothing"
    assert not study.enrollments.exists()


def test_the_command_refuses_a_study_that_is_not_open(live_server: LiveServer) -> None:
    study = builders.make_study(opened=False)
    with pytest.raises(CommandError, match="Open it first"):
        simulate(study.slug, live_server.url, annotators=1, seed=1)


def test_wrong_values_are_all_named_at_once() -> None:
    study = builders.make_study()
    with pytest.raises(CommandError) as refusal:
        simulate(study.slug, "http://127.0.0.1:1", annotators=0, seed=1, careful=2.0, concurrency=0)
    assert refusal.value.returncode == 2
    assert all(name in str(refusal.value) for name in ("--annotators", "--careful", "--concurrency"))


def test_nobody_listening_is_noticed_before_anything_is_changed_for_good(live_server: LiveServer) -> None:
    study = builders.make_study(stories=1)
    with pytest.raises(CommandError, match="nothing was changed"):
        call_command("simulate", study.slug, base_url="http://127.0.0.1:9", annotators=2, seed=1)
    study.refresh_from_db()
    assert study.environment == "live"
    assert not study.enrollments.exists()
