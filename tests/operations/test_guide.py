"""Commands and units that the operators' guide tells people to copy work."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.db import connection

from tests.test_docs import blocks, page
from tomannot import web_server

UNITS = Path(settings.BASE_DIR) / "deploy" / "systemd"


def command_of(unit: str) -> list[str]:
    parser = ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment]  # names of systemd have capitals
    parser.read_string((UNITS / unit).read_text(encoding="utf-8"))
    return shlex.split(parser["Service"]["ExecStart"])


@pytest.mark.django_db(transaction=True)
def test_the_statements_make_a_role_and_a_database() -> None:
    (statements,) = blocks(page("docs/operators.md"), "sql")
    name = f"{connection.settings_dict['NAME']}_guide"
    drop = [f'DROP DATABASE IF EXISTS "{name}"', f'DROP ROLE IF EXISTS "{name}"']
    create = [one.replace("tomannot", f'"{name}"') for one in statements.split(";") if one.strip()]
    with connection._nodb_cursor() as cursor:
        for statement in (*drop, *create):
            cursor.execute(statement)
        cursor.execute("SELECT datcollate, datlocale FROM pg_database WHERE datname = %s", [name])
        assert cursor.fetchone() == ("C", "C.UTF-8")
        for statement in drop:
            cursor.execute(statement)


def test_units_run_what_the_guide_says() -> None:
    assert command_of("tomannot-web.service")[1:] == [
        *web_server.OPTIONS[:2], "--host", "127.0.0.1", "--port", "8000", *web_server.OPTIONS[2:],
        web_server.APPLICATION,
    ]  # fmt: skip
    text = page("docs/operators.md")
    for unit, until in (("tomannot-worker@.service", "--hostname"), ("tomannot-beat.service", "--schedule")):
        command = command_of(unit)
        assert f"celery {' '.join(command[1 : command.index(until)])}" in text
    assert "%i@" in command_of("tomannot-worker@.service")[-1]


def manifests() -> list[dict[str, Any]]:
    files = sorted((UNITS.parent / "kubernetes").glob("*.yaml"))
    return [one for file in files for one in yaml.safe_load_all(file.read_text(encoding="utf-8"))]


def test_manifests_run_what_the_compose_file_runs() -> None:
    compose = yaml.safe_load((UNITS.parents[1] / "docker-compose.yml").read_text(encoding="utf-8"))[
        "services"
    ]
    found = {
        container["name"]: (container.get("command"), one["spec"].get("replicas"))
        for one in manifests()
        if one["kind"] in ("Deployment", "Job")
        for container in one["spec"]["template"]["spec"]["containers"]
    }
    replicas = {"web": 2, "worker": 2, "beat": 1, "migrate": None}
    assert found == {name: (compose[name].get("command"), count) for name, count in replicas.items()}


@pytest.mark.kubernetes
@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")
def test_kubectl_builds_the_manifests() -> None:
    command = ["kubectl", "kustomize", str(UNITS.parent / "kubernetes")]
    built = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    kinds = [one["kind"] for one in yaml.safe_load_all(built)]
    assert sorted(kinds) == ["ConfigMap", *["Deployment"] * 3, "Job", "Service"]
    assert "image: registry.example.org/tomannot:0.1.0" in built


@pytest.mark.systemd
@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_understands_the_units(tmp_path: Path) -> None:
    for unit in UNITS.iterdir():  # as installed where there are such programs
        text = unit.read_text(encoding="utf-8").replace("/opt/tomannot/.venv/bin/", "/bin/")
        text = text.replace("/bin/granian", "/bin/true").replace("/bin/celery", "/bin/true")
        (tmp_path / unit.name.replace("@.", "@1.")).write_text(text, encoding="utf-8")
    found = subprocess.run(
        ["systemd-analyze", "verify", *map(str, tmp_path.iterdir())],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    ours = [line for line in found.stderr.splitlines() if "tomannot" in line]
    assert (found.returncode, ours) == (0, [])
