"""What happens in the demo, in its order."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import time
from collections.abc import Callable, Collection
from decimal import Decimal
from urllib.parse import urlencode

from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.urls import reverse
from django.utils import timezone

from accounts.actions import ensure_researcher
from accounts.models import User
from annotation.models import Assignment, Story, Study
from crowd.knowledge import truth_of
from dashboard.actions import load_sample_study
from dashboard.management.commands import demo
from recruitment import actions
from recruitment.actions import CampaignSettings
from recruitment.models import Campaign, Mismatch, Payment
from recruitment.platforms import marketplace_of
from recruitment.reconciliation.remedies import Remedy
from tests.demo_mturk.workers import Workers
from tests.doubles.mturk.server import MTurkDouble
from tests.kept import put_static_files
from tomannot.celery import app
from tomannot.supervisor import Supervisor

RESEARCHER = "researcher"
TEST_SEATS = 150
STORIES_EACH = 5
LEFT_FOR_YOU = 2
"""HITs that the simulated workers leave for whoever tries it out."""
SWEEP_SECONDS = 1.5
PATIENCE = 300.0
"""Seconds within which the workers' queue must come to rest."""
SWEEP = "recruitment.tasks.sweep_campaigns"


def run(chosen: argparse.Namespace, double: MTurkDouble, *, say: Callable[[str], None]) -> int:
    """The whole demo; the exit code."""
    port = chosen.port or demo.free_port()
    origin = f"http://localhost:{port}"  # another site than the double's, which is at 127.0.0.1
    try:
        with demo.stop_signals():
            say("preparing the database and the static files")
            call_command("migrate", verbosity=0)
            settings.STATIC_ROOT.mkdir(parents=True, exist_ok=True)
            put_static_files(chosen.static)
            study = load_sample_study(now=timezone.now())
            password = secrets.token_urlsafe(12)
            ensure_researcher(username=RESEARCHER, password=password)
            settings.PUBLIC_URL = origin
            connections.close_all()
            environment = {**os.environ, "PUBLIC_URL": origin}
            logs = settings.VAR_DIR / "log"
            programs = demo.programs(port)
            with Supervisor(
                programs, environment=environment, cwd=settings.BASE_DIR, logs=logs
            ) as supervisor:
                demo.wait_for_answer(supervisor, f"http://{demo.HOST}:{port}/", host=f"localhost:{port}")
                test = _publish(study, _test())
                _announce(say, double, origin, test, password)
                _work(chosen, double, origin, study, say=say)
                fine = _sum_up(double, study, say=say)
                if chosen.until_done:
                    return 0 if fine else 1
                say("Pass the test and take the HITs that are left; what you hand in is paid within seconds.")
                say("Ctrl-C stops everything.")
                while True:
                    supervisor.check()
                    app.send_task(SWEEP)
                    time.sleep(SWEEP_SECONDS)
    except demo.Stop as stop:
        say(f"{stop}, everything was stopped")
    return 0


def _test() -> CampaignSettings:
    return CampaignSettings(
        platform="mturk",
        purpose=Campaign.Purpose.TEST,
        title="Qualify for reading short stories",
        description="Read instructions and judge five stories of two sentences each.",
        keywords="reading, stories, judgement",
        reward=Decimal("2.50"),
        seats=TEST_SEATS,
        seats_per_posting=TEST_SEATS,
        minutes_expected=10,
        minutes_allowed=60,
    )


