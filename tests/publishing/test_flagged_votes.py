"""A release repeats figures without flagged votes, and does not say which votes these are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.utils import timezone

from annotation import actions
from annotation.models import Enrollment, Study
from annotation.protocols import get_protocol
from annotation.signs import FIELD
from publishing.models import Release
from publishing.queries import flagged
from publishing.verification import check_release
from tests import builders
from tests.publishing.support import published
from tests.publishing.verification.support import edit_document
from tests.worlds import built_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("releases_root")]
FORMS = [builders.answers(), builders.answers(q3="no"), builders.answers(q1="possibly"), builders.answers()]


@built_once
def voted(reported: str = "") -> tuple[Study, list[Enrollment]]:
    """Four stories by three people; the third disagrees on the second; ``reported`` is of their last vote."""
    study = builders.make_study(stories=4)
    people = builders.qualified(study, 3)
    for place in range(4):
        for person in people:
            third = person == people[2]
            last = {FIELD: reported} if third and place == 3 else {FIELD: "7 1 q1:2.0"}
            builders.vote(person, (FORMS[place] if third else builders.ALL_YES) | last)
    return study, people


@built_once
def with_a_flagged_vote() -> Release:
    return published(voted("0 3")[0])


def flag(study: Study, person: Enrollment) -> None:
    actions.note_flags(study=study, flags={person.pseudonym: ["too_fast"]}, now=timezone.now())


def statistics(release: Release) -> Any:
    return json.loads((release.directory / "statistics.json").read_bytes())


def card(release: Release) -> str:
    return " ".join((release.directory / "README.md").read_text(encoding="utf-8").split())


def rebuilt(release: Release) -> dict[str, bytes]:
    return {
        str(path.relative_to(release.directory)): path.read_bytes()
        for path in release.directory.rglob("*")
        if path.is_file()
    }


def test_a_release_without_flagged_votes_says_nothing_of_them() -> None:
    study, _people = voted("9 0")
    release = published(study)
    assert "without_flagged_votes" not in statistics(release)
    assert "lagged" not in card(release)


@pytest.mark.parametrize("how", ["a person", "a vote"])
def test_agreement_and_retention_are_repeated(how: str) -> None:
    if how == "a person":
        study, people = voted("9 0")
        flag(study, people[2])
        release = published(study)
    else:
        release = with_a_flagged_vote()
    found = statistics(release)["without_flagged_votes"]
    if how == "a vote":
        assert found["votes"] == 1
        assert found["stories"] == {"generated": 3, "kept": 2, "dropped": 1, "incomplete": 0}
        assert found["agreement"]["q3"]["stories"] == 3
        assert found["agreement"]["q3"]["percent"] == pytest.approx(7 / 9)
        assert "| all votes | 4 | 3 | 75.0 % | | without flagged votes | 3 | 2 | 66.7 % |" in card(release)
        assert "1 of 12 counted votes are flagged" in card(release)
    else:
        assert found["votes"] == 4
        assert found["stories"] == {"generated": 0, "kept": 0, "dropped": 0, "incomplete": 0}
        assert found["agreement"]["q3"]["percent"] is None
    whole = statistics(release)["agreement"]["q3"]
    assert (whole["stories"], whole["percent"]) == (4, pytest.approx(10 / 12))
    assert "Screen readers" in card(release)
    checked = check_release(release.directory, with_machine_validation=False)
    assert checked.shown == []
    assert any("No file says which votes are flagged" in note for note in checked.unchecked)


def test_a_study_with_right_answers_repeats_its_retention_and_can_be_verified() -> None:
    narratives = [json.loads(line) for line in get_protocol("narrative-validation").example.splitlines()]
    study = builders.make_study(protocol="narrative-validation", stories=narratives)
    people = builders.qualified(study, 3)
    for person in [*people, *people]:
        form = {cell.field: next(iter(cell.labels)) for cell in builders.claim(person).story.cells}
        builders.vote(person, form)
    flag(study, people[2])
    release = published(study)
    assert statistics(release)["without_flagged_votes"]["votes"] == 2
    assert "Below, retention is computed again" in card(release)
    assert check_release(release.directory, with_machine_validation=False).shown == []


def test_nothing_says_which_votes_are_flagged() -> None:
    first = with_a_flagged_vote()
    study = first.study
    people = list(study.enrollments.order_by("pk"))
    before = flagged(first)
    flag(study, people[0])
    assert flagged(first) == before, "later flags change nothing"
    assert {name: len(stories or ()) for name, stories in before.items()} == {people[2].pseudonym: 1}
    plain, marked = rebuilt(first), rebuilt(published(study))
    others = {path for path in plain if plain[path] != marked[path]}
    assert not {path for path in others if path.startswith(("annotations/", "story-data/", "parquet/"))}
    assert b"trusted" not in b"".join(marked[path] for path in marked if path.startswith("annotations/"))


def test_excluded_votes_are_not_flagged_ones() -> None:
    study, people = voted("0 3")
    actions.exclude_annotator(
        enrollment=people[2], reason="Looked at.", shown_reason="Please write.", by=None, now=timezone.now()
    )
    (instead,) = builders.qualified(study)
    builders.answer_everything([instead])
    assert "without_flagged_votes" not in statistics(published(study))


def test_figures_that_cannot_be_of_a_part_are_found() -> None:
    release = with_a_flagged_vote()

    def breaking(*path: str, value: Any) -> Any:
        def change(document: Any) -> None:
            for key in path[:-1]:
                document = document[key]
            document[path[-1]] = value

        return change

    where = "without_flagged_votes"
    for wrong in (
        breaking(where, "votes", value=13),
        breaking(where, "stories", "generated", value=2),
        breaking(where, "agreement", "q3", "percent", value="high"),
        breaking(where, value=None),
    ):
        before = (release.directory / "statistics.json").read_bytes()
        edit_document("statistics.json", wrong)(release.directory)
        found = check_release(release.directory, with_machine_validation=False)
        assert found.count("statistics")
        (release.directory / "statistics.json").write_bytes(before)
