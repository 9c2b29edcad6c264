"""The pages on which people's work is judged: blind until judged, then with everything."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.actions import ensure_researcher
from accounts.models import User
from annotation import actions, rules
from annotation.models import (
    Adjudication,
    Assignment,
    Enrollment,
    Membership,
    ReviewSample,
    SpotCheck,
    Study,
    Vote,
)
from dashboard.charts.stories import percent
from dashboard.figures import store
from dashboard.quality.pages import review
from publishing.statistics.intervals import wilson
from tests import builders
from tests.worlds import built_once

pytestmark = pytest.mark.django_db


def pseudonym(person: Enrollment) -> str:
    return rules.pseudonym(person.study.pseudonym_key, person.annotator_id)


@pytest.fixture
@built_once
def person() -> Enrollment:
    (person,) = builders.qualified(builders.make_study("main", stories=3, votes_per_story=1))
    builders.vote(person)
    builders.vote(person, builders.answers(q3="no"))
    return person


@pytest.fixture
def researcher(client: Client, person: Enrollment) -> Client:
    user = User.objects.create_user("rosa", password=None)
    actions.set_role(
        study=person.study, user=user, role=Membership.Role.RESEARCHER, by=None, now=timezone.now()
    )
    client.force_login(user)
    return client


def text(client: Client, address: str) -> str:
    response = client.get(address, follow=True)
    assert response.status_code == 200
    return response.content.decode()


def test_an_answer_is_judged_blind_and_then_shown_with_its_author(
    researcher: Client, person: Enrollment
) -> None:
    response = researcher.post(
        "/studies/main/quality/review/", {"kind": "random", "people": 5, "per_person": 2}
    )
    sample = ReviewSample.objects.get()
    assert response["Location"] == f"/studies/main/quality/review/{sample.pk}/"
    first = sample.items.all()[0]
    page = text(researcher, response["Location"])
    assert "Answer 1 of 2" in page
    assert first.vote.assignment.story.content["key_information"] in page
    for hidden in (pseudonym(person), first.vote.assignment.story.story_id):
        assert hidden not in page

    here = f"/studies/main/quality/review/{sample.pk}/1/"
    researcher.post(here, {"decision": "reject", "reason": "careless", "seen": "0"})

    page = text(researcher, here)
    assert pseudonym(person) in page
    assert first.vote.assignment.story.story_id in page
    assert "careless" in page
    assert "Answer 2 of 2" in text(researcher, f"/studies/main/quality/review/{sample.pk}/")
    researcher.post(f"/studies/main/quality/review/{sample.pk}/2/", {"decision": "accept", "seen": "0"})
    done = text(researcher, f"/studies/main/quality/review/{sample.pk}/")
    assert "not judged yet" not in done
    assert done.count(pseudonym(person)) >= 2
    assert Vote.objects.counted().count() == 1


def test_what_is_not_complete_is_not_stored(researcher: Client, person: Enrollment) -> None:
    sample = actions.draw_sample(
        study=person.study, kind=ReviewSample.Kind.RANDOM, people=1, per_person=1, by=None, now=timezone.now()
    )
    whole = {"decision": "reject", "reason": "x", "seen": "0"}
    for changed, said in (
        ({"reason": ""}, "Give a reason"),
        ({"reason": "3"}, "“3” is not a reason"),
        ({"decision": "maybe"}, "incomplete"),
        ({"seen": ""}, "incomplete"),
        ({"seen": "77"}, "reviewed this answer in the meantime"),
    ):
        response = researcher.post(
            f"/studies/main/quality/review/{sample.pk}/1/", whole | changed, follow=True
        )
        assert said in response.content.decode(), changed
    assert not SpotCheck.objects.exists()


def test_sizes_and_samples_that_do_not_exist_are_refused(researcher: Client, person: Enrollment) -> None:
    form = {"kind": "random", "people": 51, "per_person": 0}
    assert researcher.post("/studies/main/quality/review/", form).status_code == 422
    form = {"kind": "flagged", "people": 5, "per_person": 5}
    assert (
        "No more answers match"
        in researcher.post("/studies/main/quality/review/", form, follow=True).content.decode()
    )
    assert researcher.get("/studies/main/quality/review/4711/").status_code == 404


@pytest.fixture
def elsewhere() -> ReviewSample:
    """A sample of another study, with one answer."""
    rows = [builders.story_row(1, prefix="elsewhere")]
    study = builders.make_study("elsewhere", stories=rows, votes_per_story=1)
    builders.vote(builders.qualified(study)[0])
    return actions.draw_sample(
        study=study, kind=ReviewSample.Kind.RANDOM, people=1, per_person=1, by=None, now=timezone.now()
    )


def test_what_is_another_studys_is_not_found_under_this_ones_address(
    researcher: Client, elsewhere: ReviewSample
) -> None:
    """Also for who may judge in both: the rights that are asked for are those in the study of the address."""
    answer = elsewhere.items.get()
    judged = {"decision": "reject", "reason": "careless", "seen": "0"}
    decided = {"decision": "valid", "reason": "It holds.", "seen": "0"}
    story = f"quality/decisions/of/{answer.vote.assignment.story.story_id}/"
    pages = {
        f"quality/review/{elsewhere.pk}/": {},
        f"quality/review/{elsewhere.pk}/1/": judged,
        story: decided,
    }
    researcher.force_login(ensure_researcher(username="boss", password="a long enough password"))
    for page, form in pages.items():
        assert researcher.get(f"/studies/elsewhere/{page}", follow=True).status_code == 200
        assert researcher.get(f"/studies/main/{page}").status_code == 404
        if form:
            assert researcher.post(f"/studies/main/{page}", form).status_code == 404
    assert not SpotCheck.objects.exists()
    assert not Adjudication.objects.exists()
    assert Vote.objects.counted().filter(assignment__story__study=elsewhere.study).count() == 1
    for page, form in pages.items():
        if form:
            assert researcher.post(f"/studies/elsewhere/{page}", form).status_code == 302
    assert SpotCheck.objects.count() == Adjudication.objects.count() == 1


def test_one_persons_answers_are_drawn_from_their_page_and_the_reviewer_knows_whose(
    researcher: Client, person: Enrollment
) -> None:
    (other,) = builders.qualified(person.study)
    builders.vote(other)
    page = f"/studies/main/people/{pseudonym(person)}/"
    assert f'action="{page}review/"' in text(researcher, page)

    first = text_of(researcher.post(f"{page}review/", follow=True))

    sample = ReviewSample.objects.get()
    assert researcher.post(f"{page}review/")["Location"] == f"/studies/main/quality/review/{sample.pk}/"
    assert ReviewSample.objects.get() == sample, "what was begun is gone on with"
    assert {item.vote.assignment.enrollment_id for item in sample.items.all()} == {person.pk}
    assert f"All answers in this sample are by {pseudonym(person)}." in first
    assert pseudonym(other) not in first
    for position in (1, 2):
        judged = {"decision": "accept", "seen": "0"}
        researcher.post(f"/studies/main/quality/review/{sample.pk}/{position}/", judged)
    assert "say nothing about all votes" in text(researcher, f"/studies/main/quality/review/{sample.pk}/")
    again = text_of(researcher.post(f"{page}review/", follow=True))
    assert "No more answers match" in again
    assert researcher.post("/studies/main/people/annotator-0/review/").status_code == 404


def test_people_with_a_flag_can_be_drawn_alone(
    researcher: Client, person: Enrollment, monkeypatch: pytest.MonkeyPatch
) -> None:
    (other,) = builders.qualified(person.study)
    builders.vote(other)
    form = {"kind": "random", "among": "flagged", "people": 5, "per_person": 5}
    assert "No more answers match" in text_of(
        researcher.post("/studies/main/quality/review/", form, follow=True)
    )
    row = {"votes": 1, "flags": []}
    figures = [row | {"pseudonym": f"annotator-{n}"} for n in range(2 * store.PEOPLE_AT_ONCE)]
    flagged = row | {"pseudonym": pseudonym(other), "flags": ["fails_checks"]}
    made = store.Figures(timezone.now(), timedelta(), {})
    store.keep(person.study, made, [*figures, row | {"pseudonym": pseudonym(person)}, flagged])
    read: list[int] = []
    people_on = store.people_on

    def reading(study: Study, page: int) -> list[dict[str, Any]]:
        read.append(page)
        return people_on(study, page)

    monkeypatch.setattr(store, "people_on", reading)
    researcher.post("/studies/main/quality/review/", form)
    sample = ReviewSample.objects.get()
    assert sample.among == ReviewSample.Among.FLAGGED
    assert [item.vote.assignment.enrollment_id for item in sample.items.all()] == [other.pk]
    assert read == [1], "those without a flag come later, and may be tens of thousands"


def test_what_was_decided_elsewhere_is_in_front_of_who_decides_anew(
    researcher: Client, person: Enrollment
) -> None:
    """One answer can be in two samples that were drawn at the same moment."""
    researcher.post("/studies/main/quality/review/", {"kind": "random", "people": 5, "per_person": 1})
    sample = ReviewSample.objects.get()
    vote = sample.items.get().vote
    here = f"/studies/main/quality/review/{sample.pk}"
    check = actions.spot_check(
        vote=vote, decision=SpotCheck.Decision.REJECT, reason="copied", by=None, now=timezone.now()
    )
    assert "copied" in text(researcher, f"{here}/1/")
    assert f'name="seen" value="{check.pk}"' in text(researcher, f"{here}/1/")
    done = researcher.get(f"{here}/")
    assert done.status_code == 200, "nothing waits in it"
    assert done.context["tally"].rejected == 1
    assert [row["reason"] for row in rows_of(researcher, f"{here}.csv")] == ["copied"]
    assert_cells(
        re.sub(r"\s+", " ", text(researcher, "/studies/main/quality/review/")),
        "everybody",
        "1 of 1",
        "0",
        "0",
        "1",
    )


def test_samples_that_wait_are_listed_first_and_all_of_them_are(
    researcher: Client, person: Enrollment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review, "SHOWN", 1)
    now = timezone.now()
    waiting, judged = (
        actions.draw_sample(
            study=person.study, kind=ReviewSample.Kind.RANDOM, people=1, per_person=1, by=None, now=now
        )
        for _ in range(2)
    )
    actions.spot_check(
        vote=judged.items.get().vote, decision=SpotCheck.Decision.ACCEPT, reason="", by=None, now=now
    )
    pages = [text(researcher, f"/studies/main/quality/review/?page={number}") for number in (1, 2)]
    listed = [[sample for sample in (waiting, judged) if f"/review/{sample.pk}/" in page] for page in pages]
    assert listed == [[waiting], [judged]]
    assert 'href="?page=2"' in pages[0]


def test_a_sample_says_what_came_of_it_as_a_page_and_as_a_file(
    researcher: Client, person: Enrollment
) -> None:
    researcher.post("/studies/main/quality/review/", {"kind": "random", "people": 5, "per_person": 2})
    sample = ReviewSample.objects.get()
    here = f"/studies/main/quality/review/{sample.pk}"
    researcher.post(f"{here}/1/", {"decision": "accept", "seen": "0"})
    researcher.post(
        f"{here}/1/", {"decision": "reject", "reason": "careless", "seen": str(SpotCheck.objects.get().pk)}
    )

    judged, waiting = rows_of(researcher, f"{here}.csv")
    assert {
        name: judged[name] for name in ("position", "decision", "reason", "by", "annotator", "state")
    } == {
        "position": "1",
        "decision": "reject",
        "reason": "careless",
        "by": "rosa",
        "annotator": pseudonym(person),
        "state": "excluded",
    }
    assert {value for name, value in waiting.items() if name != "position"} == {""}

    researcher.post(f"{here}/2/", {"decision": "accept", "seen": "0"})
    low, high = wilson(1, 2) or (0, 0)
    said = re.sub(r"\s+", " ", text(researcher, f"{here}/"))
    assert (
        f"50 % of the judged answers were rejected (1 of 2; Wilson’s 95 % interval {percent(low)} to" in said
    )
    assert f"to {percent(high)})" in said
    assert "At most 2 answers per participant were drawn, so participants count equally" in said
    assert_cells(said, pseudonym(person), "2", "1", "0", "1")
    assert_cells(
        re.sub(r"\s+", " ", text(researcher, "/studies/main/quality/review/")),
        "everybody",
        "2 of 2",
        "1",
        "0",
        "1",
    )


def test_a_sample_costs_the_same_however_many_answers_it_holds(researcher: Client) -> None:
    study = builders.make_study("many", stories=6, votes_per_story=1)
    for one in builders.qualified(study, 3):
        for _ in range(2):  # one for each sample, whoever is drawn
            builders.vote(one)
    now, rosa = timezone.now(), User.objects.get(username="rosa")
    actions.set_role(study=study, user=rosa, role=Membership.Role.RESEARCHER, by=None, now=now)
    asked = []
    for size in (1, 3):
        sample = actions.draw_sample(
            study=study, kind=ReviewSample.Kind.RANDOM, people=size, per_person=1, by=None, now=now
        )
        for item in sample.items.all():
            actions.spot_check(
                vote=item.vote, item=item, decision=SpotCheck.Decision.ACCEPT, reason="", by=rosa, now=now
            )
        here = reverse("dashboard:review_sample", args=[study.slug, sample.pk])
        researcher.get(here)
        with CaptureQueriesContext(connection) as queries:
            response = researcher.get(here)
        assert len(response.context["rows"]) == len(response.context["people"]) == size
        asked.append(len(queries))
    assert asked[0] == asked[1]


def assert_cells(page: str, *cells: str) -> None:
    """Cells of a row, one after the other."""
    between = r"(\s*<[^>]*>)+\s*"
    assert re.search(between.join(re.escape(cell) for cell in cells) + r"\s*<", page), cells


def rows_of(client: Client, address: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(client.get(address).content.decode())))


def text_of(response: Any) -> str:
    said: str = response.content.decode()
    return said


def test_somebody_is_excluded_and_readmitted_on_their_page(researcher: Client, person: Enrollment) -> None:
    here = f"/studies/main/people/{pseudonym(person)}/exclude/"
    assert f'href="{here}"' in text(researcher, f"/studies/main/people/{pseudonym(person)}/")
    assert "2 votes stop counting" in text(researcher, here)
    refused = researcher.post(here, {"shown_reason": "Thank you."})
    assert refused.status_code == 422
    assert 'id="id_reason_error">This field is required.' in refused.content.decode()

    researcher.post(here, {"do": "exclude", "reason": "answers at random", "shown_reason": "Thank you."})
    page = text(researcher, here)
    assert "answers at random" in page
    assert "2 votes do not count" in page
    person.refresh_from_db()
    assert person.suspension_reason == "Thank you."
    builders.vote(builders.qualified(person.study)[0])

    done = researcher.post(here, {"do": "readmit", "reason": "a mistake"}, follow=True).content.decode()
    assert "1 vote counts again" in done
    assert "The slot of 1 was filled" in done
    assert set(Assignment.objects.filter(enrollment=person).values_list("state", flat=True)) == {
        "submitted",
        "displaced",
    }
    assert researcher.get("/studies/main/people/annotator-0/exclude/").status_code == 404


def test_answers_to_checks_are_no_votes_that_an_exclusion_takes_out(researcher: Client) -> None:
    study = builders.make_study("checked", stories=5)
    builders.add_checks(study, 1)
    (other,) = builders.qualified(study)
    met = builders.work_through(other, 5)
    assert [story.role for story in met].count("check") == 1
    researcher.force_login(ensure_researcher(username="boss", password="a long enough password"))
    here = f"/studies/checked/people/{pseudonym(other)}/exclude/"
    assert "4 votes stop counting" in text(researcher, here)
    researcher.post(here, {"do": "exclude", "reason": "answers at random", "shown_reason": "Thank you."})
    assert "4 votes do not count" in text(researcher, here)
    done = researcher.post(here, {"do": "readmit", "reason": "a mistake"}, follow=True).content.decode()
    assert "4 votes count again" in done
    assert set(Assignment.objects.filter(enrollment=other).values_list("state", flat=True)) == {"submitted"}
