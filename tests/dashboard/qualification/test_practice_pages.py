"""Practice as researchers make it in the browser, see it, and carry it from study to study."""

from __future__ import annotations

import json

import pytest
from django.utils import timezone

from annotation.models import Membership, Story, Study
from dashboard.actions import create_study
from dashboard.settings.configuration import parse_configuration
from dashboard.settings.configuration_export import configuration_of
from qualification import actions
from qualification.models import Round
from tests import builders
from tests.dashboard.qualification.test_answer_key_pages import member
from tests.qualification.test_practice import practice_in

pytestmark = pytest.mark.django_db
ROW = builders.story_row(900, prefix="practice")
WHY = "The label is inside the lid."


@pytest.fixture
def study() -> Study:
    return builders.make_study(qualification=1)


def test_a_researcher_makes_it_in_the_browser(study: Study) -> None:
    client = member(study, "rosa", Membership.Role.RESEARCHER)
    builders.import_rows(study, [ROW], role=Story.Role.QUALIFICATION)
    made = client.post(
        f"/studies/{study.slug}/qualification/new/",
        {"kind": "required_practice", "attempts_allowed": 1, "stories": [ROW["story_id"]]},
    )
    assert made.status_code == 302
    key = {f"story-1-{name}": options for name, options in builders.ACCEPTED.items()}
    page = client.get(made["Location"] + "key/").content.decode()
    assert "Acceptable answers needed to pass" not in page
    saved = client.post(made["Location"] + "key/", key | {"story-1-reason-q1": WHY, "after": 0, "note": ""})
    assert saved.status_code == 302, saved.content.decode()

    practice = practice_in(study)
    assert practice.kind == Round.Kind.REQUIRED
    assert practice.keys.get().reasons.get().reason == WHY
    assert Round.objects.active_in(study).count() == 1

    client.post(made["Location"], {"do": "retire"})
    assert Round.objects.practice_in(study) is None
    client.post(made["Location"], {"do": "activate"})
    assert Round.objects.practice_in(study) == practice


def test_stories_of_the_test_are_refused(study: Study) -> None:
    client = member(study, "rosa", Membership.Role.RESEARCHER)
    story_id = Round.objects.active_in(study).get().round_stories.get().story.story_id
    page = client.post(
        f"/studies/{study.slug}/qualification/new/",
        {"kind": "practice", "attempts_allowed": 1, "stories": [story_id]},
    )
    assert "Practice and quizzes show the right answers" in page.content.decode()
    assert not Round.objects.exclude(kind=Round.Kind.TEST).exists()


def test_it_shows_where_people_go_wrong(study: Study) -> None:
    practice = builders.add_round(study, [ROW], kind=Round.Kind.OFFERED)
    for changed in ({"q3": "no"}, {"q3": "no", "q1": "no"}, {}):
        actions.practise(
            enrollment=builders.consent(builders.invite(study)[0]),
            round_story=practice.round_stories.get(),
            submitted=builders.answers(**changed),
            now=timezone.now(),
        )
    client = member(study, "rosa", Membership.Role.RESEARCHER)

    table = client.get(f"/studies/{study.slug}/qualification/").content.decode()
    counted = table.split("First answers in practice")[-1].split("</table>")[0]
    assert [text.split("<")[0] for text in counted.split('class="number">')[3:]] == ["3", "2"]
    page = client.get(f"/studies/{study.slug}/qualification/{practice.number}/").content.decode()
    assert "3 participants have practised" in " ".join(page.split())
    assert "Participants’ first answers in practice" in page


def test_a_configuration_carries_it(study: Study) -> None:
    builders.add_round(study, [ROW], kind=Round.Kind.REQUIRED, reasons={str(ROW["story_id"]): {"q1": WHY}})
    written = json.dumps(configuration_of(study, now=timezone.now()))

    copy = create_study(
        slug="copy",
        config=parse_configuration(written.encode(), name="copy.json"),
        by=None,
        now=timezone.now(),
    )

    practice = practice_in(copy)
    assert practice.kind == Round.Kind.REQUIRED
    assert practice.keys.get().reasons.get().reason == WHY
    assert copy.gate == Study.Gate.READY