def _stories(study: Study) -> CampaignSettings:
    votes = Story.objects.main().filter(study=study).count() * study.votes_per_story
    return CampaignSettings(
        platform="mturk",
        purpose=Campaign.Purpose.STORIES,
        title="Judge five short stories",
        description="Read five stories of two sentences each and answer four questions about every one.",
        keywords="reading, stories, judgement",
        reward=Decimal("1.25"),
        seats=-(-votes // STORIES_EACH),
        seats_per_posting=3,
        stories_per_visit=STORIES_EACH,
        minutes_expected=5,
        minutes_allowed=60,
    )


def _publish(study: Study, wanted: CampaignSettings) -> Campaign:
    """The campaign on the platform, put there by the worker."""
    now = timezone.now()
    campaign = actions.create_campaign(study=study, settings=wanted, by=None, now=now)
    platform = marketplace_of(campaign)
    actions.start_campaign(campaign=campaign, marketplace=platform, by=None, now=now)
    _wait(lambda: Campaign.objects.get(pk=campaign.pk).state == Campaign.State.LIVE)
    return Campaign.objects.get(pk=campaign.pk)


def _announce(
    say: Callable[[str], None], double: MTurkDouble, origin: str, test: Campaign, password: str
) -> None:
    you = urlencode({"workerId": double.crowd.hire().worker_id})
    hit = test.postings.get().remote_id
    study = test.study.slug
    say(f"Campaigns:        {origin}{reverse('dashboard:recruitment', args=[study])}")
    say(f"  sign in as      {RESEARCHER}, password {password}")
    answers = reverse("dashboard:round", args=[study, 1])
    say(f"Answers of the test: {origin}{answers}   (Qualification, Round 1)")
    say(f"Worker site:      {double.url}/?{you}   (you are a worker who may take the test)")
    say(f"The frame:        {double.url}/projects/{hit}/tasks?{you}   (preview of the test)")


def _work(
    chosen: argparse.Namespace, double: MTurkDouble, origin: str, study: Study, *, say: Callable[[str], None]
) -> None:
    """The test, then the stories, until a round of everybody hands nothing in any more."""
    table = json.loads((settings.BASE_DIR / "sample_study" / "truth.json").read_text(encoding="utf-8"))
    truth = truth_of(study, table=table, valid=0.6, seed=chosen.seed)
    workers = Workers(double, origin, truth, count=chosen.workers, seed=chosen.seed)
    say(f"{chosen.workers} workers take the test")
    _rounds(workers)
    _settle(double, study)
    say(f"{_passed(study)} of them passed")
    stories = _publish(study, _stories(study))
    left = stories.postings.order_by("-number").values_list("remote_id", flat=True)[:LEFT_FOR_YOU]
    say(f"who passed judges stories, five for each HIT; {LEFT_FOR_YOU} HITs are left for you")
    while _rounds(workers, set(left)):
        _settle(double, study)
        say(f"{workers.tally.handed_in} HITs handed in, {workers.tally.given_back} given back")
    for problem in workers.tally.problems:
        say(f"problem: {problem}")


def _rounds(workers: Workers, left: Collection[str] = ()) -> int:
    """One round of everybody; how many HITs were handed in, of which none is among those to be left."""
    before = workers.tally.handed_in
    for _worker in workers.round(left):
        pass
    return workers.tally.handed_in - before


def _settle(double: MTurkDouble, study: Study) -> None:
    """Have the platform asked until everything that was handed in is decided, paid and granted."""

    def settled() -> bool:
        app.send_task(SWEEP)
        time.sleep(SWEEP_SECONDS)
        _approve_the_last(study)
        rows = double.world.assignments.values()
        waits = Payment.objects.filter(submission__campaign__study=study, state__in=["requested", "sending"])
        grants = study.grants.filter(state="requested")
        return not (any(row.state == "Submitted" for row in rows) or waits.exists() or grants.exists())

    _wait(settled)


def _approve_the_last(study: Study) -> None:
    """What a researcher does: who came when fewer stories were left than asked for did nothing wrong."""
    by = User.objects.get(username=RESEARCHER)
    partial = Mismatch.objects.filter(campaign__study=study, kind=Mismatch.Kind.PARTIAL, settled_at=None)
    for found in partial:
        how = "No more stories were left for them."
        actions.decide_mismatch(mismatch=found, remedy=Remedy.APPROVE, how=how, by=by, now=timezone.now())


def _wait(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError(f"Not done after {PATIENCE:.0f} seconds; see {settings.VAR_DIR / 'log'}.")
        time.sleep(0.2)


def _passed(study: Study) -> int:
    return study.enrollments.filter(state="qualified").count()


def _sum_up(double: MTurkDouble, study: Study, *, say: Callable[[str], None]) -> bool:
    """Say what came of it on both sides; whether the two agree."""
    states = Assignment.State
    counted = Assignment.objects.filter(story__study=study, state=states.SUBMITTED).count()
    waiting = Assignment.objects.filter(story__study=study, state=states.PENDING).count()
    paid = Payment.objects.filter(submission__campaign__study=study, state="done", kind="approval")
    ours = sum((payment.amount for payment in paid), Decimal(0))
    charges = double.world.charges.values()
    theirs = sum((charge.amount for charge in charges), Decimal(0))
    fees = sum((charge.fee for charge in charges), Decimal(0))
    rows = [row.state for row in double.world.assignments.values()]
    say(f"votes: {counted} count, {waiting} wait for the platform")
    say(f"work: {rows.count('Approved')} pieces approved, {rows.count('Submitted')} not decided")
    say(f"money: {ours} USD paid by our books, {theirs} USD by the platform's, which took {fees} USD on top")
    open_mismatches = Mismatch.objects.filter(campaign__study=study, settled_at=None).count()
    say(f"mismatches that nobody has dealt with: {open_mismatches}")
    return ours == theirs and waiting == 0 and rows.count("Submitted") == 0
