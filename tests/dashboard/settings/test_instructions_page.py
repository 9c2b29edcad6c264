"""A study's own instructions: written in the browser, in force at once, and recorded with every vote."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from annotation import actions as annotation_actions
from annotation.models import Enrollment, Event, InstructionText, Membership, Study, Vote
from annotation.protocols import get_protocol
from annotation.protocols.instructions import as_written, read_examples, stored_examples
from dashboard.settings.configuration import InvalidConfiguration
from qualification import actions as qualification_actions
from tests import builders
from tests.annotation.pages import at
from tests.dashboard.settings.test_configuration import exported, made_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("client")]

HERE = "/studies/main/settings/instructions/"
EXAMPLE = "Story: The jar is empty. Ana looks away.\nAnswer: Possibly\nWhy: People could disagree."


def member(study: Study, role: str) -> Client:
    user = User.objects.create_user(f"a-{role}", password=None)
    annotation_actions.set_role(study=study, user=user, role=role, by=None, now=timezone.now())
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def study() -> Study:
    return builders.make_study("main", stories=3, qualification=1)


def written(**changes: str) -> dict[str, str]:
    form = {"page": "# What to do\n\nRead slowly.\n\n# Why\nBecause.", "before_test": "", "thanks": ""}
    return form | {f"examples-q{n}": "" for n in (1, 2, 3, 4)} | changes


def put(study: Study, page: str) -> InstructionText:
    return annotation_actions.set_instructions(
        study=study, page=page, examples={}, by=None, now=timezone.now()
    )


def test_instructions_are_written_in_the_browser_and_in_force_at_once(study: Study) -> None:
    rosa = member(study, Membership.Role.RESEARCHER)
    assert "# Why this work matters" in rosa.get(HERE).content.decode(), "starts from the protocol's own"

    form = written(
        **{"examples-q1": EXAMPLE, "before_test": "Five sample stories.", "thanks": "See you soon."}
    )
    page = rosa.post(HERE, form, follow=True).content.decode()

    assert "Version 1 of the instructions is in force." in page
    assert rosa.get(HERE).context["form"]["examples-q1"].value() == EXAMPLE
    person = builders.consent(builders.invite(study)[0])
    shown = at(person, "instructions/").document.text_content()
    assert "Read slowly." in shown
    assert "The jar is empty." in shown
    assert "Why this work matters" not in shown
    assert "Five sample stories." in at(person, "qualification/").document.text_content()
    worker = builders.take_test(person)
    assert "See you soon." in at(worker, "done/").document.text_content()
    assert Event.objects.filter(type=Event.Type.INSTRUCTIONS_SET, subject="instructions 1").count() == 1
    with pytest.raises(DatabaseError), transaction.atomic():
        InstructionText.objects.update(page="Other.")


def test_the_same_texts_again_make_no_version_and_mistakes_are_named(study: Study) -> None:
    rosa = member(study, Membership.Role.RESEARCHER)
    for _ in range(2):
        rosa.post(HERE, written(**{"examples-q1": EXAMPLE}))
    assert InstructionText.objects.count() == 1
    for wrong, said in (("Answer: Yes", "needs lines like"), (EXAMPLE.replace("Possibly", "Maybe"), "Maybe")):
        page = rosa.post(HERE, written(**{"examples-q1": wrong})).content.decode()
        assert said in page
    assert rosa.post(HERE, written(page=" ")).status_code == 422
    assert InstructionText.objects.count() == 1


def test_who_may_not_change_the_study_reads_only(study: Study) -> None:
    reviewer = member(study, Membership.Role.REVIEWER)
    assert "Publish this version" not in reviewer.get(HERE).content.decode()
    assert reviewer.post(HERE, written()).status_code == 403
    assert not InstructionText.objects.exists()


def vote_beside(person: Enrollment, said: dict[str, str]) -> Vote:
    assignment = builders.claim(person)
    receipt = annotation_actions.record_vote(
        assignment_id=assignment.pk, enrollment=person, submitted=builders.ALL_YES | said, now=timezone.now()
    )
    return Vote.objects.get(pk=receipt.vote.pk)


def test_every_vote_names_the_instructions_it_was_given_beside() -> None:
    study = builders.make_study("votes", stories=9)
    other = put(builders.make_study("other"), "Of another study.")
    (person,) = builders.qualified(study)
    assert vote_beside(person, {"instructions": "0"}).instructions_id is None
    first, second = put(study, "One."), put(study, "Two.")
    person = Enrollment.objects.get(pk=person.pk)

    assert vote_beside(person, {"instructions": str(second.pk)}).instructions == second
    assert vote_beside(person, {"instructions": str(first.pk)}).instructions == first
    assert vote_beside(person, {"instructions": "0"}).instructions is None
    for forged in ("", "x", "²", str(other.pk), "9" * 30):
        assert vote_beside(person, {"instructions": forged}).instructions == second


def test_own_instructions_cost_the_vote_no_query() -> None:
    counts = []
    for slug in ("plain", "own"):
        study = builders.make_study(slug, stories=3)
        said = str(put(study, "One.").pk) if slug == "own" else "0"
        (person,) = builders.qualified(study)
        vote_beside(person, {"instructions": said})
        assignment = builders.claim(person)
        with CaptureQueriesContext(connection) as queries:
            annotation_actions.record_vote_and_assign_next(
                assignment_id=assignment.pk,
                enrollment=person,
                submitted=builders.ALL_YES | {"instructions": said},
                now=timezone.now(),
            )
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_a_page_with_old_instructions_is_loaded_anew_with_its_receipt() -> None:
    study = builders.make_study("loaded", stories=3)
    (person,) = builders.qualified(study)
    browser = at(person, "stories/")
    (field,) = browser.document.xpath("//input[@name='instructions'][@form='answers']")
    form = {"assignment": browser.document.xpath("//input[@name='assignment']/@value")[0]}
    made = put(study, "Read slowly.")

    sent: Any = browser.client.post(
        browser.url,
        builders.ALL_YES | form | {"instructions": field.get("value")},
        headers={"HX-Request": "true"},
    )

    vote = Vote.objects.get()
    assert vote.instructions is None
    assert sent["X-Stored-Assignment"] == form["assignment"]
    assert sent["HX-Redirect"].endswith(f"/stories/?receipt={vote.pk}")
    assert f'value="{made.pk}"' in browser.open(sent["HX-Redirect"]).content.decode()


def test_an_attempt_keeps_the_instructions_it_began_with(study: Study) -> None:
    first = put(study, "Read slowly.")
    person = builders.consent(builders.invite(study)[0])
    attempt = qualification_actions.start_attempt(
        enrollment=Enrollment.objects.get(pk=person.pk), now=timezone.now()
    )
    put(study, "Read fast.")

    assert attempt.instructions == first
    assert "Read slowly." in at(person, "qualification/1/").document.text_content()


@pytest.mark.parametrize("name", ["validity", "multiple-choice"])
def test_a_protocols_examples_come_back_from_their_text(name: str) -> None:
    protocol = get_protocol(name)
    texts = as_written(protocol.instructions, protocol.questions)["examples"]
    read = {question.key: read_examples(question, texts[question.key]) for question in protocol.questions}
    for given, again in zip(protocol.instructions.examples, stored_examples(read), strict=True):
        assert (again.question, str(again.justification)) == (given.question, str(given.justification))
        assert [part.text for part in again.parts] == [str(part.text) for part in given.parts]
        assert again.option == given.option or again.answer == str(given.answer)


def test_own_instructions_go_out_with_the_configuration_and_come_back() -> None:
    study = builders.make_study("source", opened=False)
    annotation_actions.set_instructions(
        study=study,
        page="# What to do\n\nRead slowly.",
        examples={"q1": EXAMPLE},
        thanks="See you soon.",
        by=None,
        now=timezone.now(),
    )
    document = exported(Study.objects.get(pk=study.pk))
    assert document["instructions"]["examples"]["q1"] == EXAMPLE
    assert exported(made_of(document, "again")) == document
    with pytest.raises(InvalidConfiguration, match=r"instructions\.page: is missing"):
        made_of(document | {"instructions": {"examples": {}}}, "broken")
