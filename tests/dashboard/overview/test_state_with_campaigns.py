"""A study that stops takes its campaigns along, so that nobody accepts work for nothing."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.actions import ensure_researcher
from annotation import actions as annotation_actions
from annotation.models import Study
from recruitment import actions
from recruitment.models import Campaign
from tests import builders
from tests.api.client import Program
from tests.dashboard.test_roles import Role, client_of, member
from tests.recruitment.platform_visits import come, publish_campaign

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
State = Campaign.State
ON_OFFER = "its work is still on offer"


@pytest.fixture(scope="module")
def built(module_transaction: None) -> list[Campaign]:
    study = builders.make_study(stories=4, qualification=1)
    return [publish_campaign(study, purpose="test"), publish_campaign(study)]


@pytest.fixture
def campaigns(built: list[Campaign]) -> list[Campaign]:
    """The campaigns as the database has them; what a test does to them is rolled back."""
    found = Campaign.objects.select_related("study").in_bulk([one.pk for one in built])
    return [found[one.pk] for one in built]


@pytest.fixture
def study(built: list[Campaign]) -> Study:
    return Study.objects.get(pk=built[0].study_id)


@pytest.fixture
def researcher(study: Study) -> Client:
    return client_of(member(study, Role.RESEARCHER))


def press(client: Client, move: str, *numbers: int, asked: bool = True, slug: str = "study") -> str:
    said: dict[str, object] = {"campaign": numbers}
    if asked:
        said["asked"] = "1"
    return client.post(
        reverse("dashboard:change_state", args=[slug, move]), said, follow=True
    ).content.decode()


def states(study: Study) -> tuple[str, list[str]]:
    study.refresh_from_db()
    return study.state, list(study.campaigns.order_by("number").values_list("state", flat=True))


def done(study: Study, state: Campaign.State) -> None:
    """What the workers do then."""
    study.campaigns.exclude(state=State.LIVE).update(state=state)


def test_it_asks_first_with_every_campaign_ticked(
    study: Study, campaigns: list[Campaign], researcher: Client
) -> None:
    page = press(researcher, "close", asked=False)

    assert states(study) == ("open", ["live", "live"])
    assert page.count("checked") == len(campaigns)

    press(researcher, "close", 1, 2)

    assert states(study) == ("closed", ["pausing", "pausing"])


def test_campaigns_that_are_not_ticked_go_on_and_every_page_warns(
    study: Study, campaigns: list[Campaign], researcher: Client
) -> None:
    press(researcher, "pause", 1)

    assert states(study) == ("paused", ["pausing", "live"])
    for address in (
        reverse("dashboard:overview", args=["study"]),
        reverse("dashboard:campaign", args=["study", 2]),
    ):
        page = researcher.get(address).content.decode()
        assert ON_OFFER in page
        assert "Pause campaign 2 on" in page
        assert "Pause campaign 1 on" not in page
    assert ON_OFFER not in researcher.get(reverse("dashboard:campaign", args=["study", 1])).content.decode()
    annotation_actions.open_study(study=study, by=None, now=timezone.now())
    assert ON_OFFER not in researcher.get(address).content.decode()


def test_opening_proposes_to_resume_those_that_were_paused_with_it(
    study: Study, campaigns: list[Campaign], researcher: Client
) -> None:
    actions.pause_campaign(campaign=campaigns[0], by=None, now=datetime.now(tz=timezone.now().tzinfo))
    press(researcher, "pause", 2)
    done(study, State.PAUSED)

    page = press(researcher, "open", asked=False)

    assert states(study)[0] == "paused"
    first, second = (page.split(f'id="campaign-{number}"')[1].split(">")[0] for number in (1, 2))
    assert "checked" not in first
    assert "checked" in second
    press(researcher, "open", 2)
    assert states(study) == ("open", ["paused", "creating"])


def test_a_program_moves_them_as_the_page_proposes(study: Study, campaigns: list[Campaign]) -> None:
    program = Program(ensure_researcher(username="ada", password="seven wet otters"))

    def put(**said: object) -> int:
        status: int = program.ask("PUT", "studies/study/state/", data=said).status_code
        return status

    actions.pause_campaign(campaign=campaigns[0], by=None, now=timezone.now())
    assert put(state="paused") == 200
    assert states(study) == ("paused", ["pausing", "pausing"])
    done(study, State.PAUSED)
    assert put(state="open") == 200
    assert states(study) == ("open", ["paused", "creating"]), "only what was paused with the study"
    study.campaigns.update(state=State.LIVE)
    assert put(state="closed", campaigns=[2]) == 200
    assert states(study) == ("closed", ["live", "pausing"])


def test_both_move_or_neither(study: Study, campaigns: list[Campaign], researcher: Client) -> None:
    press(researcher, "pause", 1, 2)
    done(study, State.PAUSED)

    page = press(researcher, "pause", 1, 2)

    assert "it can’t become paused" in page
    assert states(study) == ("paused", ["paused", "paused"])


def test_without_campaigns_nothing_is_asked() -> None:
    study = builders.make_study("without")
    researcher = client_of(member(study, Role.RESEARCHER))
    press(researcher, "pause", asked=False, slug="without")

    assert states(study) == ("paused", [])


@pytest.mark.parametrize("stopped", ["study", "campaign"])
def test_a_preview_of_what_lets_nobody_in_says_not_to_accept_it(
    study: Study, campaigns: list[Campaign], stopped: str
) -> None:
    now = timezone.now()
    if stopped == "study":
        annotation_actions.pause_study(study=study, by=None, now=now)
    else:
        actions.pause_campaign(campaign=campaigns[1], by=None, now=now)
        done(study, State.PAUSED)

    page = come(campaigns[1], assignmentId="ASSIGNMENT_ID_NOT_AVAILABLE", workerId=None).page.content.decode()

    assert "Please don’t accept this work now" in page
    assert "Accept the work to begin" not in page
