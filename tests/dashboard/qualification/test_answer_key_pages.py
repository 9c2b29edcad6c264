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
from qualification import actions as qualification_actions, rates
from qualification.drift import Halves, Pace
from qualification.models import AnswerKey, ExpertAnswer, ExpertReview, KeyReason, Round
from qualification.rates import QuestionRate
from tests import builders
from tests.worlds import built_once

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

HERE = "/studies/main/qualification/"


def member(study: Study, name: str, role: str = Membership.Role.REVIEWER) -> Client:
    user = User.objects.create_user(name, password=None)
    annotation_actions.set_role(study=study, user=user, role=role, by=None, now=timezone.now())
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
@built_once
def round() -> Round:
    """A round of two stories, without a key, in a draft."""
    study = builders.make_study("main", stories=1, opened=False, qualification_required=True)
    return builders.make_round(study)


@pytest.fixture
def study(round: Round) -> Study:
    return round.study


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


def hand_in(round: Round, name: str, **changes: str) -> None:
    """Answer everything as the expert, and hand it in."""
    review = round.reviews.get(expert__username=name)
    for entry in round.round_stories.select_related("story__study"):
        qualification_actions.save_expert_answers(
            review=review, round_story=entry, submitted=builders.answers(**changes)
        )
    qualification_actions.hand_in_review(review=review, by=review.expert, now=timezone.now())


def key_form(**changes: object) -> dict[str, object]:
    """A key that accepts yes everywhere, in both stories."""
    form: dict[str, object] = {"after": 0}
    for position in (1, 2):
        form |= {f"story-{position}-q{n}": ["yes"] for n in (1, 2, 3, 4)}
    return form | changes


def test_a_round_is_made_of_imported_stories(rosa: Client, study: Study, round: Round) -> None:
    (other,) = builders.import_rows(
        study, [builders.story_row(9, prefix="test")], role=Story.Role.QUALIFICATION
    )
    refused = rosa.post(f"{HERE}new/", {"kind": "test", "attempts_allowed": "0"})
    assert refused.status_code == 422
    assert {"attempts_allowed", "stories"} == refused.context["form"].errors.keys()
    chosen = [round.round_stories.get(position=1).story.story_id, other.story_id]
    made = text(
        rosa, f"{HERE}new/", {"title": "Pilot", "kind": "test", "attempts_allowed": 2, "stories": chosen}
    )
    assert "Round 2 is created. Set its key next." in made
    second = study.rounds.get(number=2)
    assert list(second.round_stories.values_list("story__story_id", flat=True)) == chosen
    assert (second.title, second.attempts_allowed, second.pays_on_fail) == ("Pilot", 2, False)
    again = rosa.get(f"{HERE}new/?like=2").context["form"].initial
    assert (again["title"], sorted(again["stories"])) == ("Pilot", sorted(chosen))


def test_nobody_sees_anything_before_all_have_handed_in(rosa: Client, study: Study, round: Round) -> None:
    """Neither the other experts, nor who runs the study, nor who is both, nor the back office."""
    ada, ben = member(study, "ada"), member(study, "ben", Membership.Role.OWNER)
    assert "2 experts are asked" in ask(rosa, "ada", "ben")
    hand_in(round, "ada", q1="possibly")
    boss = Client()
    boss.force_login(User.objects.create_superuser("boss", password=None))
    review = ExpertReview.objects.get(expert__username="ada")
    in_office = f"/admin/qualification/expertreview/{review.pk}/change/"
    pages = ((rosa, f"{HERE}1/"), (ben, f"{HERE}1/"), (boss, HERE), (boss, "/studies/main/settings/log/"))
    for reader, address in pages:
        assert "ada, " not in text(reader, address)
        assert reader.get(f"{HERE}1/key/")["Location"] == f"{HERE}1/"
    assert not re.search(r"\bq1\b", text(boss, in_office))

    hand_in(round, "ben")

    compared = text(rosa, f"{HERE}1/key/")
    page: Any = html.document_fromstring(compared)
    heads = [cell.text for cell in page.xpath("(//table)[1]/thead//th")]
    assert heads == ["Question", "ada", "ben", "Accepted", "Why"], "experts are columns"
    to_decide = page.xpath("//section//table[not(ancestor::details)]/tbody/tr")
    assert [[cell.text for cell in row.xpath("td[@data-label]")] for row in to_decide] == [
        ["Possibly", "Yes"]
    ] * 2
    assert len(page.xpath("//details//table/tbody/tr")) == 6, "questions on which both agree are folded"
    seen_by_ada = text(ada, f"{HERE}1/key/")
    assert seen_by_ada.count("Experts differ") == compared.count("Experts differ")
    assert "Save this key" not in seen_by_ada
    assert "q1" in text(boss, in_office)
    assert member(study, "carl").get(f"{HERE}1/key/").status_code == 403, "who was not asked"
    assert ada.post(f"{HERE}1/key/", key_form()).status_code == 403


