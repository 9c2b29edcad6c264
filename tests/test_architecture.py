"""The rules of the house, read off the source: who may import whom, and where things are written."""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
MOST_LINES = 400
LONGEST_VIEW = 30

MAY_IMPORT = {
    "accounts": set(),
    "annotation": {"accounts"},
    "qualification": {"accounts", "annotation"},
    "recruitment": {"accounts", "annotation"},
    "publishing": {"accounts", "annotation"},
    "dashboard": {"accounts", "annotation", "qualification", "recruitment", "publishing"},
    "api": {"accounts", "annotation", "qualification", "recruitment", "publishing", "dashboard"},
    "integrity": {"accounts", "annotation", "qualification", "recruitment", "publishing", "dashboard"},
    "crowd": {"accounts", "annotation", "qualification", "recruitment", "publishing", "dashboard"},
    "operations": {"accounts", "annotation", "qualification", "recruitment", "publishing", "dashboard"},
}
"""Imports run one way. ``tomannot`` is the settings and the Celery application, open to all."""

WRITES = {
    "bulk_create",
    "bulk_update",
    "create",
    "create_superuser",
    "create_user",
    "delete",
    "get_or_create",
    "save",
    "update",
    "update_or_create",
}


def sources() -> list[Path]:
    """Every module of the rooms, migrations aside: those are generated."""
    return sorted(
        path
        for folder in MAY_IMPORT
        for path in (PROJECT / folder).rglob("*.py")
        if "migrations" not in path.parts
    )


def name_of(path: Path) -> str:
    return str(path.relative_to(PROJECT))


def is_actions(path: Path) -> bool:
    return path.name == "actions.py" or path.parent.name == "actions"


def is_view(name: str) -> bool:
    path = Path(name)
    return path.name in ("views.py", "pages.py") or path.parent.name in ("views", "pages", "api")


@functools.cache
def modules() -> dict[str, ast.Module]:
    return {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in sources()}


def actions() -> dict[str, ast.Module]:
    return {name: tree for name, tree in modules().items() if is_actions(PROJECT / name)}


def others() -> dict[str, ast.Module]:
    return {name: tree for name, tree in modules().items() if not is_actions(PROJECT / name)}


@functools.cache
def imports(tree: ast.AST) -> tuple[str, ...]:
    """Everything a module imports, as dotted names down to what is imported."""
    return tuple(_imports(tree))


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def writes(tree: ast.AST) -> Iterator[str]:
    """Calls that write to the database: ``Model.objects…``, querysets and instances.

    Not dict.update, nor the save of a storage of files.
    """
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        receiver = ast.unparse(node.func.value)
        is_rows = any(word in receiver for word in (".objects", ".filter(", ".exclude(", "queryset"))
        unmistakable = (
            node.func.attr in WRITES - {"update", "delete", "create"} and receiver != "default_storage"
        )
        if node.func.attr in WRITES and (is_rows or unmistakable):
            yield f"line {node.lineno}: {receiver}.{node.func.attr}()"


