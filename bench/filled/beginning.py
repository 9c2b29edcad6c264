"""The beginning of a full study, created through actions: everything of which a study has only a few."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import connections
from django.utils import timezone

from accounts.models import User
from annotation import actions
from annotation.errors import ImportRefused
from annotation.hidden_checks import CheckRules
from annotation.models import ApiToken, Assignment, ConsentText, Enrollment, Story, Study
from bench.world import SAMPLE_STORIES, SEED, SLUG, World, collect_static
from publishing.actions import releases as publishing
from publishing.actions.statements import describe_data
from publishing.comparison import store as comparisons
from publishing.facts import Statement
from publishing.models import Release
from qualification import actions as qualification
from qualification.models import Round
from recruitment import actions as recruitment
from recruitment.models import Campaign

DAYS = 125
"""The study's age."""
STORIES, CHECKS, ROUND_STORIES = 60, 60, 5
"""Main stories that are voted on here; hidden checks; test stories of each of the two rounds."""
RELEASES = 10
MEMBERS, EXPERTS = 12, 3
ALL_YES = {"q1": "yes", "q2": "yes", "q3": "yes", "q4": "yes"}
ACCEPTED = {"q1": ["yes", "possibly"], "q2": ["yes", "possibly"], "q3": ["yes"], "q4": ["yes"]}


def make_beginning() -> World:
    """Empty the settings' database and create a study with a little of everything."""
    call_command("migrate", verbosity=0)
    collect_static()
    shutil.rmtree(Path(settings.RELEASES_ROOT) / SLUG, ignore_errors=True)  # of an interrupted run
    now = timezone.now()
    began = now - timedelta(days=DAYS)
    team = [
        User.objects.create_user(f"researcher{number}", f"researcher{number}@example.org")
        for number in range(MEMBERS)
    ]
    study = _make_study(team, now=began)
    for number in (1, 2):
        _make_round(study, number, team, now=began)
    _ask_an_expert(study, team, now=began)
    actions.open_study(study=study, by=team[0], now=began)
    _publish_twice(study, team[0], now=began + timedelta(days=1))
    _make_checks(study, team[0], now=began + timedelta(days=2))
    recruitment.set_join_link(study=study, by=team[0], now=began)
    for platform in ("prolific", "mturk"):
        for purpose in ("test", "stories", "stories"):
            _publish_campaign(_draft(study, platform, purpose, team[0], now=began), now=now)
    _draft(study, "mturk", "stories", team[0], now=now)
    _make_tokens(study, team, now=now)
    connections.close_all()
    connections["default"].close_pool()  # type: ignore[attr-defined]
    return World(str(settings.DATABASES["default"]["NAME"]), [], [])


def _make_study(team: list[User], *, now: datetime) -> Study:
    owner = team[0]
    chosen = {
        "title": "Benchmark",
        "contact": "bench@example.net",
        "serving_seed": SEED,
        "story_cap": 600,
        "pay_rate": Decimal("12.00"),
    }
    study = actions.create_study(slug=SLUG, settings=chosen, by=owner, now=now)
    actions.add_consent_text(study=study, text="You are a program.", by=owner, now=now)
    roles = ("owner", "researcher", "reviewer", "auditor")
    for number, user in enumerate(team[1:]):
        actions.set_role(study=study, user=user, role=roles[number % 4], by=owner, now=now)
    _import(study, _rows("bench", STORIES), owner, now=now)
    with suppress(ImportRefused):  # its report is one of the pages
        _import(study, ({"story_id": f"bad {number}"} for number in range(200)), owner, now=now)
    statement = Statement(creators=("Doe, Jo",), motivation="To measure pages.", limits="It is made up.")
    describe_data(study=study, statement=statement, by=owner, now=now)
    return study


def _rows(prefix: str, count: int) -> Iterable[dict[str, Any]]:
    """Return sample stories with numbered ids and different questions, so that no text repeats."""
    samples = [json.loads(line) for line in SAMPLE_STORIES.read_text(encoding="utf-8").splitlines()]
    for number in range(count):
        sample = samples[number % len(samples)]
        names = {name: f"{prefix}_{number:09d}_{sample[name]}" for name in ("story_id", "core_id")}
        yield sample | names | {"question": f"{sample['question']} ({prefix} {number})"}


def _import(
    study: Study,
    rows: Iterable[Mapping[str, Any]],
    by: User,
    *,
    role: Story.Role = Story.Role.MAIN,
    now: datetime,
) -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
        file.flush()
        actions.import_stories(study=study, path=Path(file.name), role=role, by=by, now=now)


def _make_round(study: Study, number: int, team: list[User], *, now: datetime) -> None:
    """Create a round whose three experts disagree in places."""
    owner, experts = team[0], team[1 : 1 + EXPERTS]
    rows = list(_rows(f"test{number}", ROUND_STORIES))
    _import(study, rows, owner, role=Story.Role.QUALIFICATION, now=now)
    ids = [row["story_id"] for row in rows]
    made = qualification.create_round(study=study, story_ids=ids, by=owner, now=now)
    for place, review in enumerate(qualification.ask_experts(round=made, experts=experts, by=owner, now=now)):
        for entry in made.round_stories.all():
            said = ALL_YES | ({"q1": "possibly"} if place == 1 else {})
            qualification.save_expert_answers(review=review, round_story=entry, submitted=said)
        qualification.hand_in_review(review=review, by=review.expert, now=now)
    made = Round.objects.get(pk=made.pk)
    why = dict.fromkeys(ACCEPTED, "Both can be read out of it.")
    qualification.set_answer_key(
        round=made,
        acceptable=dict.fromkeys(ids, ACCEPTED),
        reasons=dict.fromkeys(ids, why),
        beside=True,
        by=owner,
        now=now,
    )