def test_experts_learn_where_they_land_what_they_are_asked_for(
    rosa: Client, study: Study, round: Round, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    def asked() -> tuple[str, int]:
        with django_assert_max_num_queries(20) as seen:
            page = text(ada, "/studies/")
        return page, len(seen.captured_queries)

    ada = member(study, "ada")
    page, before = asked()
    assert "You are asked" not in page

    ask(rosa, "ada")
    ada.post(f"{HERE}1/expert/1/", builders.ALL_YES)
    second = builders.make_study("second", stories=1, opened=False, qualification_required=True)
    theirs = builders.make_round(second, [builders.story_row(90, prefix="test")])
    user = User.objects.get(username="ada")
    now = timezone.now()
    annotation_actions.set_role(study=second, user=user, role=Membership.Role.REVIEWER, by=None, now=now)
    qualification_actions.ask_experts(round=theirs, experts=[user], by=None, now=now)
    page, with_both = asked()
    assert page.count("You are asked") == 2
    assert with_both == before, "no query per study"
    for shown in (page, text(ada, "/studies/main/"), text(ada, HERE)):
        assert "to answer the 2 stories of round 1; done so far: 1." in shown
        assert f'href="{HERE}1/expert/"' in shown
        assert "Answer them" in shown
    assert "the 1 story of round 1" not in text(ada, "/studies/main/"), "another study's"

    ada.post(f"{HERE}1/expert/2/", builders.ALL_YES)
    assert "Hand them in" in text(ada, "/studies/main/")
    ada.post(f"{HERE}1/expert/", {})
    assert "You are asked" not in text(ada, "/studies/main/")


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
    ada.post(f"{HERE}1/expert/2/", builders.ALL_YES)
    assert "handed in" in text(ada, f"{HERE}1/expert/", {})
    assert "Your answers are final" in text(ada, f"{HERE}1/expert/")
    assert "nothing for you to answer" in text(ada, f"{HERE}1/expert/1/", builders.ALL_YES)


def test_the_group_fixes_the_key_with_reasons(rosa: Client, study: Study, round: Round) -> None:
    said: dict[str, dict[str, str]] = {"ada": {}, "ben": {"q2": "possibly"}, "cleo": {}}
    for name in said:
        member(study, name)
    ask(rosa, *said)
    for name, changes in said.items():
        hand_in(round, name, **changes)
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
    for told in ("Version 1 of the key is saved", "We met on Monday.", "rosa"):
        assert told in saved
    assert KeyReason.objects.count() == 3
    round.refresh_from_db()
    assert round.state == Round.State.ACTIVE
    stale = text(rosa, f"{HERE}1/key/", form | why)
    assert "Version 1 of the key has been saved" in stale
    assert AnswerKey.objects.count() == 1


def test_a_key_without_experts_and_what_is_frozen(rosa: Client, study: Study, round: Round) -> None:
    said = "Saving activates the round at once"
    page = text(rosa, f"{HERE}1/key/")
    assert said in page
    assert page.index("Ask experts first") < page.index("Save this key")
    assert "must be from 1 to 8" in text(rosa, f"{HERE}1/key/", key_form(enough=9))
    saved = text(rosa, f"{HERE}1/key/", key_form(**{"enough": 6, "story-2-must-pass": "on"}))
    for told in (
        "Version 1 of the key is saved",
        "Passed with at least 6 acceptable answers.",
        "No mistake allowed about stories: 2.",
    ):
        assert told in saved
    key = round.keys.get()
    assert (key.enough, key.must_pass) == (6, [2])
    annotation_actions.open_study(study=study, by=None, now=timezone.now())
    builders.take_test(builders.consent(builders.invite(study)[0]))
    page = text(rosa, f"{HERE}1/key/")
    assert "applies to later attempts only" in page
    assert "Save this key" not in page
    assert said not in page
    assert "its key is final" in text(rosa, f"{HERE}1/key/", key_form(after=1))


def test_a_round_is_copied_with_its_key_and_taken_beside_it_or_instead(
    rosa: Client, study: Study, round: Round
) -> None:
    copied = list(round.round_stories.values_list("story__story_id", flat=True))
    now = timezone.now()
    qualification_actions.set_answer_key(
        round=round,
        acceptable=dict.fromkeys(copied, builders.ACCEPTED),
        enough=6,
        must_pass=copied[1:],
        by=None,
        now=now,
    )
    text(rosa, f"{HERE}new/", {"kind": "test", "attempts_allowed": 1, "stories": copied})
    forms = rosa.get(f"{HERE}2/key/").context["key"]
    assert {name: sorted(options) for name, options in forms.stories[0].initial.items()} == {
        name: sorted(options) for name, options in builders.ACCEPTED.items()
    }
    assert forms.note["enough"].value() == 6
    assert [form.must.value() for form in forms.stories] == [False, True]
    assert "beside" in forms.note.fields
    everything = [option.key for option in study.protocol.question("q1").options]
    text(rosa, f"{HERE}2/key/", key_form(**{"beside": "beside", "story-1-q1": everything}))
    assert text(rosa, f"{HERE}2/key/").count("so this question tests nothing") == 1
    assert list(study.rounds.order_by("number").values_list("state", flat=True)) == ["active", "active"]
    assert "The round is retired" in text(rosa, f"{HERE}1/", {"do": "retire"})
    assert "only active round" in text(rosa, f"{HERE}2/", {"do": "retire"})
    assert "The round is active" in text(rosa, f"{HERE}1/", {"do": "activate"})
    qualification_actions.create_round(study=study, story_ids=copied, by=None, now=now)
    instead = text(rosa, f"{HERE}3/key/", key_form(beside="alone"))
    assert "Round 1 is retired" in instead
    assert "Round 2 is retired" in instead


def test_somebody_who_does_not_answer_is_not_waited_for(rosa: Client, study: Study, round: Round) -> None:
    for name in ("ada", "ben"):
        member(study, name)
    ask(rosa, "ada", "ben")
    assert "No expert has handed in yet" in text(rosa, f"{HERE}1/", {"do": "reveal"})
    hand_in(round, "ada")
    late = ExpertReview.objects.get(expert__username="ben")
    shown = text(rosa, f"{HERE}1/", {"do": "dismiss", "review": late.pk})
    assert "The expert is dismissed" in shown
    assert "1 handed in, and nobody is still answering." in shown
    assert "<details open>" in shown
    waiting = text(rosa, f"{HERE}1/key/")
    assert "Reveal them on the page of the round" in waiting
    assert not re.search(r"\d+ (is|are) still answering", waiting)
    assert "The answers are revealed" in text(rosa, f"{HERE}1/", {"do": "reveal"})
    compared = text(rosa, f"{HERE}1/key/")
    assert 'data-label="ada"' in compared
    assert 'data-label="ben"' not in compared
    for form in ({"do": "dismiss", "review": "x"}, {"do": "dismiss", "review": "4711"}):
        assert rosa.post(f"{HERE}1/", form).status_code == 404
    assert "answers are revealed" in ask(rosa, "ben")
    assert "was incomplete" in text(rosa, f"{HERE}1/", {"do": "dance"})


def test_a_question_that_is_too_hard_or_known_is_said_with_its_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = builders.make_study("main", stories=1, qualification=1)
    round = study.rounds.get()
    seen = {"q1": (20, 0, Halves(10, 10, 10, 10)), "q2": (8, 0, Halves(10, 0, 10, 8))}
    seen |= {"q3": (0, 8, Halves(10, 0, 10, 0)), "q4": (20, 0, Halves(10, 10, 10, 10))}
    rated = [
        QuestionRate("test_00000_sev1", 1, name, "", 20, accepted, alone, halves)
        for name, (accepted, alone, halves) in seen.items()
    ]
    pace = Pace(60, 60, Halves(10, 5, 10, 5))
    computed = ({round.pk: rated}, {round.pk: Halves(10, 0, 10, 0)}, {round.pk: pace})
    monkeypatch.setattr(rates, "_computed", lambda *_: computed)
    builders.take_test(builders.consent(builders.invite(study)[0]), builders.answers(q3="no"))
    page = text(member(study, "rosa", Membership.Role.RESEARCHER), HERE)
    assert "<dd>1</dd>" in page
    assert "Story 1, “Action A: only when not aware”: 0 of 20 answers were acceptable (0 %" in page
    assert "8 of the later 10 attempts (80 %), 0 of the earlier 10 (0 %); Fisher’s exact test" in page
    assert "for 6 comparisons and for looking again (Bonferroni): p = 0.0043" in page
    assert "this answer alone failed 8 attempts" in page
    assert page.count("Too hard?") == 1
    assert page.count("Leaked?") == 1


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
