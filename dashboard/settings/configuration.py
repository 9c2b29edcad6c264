"""Strict reading of a study's configuration file, a JSON object; all mistakes are reported at once."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from accounts.errors import DomainError
from annotation.actions.studies import SETTINGS
from annotation.hidden_checks import CheckRules, problems as rule_problems
from dashboard.settings import configuration_schema as schema
from publishing.data_statement import problems as statement_problems
from publishing.facts import Statement
from qualification.models import Round
from recruitment.join_links import InvalidJoinLink, check_settings


class InvalidConfiguration(DomainError):
    """An invalid configuration; ``problems`` lists everything that is wrong with it."""

    def __init__(self, file: Path | str, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(f"{file}: {problem}" for problem in problems))


@dataclass(frozen=True, slots=True)
class RoundConfiguration:
    """A qualification round: its stories, the accepted answers, and the reasons."""

    stories: Path | Sequence[Mapping[str, Any]]
    """A story file, or the rows of one."""
    acceptable: Mapping[str, Mapping[str, list[str]]]
    title: str = ""
    attempts: int = 1
    pays_on_fail: bool = True
    note: str = ""
    reasons: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    enough: int | None = None
    must_pass: Sequence[str] = ()
    kind: Round.Kind = Round.Kind.TEST


@dataclass(frozen=True, slots=True)
class CheckConfiguration:
    """Hidden checks: their stories, accepted answers by story id, and rules."""

    rules: CheckRules
    stories: Path | Sequence[Mapping[str, Any]]
    """A story file, or the rows of one."""
    acceptable: Mapping[str, Mapping[str, list[str]]]


@dataclass(frozen=True, slots=True)
class StudyConfiguration:
    """Everything in a configuration file.

    ``qualified_through`` is the slug of a study: only annotators qualified there may take part. They take the
    ``rounds`` in turn.
    """

    settings: Mapping[str, Any]
    consent: str
    rounds: tuple[RoundConfiguration, ...] = ()
    stories: list[Path] = field(default_factory=list)
    statement: Statement = field(default_factory=Statement)
    join_link: Mapping[str, Any] | None = None
    qualified_through: str = ""
    rehearsal: bool = False
    checks: CheckConfiguration | None = None
    design: Mapping[str, Any] | None = None
    """``by`` is a column of the stories, and ``load`` has the stories of each value per annotator."""
    instructions: Mapping[str, Any] | None = None


_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")
"""JSON can escape these characters; PostgreSQL and UTF-8 cannot hold them."""
_NOTHING = {"": "string", None: "integer"}
"""Values that mean “not given”, unless the field's schema allows their type."""