def _ask_an_expert(study: Study, team: list[User], *, now: datetime) -> None:
    """Create a third round, whose expert has not answered yet."""
    rows = list(_rows("test3", ROUND_STORIES))
    _import(study, rows, team[0], role=Story.Role.QUALIFICATION, now=now)
    ids = [row["story_id"] for row in rows]
    made = qualification.create_round(study=study, story_ids=ids, by=team[0], now=now)
    qualification.ask_experts(round=made, experts=[team[MEMBERS - 1]], by=team[0], now=now)


def _publish_twice(study: Study, owner: User, *, now: datetime) -> None:
    """Let three annotators answer; publish and compare two releases, the second with a vote less."""
    consent = ConsentText.objects.get(study=study)
    for person in actions.invite(study=study, count=study.votes_per_story, by=owner, now=now):
        agreed = actions.give_consent(enrollment=person, consent=consent, now=now)
        attempt = qualification.start_attempt(enrollment=agreed, now=now)
        for entry in attempt.round.round_stories.all():
            qualification.save_answers(attempt=attempt, round_story=entry, submitted=ALL_YES)
        qualification.submit_attempt(attempt=attempt, now=now)
        _answer_everything(Enrollment.objects.select_related("study").get(pk=agreed.pk), now=now)
    first = _publish(study, owner, now=now + timedelta(hours=1))
    for voted in Assignment.objects.filter(story__study=study, slot=1).order_by("pk")[:30]:
        actions.exclude_vote(
            assignment=voted, reason="Nothing was read.", by=owner, now=now + timedelta(hours=2)
        )
    second = _publish(study, owner, now=now + timedelta(hours=3))
    comparisons.compare(first, second)
    for number in range(3, RELEASES + 1):  # their rows come with the others
        shutil.copytree(second.directory, second.directory.with_name(str(number)))


def _answer_everything(person: Enrollment, *, now: datetime) -> None:
    while isinstance(given := actions.assign_next_story(enrollment=person, now=now), Assignment):
        submitted = ALL_YES | ({"q3": "no"} if given.story_id % 3 == 0 else {})
        actions.record_vote(assignment_id=given.pk, enrollment=person, submitted=submitted, now=now)


def _publish(study: Study, owner: User, *, now: datetime) -> Release:
    release = publishing.request_release(study=study, by=owner, now=now)
    publishing.build_release(release_id=release.pk, now=now)
    release.refresh_from_db()
    if release.state != Release.State.PUBLISHED:
        raise RuntimeError(f"The release failed: {release.failure}")
    return release


def _make_checks(study: Study, owner: User, *, now: datetime) -> None:
    _import(study, _rows("check", CHECKS), owner, role=Story.Role.CHECK, now=now)
    for story in Story.objects.filter(study=study, role=Story.Role.CHECK).select_related("study"):
        actions.set_check_key(story=story, accepted=ACCEPTED, by=owner, now=now)
    rules = CheckRules(every=10, minimum=5, warn_percent=40, suspend_percent=80)
    actions.change_check_rules(study=study, rules=rules, by=owner, now=now)


def _draft(study: Study, platform: str, purpose: str, owner: User, *, now: datetime) -> Campaign:
    is_test = purpose == "test"
    wanted = recruitment.CampaignSettings(
        platform=platform,
        purpose=purpose,
        title="Judge short stories",
        description="Read stories of two sentences and answer four questions about each.",
        reward=Decimal("1.50") if is_test else Decimal("2.00"),
        seats=30_000,
        seats_per_posting=3,
        stories_per_visit=0 if is_test else 10,
        minutes_expected=10,
        minutes_allowed=60,
        auto_approves=False,
    )
    study.refresh_from_db()
    return recruitment.create_campaign(study=study, settings=wanted, by=owner, now=now)


def _publish_campaign(campaign: Campaign, *, now: datetime) -> None:
    """Write what a worker writes about a published campaign; there is no platform here."""
    Campaign.objects.filter(pk=campaign.pk).update(
        state=Campaign.State.LIVE,
        remote_id=f"remote-{campaign.pk}",
        started_at=campaign.created_at,
        synced_at=now,
    )


def _make_tokens(study: Study, team: list[User], *, now: datetime) -> None:
    for number, user in enumerate(team):
        actions.invite_member(
            study=study, address=f"guest{number}@example.org", role="reviewer", by=team[0], now=now
        )
        actions.make_api_token(
            owner=user,
            name="Bench",
            scopes=[ApiToken.Scope.STUDIES_READ, ApiToken.Scope.STATISTICS_READ],
            expires_at=now + timedelta(days=30),
            study=None,
            by=user,
            now=now,
        )
