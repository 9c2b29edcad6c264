"""The pages that people read before and beside the product agree with the product.

What stands in them as a command, a link, a variable, a field or an example is looked up or run here.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand

from annotation import rules
from annotation.importing.files import read_rows
from annotation.importing.rows import Problem, SourceRow
from annotation.protocols import get_protocol
from annotation.protocols.base import IncompleteForm, Protocol
from annotation.protocols.validity.lint import SCENARIOS
from dashboard.settings.configuration import read_configuration
from dashboard.settings.configuration_schema import JOIN_LINK, ROUND, STATEMENT, STUDY
from publishing.provenance import REVISION_VARIABLE
from tomannot.embedded import PROJECT

ROOMS = {
    "annotation",
    "qualification",
    "recruitment",
    "publishing",
    "dashboard",
    "integrity",
    "crowd",
    "operations",
}
COMMAND = re.compile(r"manage\.py ([a-z][a-z_]+)")
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^(?:\$ |    )?(?:\S*python )?manage\.py (.+)$", re.MULTILINE)
FIRST_CELL = re.compile(r"^\| `([^`]+)`", re.MULTILINE)


def pages() -> list[Path]:
    found = [PROJECT / name for name in ("README.md", "CHANGELOG.md", "DEVELOPERS.md")]
    return [*found, *sorted((PROJECT / "docs").rglob("*.md"))]


def page(name: str) -> str:
    return (PROJECT / name).read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    """What stands under a heading, up to the next one of any level."""
    found = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#+ |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"there is no heading “{title}”"
    return found[1]


def blocks(text: str, language: str) -> list[str]:
    return [content for name, content in FENCE.findall(text) if name == language]


by_page = pytest.mark.parametrize("path", pages(), ids=lambda path: str(path.relative_to(PROJECT)))


@by_page
def test_every_command_that_is_named_exists(path: Path) -> None:
    assert set(COMMAND.findall(path.read_text(encoding="utf-8"))) <= get_commands().keys()


def anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts make them."""
    without_code = FENCE.sub("", path.read_text(encoding="utf-8"))
    plain = (re.sub(r"[^\w\- ]", "", title.lower()) for title in HEADING.findall(without_code))
    return {title.strip().replace(" ", "-") for title in plain}


@by_page
def test_every_relative_link_leads_somewhere(path: Path) -> None:
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    broken = []
    for target in ("".join(groups) for groups in LINK.findall(text)):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        found = (path.parent / file).resolve() if file else path
        if not found.exists() or (anchor and anchor not in anchors(found)):
            broken.append(target)
    assert broken == []


def own_commands() -> dict[str, BaseCommand]:
    return {name: load_command_class(app, name) for name, app in get_commands().items() if app in ROOMS}


def own_options(name: str, command: BaseCommand) -> set[str]:
    """The long options that a command adds to those of every Django command."""

    def options(parser_of: BaseCommand) -> set[str]:
        parser = parser_of.create_parser("manage.py", name)
        return {text for action in parser._actions for text in action.option_strings if text.startswith("--")}

    return options(command) - options(BaseCommand())


def test_every_command_of_ours_has_its_section() -> None:
    titles = set(re.findall(r"^## (\w+)$", page("docs/commands.md"), re.MULTILINE))
    assert titles == own_commands().keys()


@pytest.mark.parametrize("name", sorted(own_commands()))
def test_a_commands_section_has_the_options_that_help_has(name: str) -> None:
    text = section(page("docs/commands.md"), name)
    assert set(re.findall(r"--[a-z][a-z-]+", text)) == own_options(name, own_commands()[name])
    assert "Exit codes: 0 " in text
    said = own_commands()[name].create_parser("manage.py", name).format_help()
    assert "Exit codes: 0 " in said
    assert re.search(rf"^    .*manage.py {name}", said, re.MULTILINE)


@by_page
def test_every_example_has_arguments_that_its_command_takes(path: Path) -> None:
    ours = own_commands()
    for example in EXAMPLE.findall(path.read_text(encoding="utf-8").replace("\\\n", "")):
        name, *given = shlex.split(re.split(r" (?:>|&&) ", example)[0])
        if name in ours:
            ours[name].create_parser("manage.py", name).parse_args(given)


def variables_read() -> set[str]:
    """What the settings read from the environment, and the one variable that provenance reads."""
    tree = ast.parse(page("tomannot/settings.py"))
    names = {REVISION_VARIABLE}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = ast.unparse(node.func)
            if re.fullmatch(r"env\.\w+|_required_url", name):
                names.add(str(node.args[0].value))
    return names


def test_the_operators_table_has_the_variables_that_are_read() -> None:
    assert "DATABASE_URL" in variables_read()
    table = FIRST_CELL.findall(section(page("docs/operators.md"), "Environment"))
    assert len(table) == len(set(table))
    assert set(table) == variables_read()


def test_the_guide_to_the_configuration_has_its_fields() -> None:
    text = page("docs/studies.md")
    assert set(FIRST_CELL.findall(section(text, "Fields"))) == STUDY["properties"].keys()
    assert set(FIRST_CELL.findall(section(text, "`qualification`"))) == ROUND["properties"].keys()
    assert set(FIRST_CELL.findall(section(text, "`statement`"))) == STATEMENT["properties"].keys()
    assert set(FIRST_CELL.findall(section(text, "`join_link`"))) == JOIN_LINK["properties"].keys()


