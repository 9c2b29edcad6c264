"""The pages about the test: making a round, experts answering blind, comparing them, fixing the key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from lxml import html
from pytest_django import DjangoAssertNumQueries

from accounts.models import User
from annotation import actions as annotation_actions
from annotation.models import Membership, Story, Study
from qualification import actions as qualification_actions
from qualification.models import AnswerKey, ExpertAnswer, ExpertReview, KeyReason, Round
from tests import builders

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

HERE = "/studies/main/qualification/"


def member(study: Study, name: str, role: str = Membership.Role.REVIEWER) -> Client:
    user = User.objects.create_user(name, password=None)
    annotation_actions.set_role(study=study, user=user, role=role, by=None, now=timezone.now())
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def study() -> Study:
    return builders.make_study("main", stories=1, opened=False, qualification_required=True)


@pytest.fixture
def round(study: Study) -> Round:
    return builders.make_round(study)


@pytest.fixture
def rosa(study: Study) -> Client:
    return member(study, "rosa", Membership.Role.RESEARCHER)


def text(client: Client, address: str, form: Mapping[str, object] | None = None) -> str:
    response = client.get(address, follow=True) if form is None else client.post(address, form, follow=True)
    assert response.status_code in (200, 422)
    return response.content.decode()


def ask(rosa: Client, *names: str) -> str:
    experts = User.objects.filter(username__in=names).values_list("pk", flat=True)
    return text(rosa, f"{HERE}1/", {"do": "ask", "expert": list(experts)})


def answer(client: Client, number: int, **changes: str) -> None:
    """Everything by the form, then handed in."""
    for position in (1, 2):
        sent = client.post(f"{HERE}{number}/expert/{position}/", builders.answers(**changes))
        assert sent.status_code == 302
    assert "handed in" in text(client, f"{HERE}{number}/expert/", {})


def key_form(**changes: object) -> dict[str, object]:
    """A key that accepts yes everywhere, in both stories."""
    form: dict[str, object] = {"after": 0}
    for position in (1, 2):
        form |= {f"story-{position}-q{n}": ["yes"] for n in (1, 2, 3, 4)}
    return form | changes


def test_a_round_is_made_of_imported_stories(rosa: Client, study: Study) -> None:
    assert "No test stories yet" in text(rosa, f"{HERE}new/")
    rows = [builders.story_row(number, prefix="test") for number in range(3)]
    stories = builders.import_rows(study, rows, role=Story.Role.QUALIFICATION)
    refused = rosa.post(f"{HERE}new/", {"kind": "test", "attempts_allowed": "0"})
    assert refused.status_code == 422
    assert {"attempts_allowed", "stories"} == refused.context["form"].errors.keys()
    chosen = [stories[0].story_id, stories[2].story_id]
    made = text(
        rosa, f"{HERE}new/", {"title": "Pilot", "kind": "test", "attempts_allowed": 2, "stories": chosen}
    )
    assert "Round 1 is created. Set its key next." in made
    round = study.rounds.get()
    assert list(round.round_stories.values_list("story__story_id", flat=True)) == chosen
    assert (round.title, round.attempts_allowed, round.pays_on_fail) == ("Pilot", 2, False)
    again = rosa.get(f"{HERE}new/?like=1").context["form"].initial
    assert (again["title"], sorted(again["stories"])) == ("Pilot", sorted(chosen))
    assert rosa.get(f"{HERE}new/").context["form"].initial == {"stories": [stories[1].story_id]}


def test_nobody_sees_anything_before_all_have_handed_in(rosa: Client, study: Study, round: Round) -> None:
    """Neither the other experts, nor who runs the study, nor who is both, nor the back office."""
    ada, ben = member(study, "ada"), member(study, "ben", Membership.Role.OWNER)
    assert "2 experts are asked" in ask(rosa, "ada", "ben")
    answer(ada, 1, q1="possibly")
    boss = Client()
    boss.force_login(User.objects.create_superuser("boss", password=None))
    review = ExpertReview.objects.get(expert__username="ada")
    pages = [HERE, f"{HERE}1/", f"{HERE}1/key/", "/studies/main/settings/log/"]
    for reader in (rosa, ben, boss):
        for address in pages:
            assert "ada, " not in text(reader, address)
            assert reader.get(f"{HERE}1/key/")["Location"] == f"{HERE}1/"
    assert not re.search(r"\bq1\b", text(boss, f"/admin/qualification/expertreview/{review.pk}/change/"))
    assert "Answer the stories" in text(ben, f"{HERE}1/")
    assert "You are asked as an expert to answer" in text(ben, HERE)

    answer(ben, 1)

    compared = text(rosa, f"{HERE}1/key/")
    page: Any = html.document_fromstring(compared)
    heads = [cell.text for cell in page.xpath("(//table)[1]/thead//th")]
    assert heads == ["Question", "ada", "ben", "Accepted", "Why"], "experts are columns"
    to_decide = page.xpath("//section//table[not(ancestor::details)]/tbody/tr")
    assert [[cell.text for cell in row.xpath("td[@data-label]")] for row in to_decide] == [
        ["Possibly", "Yes"]
    ] * 2
    assert len(page.xpath("//details//table/tbody/tr")) == 6, "questions on which both agree are folded"
    assert text(ada, f"{HERE}1/key/").count("Experts differ") == compared.count("Experts differ")
    assert "Save this key" not in text(ada, f"{HERE}1/key/")
    assert "q1" in text(boss, f"/admin/qualification/expertreview/{review.pk}/change/")
    looker_on = member(study, "carl")
    assert looker_on.get(f"{HERE}1/key/").status_code == 403
    assert ada.post(f"{HERE}1/key/", key_form()).status_code == 403


def test_experts_learn_where_they_land_what_they_are_asked_for(
    rosa: Client, study: Study, round: Round, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    def asked() -> int:
        with django_assert_max_num_queries(20) as seen:
            ada.get("/studies/")
        return len(seen.captured_queries)

    ada, ben = member(study, "ada"), member(study, "ben")
    landing = ("/studies/", "/studies/main/", HERE)
    before = asked()
    assert [page for page in landing if "You are asked" in text(ada, page)] == []

    ask(rosa, "ada", "ben")
    ada.post(f"{HERE}1/expert/1/", builders.ALL_YES)
    for page in landing:
        shown = text(ada, page)
        assert "to answer the 2 stories of round 1; done so far: 1." in shown
        assert f'href="{HERE}1/expert/"' in shown
        assert "Answer them" in shown
        assert "done so far: 0." in text(ben, page)
    second = builders.make_study("second", stories=1, opened=False, qualification_required=True)
    theirs = builders.make_round(second, [builders.story_row(90, prefix="test")])
    user = User.objects.get(username="ada")
    now = timezone.now()
    annotation_actions.set_role(study=second, user=user, role=Membership.Role.REVIEWER, by=None, now=now)
    qualification_actions.ask_experts(round=theirs, experts=[user], by=None, now=now)
    assert text(ada, "/studies/").count("You are asked") == 2
    assert "the 1 story of round 1" not in text(ada, "/studies/main/"), "another study's"
    assert asked() == before, "no query per study"

    ada.post(f"{HERE}1/expert/2/", builders.ALL_YES)
    assert "Hand them in" in text(ada, "/studies/main/")
    ada.post(f"{HERE}1/expert/", {})
    assert "You are asked" not in text(ada, "/studies/main/")
    assert text(ada, "/studies/").count("You are asked") == 1


def test_an_expert_answers_the_form_that_annotators_see(rosa: Client, study: Study, round: Round) -> None:
    ada = member(study, "ada")
    ask(rosa, "ada")
    page = text(ada, f"{HERE}1/expert/1/")
    for question in study.protocol.questions:
        assert str(question.text) in page
    missing = ada.post(f"{HERE}1/expert/1/", {"q1": "no"})
    assert missing.status_code == 422
    assert b"Please choose an answer" in missing.content
    assert not ExpertAnswer.objects.exists()
    assert ada.post(f"{HERE}1/expert/1/", builders.ALL_YES)["Location"] == f"{HERE}1/expert/2/"
    assert "Answers are missing for these stories: 2" in text(ada, f"{HERE}1/expert/", {})
    assert "nothing for you to answer" in text(rosa, f"{HERE}1/expert/1/")
    assert ada.get(f"{HERE}1/expert/3/").status_code == 404
    answer(ada, 1)
    assert "Your answers are final" in text(ada, f"{HERE}1/expert/")
    assert "nothing for you to answer" in text(ada, f"{HERE}1/expert/1/", builders.ALL_YES)


def test_the_group_fixes_the_key_with_reasons(rosa: Client, study: Study, round: Round) -> None:
    said = {"ada": {}, "ben": {"q2": "possibly"}, "cleo": {}}
    experts = {name: member(study, name) for name in said}
    ask(rosa, *said)
    for name, changes in said.items():
        answer(experts[name], 1, **changes)
    ticked = {form.prefix: form.initial for form in rosa.get(f"{HERE}1/key/").context["key"].stories}
    assert sorted(ticked["story-1"]["q2"]) == ["possibly", "yes"]
    assert ticked["story-2"]["q1"] == ["yes"]

    form = key_form(**{"story-1-q3": ["yes", "no"]})
    refused = rosa.post(f"{HERE}1/key/", form)
    assert refused.status_code == 422
    first_story, second_story = refused.context["key"].stories
    assert first_story.errors.keys() == {"reason-q2", "reason-q3"}
    assert second_story.errors.keys() == {"reason-q2"}
    assert "Story 1, Unlikely to be noticed: A reason is missing here." in refused.content.decode()
    assert rosa.post(f"{HERE}1/key/", form | {"story-2-q4": []}).status_code == 422
    assert not AnswerKey.objects.exists()

    why = {f"story-{at}-reason-{q}": "Agreed." for at, q in ((1, "q2"), (1, "q3"), (2, "q2"))}
    saved = text(rosa, f"{HERE}1/key/", form | why | {"note": "We met on Monday."})
    assert "Version 1 of the key is saved" in saved
    assert "We met on Monday." in saved
    assert "rosa" in saved
    assert KeyReason.objects.count() == 3
    round.refresh_from_db()
    assert round.state == Round.State.ACTIVE
    stale = text(rosa, f"{HERE}1/key/", form | why)
    assert "Version 1 of the key has been saved" in stale
    assert AnswerKey.objects.count() == 1


def test_a_key_without_experts_and_what_is_frozen(rosa: Client, study: Study, round: Round) -> None:
    assert "Version 1 of the key is saved" in text(rosa, f"{HERE}1/key/", key_form())
    annotation_actions.open_study(study=study, by=None, now=timezone.now())
    builders.take_test(builders.consent(builders.invite(study)[0]))
    page = text(rosa, f"{HERE}1/key/")
    assert "applies to later attempts only" in page
    assert "Save this key" not in page
    assert "its key is final" in text(rosa, f"{HERE}1/key/", key_form(after=1))
    copied = list(round.round_stories.values_list("story__story_id", flat=True))
    text(rosa, f"{HERE}new/", {"kind": "test", "attempts_allowed": 1, "stories": copied})
    second = rosa.get(f"{HERE}2/key/").context["key"]
    assert second.stories[0].initial == {f"q{n}": ["yes"] for n in (1, 2, 3, 4)}
    assert "beside" in second.note.fields
    text(rosa, f"{HERE}2/key/", key_form(**{"beside": "beside", "story-1-q2": ["yes", "possibly"]}))
    assert list(study.rounds.order_by("number").values_list("state", flat=True)) == ["active", "active"]
    assert "The round is retired" in text(rosa, f"{HERE}1/", {"do": "retire"})
    assert "only active round" in text(rosa, f"{HERE}2/", {"do": "retire"})
    assert "The round is active" in text(rosa, f"{HERE}1/", {"do": "activate"})
    assert "No member of the study can be asked now" in text(rosa, f"{HERE}2/"), "rosa can read both keys"
    text(rosa, f"{HERE}new/", {"kind": "test", "attempts_allowed": 1, "stories": copied})
    instead = text(rosa, f"{HERE}3/key/", key_form(beside="alone"))
    assert "Round 1 is retired" in instead
    assert "Round 2 is retired" in instead


def test_the_pass_mark_is_set_with_the_key_shown_and_copied(rosa: Client, study: Study, round: Round) -> None:
    assert "must be from 1 to 8" in text(rosa, f"{HERE}1/key/", key_form(enough=9))
    page = text(rosa, f"{HERE}1/key/", key_form(**{"enough": 6, "story-2-must-pass": "on"}))
    key = round.keys.get()
    assert (key.enough, key.must_pass) == (6, [2])
    assert "Passed with at least 6 acceptable answers." in page
    assert "No mistake allowed about stories: 2." in page

    copied = list(round.round_stories.values_list("story__story_id", flat=True))
    text(rosa, f"{HERE}new/", {"kind": "test", "attempts_allowed": 1, "stories": copied})
    forms = rosa.get(f"{HERE}2/key/").context["key"]
    assert forms.note["enough"].value() == 6
    assert [form.must.value() for form in forms.stories] == [False, True]


def test_somebody_who_does_not_answer_is_not_waited_for(rosa: Client, study: Study, round: Round) -> None:
    ada, _ben = member(study, "ada"), member(study, "ben")
    ask(rosa, "ada", "ben")
    assert "No expert has handed in yet" in text(rosa, f"{HERE}1/", {"do": "reveal"})
    answer(ada, 1)
    late = ExpertReview.objects.get(expert__username="ben")
    assert "The expert is dismissed" in text(rosa, f"{HERE}1/", {"do": "dismiss", "review": late.pk})
    assert "The answers are revealed" in text(rosa, f"{HERE}1/", {"do": "reveal"})
    assert 'data-label="ada"' in text(rosa, f"{HERE}1/key/")
    assert 'data-label="ben"' not in text(rosa, f"{HERE}1/key/")
    for form in ({"do": "dismiss", "review": "x"}, {"do": "dismiss", "review": "4711"}):
        assert rosa.post(f"{HERE}1/", form).status_code == 404
    assert "answers are revealed" in ask(rosa, "ben")
    assert "was incomplete" in text(rosa, f"{HERE}1/", {"do": "dance"})


def test_a_question_that_is_too_hard_or_known_is_said_with_its_numbers(rosa: Client, study: Study) -> None:
    builders.add_round(study, 1)
    annotation_actions.open_study(study=study, by=None, now=timezone.now())
    for number in range(24):
        person = builders.consent(builders.invite(study)[0])
        late = number >= 12
        builders.take_test(person, builders.answers(q2="yes" if late else "no", q3="no"))
    page = text(rosa, HERE)
    assert "<dd>24</dd>" in page
    assert "Story 1, “Action A: only when not aware”: 0 of 24 answers were acceptable (0 %" in page
    assert "8 of the later 10 attempts (80 %), 0 of the earlier 10 (0 %); Fisher’s exact test" in page
    assert "for 6 comparisons and for looking again (Bonferroni): p = 0.0043" in page
    assert "this answer alone failed 12 attempts" in page
    assert page.count("Too hard?") == 1
    assert page.count("Known?") == 1


def test_the_round_says_what_people_chose_to_who_may_know_its_key(study: Study, round: Round) -> None:
    rosa = member(study, "rosa", Membership.Role.RESEARCHER)
    qualification_actions.set_answer_key(
        round=round,
        acceptable=dict.fromkeys(
            round.round_stories.values_list("story__story_id", flat=True), builders.ACCEPTED
        ),
        by=None,
        now=timezone.now(),
    )
    annotation_actions.open_study(study=study, by=None, now=timezone.now())
    study.refresh_from_db()
    assert "Participants’ answers in their first" not in text(rosa, f"{HERE}1/"), "nobody has taken it"
    for changes in ({}, {"q1": "possibly"}, {"q1": "no"}, {"q1": "no"}):
        (person,) = builders.invite(study)
        builders.take_test(builders.consent(person), builders.answers(**changes))

    page: Any = html.document_fromstring(text(rosa, f"{HERE}1/"))
    told = [
        " ".join(cell.text_content().split())
        for cell in page.xpath(
            "(//table[contains(caption, 'answers in their first attempts')])[1]//tr[td][position() < 4]/*"
        )
    ]
    title = str(study.protocol.questions[0].title)
    assert told == [title, "Yes Accepted", "1", "25 %", "Possibly Accepted", "1", "25 %", "No", "2", "50 %"]
    reviewer = member(study, "rita", Membership.Role.REVIEWER)
    assert "Participants’ answers in their first" not in text(reviewer, f"{HERE}1/"), (
        "she may be asked as an expert"
    )
    assert f'href="{HERE}1/#story-1"' in text(rosa, HERE)
    shown = text(rosa, f"{HERE}1/")
    assert "See the key" in shown
    assert "See the answers side by side" not in shown, "nobody was asked"


def test_before_the_first_key_is_saved_the_page_says_that_saving_activates(
    round: Round, rosa: Client
) -> None:
    said = "Saving activates the round at once"
    page = text(rosa, f"{HERE}1/key/")
    assert said in page
    assert page.index("Ask experts first") < page.index("Save this key")
    text(rosa, f"{HERE}1/key/", key_form())
    assert said not in text(rosa, f"{HERE}1/key/")
