"""Check the model of the slot protocol with SPIN: every interleaving, and each guard by its absence."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
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
REMOVED_GUARD = '-Dremoved_guard=atoi(getenv("WITHOUT"))'
"""How a checker compiled with WITHOUT_ONE learns which guard is removed."""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that compiles the checker of the model with these definitions."""
    if not (shutil.which("spin") and shutil.which("gcc")):
        if os.environ.get("CI") == "true":
            pytest.fail("The model must be checked with CI=true, but there is no spin or no gcc on the PATH.")
        pytest.skip("no spin or no gcc on the PATH")

    def compile_it(*definitions: str, optimise: str) -> Path:
        home = tmp_path_factory.mktemp("model")
        options = [optimise, "-w", "-DSAFETY", "-DNOREDUCE", f"-DMEMLIM={MEGABYTES}", REMOVED_GUARD]
        _run(home, "spin", "-a", *(f"-D{one}" for one in definitions), str(MODEL))
        _run(home, "gcc", *options, "-o", "pan", "pan.c")
        return home

    return compile_it


@pytest.fixture(scope="module")
def checker_without_one(compiled: Callable[..., Path]) -> Path:
    """The directory of a checker that is told when it starts which guard is removed."""
    return compiled("WITHOUT_ONE", "ABOUT_ONE=1", optimise="-O0")


def report_of(checker: Path, *, without: int = 0) -> str:
    """Return what the checker says in this directory, with this guard removed."""
    return _run(checker, "./pan", "-E", "-m1000000", "-w22", "-n", environment={"WITHOUT": str(without)})


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
    ("bound", "cut", "at_least"),
    [
        pytest.param("DECISIONS=1", 0, 250_000, id="one-decision-about-anybody"),
        pytest.param("ABOUT_ONE=1 -DDESIGNS=0", 0, 300_000, id="any-decisions-about-one-person"),
        pytest.param("DECISIONS=1 -DADAPTIVE=1", 0, 100_000, id="adaptive-one-decision"),
        pytest.param("ABOUT_ONE=1 -DADAPTIVE=1", 0, 300_000, id="adaptive", marks=pytest.mark.torture),
        pytest.param("DECISIONS=1 -DDESIGNS=0 -DNAMED=1", 0, 280_000, id="given-by-name"),
        pytest.param("ABOUT_ONE=1", 0, 900_000, id="with-designs", marks=pytest.mark.torture),
        pytest.param("ABOUT_ONE=1", 1, 1_000_000, id="claims-cut", marks=pytest.mark.torture),
        pytest.param("DECISIONS=2 -DDESIGNS=0", 0, 500_000, id="two-decisions", marks=pytest.mark.torture),
        pytest.param("DECISIONS=2", 0, 900_000, id="two-decisions-designs", marks=pytest.mark.torture),
        pytest.param("DECISIONS=3", 0, 2_000_000, id="three-decisions", marks=pytest.mark.torture),
    ],
)
def test_no_interleaving_breaks_an_invariant(
    compiled: Callable[..., Path], bound: str, cut: int, at_least: int
) -> None:
    assert_holds(report_of(compiled(*bound.split(" -D"), f"CUT={cut}", optimise="-O2")), at_least=at_least)


@pytest.mark.model
@pytest.mark.parametrize("guard", GUARDS)
def test_checker_finds_what_breaks_without_a_guard(checker_without_one: Path, guard: str) -> None:
    report = report_of(checker_without_one, without=GUARDS[guard][0])
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
    sources = dict(_sources())
    for name, (_, text, place) in GUARDS.items():
        assert f"guard({name})" in TEXT, name
        assert text in sources.get(place, ""), f"{name}: {place} no longer has “{text}”"


def test_model_has_the_writers_of_the_code() -> None:
    """A function that begins to mark stories as full or free is a step that the model lacks."""
    writers = {
        place
        for place, source in _sources()
        if re.search(r"mark_(free|full)\(|[^_]update\(has_free_slot=|bulk_update\(settled", source)
    }
    named = set(re.findall(r"^ \* writes (\w+\.\w+)", TEXT, flags=re.MULTILINE))
    assert named == writers - OUTSIDE


def _sources() -> Iterator[tuple[str, str]]:
    """Yield each function and constant of the actions and the hot statements with its source."""
    for path in (*(ROOM / "actions").glob("*.py"), ROOM / "sql.py"):
        source = path.read_text(encoding="utf-8")
        for node in ast.parse(source).body:
            if isinstance(node, ast.FunctionDef):
                yield f"{path.stem}.{node.name}", ast.get_source_segment(source, node) or ""
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                yield f"{path.stem}.{node.targets[0].id}", ast.get_source_segment(source, node) or ""