def public_functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    return (node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"))


def is_write(function: ast.FunctionDef) -> bool:
    """Whether an action's function changes something, as opposed to telling something."""
    source = ast.unparse(function)
    return (
        "transaction.atomic" in source
        or "record_event(" in source
        or "record_about(" in source
        or any(writes(function))
    )


def wrong_signature(function: ast.FunctionDef) -> str:
    """What is wrong with how a verb is called; empty for nothing."""
    arguments = function.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    if arguments.posonlyargs or arguments.args or arguments.vararg:
        return "takes positional arguments"
    if any(argument.annotation is None for argument in named) or function.returns is None:
        return "is not annotated"
    if any(argument.arg == "request" for argument in named):
        return "takes a request"
    return ""


def test_imports_run_one_way() -> None:
    wrong = {}
    for module, tree in modules().items():
        room = module.split("/")[0]
        rooms = {imported.split(".")[0] for imported in imports(tree)} & MAY_IMPORT.keys()
        wrong[module] = rooms - {room} - MAY_IMPORT[room]

    assert only_filled(wrong) == {}


def dotted(name: str) -> str:
    """The name by which a module is imported."""
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@functools.cache
def imported_modules() -> dict[str, set[str]]:
    """For each module, the modules of the rooms that it imports directly."""
    known = {dotted(name) for name in modules()}
    found = {}
    for name, tree in modules().items():
        targets = {one if one in known else one.rpartition(".")[0] for one in imports(tree)}
        found[dotted(name)] = (targets & known) - {dotted(name)}
    return found


def in_cycles(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """What is left of the graph after repeatedly removing the modules that import nothing in it."""
    left = {name: set(targets) for name, targets in graph.items()}
    while leaves := {name for name, targets in left.items() if not targets}:
        left = {name: targets - leaves for name, targets in left.items() if name not in leaves}
    return left


def test_no_module_imports_itself_through_others() -> None:
    """The contracts in pyproject.toml hold packages apart; this holds for single modules, dashboard's too."""
    assert in_cycles(imported_modules()) == {}


def test_control_cycles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}
    assert in_cycles(graph).keys() == {"a", "b", "c", "d"}
    assert in_cycles({"a": {"b"}, "b": set()}) == {}


def test_pages_do_not_import_pages() -> None:
    wrong = {
        name: {target for target in targets if is_page(target)}
        for name, targets in imported_modules().items()
        if is_page(name)
    }
    assert only_filled(wrong) == {}


def is_page(module: str) -> bool:
    return module.startswith("dashboard.") and "pages" in module.split(".")[1:]


def test_only_actions_write() -> None:
    assert only_filled({module: list(writes(tree)) for module, tree in others().items()}) == {}


def test_views_and_tasks_leave_transactions_and_locks_to_actions() -> None:
    looked_at = {name: tree for name, tree in others().items() if is_view(name) or name.endswith("/tasks.py")}

    assert [name for name, tree in looked_at.items() if "django.db.transaction" in set(imports(tree))] == []
    assert [name for name in looked_at if "select_for_update" in (PROJECT / name).read_text("utf-8")] == []


def test_views_are_short() -> None:
    longest = {
        f"{name}: {function.name}": (function.end_lineno or 0) - function.lineno + 1
        for name, tree in others().items()
        if is_view(name)
        for function in public_functions(tree)
        if "request" in [argument.arg for argument in function.args.args]
    }

    assert {name: lines for name, lines in longest.items() if lines > LONGEST_VIEW} == {}


def test_nothing_happens_behind_the_scenes() -> None:
    """No signals, no workflow in a model's own save or delete, and tasks declared the house's way."""
    assert only_filled({module: list(hidden(module, tree)) for module, tree in modules().items()}) == {}


def hidden(module: str, tree: ast.Module) -> Iterator[str]:
    """What makes something happen that the code which causes it does not say."""
    for name in set(imports(tree)):
        if "signals" in name.split(".") or name.startswith("django.dispatch") or name.endswith("shared_task"):
            yield name
    if "models" in Path(module).stem or "models" in Path(module).parts:
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                methods = {method.name for method in node.body if isinstance(method, ast.FunctionDef)}
                yield from sorted({"save", "delete", "clean"} & methods)


def test_actions_are_verbs_with_named_annotated_arguments_and_know_no_request() -> None:
    wrong = {
        f"{name}: {function.name}": wrong_signature(function)
        for name, tree in actions().items()
        for function in public_functions(tree)
        if is_write(function)
    }
    of_requests = {
        name: [found for found in imports(tree) if found.startswith(("django.http", "django.shortcuts"))]
        for name, tree in actions().items()
    }

    assert only_filled(wrong) == {}
    assert only_filled(of_requests) == {}


def test_files_stay_readable() -> None:
    lines = {name: len((PROJECT / name).read_text(encoding="utf-8").splitlines()) for name in modules()}

    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def only_filled(found: Mapping[str, Collection[str]]) -> dict[str, Collection[str]]:
    """What was found, without the modules where there is nothing."""
    return {name: what for name, what in found.items() if what}


def test_every_room_is_looked_at() -> None:
    assert {name.split("/")[0] for name in modules()} == set(MAY_IMPORT)
    assert {name.split("/")[0] for name in actions()} >= set(MAY_IMPORT) - {
        "integrity",
        "crowd",
        "operations",
    }
    assert sum(is_write(f) for tree in actions().values() for f in public_functions(tree)) > 20


@pytest.mark.parametrize(
    "code",
    [
        "Vote.objects.create(x=1)",
        "Story.objects.filter(pk=1).update(x=1)",
        "vote.save()",
        "queryset.delete()",
        "Answer.objects.bulk_create(rows)",
        "Vote.objects.exclude(pk=1).delete()",
        "User.objects.create_user('x')",
    ],
)
def test_control_writes_are_recognised(code: str) -> None:
    assert len(list(writes(ast.parse(code)))) == 1


@pytest.mark.parametrize("code", ["seen.update(new)", "digest.update(b'')", "Vote.objects.filter(pk=1)"])
def test_control_other_calls_are_not(code: str) -> None:
    assert list(writes(ast.parse(code))) == []


@pytest.mark.parametrize(
    ("signature", "wrong"),
    [
        ("def f(*, study: Study, now: datetime) -> Study: ...", ""),
        ("def f(study: Study) -> Study: ...", "takes positional arguments"),
        ("def f(*, study) -> Study: ...", "is not annotated"),
        ("def f(*, study: Study): ...", "is not annotated"),
        ("def f(*, request: HttpRequest) -> None: ...", "takes a request"),
    ],
)
def test_control_signatures_are_judged(signature: str, wrong: str) -> None:
    (function,) = public_functions(ast.parse(signature))
    assert wrong_signature(function) == wrong


@pytest.mark.parametrize(
    ("module", "code", "found"),
    [
        ("accounts/apps.py", "from django.db.models.signals import post_save", 1),
        ("accounts/apps.py", "from django.dispatch import receiver", 1),
        ("accounts/tasks.py", "from celery import shared_task", 1),
        ("accounts/models.py", "class User:\n def save(self): ...\n def clean(self): ...", 2),
        ("annotation/models/votes.py", "class Vote:\n def delete(self): ...", 1),
        ("annotation/forms.py", "class Form:\n def clean(self): ...", 0),
    ],
)
def test_control_what_is_hidden_is_found(module: str, code: str, found: int) -> None:
    assert len(list(hidden(module, ast.parse(code)))) == found
