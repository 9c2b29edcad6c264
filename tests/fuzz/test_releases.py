"""Releases from elsewhere, and models' answers: sound, or refused with the place; nothing is half-done."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from django.utils import timezone
from hypothesis import given, strategies as st

from accounts.errors import DomainError
from annotation.models import Study
from publishing.actions.reimport import import_release
from publishing.evaluation.report import evaluate
from publishing.verification import check_release
from tests.fuzz.near_valid import TEXTS, VALUES, as_json, changed, fuzzed, wounded
from tests.publishing.verification.support import seal, sound_release


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sound_release(tmp_path_factory.mktemp("fuzz") / "1")


@pytest.fixture
def copies(release: Path, tmp_path: Path) -> Copies:
    return Copies(release, tmp_path)


class Copies:
    """Copies of a release, one after the other in the same place."""

    def __init__(self, release: Path, folder: Path) -> None:
        self._release, self._place = release, folder / "1"

    def new(self) -> Path:
        shutil.rmtree(self._place, ignore_errors=True)
        return Path(shutil.copytree(self._release, self._place))


def damage(data: st.DataObject, place: Path) -> None:
    """Wound one file, or change one value of it; make its hash right again, or leave it wrong."""
    files = sorted(path for path in place.rglob("*") if path.is_file())
    file = data.draw(st.sampled_from(files), label="file")
    content = file.read_bytes()
    if file.suffix in (".json", ".jsonl") and content and data.draw(st.booleans()):
        lines = content.splitlines() if file.suffix == ".jsonl" else [content]
        number = data.draw(st.integers(0, len(lines) - 1))
        lines[number] = as_json(data.draw(changed(json.loads(lines[number]))))
        content = b"\n".join(lines) + b"\n"
    else:
        content = data.draw(wounded(content))
    match data.draw(st.integers(0, 8)):
        case 0:
            file.unlink()
            file.mkdir()
        case 1:
            file.unlink()
        case _:
            file.write_bytes(content)
    if data.draw(st.booleans()) and (place / "croissant.json").is_file():
        try:
            seal(place)
        except (ValueError, KeyError, TypeError, AttributeError, OSError):
            return  # croissant.json is what was damaged


@given(data=st.data())
@fuzzed(6, shrinks=False)
def test_a_damaged_release_is_checked_to_the_end(copies: Copies, data: st.DataObject) -> None:
    place = copies.new()
    damage(data, place)
    try:
        report = check_release(place, with_machine_validation=False)
    except OSError:  # what the command says in one line
        return
    for finding in report.shown:
        str(finding).encode()
    assert report.is_sound == (not report.total)


@pytest.mark.django_db(transaction=True)
@given(data=st.data())
@fuzzed(6, shrinks=False)
def test_a_damaged_release_is_imported_whole_or_not_at_all(copies: Copies, data: st.DataObject) -> None:
    place = copies.new()
    damage(data, place)
    slug = f"study-{Study.objects.count()}"
    try:
        imported = import_release(
            directory=place, slug=slug, contact="a@example.org", with_votes=True, by=None, now=timezone.now()
        )
    except (DomainError, OSError):
        assert not Study.objects.filter(slug=slug).exists()
    else:
        assert imported.stories == imported.study.stories.count()


VOTE = {"story_id": "x", "q1": "yes", "q2": "yes", "q3": "yes", "q4": "yes"}


@given(data=st.data())
@fuzzed(16, shrinks=False)
def test_no_file_of_a_model_is_too_much(release: Path, tmp_path: Path, data: st.DataObject) -> None:
    rows = [json.loads(line) for line in (release / "behavior-qa/test.jsonl").read_bytes().splitlines()]
    good = [{"id": row["id"], "answer": row["answerKey"]} for row in rows]
    kind = data.draw(st.sampled_from(["one value", "wounds", "a vote", "anything"]))
    if kind == "one value":
        place = data.draw(st.integers(0, len(good) - 1))
        good[place] = data.draw(changed(good[place]))
    content = b"".join(as_json(row) + b"\n" for row in good)
    if kind == "wounds":
        content = data.draw(wounded(content))
    if kind in ("a vote", "anything"):
        content = as_json(data.draw(changed(VOTE) if kind == "a vote" else VALUES)) + b"\n"
    file = tmp_path / "model.jsonl"
    file.write_bytes(content)
    try:
        found = evaluate(release, [file], ["behavior-qa"])
    except DomainError as error:
        str(error).encode()
    else:
        assert found["configs"]


@given(data=st.data())
@fuzzed(6, shrinks=False)
def test_models_are_not_evaluated_on_a_damaged_release(copies: Copies, data: st.DataObject) -> None:
    place = copies.new()
    rows = [json.loads(line) for line in (place / "behavior-qa/test.jsonl").read_bytes().splitlines()]
    file = place.parent / "model.jsonl"
    file.write_bytes(b"".join(as_json({"id": row["id"], "answer": row["answerKey"]}) + b"\n" for row in rows))
    damage(data, place)
    try:
        evaluate(
            place,
            [file],
            data.draw(st.sampled_from([[], ["behavior-qa"], [data.draw(st.sampled_from(TEXTS))]])),
        )
    except (DomainError, OSError):
        return
