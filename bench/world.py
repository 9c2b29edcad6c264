"""The measured studies: created once through actions, copied by PostgreSQL, filled up by COPY."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import connections, transaction
from django.urls import reverse
from django.utils import timezone
from psycopg import sql

from annotation import actions, rules
from annotation.models import ConsentText, Enrollment, Story, Study
from annotation.tokens import VisitClaim, visit_token
from recruitment.actions import arrive_by_link

SLUG = "bench"
SEED = 1
SAMPLE_STORIES = settings.BASE_DIR / "sample_study" / "stories.jsonl"
TEMPLATES = 50
"""Number of the study's stories that the rows of COPY repeat."""
NUMBERED = "[0-9]{9}"
NUMBER, ORDER_KEY, HASH = "<number>", "<order key>", "<hash>"
"""Stand where those rows differ."""


@dataclass(frozen=True, slots=True)
class World:
    """An open study in a database that serves as a template for copies."""

    database: str
    paths: list[str]
    """The path of each annotator's story page. The signatures are valid in every copy."""
    enrollments: list[int]
    """The enrollment ids of the same annotators."""


def collect_static() -> None:
    """Collect the static files, unless ``--static`` named a directory that has them."""
    if "STATIC_ROOT" not in os.environ:
        call_command("collectstatic", interactive=False, verbosity=0)


def make_world(*, stories: int, people: int) -> World:
    """Empty the settings' database and create a study with stories and qualified annotators."""
    call_command("migrate", verbosity=0)
    collect_static()
    with transaction.atomic():
        study = _make_study(stories)
        enrollments = _make_people(study, people)
    paths = [_stories_path(enrollment) for enrollment in enrollments]
    connections.close_all()
    connections["default"].close_pool()  # type: ignore[attr-defined]
    name = str(settings.DATABASES["default"]["NAME"])
    return World(name, paths, [enrollment.pk for enrollment in enrollments])


def _make_study(stories: int) -> Study:
    now = timezone.now()
    chosen = {
        "title": "Benchmark",
        "contact": "bench@example.org",
        "qualification_required": False,
        "serving_seed": SEED,
        "story_cap": 1_000_000,
    }
    study = actions.create_study(slug=SLUG, settings=chosen, by=None, now=now)
    actions.add_consent_text(study=study, text="You are a program.", by=None, now=now)
    samples = [json.loads(line) for line in SAMPLE_STORIES.read_text(encoding="utf-8").splitlines()]
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        for number in range(stories):
            sample = samples[number % len(samples)]
            row = sample | {name: f"bench_{number:09d}_{sample[name]}" for name in ("story_id", "core_id")}
            file.write(json.dumps(row) + "\n")
        file.flush()
        actions.import_stories(study=study, path=Path(file.name), by=None, now=now)
    return actions.open_study(study=study, by=None, now=now)


def _make_people(study: Study, count: int) -> list[Enrollment]:
    now = timezone.now()
    consent = ConsentText.objects.get(study=study)
    people = actions.invite(study=study, count=count, by=None, now=now)
    return [actions.give_consent(enrollment=person, consent=consent, now=now) for person in people]


def _stories_path(enrollment: Enrollment) -> str:
    visit = arrive_by_link(enrollment=enrollment, now=timezone.now())
    token = visit_token(VisitClaim(enrollment.pk, visit.pk, enrollment.link_key))
    return reverse("annotation:stories", kwargs={"token": token})


# -- databases


def server_url(database: str) -> str:
    """Return the address of another database on the embedded server."""
    address, question_mark, options = os.environ["DATABASE_URL"].partition("?")
    return f"{address.rpartition('/')[0]}/{database}{question_mark}{options}"


@contextmanager
def maintenance() -> Iterator[psycopg.Connection[Any]]:
    """Return a connection for creating and dropping databases."""
    with psycopg.connect(server_url("postgres"), autocommit=True) as connection:
        yield connection


def empty_database(name: str) -> None:
    """Empty the database, whatever an interrupted run has left in it."""
    drop_database(name)
    with maintenance() as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


def drop_database(name: str) -> None:
    """Drop the copy."""
    with maintenance() as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def copy_world(world: World, name: str) -> str:
    """Copy the study into a database of this name, and return its address."""
    drop_database(name)
    copy, original = sql.Identifier(name), sql.Identifier(world.database)
    with maintenance() as connection:
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(copy, original))
    url = server_url(name)
    settle(url)
    return url


def settle(url: str) -> None:
    """Statistics up to date, nothing left to clean or to write out: as the autovacuum would leave it.

    Empty tables are left alone, as the autovacuum does. Of one that it has seen to be empty, PostgreSQL
    plans to read all rows, and would keep to that plan for a while when the votes come in.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        filled = connection.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace "
            "AND pg_relation_size(oid) > 0"
        ).fetchall()
        tables = sql.SQL(", ").join(sql.Identifier(name) for (name,) in filled)
        connection.execute(sql.SQL("VACUUM ANALYZE {}").format(tables))
        connection.execute("CHECKPOINT")


# -- the big study


def fill_up(url: str, *, stories: int, free: bool = True) -> None:
    """Add main stories to the study by COPY until it has so many, each with a free slot or none.

    The rows are those of the study's first stories under new ids, with the places in the serving order
    that an import would give them; only the hashes are stand-ins. Checks of foreign keys are off
    meanwhile (``session_replication_role``): the study and the import they point at are there.
    """
    names = [str(field.column) for field in Story._meta.local_concrete_fields if field.column != "id"]
    columns = sql.SQL(", ").join(map(sql.Identifier, names))
    with psycopg.connect(url) as connection:
        connection.execute("SET LOCAL session_replication_role = replica")
        there = connection.execute("SELECT count(*) FROM annotation_story WHERE role = 'main'").fetchone()
        assert there is not None
        lines = _templates(connection, names, free=free)
        story_id = names.index("story_id")
        statement = sql.SQL("COPY annotation_story ({}) FROM STDIN").format(columns)
        with connection.cursor().copy(statement) as copy:
            for number in range(int(there[0]), stories):
                line = lines[number % len(lines)].replace(NUMBER, f"{number:09d}")
                place = rules.order_key(SEED, line.split("\t")[story_id])
                stand_in = hashlib.sha256(line.encode()).hexdigest()
                copy.write(line.replace(ORDER_KEY, str(place)).replace(HASH, stand_in))
    settle(url)


def _templates(connection: psycopg.Connection[Any], names: list[str], *, free: bool) -> list[str]:
    """Return COPY lines made from the study's first stories, with placeholders where stories differ."""
    stand_ins = {
        "story_id": sql.SQL("regexp_replace(story_id, {}, {})").format(NUMBERED, NUMBER),
        "core_id": sql.SQL("regexp_replace(core_id, {}, {})").format(NUMBERED, NUMBER),
        "order_key": sql.Literal(ORDER_KEY),
        "content_hash": sql.Literal(HASH),
        "text_hash": sql.Literal(HASH),
        "has_free_slot": sql.Literal(free),
    }
    values = sql.SQL(", ").join(stand_ins.get(name, sql.Identifier(name)) for name in names)
    query = sql.SQL(
        "COPY (SELECT {} FROM annotation_story WHERE role = 'main' ORDER BY source_line LIMIT {}) TO STDOUT"
    )
    with connection.cursor().copy(query.format(values, TEMPLATES)) as copy:
        text = b"".join(bytes(block) for block in copy).decode()
    return text.splitlines(keepends=True)
