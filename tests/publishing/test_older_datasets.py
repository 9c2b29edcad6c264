"""Releases in the two major versions of ``datasets`` before the installed one."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from tests.publishing.loading import load_all
from tests.publishing.test_builder import CONFIGS, RATED, build, crowd, judged

OLDER = ("4.8.5", "3.6.0")
"""The last of each of the two major versions before."""


@pytest.mark.torture
def test_older_major_versions_of_datasets_load_the_same_rows(tmp_path: Path) -> None:
    majors = [int(one.partition(".")[0]) for one in (version("datasets"), *OLDER)]
    assert majors == [majors[0], majors[0] - 1, majors[0] - 2], "OLDER is to name the two majors before"
    stories = crowd(42)
    content = {**stories[1].story.content, "entities": {"Person X": "Mary", "Action Z": "sew"}}
    stories[1] = judged(1, "yyyy", "yyyy", "yyyy", content=content, harmfulness_predicted=RATED)
    place = tmp_path / "releases" / "1"
    build(place, stories)
    (newest,) = load_all(tmp_path / "cache", (place, CONFIGS))
    for number in OLDER:
        (found,) = load_all(tmp_path / number, (place, CONFIGS), version=number)
        assert {name: one["rows"] for name, one in found.items()} == {
            name: one["rows"] for name, one in newest.items()
        }
