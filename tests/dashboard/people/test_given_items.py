"""The page on which stories are given to participants by name."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone
from lxml import html

from accounts.models import User
from annotation import actions
from annotation.models import Enrollment, Membership, Study
from tests import builders
from tests.annotation.test_given_items import give, ids, waiting_for

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]
HERE = "/studies/main/people/stories/"
Role = Membership.Role


@pytest.fixture
def study() -> Study:
    return builders.make_study("main", stories=6, votes_per_story=1)


def signed_in(client: Client, study: Study, role: Role = Role.RESEARCHER) -> Client:
    user = User.objects.create_user(role, password="seven wet otters")
    actions.set_role(study=study, user=user, role=role, by=None, now=timezone.now())
    client.force_login(user)
    return client


def cells(client: Client) -> list[list[str]]:
    rows = html.fromstring(client.get(HERE).content).iter("tr")
    texts = [["".join(map(str, cell.itertext())) for cell in row.iterchildren()] for row in rows]
    return [[" ".join(text.split()) for text in row] for row in texts[1:]]


def test_a_table_of_several_people_is_given_and_counted(client: Client, study: Study) -> None:
    signed_in(client, study)
    one, two = builders.qualified(study, 2)
    table = "\r\n".join(
        ["\ufeffid,participant"]
        + [f'"{story_id}",{one.pseudonym}' for story_id in ids(0, 1)]
        + [f"{story_id}\t{two.pseudonym.upper()} " for story_id in ids(2)]
        + ["", f"{ids(3)[0]};{two.pseudonym}"]
    )
    page = client.post(HERE, {"stories": table}, follow=True)
    assert "Stories given: 4. Participants who get them first: 2." in page.content.decode()
    assert waiting_for(one) == set(ids(0, 1))
    assert waiting_for(two) == set(ids(2, 3))
    builders.vote(one)
    assert cells(client) == [
        [two.pseudonym, "qualified", "2", "0", "2", f"Take back what is left {two.pseudonym}"],
        [one.pseudonym, "qualified", "2", "1", "1", f"Take back what is left {one.pseudonym}"],
    ]
    person = client.get(f"/studies/main/people/{one.pseudonym}/").content.decode()
    assert "Stories given by name: 2, answered: 1, still to answer: 1" in person
    other = client.post(f"{HERE}{one.pseudonym}/back/", follow=True).content.decode()
    assert "Stories taken back: 1." in other
    assert cells(client)[1][1:] == ["qualified", "1", "1", "0", "–"]


def test_ids_alone_go_to_the_participant_named_above(client: Client, study: Study) -> None:
    signed_in(client, study)
    (person,) = builders.qualified(study)
    offered = client.get(f"/studies/main/people/{person.pseudonym}/").content.decode()
    assert f"{HERE}?to={person.pseudonym}" in offered
    assert f'value="{person.pseudonym}"' in client.get(f"{HERE}?to={person.pseudonym}").content.decode()
    client.post(HERE, {"person": person.pseudonym, "stories": "\n".join(ids(4, 5))})
    assert waiting_for(person) == set(ids(4, 5))


def test_wrong_lines_are_named_one_by_one_and_what_was_written_stays(client: Client, study: Study) -> None:
    signed_in(client, study)
    text = f"{ids(0)[0]}\nstory_9\n"
    page = client.post(HERE, {"stories": text})
    assert page.status_code == 422
    assert text.strip() in page.content.decode()
    (problems,) = (
        one for one in html.fromstring(page.content).iter("ul") if one.get("id") == "id_stories_error"
    )
    lines = ["".join(map(str, one.itertext())) for one in problems.iterchildren()]
    assert [line.split(":")[0] for line in lines] == ["Line 1", "Line 2"]
    assert "names no participant" in lines[0]
    (person,) = builders.qualified(study)
    page = client.post(HERE, {"person": person.pseudonym, "stories": text})
    assert "Line 2: The study has no story “story_9”" in page.content.decode()
    assert "Line 1:" not in page.content.decode()
    assert not waiting_for(person)
    assert client.post(HERE, {"stories": "\n"}).status_code == 422


def test_a_form_that_is_sent_twice_gives_once(client: Client, study: Study) -> None:
    signed_in(client, study)
    (person,) = builders.qualified(study)
    fields = html.fromstring(client.get(HERE).content).iter("input")
    (token,) = [one.get("value") for one in fields if one.get("name") == "token"]
    form = {"person": person.pseudonym, "stories": ids(1)[0], "token": str(token)}
    for _ in range(2):
        assert "Stories given: 1." in client.post(HERE, form, follow=True).content.decode()
    page = client.get(f"/studies/main/people/{person.pseudonym}/").content.decode()
    assert f"<li>{ids(1)[0]}: reserved</li>" in page


def test_stories_given_to_nobody_are_counted_where_nothing_else_is_served(client: Client) -> None:
    study = builders.make_study("main", stories=6, opened=False, serving_order=Study.ServingOrder.GIVEN)
    signed_in(client, study)
    give(study, builders.invite(study)[0], ids(1))
    assert "5 stories are given to nobody." in client.get(HERE).content.decode()
    assert "not given yet: 5" in client.get("/studies/main/").content.decode()


def test_others_read_the_page_without_forms(client: Client, study: Study) -> None:
    signed_in(client, study, Role.REVIEWER)
    (person,) = builders.qualified(study)
    give(study, person, ids(1))
    assert cells(client) == [[person.pseudonym, "qualified", "1", "0", "1"]]
    page = html.fromstring(client.get(HERE).content)
    assert not page.xpath("//main//form")
    assert client.post(HERE, {"person": person.pseudonym, "stories": ids(2)[0]}).status_code == 403
    assert client.post(f"{HERE}{person.pseudonym}/back/").status_code == 403
    assert waiting_for(person) == set(ids(1))


def test_the_list_costs_the_same_however_many_there_are(
    client: Client, study: Study, django_assert_max_num_queries: object
) -> None:
    signed_in(client, study)
    people: list[Enrollment] = builders.qualified(study, 4)
    for number, person in enumerate(people):
        give(study, person, ids(number))
    with django_assert_max_num_queries(12):  # type: ignore[operator]
        assert len(cells(client)) == 4
