"""Checking a release directory: a sound one has no finding, and every break is found by its own check."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from itertools import product
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from publishing.facts import People, Statement
from publishing.files import jsonl
from publishing.files.directory import verify
from publishing.verification import CHECKS, check_release, description, identifiers
from publishing.verification.decisions import Recomputation
from publishing.verification.release import SHOWN, CheckedRelease
from publishing.verification.statistics import check_statistics
from tests.publishing.test_builder import build, crowd, rows
from tests.publishing.verification.breaks import VOTES, Break
from tests.publishing.verification.describing_breaks import DESCRIBING_BREAKS
from tests.publishing.verification.document_breaks import DOCUMENT_BREAKS
from tests.publishing.verification.row_breaks import ROW_BREAKS
from tests.publishing.verification.support import (
    STORIES,
    Row,
    edit_document,
    edit_rows,
    items_release,
    pseudonymous,
    seal,
    sound_release,
    write_manifest,
)

BREAKS = (*ROW_BREAKS, *DOCUMENT_BREAKS, *DESCRIBING_BREAKS)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sound_release(tmp_path_factory.mktemp("sound") / "1")


@pytest.fixture
def place(sound: Path, tmp_path: Path) -> Path:
    """A copy of a sound release, to be broken."""
    return Path(shutil.copytree(sound, tmp_path / "1"))


def findings(place: Path) -> list[str]:
    report = check_release(place, with_machine_validation=False)
    return [f"{one.check}: {one}" for one in report.shown]


def test_a_sound_release_has_no_finding(sound: Path) -> None:
    report = check_release(sound)
    assert report.shown == []
    assert report.is_sound
    assert report.unchecked == []
    assert report.skipped == set()


@pytest.mark.parametrize("name", ["two-of-three", "majority"])
def test_releases_by_other_filters_are_judged_by_theirs(tmp_path: Path, name: str) -> None:
    assert findings(sound_release(tmp_path / "1", filter_name=name)) == []


def test_a_decision_counts_only_where_the_filter_says_so(sound: Path, tmp_path: Path) -> None:
    place = sound_release(tmp_path / "1", filter_name="experts-decide-splits")
    kept = {row: {one["story_id"] for one in rows(row, "story-data/test.jsonl")} for row in (sound, place)}
    assert kept[place] - kept[sound] == {"s0003"}
    assert kept[place] > kept[sound]
    assert findings(place) == []
    card = (place / "README.md").read_text(encoding="utf-8")
    assert "Experts decided 2 stories on which the votes split: 1 kept, 1 dropped" in card
    assert "and an expert decided that it is valid" in card
    edit_rows("annotations/adjudications.jsonl", lambda rows: rows[0].update(verdict="invalid"))(place)
    seal(place)
    assert any("kept; by its votes it is dropped (q1,q3)" in finding for finding in findings(place))


def test_all_right_answers_on_one_side_are_found_though_release_json_says_so(tmp_path: Path) -> None:
    build(tmp_path / "1", [pseudonymous(judged) for judged in crowd(84)], medians={"behavior-qa": "f" * 16})
    assert ["far from half" in finding for finding in findings(tmp_path / "1")] == [True]


def test_a_release_of_another_protocol_is_checked_as_far_as_its_layout_goes(tmp_path: Path) -> None:
    report = check_release(items_release(tmp_path / "1"))
    assert report.shown == []
    assert "verdicts were not recomputed" in report.unchecked[0]
    edit_rows("story-data/test.jsonl", lambda rows: rows[0].update(item="x"))(tmp_path / "1")
    seal(tmp_path / "1")
    assert any("item is not an object" in finding for finding in findings(tmp_path / "1"))


@pytest.mark.parametrize("broken", BREAKS, ids=lambda broken: broken.name)
def test_every_break_is_found(place: Path, broken: Break) -> None:
    broken.damage(place)
    seal(place)
    if broken.check != "hashes":
        verify(place)  # the hashes alone have nothing to say
    again = broken.check == "machine-validation"  # which costs as much as all other checks together
    report = check_release(place, with_machine_validation=again)
    for file, words in broken.found.items():
        problems = [one.problem for one in report.shown if (one.check, one.file) == (broken.check, file)]
        for said in words:
            about = next((problem for problem in problems if said in problem), None)
            assert about, f"{file}: {said}? {problems}"
            problems.remove(about)
    if broken.check != "hashes":
        assert not report.count("hashes")


def test_the_line_is_named(place: Path) -> None:
    edit_rows(VOTES, lambda rows: rows[4].update(q3="perhaps"))(place)
    seal(place)
    found = findings(place)
    assert found[0].startswith(f"schema: {VOTES}:5: ")


def test_a_release_from_before_an_item_of_the_statement_is_checked_all_the_same(place: Path) -> None:
    edit_document("release.json", lambda document: document["statement"].pop("ethics"))(place)
    seal(place)
    assert "schema" not in [one.check for one in check_release(place).shown]


def test_a_release_from_before_questions_were_recorded_is_told_plainly(place: Path) -> None:
    def age(document: dict[str, object]) -> None:
        del document["questions"]
        document["title"] = "by ann@example.org"

    edit_document("release.json", age)(place)
    seal(place)
    report = check_release(place)
    assert [one.check for one in report.shown] == ["schema", "identifiers"]
    assert "older version of tomannot" in report.shown[0].problem
    assert report.skipped == {*CHECKS} - {"hashes", "schema", "identifiers"}


def test_changed_missing_extra_and_linked_files(place: Path) -> None:
    (place / "CITATION.cff").write_bytes(b"")
    (place / "figures" / "agreement.svg").unlink()
    (place / "extra.txt").write_text("x")
    (place / "here").symlink_to(place.parent)
    (place / "README.md").rename(place.parent / "README.md")
    (place / "README.md").symlink_to(place.parent / "README.md")
    found = findings(place)
    for expected in (
        "hashes: CITATION.cff: It does not have the SHA-256",
        "hashes: figures/agreement.svg: It is not here, but MANIFEST lists it",
        "hashes: extra.txt: It is here, but MANIFEST does not list it",
        "hashes: here: It is a link",
        "hashes: README.md: It is a link",
    ):
        assert any(finding.startswith(expected) for finding in found), found


@pytest.mark.parametrize(
    ("path", "check"), [("instrument/consent-1.md", "instrument"), ("mental-state-qa/test.jsonl", "card")]
)
def test_a_missing_or_empty_file_is_a_finding_and_never_a_fault(place: Path, path: str, check: str) -> None:
    (place / path).unlink()
    assert any(finding.startswith(f"hashes: {path}: It is not here") for finding in findings(place))
    (place / path).touch()
    write_manifest(place)
    assert any(finding.startswith(f"{check}: ") for finding in findings(place))


def odd_versions(path: Path) -> Iterator[str]:
    """Write a document again and again: each value, and the first in each of these, as it never is."""
    whole = json.loads(path.read_bytes())
    places: list[tuple[str, ...]] = [(key,) for key in whole]
    places += [(key, next(iter(whole[key]))) for key in whole if isinstance(whole[key], dict)]
    odd_values: tuple[object, ...] = (None, [[]])
    for (*outer, last), odd in product(places, odd_values):
        document = copy.deepcopy(whole)
        inside = document[outer[0]] if outer else document
        if inside[last] != odd:  # before the first release there is nothing
            inside[last] = odd
            path.write_bytes(jsonl.document(document))
            yield f"{(*outer, last)} is {odd}"


def test_a_description_of_another_shape_is_a_finding_and_never_a_fault(place: Path) -> None:
    for what in odd_versions(place / "release.json"):
        release = CheckedRelease(place)
        described = description.read(release)
        if not release.total:
            assert described, f"{what}, and nothing was reported"
            check = check_release(place, with_machine_validation=False)
            assert check.total > check.count("hashes"), what


def test_statistics_of_another_shape_are_a_finding_and_never_a_fault(place: Path) -> None:
    release = CheckedRelease(place)
    described = description.read(release)
    assert described
    found = Recomputation(release, described)
    assert found.run()
    for what in odd_versions(place / "statistics.json"):
        before = release.total
        check_statistics(release, found)
        assert release.total > before, what
        identifiers.check(release)


@pytest.mark.parametrize("key", ["distribution", "recordSet"])
def test_croissant_of_another_shape_is_a_finding_and_never_a_fault(place: Path, key: str) -> None:
    edit_document("croissant.json", lambda document: document.update({key: [[]]}))(place)
    write_manifest(place)
    assert findings(place)


@pytest.mark.parametrize(
    "change",
    [{"design": None}, {"configs": None}, {"configs": {"a": 1}}, {"warnings": None}, {"warnings": [[]]}],
)
def test_machine_validation_of_another_shape_is_a_finding_where_it_is_not_done_again(
    place: Path, change: Row
) -> None:
    edit_document("machine_validation.json", lambda document: document.update(change))(place)
    seal(place)
    assert findings(place)


def test_an_empty_machine_validation_is_a_finding_where_it_is_not_done_again(place: Path) -> None:
    (place / "machine_validation.json").write_bytes(b"{}\n")
    seal(place)
    assert findings(place)


def test_what_a_hub_adds_to_a_copy_is_named_and_passed_over(place: Path) -> None:
    (place / ".gitattributes").write_text("*.parquet filter=lfs", encoding="utf-8")
    (place / ".cache" / "huggingface" / "download").mkdir(parents=True)
    (place / "figures" / ".gitattributes").write_text("x", encoding="utf-8")
    report = check_release(place, with_machine_validation=False)
    assert [str(one) for one in report.shown] == [
        "figures/.gitattributes: It is here, but MANIFEST does not list it."
    ]
    for name in (".gitattributes", ".cache"):
        assert any(one.startswith(f"{name} was not checked") for one in report.unchecked)


def test_croissant_must_have_the_hashes_of_manifest(place: Path) -> None:
    edit_document("croissant.json", lambda d: d["distribution"][0].update(sha256="0" * 64))(place)
    write_manifest(place)
    assert [finding.partition(" is ")[0] for finding in findings(place)] == [
        "croissant: croissant.json: distribution[0].sha256"
    ]


def test_machine_validation_is_done_again_unless_told_not_to(place: Path) -> None:
    def better(document: dict[str, dict[str, dict[str, dict[str, float]]]]) -> None:
        document["configs"]["behavior-qa"]["shorter_choice"]["accuracy"] = 0.5

    edit_document("machine_validation.json", better)(place)
    seal(place)
    assert not any(finding.startswith("machine-validation") for finding in findings(place))
    report = check_release(place)
    assert [one.check for one in report.shown] == ["machine-validation"]
    assert report.shown[0].problem.startswith("configs.behavior-qa.shorter_choice.accuracy is 0.5")


def test_machine_validation_waits_for_sound_questions(place: Path) -> None:
    edit_rows("behavior-qa/test.jsonl", lambda rows: rows.pop())(place)
    seal(place)
    report = check_release(place)
    assert "machine-validation" in report.skipped
    assert any("machine_validation.json was not recomputed" in one for one in report.unchecked)


def test_a_protocol_that_is_not_installed_is_noted_and_taken_from_the_release(place: Path) -> None:
    edit_document("release.json", lambda d: d["protocol"].update(version="0"))(place)
    seal(place)
    report = check_release(place)
    assert any("validity” is installed in version 1, not 0" in one for one in report.unchecked)
    assert not report.count("decisions")


def test_a_file_listed_twice_is_found(place: Path) -> None:
    manifest = (place / "MANIFEST").read_text(encoding="utf-8")
    first = manifest.splitlines()[0].partition("  ")[2]
    (place / "MANIFEST").write_text(f"{'0' * 64}  {first}\n{manifest}", encoding="utf-8")
    assert any(f"MANIFEST lists {first} twice" in finding for finding in findings(place))


def test_names_of_the_researchers_may_look_like_ids(tmp_path: Path) -> None:
    """Ids of a document database, and a generator whose name has the form of a worker id."""
    stories = [pseudonymous(judged) for judged in crowd(STORIES)]
    named = [
        dataclasses.replace(
            judged,
            story=dataclasses.replace(
                judged.story,
                story_id=f"5f3c0a1b2c3d4e5f6071{place:04d}",
                core_id=f"6f3c0a1b2c3d4e5f6071{place // 3:04d}",
                story_generator_model="A1B2C3D4E5F6G7",
                scenario_name=f"box@example.org {place % 2}",
            ),
        )
        for place, judged in enumerate(stories)
    ]
    build(tmp_path / "1", named)
    report = check_release(tmp_path / "1", with_machine_validation=False)
    assert report.shown == []
    edit_rows(VOTES, lambda rows: rows[0].update(q1="5f3c0a1b2c3d4e5f60710000"))(tmp_path / "1")
    seal(tmp_path / "1")
    assert any(finding.startswith(f"identifiers: {VOTES}:1: ") for finding in findings(tmp_path / "1"))


def test_what_only_the_researchers_say_is_taken_as_it_is(tmp_path: Path) -> None:
    said = Statement(
        creators=("Doe, Ann", "The Lab, ", "Mo and Sons"),
        motivation="# Why\n\n| a | table |",
        platform="By mail.",
        demographics="Adults.",
        sensitive_information="None.",
        biases="Some.",
        limits="Few.",
        intended_use="Research.",
        url="https://example.org/data",
        doi="10.1234/abc",
    )
    place = sound_release(
        tmp_path / "1",
        title="A *pilot* | of `things`",
        description="One.\n\n## Two\x07\n\n<b>Three</b>",
        statement=said,
        license="Anybody's",
        environment="rehearsal",
        number=2,
    )
    assert findings(place) == []
    bare = sound_release(tmp_path / "2", description="", people=People(5, None, None))
    assert findings(bare) == []


def test_an_address_in_the_description_of_the_study_is_noted(tmp_path: Path) -> None:
    place = sound_release(tmp_path / "1", description="Questions go to lab@example.org.")
    report = check_release(place, with_machine_validation=False)
    assert report.shown == []
    noted = [one for one in report.unchecked if "has an e-mail address" in one]
    assert {one.partition(":")[0] for one in noted} == {
        "README.md", "CITATION.cff", "croissant.json", "release.json",
    }  # fmt: skip


def test_many_findings_are_counted_and_few_are_shown(place: Path) -> None:
    edit_rows(VOTES, lambda rows: [row.update(q1="perhaps") for row in rows])(place)
    seal(place)
    report = check_release(place, with_machine_validation=False)
    votes = report.count("schema", VOTES)
    assert votes == len((place / VOTES).read_bytes().splitlines()) > SHOWN
    assert len([one for one in report.shown if one.file == VOTES]) == SHOWN
    assert "statistics" in report.skipped


def test_the_command_says_what_it_found(sound: Path, place: Path) -> None:
    out = StringIO()
    call_command("verify_release", str(sound), "--json", stdout=out)
    report = json.loads(out.getvalue())
    assert (report["sound"], report["findings"], report["study"], report["number"]) == (True, [], "pilot", 1)
    edit_rows("behavior-qa/test.jsonl", lambda rows: rows.pop())(place)
    seal(place)
    out = StringIO()
    with pytest.raises(CommandError) as refused:
        call_command("verify_release", str(place), "--no-machine-validation", stdout=out)
    assert refused.value.returncode == 1
    assert "BROKEN  questions: 1\n        behavior-qa/test.jsonl: There is no question" in out.getvalue()
    with pytest.raises(CommandError) as unreadable:
        call_command("verify_release", str(place / "nowhere"))
    assert unreadable.value.returncode == 2


def test_the_command_needs_no_server_and_finds_the_same_with_other_seeds_and_threads(
    sound: Path, tmp_path: Path
) -> None:
    """Not even the embedded ones: their place stays empty, and the settings name none."""
    var = tmp_path / "var"
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    other = {"TOMANNOT_VAR": str(var), "PYTHONHASHSEED": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "manage.py", "verify_release", str(sound)],
        env=kept | other, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "ok      decisions" in done.stdout
    assert "ok      machine-validation" in done.stdout
    assert not list(var.glob("*postgres*"))
    assert not list(var.glob("*redis*"))
