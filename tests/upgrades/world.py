"""The installation whose data are kept for later versions: a few rows of every kind, made through actions."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from uuid import UUID

from django.utils import timezone

from accounts.actions import ensure_researcher
from accounts.models import User
from annotation import actions
from annotation.alert_kinds import AlertKind
from annotation.models import Enrollment, Membership, Study
from publishing.actions.published import withdraw_release
from publishing.actions.statements import describe_data, fix_plan
from publishing.facts import Statement
from qualification import actions as qualification_actions
from qualification.models import Round
from recruitment.actions import record_link_payments
from tests import builders
from tests.dashboard.worlds import build_world
from tests.publishing.support import judged_study, published, random_forms

RELEASED, OPEN, OWNER = "released", "open", "ada"


def make_old_world() -> None:
    """Make the studies of :func:`build_world`, and two more that an upgrade test goes on with."""
    build_world()
    _make_released()
    _make_open()


def _make_released() -> None:
    """A study with a statement and a plan, a release that was withdrawn, and one that stands."""
    now = timezone.now()
    draft = builders.make_study("planned", stories=1, opened=False)
    fix_plan(study=draft, plan={"votes_per_story": 3}, filter_name="all-agree", by=None, now=now)
    actions.open_study(study=draft, by=None, now=now)
    study = judged_study(RELEASED, random_forms(seed=3, stories=6))
    described = Statement(creators=("Ada Exampler",), limits="Few votes, all made up.")
    describe_data(study=study, statement=described, by=None, now=now)
    wrong = published(study)
    withdraw_release(release=wrong, reason="It was too early.", by=None, now=timezone.now())
    published(study)


def _make_open() -> None:
    """A study with a design, questions about people, texts of its own, members, alerts and half its votes."""
    now = timezone.now()
    study = builders.make_study(
        OPEN,
        stories=6,
        opened=False,
        votes_per_story=2,
        intake_questions=["age", "country"],
        qualification={"rows": 2},
    )
    rows = [builders.story_row(number, prefix="practice") for number in (900, 901)]
    practice = builders.add_round(study, rows, kind=Round.Kind.REQUIRED)
    (stranger,) = builders.invite(builders.make_study("elsewhere", stories=1))
    actions.keep_out(study=study, annotators=[stranger.annotator_id], reason="knows them", by=None, now=now)
    page = "# Read this\n\nThen answer."
    actions.set_instructions(study=study, page=page, examples={}, thanks="Thank you.", by=None, now=now)
    actions.set_design(study=study, by_column="severity_original", load={"1": 6}, by=None, now=now)
    actions.open_study(study=study, by=None, now=now)
    _make_members(study)
    for person in builders.invite(study, 2):
        builders.consent(person)
        actions.answer_intake(enrollment=person, given={"age": "25-34", "country": "DE"}, now=now)
        for entry in practice.round_stories.all():
            qualification_actions.practise(
                enrollment=person, round_story=entry, submitted=builders.ALL_YES, now=now
            )
        worker = builders.take_test(person)
        held = builders.claim(worker)
        actions.skip_story(
            assignment_id=held.pk,
            enrollment=worker,
            reason="unclear",
            words="Who is Ilse?",
            now=timezone.now(),
        )
        for _ in range(2):
            _vote(worker)
    record_link_payments(
        study=study, amounts={worker.pk: Decimal("1.50")}, reason="By bank.", token=UUID(int=1),
        by=User.objects.get(username=OWNER), now=timezone.now(),
    )  # fmt: skip


def _vote(person: Enrollment) -> None:
    actions.record_vote(
        assignment_id=builders.claim(person).pk,
        enrollment=person,
        submitted=builders.ALL_YES,
        comment="The lid is shut.",
        now=timezone.now(),
    )


def _make_members(study: Study) -> None:
    now = timezone.now()
    owner = ensure_researcher(username=OWNER, password="a long enough password")
    actions.set_role(study=study, user=owner, role=Membership.Role.OWNER, by=None, now=now)
    member = Membership.objects.get(study=study, user=owner)
    actions.choose_alerts(
        membership=member, kinds=list(AlertKind), email="ada@example.org", language="en", now=now
    )
    url = "https://hooks.example.org/tomannot"
    actions.add_webhook(study=study, url=url, kinds=list(AlertKind), by=owner, now=now)
    actions.send_test_alert(study=study, to_webhooks=True, by=owner, now=now)
    actions.invite_member(study=study, address="bob@example.org", role="reviewer", by=owner, now=now)
    actions.make_api_token(
        owner=owner,
        name="script",
        scopes=["releases:read"],
        expires_at=now + timedelta(days=30),
        study=study,
        by=owner,
        now=now,
    )