def read_bytes(path: Path, what: str) -> bytes:
    """Return a file's content. Raise :class:`InvalidConfiguration` if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidConfiguration(path, [f"{what} cannot be read: {error.strerror}."]) from error


def read_object(content: bytes, name: Path | str, what: str) -> dict[str, Any]:
    """Parse a JSON object. Raise :class:`InvalidConfiguration` with the place of the mistake."""
    try:
        data = json.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        problem = f"{what} is not UTF-8 at byte {error.start}. Save it as UTF-8."
        raise InvalidConfiguration(name, [problem]) from error
    except json.JSONDecodeError as error:
        problem = f"{what} is not JSON at line {error.lineno}, column {error.colno}: {error.msg}."
        raise InvalidConfiguration(name, [problem]) from error
    except RecursionError as error:
        raise InvalidConfiguration(name, [f"{what} is nested too deeply."]) from error
    except ValueError as error:  # Python reads no number of thousands of digits
        raise InvalidConfiguration(name, [f"{what} has a number that is too long."]) from error
    if bad := next(filter(_UNSTORABLE.search, _texts_in(data)), ""):
        problem = f"{what} has a NUL or half a surrogate pair in {bad!a:.80}. Take it out."
        raise InvalidConfiguration(name, [problem])
    if not isinstance(data, dict):
        raise InvalidConfiguration(name, [f"{what} must be a JSON object."])
    return data


def _texts_in(data: Any) -> Iterator[str]:
    """Yield every text in parsed JSON, keys included; without recursion."""
    rest = [data]
    while rest:
        value = rest.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            rest += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            rest += value


class Reader:
    """Reads one file that describes a study or a round, and collects its problems.

    Paths are relative to ``folder``; without a folder a file may name no paths.
    """

    def __init__(self, name: str, folder: Path | None) -> None:
        self._name, self._folder = name, folder
        self._problems: list[str] = []

    def read_round(self, content: bytes) -> RoundConfiguration:
        """Read a round from its own file. Raise :class:`InvalidConfiguration`."""
        data = read_object(content, self._name, "The qualification round")
        found = self._round(data, "qualification")
        if self._problems or found is None:
            raise InvalidConfiguration(self._name, self._problems)
        return found

    def read_study(self, content: bytes) -> StudyConfiguration:
        """Read the study in the file's content. Raise :class:`InvalidConfiguration`."""
        given = self._fields(read_object(content, self._name, "The configuration"), schema.STUDY, "")
        rounds = self._rounds(given.get("qualification"))
        files = [given["stories"]] if isinstance(given.get("stories"), str) else given.get("stories", [])
        settings = {name: given[name] for name in SETTINGS if name in given}
        settings["qualification_required"] = required = given.get("qualification_required", bool(rounds))
        settings["pay_rate"] = self._money(given.get("pay_rate"))
        through = given.get("qualified_through", "")
        if rounds and not required:
            self._problems.append("qualification_required: is false, but there is a qualification round.")
        if through and required:
            self._problems.append(
                "qualified_through: cannot stand beside a qualification of the study's own. Remove one."
            )
        self._check_contact(given.get("contact", ""))
        parts: dict[str, Any] = {
            "stories": [self._path("stories", name) for name in files],
            "statement": self._statement(given.get("statement", {})),
            "join_link": self._join_link(given.get("join_link")),
            "checks": self._checks(given.get("checks")),
            "design": self._design(given.get("design")),
            "instructions": self._instructions(given.get("instructions")),
        }
        if self._problems:
            raise InvalidConfiguration(self._name, self._problems)
        return StudyConfiguration(
            settings=settings,
            consent=given["consent"],
            rounds=rounds,
            qualified_through=through,
            rehearsal=given.get("rehearsal", False),
            **parts,
        )

    def _fields(self, data: Any, shape: schema.Schema, where: str) -> dict[str, Any]:
        """Return the valid fields of an object, texts stripped, without :data:`_NOTHING`; note the others."""
        given = data
        if isinstance(data, dict):
            stripped = {name: said.strip() if isinstance(said, str) else said for name, said in data.items()}
            takes = {name: shape["properties"].get(name, {}).get("type", "integer") for name in stripped}
            given = {
                name: said
                for name, said in stripped.items()
                if not any(said == nothing and kind in takes[name] for nothing, kind in _NOTHING.items())
            }
        wrong = set()
        for path, problem in schema.problems(given, shape):
            wrong.add(path[0] if path else None)
            place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
            self._problems.append(f"{(where + place).removeprefix('.')}: {problem}")
        return {} if None in wrong else {name: said for name, said in given.items() if name not in wrong}

    def _path(self, where: str, named: str) -> Path | None:
        if self._folder is None:
            remedy = "Give its content in its place."
            if where == "stories":
                remedy = "Leave it out and import it afterwards, or use manage.py create_study."
            self._problems.append(f"{where}: names the file {named}, which is not here. {remedy}")
            return None
        path = self._folder / named
        if not path.is_file():
            self._problems.append(f"{where}: there is no file {path}.")
            return None
        return path

    def _money(self, value: Any) -> Decimal | None:
        if value is None:
            return None
        try:
            amount = Decimal(str(value))
        except InvalidOperation:
            amount = Decimal(-1)
        if not amount.is_finite() or amount < 0:
            self._problems.append(f'pay_rate: must be an amount per hour like "15.00", not {value!r}.')
            return None
        return amount

    def _check_contact(self, contact: str) -> None:
        try:
            validate_email(contact or "missing@example.org")
        except ValidationError:
            self._problems.append(f"contact: “{contact}” is not an e-mail address.")

    def _rounds(self, given: Any) -> tuple[RoundConfiguration, ...]:
        """Read one round, or a list of several that annotators take in turn."""
        if given is None:
            return ()
        if given == []:
            self._problems.append("qualification: the list is empty. Leave it out, or give a round.")
        listed = {"qualification": given}
        if isinstance(given, list):
            listed = {f"qualification[{n}]": data for n, data in enumerate(given)}
        found = [self._round(data, where) for where, data in listed.items()]
        return tuple(round for round in found if round)

    def _round(self, data: Any, where: str) -> RoundConfiguration | None:
        given = self._fields(data, schema.ROUND, where)
        stories = self._stories(given.get("stories"), f"{where}.stories")
        key = self._key(given.get("key"), f"{where}.key")
        if stories is None or key is None:
            return None
        notes = [
            key.get("note", ""),
            *(f"{story_id}: {note}" for story_id, note in key.get("notes", {}).items()),
        ]
        return RoundConfiguration(
            stories=stories,
            acceptable=key.get("stories", {}),
            kind=Round.Kind(given.get("kind", Round.Kind.TEST)),
            note="\n".join(filter(None, notes)),
            **{name: given[name] for name in ("title", "attempts", "pays_on_fail") if name in given},
            **{name: key[name] for name in ("reasons", "enough", "must_pass") if name in key},
        )

    def _stories(self, given: Any, where: str) -> Path | Sequence[Mapping[str, Any]] | None:
        """Return the file of stories, or the rows given in place."""
        return self._path(where, given) if isinstance(given, str) else given

    def _key(self, given: Any, where: str) -> dict[str, Any] | None:
        if isinstance(given, str):
            path = self._path(where, given)
            given = read_object(read_bytes(path, "The answer key"), path, "The answer key") if path else None
        return None if given is None else self._fields(given, schema.KEY, where)

    def _checks(self, data: Any) -> CheckConfiguration | None:
        if data is None:
            return None
        given = self._fields(data, schema.CHECKS, "checks")
        names = [item.name for item in fields(CheckRules)]
        rules = CheckRules(**{name: given[name] for name in names if name in given})
        self._problems += [f"checks.{name}: {problem}" for name, problem in rule_problems(rules).items()]
        stories = self._stories(given.get("stories"), "checks.stories")
        return CheckConfiguration(rules=rules, stories=stories or (), acceptable=given.get("key", {}))

    def _design(self, data: Any) -> dict[str, Any] | None:
        given = {} if data is None else self._fields(data, schema.DESIGN, "design")
        return {"by_column": given["by"], "load": given["load"]} if {"by", "load"} <= given.keys() else None

    def _instructions(self, data: Any) -> dict[str, Any] | None:
        if data is None:
            return None
        given = self._fields(data, schema.INSTRUCTIONS, "instructions")
        examples = {question: text.strip() for question, text in given.get("examples", {}).items()}
        return {"before_test": "", "thanks": ""} | given | {"examples": examples}

    def _join_link(self, data: Any) -> dict[str, Any] | None:
        if data is None:
            return None
        link = {"parameter": "participant"} | self._fields(data, schema.JOIN_LINK, "join_link")
        try:
            check_settings(link)
        except InvalidJoinLink as error:
            self._problems.append(f"join_link.{error}")
        return link

    def _statement(self, data: Any) -> Statement:
        given = self._fields(data, schema.STATEMENT, "statement")
        statement = Statement(**given | {"creators": tuple(given.get("creators", ()))})
        wrong = statement_problems(statement)
        self._problems += [f"statement.{name}: {problem}" for name, problem in wrong.items()]
        return statement


def read_configuration(path: Path) -> StudyConfiguration:
    """Read a study's configuration from a file; paths in it are relative to the file.

    Raise :class:`InvalidConfiguration` with every problem.
    """
    return Reader(str(path), path.parent).read_study(read_bytes(path, "The configuration"))


def parse_configuration(content: bytes, *, name: str) -> StudyConfiguration:
    """Read a study's configuration from a file's content, which must not contain paths.

    Raise :class:`InvalidConfiguration` with every problem.
    """
    return Reader(name, None).read_study(content)


def read_round(path: Path) -> RoundConfiguration:
    """Read a qualification round from its own file: the object under a study's “qualification”.

    Raise :class:`InvalidConfiguration` with every problem.
    """
    return Reader(str(path), path.parent).read_round(read_bytes(path, "The qualification round"))
