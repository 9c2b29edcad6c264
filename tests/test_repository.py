"""The repository itself: what must never be in it, and what must agree with what."""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path

import allauth
import pytest
import yaml
from django.apps import apps
from django.contrib.staticfiles import finders
from django.template import engines

from tomannot.embedded import PROJECT
from tomannot.embedded.postgres import MAJOR_VERSION

TEXT_SUFFIXES = {
    ".html",
    ".jinja",
    ".py",
    ".css",
    ".js",
    ".md",
    ".txt",
    ".toml",
    ".yml",
    ".in",
    ".sh",
    ".json",
    ".jsonl",
    "",
}
# In pieces, so that this file does not find itself.
REGISTRY_HOSTS = re.compile(
    "|".join(["py" + r"pi\.org", "python" + r"hosted\.org", "npm" + r"js\.(org|com)"])
)
MACHINE_PATHS = re.compile(
    "|".join(["/ro" + "ot/", "/ho" + "me/", "/Us" + "ers/", "/work/(?:ma" + "in|sha" + "red)"])
)
TEMPLATE_NAME = re.compile(r"""["']([\w./-]+\.(?:html|txt))(?:#[\w-]+)?["']""")
STATIC_TAG = re.compile(r"""{%\s*static\s+["']([^"']+)["']""")
STATIC_PATH = re.compile(r"""url\(\s*["']?(?!data:|#)([^"')]+)""")


@functools.cache
def tracked_files() -> list[Path]:
    """Every file of the repository that is not ignored, also one that is not committed yet."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [PROJECT / name for name in listed.stdout.split("\0") if name]
    return [path for path in paths if path.is_file()]


def test_each_room_has_one_migration() -> None:
    """Before version 1.0 migrations are generated anew when models change (DEVELOPERS.md)."""
    migrations = [path for path in tracked_files() if path.match("*/migrations/0*.py")]
    rooms = [path.parent.parent.name for path in migrations]
    assert sorted(rooms) == ["accounts", "annotation", "publishing", "qualification", "recruitment"]


@functools.cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def text_files() -> list[Path]:
    return [path for path in tracked_files() if path.suffix in TEXT_SUFFIXES]


def matches(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    return [
        f"{path.relative_to(PROJECT)}:{number}: {line.strip()[:120]}"
        for path in paths
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if pattern.search(line)
    ]


@pytest.mark.parametrize(
    ("text", "pattern"),
    [("https://files.python" + "hosted.org/x", REGISTRY_HOSTS), ("open('/ho" + "me/me/x')", MACHINE_PATHS)],
)
def test_the_patterns_find_what_they_forbid(text: str, pattern: re.Pattern[str]) -> None:
    assert pattern.search(text)


def test_no_host_of_a_package_registry_is_named() -> None:
    assert matches(REGISTRY_HOSTS, text_files()) == []


def test_no_path_of_a_machine_is_named() -> None:
    assert matches(MACHINE_PATHS, text_files()) == []


@pytest.mark.parametrize(("name", "least"), [("installer", 1), ("base", 20), ("dev", 20)])
def test_every_requirement_is_pinned_with_hashes_and_explained(name: str, least: int) -> None:
    locked = text_of(PROJECT / "requirements" / f"{name}.txt")
    packages = re.split(r"\n(?=[a-zA-Z])", locked)
    assert len(packages) >= least
    for package in packages:
        assert re.match(r"[\w.\[\],-]+==[^\s\\]+", package), package[:80]
        assert "--hash=sha256:" in package, package[:80]
    assert "--index-url" not in locked
    assert "--find-links" not in locked
    wanted = {
        line.split("#")[0].strip() for line in text_of(PROJECT / "requirements" / f"{name}.in").splitlines()
    }
    names = {re.split(r"[\[<>=]", line)[0].lower() for line in wanted if line and not line.startswith("-")}
    pinned = {re.split(r"[\[=]", package)[0].lower() for package in packages}
    assert names <= pinned, "run make lock"


def test_the_development_pins_are_those_of_production() -> None:
    def pins(name: str) -> set[str]:
        return set(
            re.findall(
                r"^([\w.-]+(?:\[[^\]]*\])?==\S+)", text_of(PROJECT / "requirements" / name), re.MULTILINE
            )
        )

    assert pins("base.txt") <= pins("dev.txt")


def test_compose_runs_the_major_version_that_the_embedded_server_is() -> None:
    compose = yaml.safe_load(text_of(PROJECT / "docker-compose.yml"))
    assert compose["services"]["postgres"]["image"] == f"postgres:{MAJOR_VERSION}"


def test_continuous_integration_runs_the_two_commands() -> None:
    script = text_of(PROJECT / ".ci" / "run")
    assert re.search(r"^make --keep-going .*\bcheck\b", script, re.MULTILINE)
    assert re.search(r"^make test\b", script, re.MULTILINE)


def own_templates() -> dict[str, Path]:
    """Our templates by the name they are loaded with."""
    directories = [PROJECT / "templates", *(Path(app.path) / "templates" for app in apps.get_app_configs())]
    return {
        str(path.relative_to(directory)): path
        for directory in directories
        if directory.is_relative_to(PROJECT) and ".venv" not in directory.parts
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_every_template_compiles() -> None:
    templates = own_templates()
    assert templates
    for name in templates:
        engines["django"].get_template(name)


def test_no_template_is_unused() -> None:
    """Loaded by Python or another template, or overriding one of an installed package."""
    sources = [path for path in tracked_files() if path.suffix in {".py", ".html", ".txt"}]
    used = {name for path in sources for name in TEMPLATE_NAME.findall(text_of(path))}
    # Django looks these up by itself.
    used |= {"400.html", "403.html", "403_csrf.html", "404.html", "500.html"}
    unused = {name for name in own_templates() if name not in used and not overrides_a_package(name)}
    assert unused == set()


def overrides_a_package(name: str) -> bool:
    others = [Path(app.path) for app in apps.get_app_configs() if ".venv" in app.path]
    others.append(Path(allauth.__file__).parent)  # its apps keep their templates together
    return any((path / "templates" / name).exists() for path in others)


def test_keys_look_like_keys() -> None:
    """Once a rename gave their borders to another class, and a list of keys became a block of text."""
    style = text_of(PROJECT / "static/tomannot/tomannot.css")
    for borders in (r"border: 1px", r"border-block-end-width: 3px"):
        assert re.search(rf"^\.key {{[^}}]*{borders}", style, re.MULTILINE)


def test_every_static_file_that_is_referred_to_exists() -> None:
    missing = [
        f"{name}: {reference}"
        for name, path in own_templates().items()
        for reference in STATIC_TAG.findall(text_of(path))
        if finders.find(reference) is None
    ]
    missing += [
        f"{path.relative_to(PROJECT)}: {reference}"
        for path in (PROJECT / "static").rglob("*.css")
        for reference in STATIC_PATH.findall(text_of(path))
        if not (path.parent / reference.partition("?")[0].partition("#")[0]).exists()
    ]
    assert missing == []
