"""The set-up page of a study: checklist, settings, consent text, test, configuration."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import caches
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from accounts.actions import ensure_researcher
from accounts.models import User
from annotation import actions
from annotation.hidden_checks import CheckRules
from annotation.models import ConsentText, Event, Membership, Study
from annotation.models.stories import Story
from dashboard.actions import create_study, default_configuration
from dashboard.settings.configuration_export import configuration_of
from tests import builders
from tests.dashboard.settings.test_creating import shown

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

ADDRESS = "/studies/main/settings/"
CHECKS = "/studies/main/quality/hidden-checks/"
OPENING = "/studies/main/state/open/"


@pytest.fixture
def boss() -> Client:
    client = Client()
    client.force_login(ensure_researcher(username="boss", password="a long enough password"))
    return client


def posted(boss: Client, **changes: Any) -> dict[str, Any]:
    """What the form would send, with these changes."""
    initial = boss.get(ADDRESS).context["form"].initial
    return {name: "" if value is None else value for name, value in initial.items()} | changes


def test_the_checklist_leads_from_nothing_to_open(boss: Client) -> None:
    settings = {"title": "T", "contact": "lab@university.example"}
    study = actions.create_study(slug="main", settings=settings, by=None, now=timezone.now())
    page = boss.get(ADDRESS)
    assert [step.done for step in page.context["steps"]][:4] == [False, False, False, True]
    assert page.context["steps"][3].text == "Participants can write to lab@university.example"
    boss.post(ADDRESS + "consent/", {"consent": "You may stop."})
    boss.post(ADDRESS + "test/", {"test": "sample"})
    page = boss.get(ADDRESS)
    assert "Optional: Questions about participants: none asked" in shown(page), "nothing waits to be ticked"
    assert [step.done for step in page.context["steps"]] == [True, True, False, True, True, False, True]
    assert page.context["steps"][1].text == "A test with an answer key"
    assert '<a href="/studies/main/stories/import/">Import stories</a>' in page.content.decode()
    assert actions.blockers(Study.objects.get(pk=study.pk))
    assert "The study cannot open while something below is missing" in shown(boss.get(OPENING))
    assert '<button class="button"' not in boss.get(OPENING).content.decode()
    builders.import_rows(study, [builders.story_row(1)])
    boss.post(ADDRESS, posted(boss, pay_rate="15", intake_questions=["age", "gender"]))
    assert "Done: Questions about participants: 2 asked" in shown(boss.get("/studies/main/"))
    assert "Open the study" in shown(boss.get(OPENING))
    boss.post(OPENING)
    assert Study.objects.get(pk=study.pk).state == Study.State.OPEN, "nothing is left to ask"
    assert boss.get(ADDRESS).context["steps"] == [], "an open study shows only what is not done"


def test_a_real_study_opens_with_gaps_only_if_each_is_accepted(
    boss: Client, settings: Any, request: pytest.FixtureRequest
) -> None:
    config = default_configuration(title="T", contact="you@example.org")
    create_study(slug="main", config=config, by=None, now=timezone.now())
    study = Study.objects.get(slug="main")
    builders.import_rows(study, [builders.story_row(1)])
    caches["shared"].delete("mail-failure")
    request.addfinalizer(lambda: caches["shared"].delete("mail-failure"))
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9  # nobody listens there

    def codes(said: dict[str, Any]) -> set[str]:
        page = boss.post(OPENING, said, follow=True)
        study.refresh_from_db()
        return {step.code for step in page.context.get("steps", []) if not step.done}

    assert codes({}) == {"contact", "consent_edited", "pay", "mail"}
    page = shown(boss.get(OPENING))
    assert "it is still our example" in page
    assert "stories 1 votes per story 3 votes in all 3" in page
    for code in ("made_up", "too"):
        study.stories.main().get().lint_findings.create(code=code, message="Look at this.")
    assert "stories with a lint warning 1" in shown(boss.get(OPENING))
    assert "you can no longer change these settings: Protocol" in page
    assert "The published procedure asks for 3 votes" not in page
    Study.objects.filter(pk=study.pk).update(votes_per_story=5)
    page = shown(boss.get(OPENING))
    assert "votes in all 5" in page
    assert "The published procedure asks for 3 votes" in page
    Study.objects.filter(pk=study.pk).update(votes_per_story=3)
    page = shown(boss.get(OPENING))
    assert "refused" in page
    accepted = ["contact", "consent_edited", "pay", "mail"]
    codes({"asked": "1", "accepted": accepted})
    assert study.state == "draft", "nobody reads that contact, and no tick mends this"
    boss.post(ADDRESS, posted(boss, contact="lab@university.example"))
    codes({"asked": "1", "accepted": ["pay", "mail"]})
    assert study.state == "draft"
    assert boss.get(OPENING).content.decode().count('name="accepted"') == 3
    codes({"asked": "1", "accepted": ["pay", "mail", "consent_edited"]})
    assert study.state == "open"
    assert study.events.get(type="study_opened").note == "without: consent edited, pay, mail"


def test_mails_that_go_to_files_are_not_said_to_be_sent(boss: Client, settings: Any, tmp_path: Path) -> None:
    builders.make_study("main", opened=False)
    settings.EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    settings.EMAIL_FILE_PATH = str(tmp_path)
    caches["shared"].delete("mail-failure")
    page = shown(boss.get(OPENING))
    assert "Advised: Mails are written to files; none is sent" in page
    assert "This site sends mail" not in page


def test_a_test_still_to_add_has_links_to_its_stories_and_round(boss: Client) -> None:
    config = default_configuration(title="T", contact="you@example.org")
    create_study(slug="main", config=config, by=None, now=timezone.now())
    links = [
        f'href="{ADDRESS.replace("settings", "stories/import")}?role=qualification"',
        "qualification/new/",
    ]
    for gate, there in (("missing", True), ("not_required", False)):
        Study.objects.update(gate=gate)
        page = boss.get(ADDRESS)
        assert [link in page.content.decode() for link in links] == [there, there]
    step = page.context["steps"][3]
    assert (step.is_missing, step.text.endswith("nobody reads you@example.org")) == (True, True)


def test_a_test_run_opens_without_what_only_people_need(boss: Client) -> None:
    study = builders.make_study("main", opened=False)
    actions.make_rehearsal(study=study, by=None, now=timezone.now())
    assert "its answers are never used" not in shown(boss.get("/studies/main/"))
    assert "their answers are never used" in shown(boss.get(OPENING))
    boss.post(OPENING)
    assert Study.objects.get(pk=study.pk).state == Study.State.OPEN


def test_the_overview_of_a_draft_leads_to_where_each_thing_is_mended(boss: Client) -> None:
    settings = {"title": "T", "contact": "lab@university.example"}
    study = actions.create_study(slug="main", settings=settings, by=None, now=timezone.now())
    actions.change_check_rules(study=study, rules=CheckRules(5), by=None, now=timezone.now())
    page = boss.get("/studies/main/").content.decode()
    for place in (f"{ADDRESS}#consent", f"{ADDRESS}#test", "/studies/main/stories/import/", CHECKS):
        assert f'href="{place}"' in page.partition("Before this study can open")[2].partition("</ul>")[0]
    assert "manage.py import_stories" not in page

    opened = boss.post("/studies/main/state/open/", follow=True)
    assert "The study cannot open while something below is missing" in shown(opened)
    asked = boss.post("/studies/main/state/open/", {"asked": "1"}, follow=True)
    assert asked.redirect_chain == [("/studies/main/state/open/", 302)]
    assert "The study cannot open yet" in shown(asked)
    assert Study.objects.get(pk=study.pk).state == Study.State.DRAFT

    reader = User.objects.create_user("rea", password=None)
    actions.set_role(study=study, user=reader, role=Membership.Role.REVIEWER, by=None, now=timezone.now())
    client = Client()
    client.force_login(reader)
    theirs = shown(client.get("/studies/main/"))
    assert "Stories to judge" in theirs
    assert "Import stories" not in theirs

    assert "Forecast" not in theirs, "a draft has nothing to show but this"
    assert "Active leases" not in theirs


def test_our_test_is_not_chosen_while_a_file_comes_in(boss: Client) -> None:
    study = builders.make_study("main", stories=0, opened=False)
    file = SimpleUploadedFile("stories.jsonl", json.dumps(builders.story_row(1)).encode())
    job = actions.queue_import(study=study, file=file, dry_run=True, by=None, now=timezone.now())
    gate = study.gate
    page = boss.post(ADDRESS + "test/", {"test": "sample"}, follow=True)
    assert "An import is running. Try again when it has finished." in shown(page)
    study.refresh_from_db()
    assert study.gate == gate
    actions.run_import(story_import_id=job.pk, now=timezone.now())
    boss.post(ADDRESS + "test/", {"test": "sample"})
    study.refresh_from_db()
    assert study.gate == Study.Gate.READY


def test_settings_are_changed_and_the_log_says_so(boss: Client) -> None:
    builders.make_study("main", opened=False)
    response = boss.post(ADDRESS, posted(boss, title="Better", pay_rate="9.50"))
    assert response.status_code == 302
    study = Study.objects.get(slug="main")
    assert (study.title, str(study.pay_rate)) == ("Better", "9.50")
    note = Event.objects.get(type=Event.Type.STUDY_CHANGED).note
    assert note == "title: “A study for tests” → “Better”\npay_rate: none → 9.50"


def test_what_only_a_closed_platform_does_is_hidden_until_it_is_set_up(boss: Client, settings: Any) -> None:
    builders.make_study(incomplete_after=5)
    asked = "Unfinished submissions before exclusion"
    hidden = boss.get("/studies/study/settings/").content.decode()
    assert asked not in hidden
    assert '<input type="hidden" name="incomplete_after" value="5"' in hidden, "saving changes nothing"
    settings.MTURK = settings.MTURK | {"live": settings.MTURK["live"] | {"endpoint": "http://127.0.0.1:1"}}
    assert asked in boss.get("/studies/study/settings/").content.decode()


def test_what_is_fixed_is_shown_as_fixed_with_the_reason(boss: Client) -> None:
    builders.make_study("main", pay_rate="9.00")
    page = boss.get(ADDRESS)
    form = page.context["form"]
    fixed = {name for name, field in form.fields.items() if field.disabled}
    assert fixed == {
        "protocol", "votes_per_story", "most_votes", "decided_by", "option_order", "currency", "license",
        "intake_questions",
        "intake_group",
    }  # fmt: skip
    assert "every story must be decided by the same rule" in shown(page)
    boss.post(ADDRESS, posted(boss, votes_per_story=7, lease_minutes=45))
    study = Study.objects.get(slug="main")
    assert (study.votes_per_story, study.lease_minutes) == (3, 45)
    lower = boss.post(ADDRESS, posted(boss, pay_rate="8.00"))
    assert lower.status_code == 422
    assert "it can only be raised" in lower.context["form"].errors["pay_rate"][0]


def test_what_is_wrong_stands_at_the_field(boss: Client) -> None:
    builders.make_study("main", opened=False)
    response = boss.post(ADDRESS, posted(boss, contact="nobody", votes_per_story=0))
    assert response.status_code == 422
    assert response.context["form"].errors.keys() == {"contact", "votes_per_story"}
    assert 'aria-describedby="id_contact_helptext id_contact_error"' in response.content.decode()
    assert not Event.objects.filter(type=Event.Type.STUDY_CHANGED).exists()


def test_a_new_version_of_the_consent_text(boss: Client) -> None:
    study = builders.make_study("main", stories=1)
    boss.post(ADDRESS + "consent/", {"consent": "We store your answers.\r\n\r\nYou may stop."})
    assert ConsentText.objects.filter(study=study).count() == 1, "nothing new"
    boss.post(ADDRESS + "consent/", {"consent": "New.\r\n\r\nText."})
    assert ConsentText.objects.get(study=study, version=2).text == "New.\n\nText."
    assert Event.objects.filter(type=Event.Type.CONSENT_TEXT_ADDED).latest("pk").actor is not None
    empty = boss.post(ADDRESS + "consent/", {"consent": " "})
    assert empty.status_code == 422
    assert 'id="id_consent_error"' in empty.content.decode()


def test_the_test_is_asked_for_or_not(boss: Client) -> None:
    builders.make_study("main", opened=False, qualification=1)
    gates = []
    for test in ("none", "own", "nonsense"):
        boss.post(ADDRESS + "test/", {"test": test})
        gates.append(Study.objects.get(slug="main").gate)
    assert gates == ["not_required", "ready", "ready"]
    actions.open_study(study=Study.objects.get(slug="main"), by=None, now=timezone.now())
    page = boss.post(ADDRESS + "test/", {"test": "none"}, follow=True)
    assert "Pause the study first" in shown(page)
    assert Study.objects.get(slug="main").gate == "ready"
    assert 'name="test"' not in page.content.decode()


def test_the_configuration_is_saved_as_a_file(boss: Client) -> None:
    study = builders.make_study("main", opened=False, qualification=2)
    response = boss.get("/studies/main/settings/configuration.json")
    assert response["Content-Disposition"] == 'attachment; filename="main.json"'
    assert json.loads(response.content) == configuration_of(study, now=timezone.now())

    # A newer tomannot without the version that this study began with; no action leads there.
    Study.objects.update(protocol_version="0.0")
    for page in (
        boss.get("/studies/main/settings/configuration.json", follow=True),
        boss.post("/studies/main/settings/clone/", {"title": "T", "slug": "copy", "environment": "live"}),
    ):
        assert "is installed in version" in shown(page)
    assert Study.objects.count() == 1


def test_the_preview_shows_the_studys_own_story(boss: Client) -> None:
    study = builders.make_study("main", stories=2)
    first = Story.objects.filter(study=study).order_by("order_key")[0]
    words = shown(boss.get("/studies/main/settings/preview/"))
    assert first.content["key_information"] in words
    assert "We store your answers." in words
    assert "This is the first of your stories." in words


def test_an_auditor_reads_and_changes_nothing() -> None:
    study = builders.make_study("main", opened=False)
    someone = ensure_researcher(username="auditor", password="a long enough password")
    someone.is_superuser = someone.is_staff = False
    someone.save()
    actions.set_role(study=study, user=someone, role=Membership.Role.AUDITOR, by=None, now=timezone.now())
    client = Client()
    client.force_login(someone)
    page = client.get(ADDRESS)
    assert all(field.disabled for field in page.context["form"].fields.values())
    assert "You can read the settings but not change them." in shown(page)
    assert client.get("/studies/main/settings/configuration.json").status_code == 403, (
        "the answer key is in it"
    )
