"""Which designs a study may have, and what the database keeps of them."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, ProgrammingError, connection, transaction
from django.test.utils import CaptureQueriesContext

from annotation import actions, queries, strata
from annotation.errors import ImportRefused, InvalidStudy, StudyNotReady
from annotation.models import Assignment, Enrollment, Stratum, Study
from annotation.rules import Reason, Refusal
from tests import builders
from tests.annotation.serving import NOW, ask, refused, send, send_and_ask
from tests.annotation.test_design import FEW, NEW, OPEN, PEOPLE, SEALED, complete, designed, given_to

pytestmark = pytest.mark.django_db


def test_a_study_that_the_design_cannot_serve_does_not_open() -> None:
    study = designed(load={SEALED: 7}, opened=False)
    with pytest.raises(StudyNotReady) as refusal:
        actions.open_study(study=study, by=None, now=NOW)
    assert strata.unserved_strata(study) == [(OPEN, 3, 0, ""), (SEALED, 6, 7, "")]
    assert str(refusal.value).count("Its design asks for") == 2
    assert f"of “{OPEN}” per participant; it has 3. Add a load for it" in str(refusal.value)


def test_items_without_a_value_belong_to_no_stratum() -> None:
    named = ["story-a", "story-b"]
    lacking = [
        builders.story_row(number, story_id=name, severity_original=None) for number, name in enumerate(named)
    ]
    study = builders.make_study(
        stories=[*lacking, builders.story_row(2), builders.story_row(3)], opened=False
    )
    load = {"None": 2, "1": 1}
    study = actions.set_design(study=study, by_column="severity_original", load=load, by=None, now=NOW)
    assert strata.unserved_strata(study) == [("", 2, 0, ", ".join(named)), ("None", 0, 2, "")]
    with pytest.raises(StudyNotReady, match="2 items have no value in the design") as refusal:
        actions.open_study(study=study, by=None, now=NOW)
    assert named[1] in str(refusal.value)


@pytest.mark.parametrize(
    ("row", "said"), [({"scenario_name": NEW}, NEW), ({}, None)], ids=["unknown", "known"]
)
def test_items_that_nobody_would_get_are_not_imported(row: dict[str, str], said: str | None) -> None:
    study = designed()
    rows_given = [
        builders.story_row(46, scenario_name=OPEN),
        builders.story_row(47, **{"scenario_name": OPEN} | row),
    ]
    if said is None:
        assert builders.import_rows(study, rows_given)[1].has_free_slot
        return
    with pytest.raises(ImportRefused) as refusal:
        builders.import_rows(study, rows_given)
    (problem,) = refusal.value.problems
    assert (problem.line, problem.field) == (2, "scenario_name")
    assert said in problem.message
    assert "load" in problem.remedy
    assert study.stories.count() == 9


def test_a_draft_takes_items_of_any_value_and_does_not_open_with_them() -> None:
    study = designed(opened=False)
    builders.import_rows(study, [builders.story_row(47, scenario_name=NEW)])
    assert [name for name, *_ in strata.unserved_strata(study)] == [NEW]


def test_whoever_lacks_an_item_of_a_full_stratum_has_nothing_left() -> None:
    study = designed(load={SEALED: 1, OPEN: 1}, items={SEALED: 9, OPEN: 1})
    *others, third = builders.qualified(study, 3)
    for person in others:
        complete(person)
    assert queries.stories_left(third, at_most=9) == 1
    _receipt, outcome = send_and_ask(ask(third))  # type: ignore[arg-type]
    assert refused(outcome) == Reason.ALL_DONE
    assert queries.stories_left(third, at_most=9) == 0


def test_who_comes_while_all_is_reserved_may_come_back() -> None:
    study = designed(items=FEW)
    for person in builders.qualified(study, PEOPLE):
        send(ask(person))  # type: ignore[arg-type]
    (late,) = builders.qualified(study)
    outcome = ask(late)
    assert refused(outcome) == Reason.NOTHING_FREE
    assert isinstance(outcome, Refusal)
    assert outcome.retry_at is not None
    done = Enrollment.objects.filter(study=study).order_by("pk")[0]
    complete(done)
    assert refused(ask(done)) == Reason.CAP_REACHED


def test_hidden_checks_come_until_the_end_of_a_set_and_not_after_it() -> None:
    study = designed(load={SEALED: 6, OPEN: 2}, items={SEALED: 7, OPEN: 2}, votes_per_story=5)
    builders.add_checks(study, 3, every=5)
    for person in builders.qualified(Study.objects.get(pk=study.pk), 2):
        roles, outcome = "", ask(person)
        while isinstance(outcome, Assignment):
            roles += outcome.story.role[0]
            _receipt, outcome = send_and_ask(outcome)
        assert [roles[block : block + 5].count("c") for block in (0, 5)] == [1, 1]
        assert len(roles) == strata.stories_of_design(person.study) == 10
        assert (given_to(person)[SEALED], given_to(person)[OPEN]) == (6, 2)


def test_whole_sets_have_equally_many_checks_where_the_last_block_is_short() -> None:
    study = designed(load={SEALED: 2, OPEN: 1}, items={SEALED: 4, OPEN: 4})
    builders.add_checks(study, 2, every=5)
    for person in builders.qualified(Study.objects.get(pk=study.pk), 2):
        roles, outcome = "", ask(person)
        while isinstance(outcome, Assignment):
            roles += outcome.story.role[0]
            _receipt, outcome = send_and_ask(outcome)
        assert sorted(roles) == ["c", "m", "m", "m"]
        assert len(roles) == strata.stories_of_design(person.study)


def test_checks_that_would_cut_sets_short_are_refused() -> None:
    study = designed(story_cap=3)
    with pytest.raises(InvalidStudy, match="4 stories, but the limit is 3"):
        builders.add_checks(study, 1, every=5)


def test_a_limit_that_cuts_sets_short_is_refused() -> None:
    draft = designed(opened=False, story_cap=2)
    with pytest.raises(StudyNotReady, match="3 stories, but the limit is 2"):
        actions.open_study(study=draft, by=None, now=NOW)
    actions.change_study(study=draft, changes={"story_cap": 3}, by=None, now=NOW)
    actions.open_study(study=draft, by=None, now=NOW)
    with pytest.raises(InvalidStudy, match="3 stories, but the limit is 2"):
        actions.change_study(study=draft, changes={"story_cap": 2}, by=None, now=NOW)


def test_a_design_is_settled_in_the_draft() -> None:
    study = designed()
    with pytest.raises(InvalidStudy):
        actions.set_design(study=study, by_column="scenario_name", load={SEALED: 1}, by=None, now=NOW)
    stratum = study.strata.get(name=OPEN)
    with pytest.raises(ProgrammingError), transaction.atomic():
        Stratum.objects.filter(pk=stratum.pk).update(load=9)


def test_column_and_loads_are_kept_by_the_database_once_opened() -> None:
    study = designed()
    with pytest.raises(ProgrammingError, match="pgtrigger"), transaction.atomic():
        Study.objects.filter(pk=study.pk).update(stratum_field="")
    (person,) = builders.qualified(study)
    ask(person)
    with pytest.raises(DatabaseError, match="load of an assignment"), transaction.atomic():
        Assignment.objects.filter(stratum__name=SEALED).update(load=9)
    with connection.cursor() as cursor:
        cursor.execute(
            "SET CONSTRAINTS ALL IMMEDIATE; ALTER TABLE annotation_assignment DISABLE TRIGGER USER"
        )
    with pytest.raises(IntegrityError, match="place_is_one_of_the_load"), transaction.atomic():
        Assignment.objects.filter(stratum__name=SEALED).update(load=None)


@pytest.mark.parametrize(
    ("load", "said"),
    [({SEALED: 0}, "a load from 1 to 999"), ({SEALED: 1000}, "a load"), ({"": 1}, "a name of 1")],
)
def test_a_load_that_is_none_is_refused(load: dict[str, int], said: str) -> None:
    with pytest.raises(InvalidStudy, match=said):
        designed(load=load, opened=False)


def test_an_unknown_column_is_refused() -> None:
    study = builders.make_study(opened=False)
    with pytest.raises(InvalidStudy, match="not a column"):
        actions.set_design(study=study, by_column="content", load={"a": 1}, by=None, now=NOW)


def test_the_database_keeps_places_within_the_load() -> None:
    (person,) = builders.qualified(designed())
    ask(person)
    sealed = Assignment.objects.filter(enrollment=person, stratum__name=SEALED)
    changes: list[dict[str, Any]] = [{"place": place} for place in (3, 1, 0, None)]
    for change in (*changes, {"stratum": None}):
        with pytest.raises(IntegrityError), transaction.atomic():
            sealed.filter(place=2).update(**change)


def test_the_next_item_costs_no_more_than_without_a_design() -> None:
    plain, study = builders.make_study("plain", stories=9), designed(votes_per_story=20)
    spent = []
    for each in (plain, study):
        (person,) = builders.qualified(each)
        held = ask(person)
        assert isinstance(held, Assignment)
        send_and_ask(held)
        held = ask(person)
        with CaptureQueriesContext(connection) as queries_made:
            _receipt, outcome = send_and_ask(held)  # type: ignore[arg-type]
        assert isinstance(outcome, Assignment)
        assert not isinstance(outcome, Refusal)
        spent.append(len(queries_made))
    assert spent[1] <= spent[0]
