"""A study's configuration: out as one file, in again as the same study, and what a file may not say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import Environment, User
from annotation import actions as annotation_actions
from annotation.errors import InvalidStudy
from annotation.models import Story, Study
from annotation.rights import rights_in
from dashboard.actions import create_study, load_sample_study
from dashboard.settings.configuration import InvalidConfiguration, parse_configuration, read_configuration
from dashboard.settings.configuration_export import configuration_of
from dashboard.settings.sample_study import SAMPLE_STUDY
from qualification import actions as qualification_actions
from qualification.models import Round
from recruitment.actions import set_join_link
from recruitment.models import JoinLink
from tests import builders

pytestmark = pytest.mark.django_db


def exported(study: Study) -> dict[str, Any]:
    return configuration_of(study, now=timezone.now())


def made_of(document: dict[str, Any], slug: str, by: User | None = None) -> Study:
    content = json.dumps(document, ensure_ascii=False).encode()
    config = parse_configuration(content, name="study.json")
    return create_study(slug=slug, config=config, by=by, now=timezone.now())


def test_the_sample_study_goes_out_and_comes_in_the_same() -> None:
    (round,) = read_configuration(SAMPLE_STUDY).rounds
    assert isinstance(round.stories, Path), "the sample file names its files"
    study = load_sample_study(now=timezone.now())
    assert study.stories.filter(role=Story.Role.MAIN).exists()
    set_join_link(
        study=study,
        parameter="PROLIFIC_PID",
        source="prolific",
        return_url="https://app.example.org/done?cc={code}",
        by=None,
        now=timezone.now(),
    )
    document = exported(study)
    again = made_of(document, "again")
    assert exported(again) == document
    assert (again.state, again.environment, again.gate) == ("draft", Environment.REHEARSAL, "ready")
    hashes = [
        list(
            Story.objects.filter(study=one, role=Story.Role.QUALIFICATION)
            .order_by("story_id")
            .values_list("story_id", "content_hash")
        )
        for one in (study, again)
    ]
    assert len(hashes[0]) == 5
    assert hashes[0] == hashes[1]
    assert document["qualification"]["key"]["note"].startswith("life_jackets_sev3: A good story.")
    assert document["join_link"]["source"] == "prolific"
    assert not Story.objects.filter(study=again, role=Story.Role.MAIN).exists()
    assert again.pseudonym_key != study.pseudonym_key
    assert study.pseudonym_key not in json.dumps(document)


def test_what_is_not_said_comes_back_not_said() -> None:
    study = builders.make_study("bare", stories=1)
    document = exported(study)
    assert document.keys().isdisjoint({"qualification", "statement", "join_link", "rehearsal"})
    assert document["qualification_required"] is False
    assert exported(made_of(document, "again")) == document

    waits = exported(builders.make_study("waits", opened=False, qualification_required=True))
    again = made_of(waits, "waits-again")
    assert again.gate == Study.Gate.MISSING, "a test that is asked for but not there yet"
    assert exported(again) == waits


def test_hidden_checks_go_out_and_come_in_with_their_known_answers() -> None:
    study = builders.make_study("checked", stories=1)
    builders.add_checks(study, 2, every=20, warn_percent=30)
    document = exported(study)
    accepted = {name: sorted(options) for name, options in builders.ACCEPTED.items()}
    assert document["checks"]["key"] == dict.fromkeys(["known_00500_sev1", "known_00501_sev1"], accepted)
    again = made_of(document, "again")
    assert exported(again) == document
    assert again.check_rules == study.check_rules

    del document["checks"]["key"]["known_00501_sev1"]
    with pytest.raises(InvalidStudy, match="known_00501_sev1"):
        made_of(document, "third")
    wrong = {"every": 3, "warn_percent": 0, "stories": document["checks"]["stories"], "kee": {}}
    with pytest.raises(InvalidConfiguration) as refused:
        made_of(document | {"checks": wrong}, "fourth")
    said = "\n".join(refused.value.problems)
    assert all(f"checks.{name}: " in said for name in ("every", "warn_percent", "kee"))


def test_ids_of_a_studys_own_stay_its_own() -> None:
    study = builders.make_study("own_ids", stories=1)
    set_join_link(study=study, by=None, now=timezone.now(), least_stories=3)
    again = made_of(exported(study), "again")
    link = JoinLink.objects.get(study=again)
    assert (link.source, link.least_stories) == (f"study-{again.pk}", 3)


def test_a_round_of_questions_comes_back_too() -> None:
    row = {
        "id": "tin_sev1_action",
        "story": "The tin holds sand. Ilse buys the tin.",
        "question": "What will Ilse do next?",
        "scenario_name": "food_item_in_grocery_store",
        "choices": {"text": ["pay", "complain"], "label": ["A", "B"]},
        "answerKey": "A",
    }
    round = {"stories": [row], "key": {"stories": {"tin_sev1_action": {"answer": ["a"]}}}}
    study = made_of(MINIMAL | {"protocol": "multiple-choice", "qualification": round}, "asked")
    document = exported(study)
    assert document["qualification"]["stories"][0]["choices"] == row["choices"]
    assert exported(made_of(document, "again")) == document


def test_forms_that_are_taken_in_turn_come_back_with_the_reasons_of_their_keys() -> None:
    study = builders.make_study("forms", qualification=1, opened=False)
    (first,) = study.rounds.all()
    (story_id,) = first.round_stories.values_list("story__story_id", flat=True)
    same = qualification_actions.create_round(
        study=study, story_ids=[story_id], title="The same story", by=None, now=timezone.now()
    )
    for round in (same, builders.make_round(study, [builders.story_row(7, prefix="second")])):
        names = round.round_stories.values_list("story__story_id", flat=True)
        qualification_actions.set_answer_key(
            round=round,
            acceptable=dict.fromkeys(names, builders.ACCEPTED),
            reasons={name: {"q1": "Some would expect it."} for name in names},
            note="Agreed on Monday.",
            enough=3,
            must_pass=names,
            beside=True,
            by=None,
            now=timezone.now(),
        )
    document = exported(study)
    assert [round["title"] for round in document["qualification"]] == ["", "The same story", ""]
    assert document["qualification"][1]["key"] == {
        "stories": {story_id: builders.ACCEPTED | {"q1": ["possibly", "yes"], "q2": ["possibly", "yes"]}},
        "reasons": {story_id: {"q1": "Some would expect it."}},
        "note": "Agreed on Monday.",
        "enough": 3,
        "must_pass": [story_id],
    }
    again = made_of(document, "again")
    assert exported(again) == document
    assert Round.objects.active_in(again).count() == 3


def test_who_qualified_elsewhere() -> None:
    source = builders.make_study("first", stories=1)
    study = builders.make_study("second", stories=1, opened=False)
    study = annotation_actions.admit_through(study=study, source=source, by=None, now=timezone.now())
    document = exported(study)
    assert document["qualified_through"] == "first"
    again = made_of(document, "third")
    assert again.qualified_through == source
    assert exported(again) == document
    stranger = User.objects.create_user("stranger", password=None)
    assert not rights_in(stranger, source)
    with pytest.raises(InvalidStudy, match="there is no study “first” here"):
        made_of(document, "fourth", by=stranger)
    assert not Study.objects.filter(slug="fourth").exists()


def test_the_command_reads_what_was_exported(tmp_path: Path) -> None:
    study = builders.make_study("bare", stories=1, qualification=1)
    path = tmp_path / "study.json"
    path.write_text(json.dumps(exported(study)), encoding="utf-8")
    call_command("create_study", "copied", config=path)
    assert exported(Study.objects.get(slug="copied")) == exported(study)
    assert Round.objects.get(study__slug="copied").keys.count() == 1


MINIMAL: dict[str, Any] = {"title": "T", "contact": "lab@example.org", "consent": "You may stop."}
ROW = builders.story_row(1, prefix="test")
ROUND = {"stories": [ROW], "key": {"stories": {ROW["story_id"]: builders.ACCEPTED}}}


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"stories": ["x.jsonl"]}, "stories: names the file x.jsonl, which is not here"),
        ({"stories": {}}, "stories: must be the name of a file"),
        ({"qualification": ROUND | {"stories": "q.jsonl"}}, "qualification.stories: names the file q.jsonl"),
        ({"qualification": ROUND | {"key": "k.json"}}, "qualification.key: names the file k.json"),
        ({"qualification": ROUND | {"key": 1}}, "qualification.key: must be an answer key"),
        ({"qualification": ROUND | {"stories": []}}, "qualification.stories: must be the name"),
        ({"qualification": ROUND | {"stories": [1]}}, "qualification.stories[0]: must be the name of"),
        ({"qualification": ROUND | {"key": {"stories": {"a": ["yes"]}}}}, "key.stories.a: must be like"),
        ({"qualification": ROUND | {"key": {"storys": {}}}}, "qualification.key.storys: is not a setting"),
        ({"qualification": ROUND | {"key": {"notes": 1}}}, "qualification.key.notes: must be an object"),
        (
            {"qualification": ROUND | {"key": {"reasons": {"a": "x"}}}},
            "qualification.key.reasons.a: must be like",
        ),
        ({"qualification": []}, "qualification: the list is empty"),
        ({"qualification": {}}, "qualification.stories: is missing"),
        ({"qualification": [ROUND, 1]}, "qualification[1]: must be an object with stories and key"),
        ({"qualification": ROUND, "qualification_required": False}, "qualification_required: is false"),
        ({"qualification_required": "no"}, "qualification_required: must be true or false"),
        ({"qualification": ROUND, "qualified_through": "x"}, "qualified_through: cannot stand beside"),
        ({"join_link": [1]}, "join_link: must be an object"),
        ({"join_link": {"parameter": "1x"}}, "join_link.parameter: “1x” is not a name"),
        ({"rehearsal": 1}, "rehearsal: must be true or false"),
        ({"rehearsal": None}, "rehearsal: must be true or false"),
        ({"qualification": ""}, "qualification: must be an object with stories and key"),
        ({"checks": " "}, "checks: must be an object with stories and key"),
        ({"votes_per_story": ""}, "votes_per_story: must be a whole number from 1"),
        ({"description": 5}, "description: must be text, not int"),
    ],
)
def test_what_a_file_may_not_say(said: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        parse_configuration(json.dumps(MINIMAL | said).encode(), name="study.json")
    assert any(problem in found for found in caught.value.problems), caught.value.problems
    assert str(caught.value).startswith("study.json: ")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"{", "is not JSON at line 1, column 2"),
        (b"\xff", "is not UTF-8 at byte 0"),
        (b"[]", "must be a JSON object"),
        (b"[" * 100_000, "is nested too deeply"),
        (b'{"votes_per_story": ' + b"9" * 5000 + b"}", "has a number that is too long"),
        (b'{"title": "a\\u0000b"}', "has a NUL"),
        (b'{"stories": [{"a\\ud800": 1}]}', "half a surrogate pair"),
    ],
)
def test_what_is_no_configuration(content: bytes, problem: str) -> None:
    with pytest.raises(InvalidConfiguration, match=problem):
        parse_configuration(content, name="study.json")


def test_nothing_is_made_of_a_file_whose_test_stories_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "study.json"
    wrong = MINIMAL | {"qualification": ROUND | {"stories": [ROW | {"scenario_name": "nowhere"}]}}
    path.write_text(json.dumps(wrong), encoding="utf-8")
    with pytest.raises(CommandError, match="nowhere"):
        call_command("create_study", "refused", config=path)
    assert not Study.objects.exists()


def test_nothing_is_made_of_a_file_that_lets_people_practise_what_they_vote_on(tmp_path: Path) -> None:
    path = tmp_path / "study.json"
    builders.write_rows(tmp_path / "stories.jsonl", [ROW | {"story_id": "voted_on"}])
    practice = MINIMAL | {"stories": "stories.jsonl", "qualification": [ROUND | {"kind": "practice"}]}
    path.write_text(json.dumps(practice), encoding="utf-8")
    with pytest.raises(CommandError, match="Practice and quizzes show the right answers"):
        call_command("create_study", "refused", config=path)
    assert not Study.objects.exists()
