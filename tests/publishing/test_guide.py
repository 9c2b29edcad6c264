"""What the guide to releases gives to copy does what it says, on releases by every filter."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from annotation.models import Study
from publishing.filters import FILTERS
from tests.builders import ALL_YES, answers
from tests.publishing.support import judged_study, published
from tomannot.embedded import PROJECT

pytestmark = pytest.mark.django_db(transaction=True)

GUIDE = (PROJECT / "docs" / "releases.md").read_text(encoding="utf-8")
KEPT = {"all-agree": 1, "two-of-three": 2, "majority": 3, "experts-decide-splits": 1}


def snippet(word: str) -> str:
    """The one Python block of the guide in which this word stands."""
    (found,) = [block for block in re.findall(r"^```python\n(.*?)^```$", GUIDE, re.M | re.S) if word in block]
    return str(found)


def printed(code: str, *, where: Path) -> str:
    """What the code prints, run as a reader runs it: without any settings of ours."""
    ours = {"DJANGO_SETTINGS_MODULE", "DATABASE_URL", "REDIS_URL", "SECRET_KEY"}
    bare = {name: value for name, value in os.environ.items() if name not in ours}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=where, env=bare, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture
def disputed() -> Study:
    """One story nobody is against, one with a "no", one where two people object to different questions."""
    no = answers(q3="no")
    forms = {
        "a": (ALL_YES, ALL_YES, ALL_YES),
        "b": (ALL_YES, ALL_YES, no),
        "c": (ALL_YES, answers(q1="no"), no),
        "d": (no, no, no),
        "e": (ALL_YES, ALL_YES),
    }
    return judged_study("disputed", forms, votes_per_story=3)


def test_every_filter_has_its_line() -> None:
    assert set(re.findall(r"^\| `([a-z-]+)`(?: \(used unless you choose\))? \|", GUIDE, re.M)) >= set(FILTERS)


def test_the_verdicts_are_recomputed_by_the_filter_of_the_release(
    disputed: Study, releases_root: Path
) -> None:
    places = [published(disputed, filter_name=name).directory for name in sorted(FILTERS)]
    every = "import os\n" + "".join(f"os.chdir({str(place)!r})\n{snippet('is_kept')}\n" for place in places)
    said = printed(every, where=releases_root).splitlines()
    assert said == [f"{KEPT[name]} True" for name in sorted(FILTERS)]
