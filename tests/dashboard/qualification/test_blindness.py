"""Nothing tells the key to who has still to answer blind: no other round, no other study, no file."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from annotation import actions as annotation_actions
from annotation.errors import InvalidInput, WrongState
from annotation.models import Membership, Story, Study
from qualification import actions
from qualification.experts import chosen_in, people_who_know
from qualification.models import ExpertReview, Round
from tests import builders
from tests.dashboard.qualification.test_answer_key_pages import HERE, hand_in, key_form, text
from tests.worlds import built_once

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

Role = Membership.Role
NOTE = "We took possibly for the second question."


def person(study: Study, name: str, role: str = Role.REVIEWER) -> tuple[User, Client]:
    user = User.objects.filter(username=name).first() or User.objects.create_user(name, password=None)
    annotation_actions.set_role(study=study, user=user, role=role, by=None, now=timezone.now())
    client = Client()
    client.force_login(user)
    return user, client


def again(round: Round) -> Round:
    """Another round of the same stories."""
    names = list(round.round_stories.values_list("story__story_id", flat=True))
    return actions.create_round(study=round.study, story_ids=names, by=None, now=timezone.now())


def ask(round: Round, *experts: User) -> list[ExpertReview]:
    return actions.ask_experts(round=round, experts=experts, by=None, now=timezone.now())


def fix_key(round: Round) -> None:
    names = round.round_stories.values_list("story__story_id", flat=True)
    accepted = dict.fromkeys(names, builders.ACCEPTED)
    actions.set_answer_key(round=round, acceptable=accepted, by=None, now=timezone.now(), note=NOTE)


@pytest.fixture
@built_once
def first() -> Round:
    """A round of two stories, without a key, in a draft."""
    study = builders.make_study("main", stories=1, opened=False, qualification_required=True)
    return builders.make_round(study)


@pytest.fixture
def study(first: Round) -> Study:
    return first.study


def test_who_answers_blind_is_told_by_no_page_file_or_clone(study: Study, first: Round) -> None:
    """Ada may do everything, and was asked about the same stories before there was a key."""
    ada, reader = person(study, "ada", Role.OWNER)
    ada.is_superuser = ada.is_staff = True
    ada.save()
    ben, _ = person(study, "ben")
    second = again(first)
    ask(second, ada, ben)
    fix_key(first)
    annotation_actions.open_study(study=study, by=None, now=timezone.now())
    builders.take_test(builders.consent(builders.invite(study)[0]))
    key, attempt = first.keys.get(), first.attempts.get()

    page = text(reader, f"{HERE}1/")
    assert "reasons of version 1" not in page
    assert "Participants’ answers in their first" not in page
    assert "hidden until you have handed in" in page
    assert reader.get(f"{HERE}1/key/")["Location"] == f"{HERE}1/"
    assert reader.post(f"{HERE}1/key/", key_form(after=1))["Location"] == f"{HERE}1/"
    assert "Every question" not in text(reader, HERE)
    for address in ("/studies/main/settings/log/", "/studies/main/settings/log.csv"):
        assert NOTE not in page + b"".join(reader.get(address)).decode()
    for address in ("/studies/main/settings/configuration.json", "/studies/main/settings/clone/"):
        refused = reader.get(address)
        assert (refused.status_code, refused["Location"]) == (302, "/studies/main/settings/"), address
    assert reader.get(f"/admin/qualification/answerkey/{key.pk}/change/").status_code == 302
    assert not re.search(r"\bq1\b", text(reader, f"/admin/qualification/attempt/{attempt.pk}/change/"))

    hand_in(second, "ada")

    page = text(reader, f"{HERE}1/")
    assert "reasons of version 1" in page
    assert "Participants’ answers in their first" in page
    assert "Every question" in text(reader, HERE)
    assert reader.get("/studies/main/settings/configuration.json").status_code == 200
    assert reader.get(f"/admin/qualification/answerkey/{key.pk}/change/").status_code == 200
    assert "q1" in text(reader, f"/admin/qualification/attempt/{attempt.pk}/change/")


def test_the_same_stories_of_another_study_are_closed_too(study: Study, first: Round) -> None:
    ada, reader = person(study, "ada")
    ask(first, ada)
    clone = builders.make_study("clone", stories=1, opened=False, qualification_required=True)
    fix_key(builders.make_round(clone))
    person(clone, "ada", Role.OWNER)
    assert "hidden until you have handed in" in text(reader, "/studies/clone/qualification/1/")
    assert reader.get("/studies/clone/settings/configuration.json").status_code == 302
    _other, stranger = person(clone, "other", Role.OWNER)
    assert "reasons of version 1" in text(stranger, "/studies/clone/qualification/1/")


def test_who_could_read_a_key_of_the_stories_is_not_asked(study: Study, first: Round) -> None:
    """Who may change the study, who might while there was a key, and who was dismissed before it came."""
    ada, reader = person(study, "ada", Role.RESEARCHER)
    ben, _ = person(study, "ben")
    cleo, _ = person(study, "cleo", Role.RESEARCHER)
    (review,) = ask(first, ada)
    actions.dismiss_expert(review=review, by=ada, now=timezone.now())
    fix_key(first)
    person(study, "cleo", Role.AUDITOR)
    second = again(first)
    page = text(reader, f"{HERE}2/")
    assert "Cannot be asked, since they can read" in page
    assert f'value="{ben.pk}"' in page
    for knowing in (ada, cleo):
        assert f'value="{knowing.pk}"' not in page
        with pytest.raises(InvalidInput, match=f"revealed answers: {knowing}"):
            ask(second, ben, knowing)
    assert not second.reviews.exists()
    assert ask(second, ben)[0].is_pending
    assert ask(second, ben)[0].is_pending, "who is asked already stays so"


def test_a_text_under_another_id_or_as_a_check_is_closed_too() -> None:
    """Who imports a story once more gives it another id; what is accepted about it stays the same."""
    study = builders.make_study("main", stories=1, opened=False, qualification_required=True)
    rows = [builders.story_row(number, prefix="test") for number in (20, 21)]
    first = builders.make_round(study, rows)
    renamed = builders.make_round(study, [row | {"story_id": f"again-{row['story_id']}"} for row in rows])
    ada, reader = person(study, "ada", Role.RESEARCHER)
    ask(renamed, ada)
    fix_key(first)
    elsewhere = builders.make_study("elsewhere", stories=1, opened=False)
    (check,) = builders.import_rows(elsewhere, rows[:1], role=Story.Role.CHECK)
    annotation_actions.set_check_key(story=check, accepted=builders.ACCEPTED, by=None, now=timezone.now())
    person(elsewhere, "ada", Role.OWNER)
    ada.is_superuser = ada.is_staff = True
    ada.save()

    page = text(reader, f"{HERE}1/")
    assert "reasons of version 1" not in page
    assert "hidden until you have handed in" in page
    assert reader.get("/studies/main/settings/configuration.json").status_code == 302
    assert reader.get(f"/studies/elsewhere/quality/hidden-checks/{check.pk}/").status_code == 302
    assert reader.get("/studies/elsewhere/settings/configuration.json").status_code == 302
    check_key = f"/admin/annotation/checkkey/{check.check_keys.get().pk}/change/"
    assert reader.get(check_key).status_code == 302

    hand_in(renamed, "ada")

    assert reader.get(f"/studies/elsewhere/quality/hidden-checks/{check.pk}/").status_code == 200
    assert reader.get(check_key).status_code == 200
    third = builders.make_round(study, [row | {"story_id": f"third-{row['story_id']}"} for row in rows])
    ben, _ = person(study, "ben")
    only_the_check, _ = person(elsewhere, "carla", Role.RESEARCHER)
    person(study, "carla")
    for knowing in (ada, only_the_check):
        with pytest.raises(InvalidInput, match=f"revealed answers: {knowing}"):
            ask(third, ben, knowing)
    ask(third, ben)


def test_who_could_read_a_key_stays_known(study: Study, first: Round) -> None:
    """Under another name, without the permission they had, and by whatever permission opens a key."""
    cleo, _ = person(study, "cleo", Role.RESEARCHER)
    dan, _ = person(study, "dan")
    dan.user_permissions.add(Permission.objects.get(codename="change_study"))
    fix_key(first)
    late, _ = person(study, "late", Role.RESEARCHER)
    for former in (cleo, late):
        person(study, former.username, Role.REVIEWER)
        User.objects.filter(pk=former.pk).update(username=f"{former.username}-married")
    dan.user_permissions.clear()
    eve, _ = person(study, "eve")
    eve.user_permissions.add(Permission.objects.get(codename="view_attemptanswer"))
    ben, _ = person(study, "ben")
    people = list(User.objects.filter(pk__in=[cleo.pk, dan.pk, late.pk, eve.pk, ben.pk]))
    assert {one.pk for one in people_who_know(again(first), people)} == {cleo.pk, dan.pk, late.pk, eve.pk}


def test_the_page_of_a_round_asks_the_same_whoever_is_there(study: Study, first: Round) -> None:
    fix_key(first)
    fresh = again(first)
    _rosa, rosa = person(study, "rosa", Role.RESEARCHER)
    person(study, "ben")

    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert "Ask them" in text(rosa, f"{HERE}{fresh.number}/")
        return len(queries)

    few = asked()
    for name, role in (("more", Role.AUDITOR), ("another", Role.RESEARCHER)):
        person(study, name, role)
        fix_key(again(first))
    assert asked() == few


def test_experts_are_not_asked_about_a_round_that_people_can_begin(study: Study, first: Round) -> None:
    ben, _ = person(study, "ben")
    _rosa, rosa = person(study, "rosa", Role.RESEARCHER)
    fix_key(first)
    with pytest.raises(WrongState, match="Retire the round first"):
        ask(first, ben)
    assert "To ask experts, retire the round first" in text(rosa, f"{HERE}1/")
    fix_key(again(first))
    first.refresh_from_db()
    assert first.state == Round.State.RETIRED
    ask(first, ben)
    with pytest.raises(WrongState, match="still answering"):
        actions.activate_round(round=first, by=None, now=timezone.now())


def test_a_new_round_takes_revealed_answers_over(study: Study, first: Round) -> None:
    """So they are not asked twice; and the key that was agreed stands in the form, with its reasons."""
    _rosa, rosa = person(study, "rosa", Role.RESEARCHER)
    ada, _ = person(study, "ada")
    ask(first, ada)
    hand_in(first, "ada", q2="possibly")
    fresh = again(first)
    assert chosen_in(fresh) == chosen_in(first) != {}
    form = rosa.get(f"{HERE}2/key/").context["key"]
    assert form.stories[0].initial["q2"] == ["possibly"]
    why = {f"story-{at}-reason-q2": "Agreed." for at in (1, 2)}
    assert rosa.post(f"{HERE}2/key/", key_form()).status_code == 422
    assert rosa.post(f"{HERE}2/key/", key_form() | why).status_code == 302
    third = again(first)
    form = rosa.get(f"{HERE}{third.number}/key/").context["key"]
    assert form.stories[0].initial["q2"] == ["yes"]
    assert form.stories[0].fields["reason-q2"].initial == "Agreed."
    with pytest.raises(InvalidInput, match="revealed answers: ada"):
        ask(third, ada)
