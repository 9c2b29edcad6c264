"""Check the model of the slot protocol with SPIN: every interleaving, and each guard by its absence."""

from __future__ import annotations

import ast
import functools
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from django.db.models import CheckConstraint, UniqueConstraint

from annotation.actions import slots
from annotation.models import UNANSWERED, Assignment, Vote
from annotation.models.votes import LIVING

MODEL = Path(__file__).with_name("slots.pml")
TEXT = MODEL.read_text(encoding="utf-8")
ROOM = MODEL.parents[2] / "annotation"
OUTSIDE = {"imported_votes._store", "revisions.record_revision"}
"""Mark stories as full when votes are imported, and old versions for good."""
GUARDS = {
    name: (int(number), text, place)
    for name, number, text, place in re.findall(
        r"^#define ([A-Z_]+) (\d+) +/\* (.+) in (\w+\.\w+) \*/$", TEXT, flags=re.MULTILINE
    )
}
STATES = re.findall(r"\w+", re.findall(r"^mtype:state = \{(.*)\};$", TEXT, flags=re.MULTILINE)[0])
MEGABYTES, SECONDS = 1500, 280
PLAIN, DESIGNED, NAMED, ADAPTIVE = 1, 2, 4, 8
"""Kinds of studies, whose sum is STUDIES in the model."""
BOUNDS = {"DECISIONS": 1, "ABOUT_ONE": 0, "STUDIES": PLAIN + DESIGNED, "CUT": 0, "WITHOUT": 0}
"""Bounds that the checker reads from its environment: compiling it costs more than most searches."""
READ_ONCE = '-D{name}_GIVEN=({{ static int n = -1; n < 0 ? (n = atoi(getenv("{name}"))) : n; }})'


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the compiled checker of the model."""
    if not (shutil.which("spin") and shutil.which("gcc")):
        if os.environ.get("CI") == "true":
            pytest.fail("The model must be checked with CI=true, but there is no spin or no gcc on the PATH.")
        pytest.skip("no spin or no gcc on the PATH")
    home = tmp_path_factory.mktemp("model")
    _run(home, "spin", "-a", "-DBOUNDS_FROM_C", str(MODEL))
    options = ["-O2", "-w", "-DSAFETY", "-DNOREDUCE", f"-DMEMLIM={MEGABYTES}"]
    _run(home, "gcc", *options, *(READ_ONCE.format(name=name) for name in BOUNDS), "-o", "pan", "pan.c")
    return home


def report_of(checker: Path, **bounds: int) -> str:
    """Return what the checker says of the model with these bounds."""
    given = {name: str(number) for name, number in (BOUNDS | bounds).items()}
    return _run(checker, "./pan", "-E", "-m1000000", "-w22", "-n", environment=given)


def _run(home: Path, *command: str, environment: Mapping[str, str] = MappingProxyType({})) -> str:
    done = subprocess.run(
        command,
        cwd=home,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def assert_holds(report: str, *, at_least: int) -> None:
    """Fail with the report unless all of so many states were searched, and none broke an invariant."""
    assert "errors: 0" in report, report
    for cut_short in ("max search depth too small", "out of memory", "Search not completed"):
        assert cut_short not in report, report
    found = re.search(r"(\d+) states, stored", report)
    assert found, report
    assert int(found[1]) > at_least, report


@pytest.mark.model
@pytest.mark.parametrize(
    ("bounds", "at_least"),
    [
        pytest.param({"STUDIES": PLAIN + DESIGNED + NAMED + ADAPTIVE}, 600_000, id="one-decision"),
        pytest.param({"ABOUT_ONE": 1, "STUDIES": PLAIN}, 300_000, id="any-decisions-about-one-person"),
        *(
            pytest.param(bounds, at_least, id=name, marks=pytest.mark.torture)
            for name, bounds, at_least in (
                ("adaptive", {"ABOUT_ONE": 1, "STUDIES": ADAPTIVE}, 300_000),
                ("with-designs", {"ABOUT_ONE": 1}, 900_000),
                ("claims-cut", {"ABOUT_ONE": 1, "CUT": 1}, 1_000_000),
                ("two-decisions", {"DECISIONS": 2, "STUDIES": PLAIN}, 500_000),
                ("two-decisions-designs", {"DECISIONS": 2}, 900_000),
                ("three-decisions", {"DECISIONS": 3}, 2_000_000),
            )
        ),
    ],
)
def test_no_interleaving_breaks_an_invariant(checker: Path, bounds: dict[str, int], at_least: int) -> None:
    assert_holds(report_of(checker, **bounds), at_least=at_least)


@pytest.mark.model
@pytest.mark.parametrize("guard", GUARDS)
def test_checker_finds_what_breaks_without_a_guard(checker: Path, guard: str) -> None:
    """Each is missed soonest in the kind of study that needs it."""
    number, _, _ = GUARDS[guard]
    studies = ADAPTIVE if number > 34 else DESIGNED if number > 32 else PLAIN
    report = report_of(checker, ABOUT_ONE=1, STUDIES=studies, WITHOUT=number)
    assert "assertion violated" in report, report
    assert "errors: 1" in report, report


def test_model_has_the_states_of_the_code() -> None:
    assert {state.lower() for state in STATES} == set(Assignment.State.values)
    assert _states_of("living") == set(LIVING)
    assert _states_of("counting") == set(slots.ANSWERED_WITH_SLOT)
    assert _states_of("unanswered") == set(UNANSWERED)


def _states_of(macro: str) -> set[str]:
    line = re.findall(rf"^#define {macro}\(x\) (.*)$", TEXT, flags=re.MULTILINE)[0]
    return {state.lower() for state in re.findall(r"== (\w+)", line)}


def test_model_has_the_constraints_of_the_code() -> None:
    rows = [c for c in Assignment._meta.constraints if isinstance(c, UniqueConstraint | CheckConstraint)]
    votes = [c for c in Vote._meta.constraints if isinstance(c, UniqueConstraint)]
    named = re.findall(r"^ \* constraint (\w+)$", TEXT, flags=re.MULTILINE)
    assert sorted(named) == sorted(constraint.name for constraint in rows + votes)


def test_model_has_the_guards_of_the_code() -> None:
    """Each guard is numbered, used in a step, and still stands in the function that its comment names."""
    assert sorted(number for number, _, _ in GUARDS.values()) == list(range(1, len(GUARDS) + 1))
    assert f"#define GUARDS {len(GUARDS)}\n" in TEXT
    sources = _sources()
    for name, (_, text, place) in GUARDS.items():
        assert f"guard({name})" in TEXT, name
        assert text in sources.get(place, ""), f"{name}: {place} no longer has “{text}”"


def test_model_has_the_writers_of_the_code() -> None:
    """A function that begins to mark stories as full or free is a step that the model lacks."""
    writers = {
        place
        for place, source in _sources().items()
        if re.search(r"mark_(free|full)\(|[^_]update\(has_free_slot=|bulk_update\(wanted_and_free", source)
    }
    named = set(re.findall(r"^ \* writes (\w+\.\w+)", TEXT, flags=re.MULTILINE))
    assert named == writers - OUTSIDE


@functools.cache
def _sources() -> dict[str, str]:
    """Return the source of each function and constant of the actions and the hot statements."""
    found = {}
    for path in (*(ROOM / "actions").glob("*.py"), ROOM / "sql.py"):
        source = path.read_text(encoding="utf-8")
        lines = source.splitlines()
        for node in ast.parse(source).body:
            text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            if isinstance(node, ast.FunctionDef):
                found[f"{path.stem}.{node.name}"] = text
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                found[f"{path.stem}.{node.targets[0].id}"] = text
    return found