def test_the_example_configuration_can_be_used(tmp_path: Path) -> None:
    example, key = blocks(page("docs/studies.md"), "json")
    for name, content in {
        "study.json": example,
        "answer_key.json": key,
        "stories.jsonl": "",
        "qualification.jsonl": "",
    }.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    read = read_configuration(tmp_path / "study.json")
    assert read.settings["title"] == "Which stories hold up?"
    (round,) = read.rounds
    assert round.acceptable["life_jackets_sev3"]["q2"] == ["yes", "possibly"]


def outcomes(path: Path, content: str, protocol: Protocol) -> list[str]:
    """The ids of the stories in a file; a problem stands among them with its own words."""
    path.write_text(content, encoding="utf-8")
    problems: list[Problem] = []

    def rows() -> Iterator[SourceRow]:
        for row in read_rows(path, name=path.name):
            if isinstance(row, Problem):
                problems.append(row)
            else:
                yield row

    found = [str(one) if isinstance(one, Problem) else one.story_id for one in protocol.read(rows())]
    return [*found, *map(str, problems)]


def test_every_example_file_can_be_imported(tmp_path: Path) -> None:
    text = page("docs/importing.md")
    examples = [("x.jsonl", content) for content in blocks(text, "jsonl")]
    examples += [("x.csv", content) for content in blocks(text, "csv")]
    found = [outcomes(tmp_path / name, content, get_protocol("validity")) for name, content in examples]
    one = ["paint_carton_sev3"]
    digest = hashlib.sha256(b"chatcmpl-1").hexdigest()[:12]
    three = [f"gen-{digest}_sev{level}" for level in (1, 2, 3)]
    assert found == [one, one, three, one]


def test_the_guide_to_importing_has_every_scenario_and_finding() -> None:
    text = page("docs/importing.md")
    assert set(re.findall(r"`([a-z_]+)`", section(text, "Scenarios"))) == SCENARIOS
    codes = set(FIRST_CELL.findall(section(text, "Lint findings")))
    lint = page("annotation/protocols/validity/lint.py") + page("annotation/actions/story_files.py")
    assert codes == set(re.findall(r"(?:Finding\(|^ {8}\()\s*\"([a-z]+_[a-z_]+)\"", lint, re.MULTILINE))


def test_the_guide_for_researchers_has_every_refusal() -> None:
    table = section(page("docs/researchers.md"), "What participants are told, and when")
    rows = re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == set(rules.Reason)


def test_the_example_protocol_works(tmp_path: Path) -> None:
    text = page("docs/protocols.md")
    module_file = tmp_path / "ratings_of_the_docs.py"
    module_file.write_text(blocks(text, "python")[0], encoding="utf-8")
    spec = importlib.util.spec_from_file_location(module_file.stem, module_file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_file.stem] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[module_file.stem]
    protocol: Protocol = module.PROTOCOL
    assert outcomes(tmp_path / "texts.jsonl", blocks(text, "jsonl")[0], protocol) == [
        "text-1", "text-2", "text-3"
    ]  # fmt: skip
    item = protocol.parse({"text": "She put the kettle on and waited."})
    (lowest,) = protocol.read_form(item, {"naturalness": "1"})
    assert protocol.counts_against(None, lowest)
    with pytest.raises(IncompleteForm):
        protocol.read_form(item, {"naturalness": "6"})


def test_the_example_narrative_is_read(tmp_path: Path) -> None:
    example = next(text for text in blocks(page("docs/protocols.md"), "jsonl") if "narrative" in text)
    assert outcomes(tmp_path / "narratives.jsonl", example, get_protocol("narrative-validation")) == [
        "narrative-1"
    ]


def test_every_decision_is_in_the_list_of_decisions() -> None:
    files = {path.name for path in (PROJECT / "docs" / "adr").glob("0*.md")}
    assert len(files) >= 10
    assert set(re.findall(r"\((0[^)]+\.md)\)", page("docs/adr/README.md"))) == files
    for name in files:
        titles = re.findall(r"^## (.+)$", page(f"docs/adr/{name}"), re.MULTILINE)
        assert titles == ["Context", "Decision", "Rejected", "What it costs"], name


def test_every_picture_is_small() -> None:
    for path in (PROJECT / "docs" / "images").iterdir():
        assert path.read_bytes().startswith(b"\x89PNG"), path.name
        assert path.stat().st_size < 150_000, path.name


def names_in(module_file: Path) -> set[str]:
    """The names that a module defines or imports at its top level."""
    tree = ast.parse(module_file.read_text(encoding="utf-8"))
    found = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name for alias in node.names}
    return found


def test_everything_that_the_architecture_names_exists() -> None:
    text = page("docs/architecture.md")
    for name in re.findall(r"`((?:\w+/)+(?:\w+\.(?:py|html))?)`", text):
        assert (PROJECT / name).exists(), name
    rooms = "|".join(sorted(ROOMS))
    for name in re.findall(rf"`((?:{rooms})(?:\.\w+)+)`", text):
        at = PROJECT / name.replace(".", "/")
        if at.is_dir() or at.with_suffix(".py").exists():
            continue
        package = at.parent / "__init__.py"
        assert at.name in names_in(package if package.exists() else at.parent.with_suffix(".py")), name
