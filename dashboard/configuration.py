"""A study's configuration file: one JSON object, read strictly, with every mistake named at once."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from annotation.actions import StudySettings
from publishing.facts import Statement
from publishing.statement.rules import problems as statement_problems


class InvalidConfiguration(Exception):
    """A configuration that cannot be used; ``problems`` says everything that is wrong with it."""

    def __init__(self, file: Path, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(f"{file}: {problem}" for problem in problems))


@dataclass(frozen=True, slots=True)
class RoundConfiguration:
    """A qualification round: its stories and the answers that are accepted."""

    stories: Path
    acceptable: Mapping[str, Mapping[str, list[str]]]
    title: str = ""
    attempts: int = 1
    pays_on_fail: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class StudyConfiguration:
    """Everything that a configuration file says about a study."""

    settings: StudySettings
    consent: str
    round: RoundConfiguration | None = None
    stories: list[Path] = field(default_factory=list)
    statement: Statement = field(default_factory=Statement)


_STUDY_FIELDS = {
    "slug", "title", "description", "protocol", "votes_per_story", "story_cap", "lease_minutes",
    "change_hours", "pay_rate", "currency", "contact", "license", "serving_seed", "consent", "stories",
    "qualification", "statement", "truth",
}  # fmt: skip
_STATEMENT_FIELDS = {item.name for item in fields(Statement)}
_ROUND_FIELDS = {"title", "attempts", "stories", "key", "pays_on_fail"}


def read_configuration(path: Path) -> StudyConfiguration:
    """The study that a file describes; the paths in it are relative to the file.

    Raises :class:`InvalidConfiguration` with everything that is wrong.
    """
    return _Reader(path).read()


def read_round(path: Path) -> RoundConfiguration:
    """A qualification round in a file of its own: the object that a study's “qualification” holds.

    Raises :class:`InvalidConfiguration` with everything that is wrong.
    """
    return _Reader(path).read_round()


def _is_email(address: str) -> bool:
    try:
        validate_email(address)
    except ValidationError:
        return False
    return True


class _Reader:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._problems: list[str] = []

    def read(self) -> StudyConfiguration:
        data = self._object(self._path, "The configuration")
        self._unknown(data, _STUDY_FIELDS, "")
        pay_rate = self._money(data)
        title = self._text(data, "title", required=True)
        contact = self._text(data, "contact", required=True)
        currency = self._text(data, "currency") or "USD"
        if contact and not _is_email(contact):
            self._problems.append(f"contact: “{contact}” is not an e-mail address.")
        if not re.fullmatch(r"[A-Z]{3}", currency):
            self._problems.append(f"currency: “{currency}” is not three capital letters, like USD.")
        consent = self._text(data, "consent", required=True)
        round_ = self._round(data.get("qualification"))
        statement = self._statement(data.get("statement", {}))
        stories = data.get("stories", [])
        files = [self._path.parent / name for name in ([stories] if isinstance(stories, str) else stories)]
        self._problems += [f"stories: there is no file {file}." for file in files if not file.is_file()]
        numbers = {
            name: self._number(data, name, default)
            for name, default in (("votes_per_story", 3), ("story_cap", 500), ("lease_minutes", 30))
        } | {"change_hours": self._number(data, "change_hours", 24, least=0)}
        if self._problems:
            raise InvalidConfiguration(self._path, self._problems)
        return StudyConfiguration(
            settings=StudySettings(
                title=title,
                contact=contact,
                description=self._text(data, "description"),
                protocol=self._text(data, "protocol") or "validity",
                pay_rate=pay_rate,
                currency=currency,
                license=self._text(data, "license") or "CC-BY-4.0",
                qualification_required=round_ is not None,
                serving_seed=data.get("serving_seed"),
                **numbers,
            ),
            consent=consent,
            round=round_,
            stories=files,
            statement=statement,
        )

    def _statement(self, data: Any) -> Statement:
        """What the researchers state about their data."""
        if not isinstance(data, dict):
            self._problems.append("statement: must be an object.")
            return Statement()
        self._unknown(data, _STATEMENT_FIELDS, "statement.")
        creators = data.get("creators", [])
        if not isinstance(creators, list) or not all(isinstance(name, str) for name in creators):
            self._problems.append("statement.creators: must be a list of names.")
            creators = []
        said = {name: self._text(data, name, where="statement.") for name in _STATEMENT_FIELDS - {"creators"}}
        statement = Statement(creators=tuple(creators), **said)
        wrong = statement_problems(statement)
        self._problems += [f"statement.{name}: {problem}" for name, problem in wrong.items()]
        return statement

    def read_round(self) -> RoundConfiguration:
        found = self._round(self._object(self._path, "The qualification round"))
        if self._problems or found is None:
            raise InvalidConfiguration(self._path, self._problems)
        return found

    def _round(self, data: Any) -> RoundConfiguration | None:
        if data is None:
            return None
        if not isinstance(data, dict):
            self._problems.append("qualification: must be an object with stories and key.")
            return None
        self._unknown(data, _ROUND_FIELDS, "qualification.")
        stories = self._file(data, "stories")
        key_path = self._file(data, "key")
        if stories is None or key_path is None:
            return None
        key = self._object(key_path, "The answer key")
        notes = key.get("notes") or {}
        return RoundConfiguration(
            stories=stories,
            acceptable=key.get("stories") or {},
            title=self._text(data, "title"),
            attempts=self._number(data, "attempts", 1, where="qualification."),
            pays_on_fail=bool(data.get("pays_on_fail", True)),
            note="\n".join(f"{story_id}: {note}" for story_id, note in notes.items()),
        )

    def _file(self, data: Mapping[str, Any], name: str) -> Path | None:
        """A file of the qualification round, named relative to the configuration."""
        named = self._text(data, name, required=True, where="qualification.")
        path = self._path.parent / named
        if named and not path.is_file():
            self._problems.append(f"qualification.{name}: there is no file {path}.")
        return path if named and path.is_file() else None

    def _object(self, path: Path, what: str) -> dict[str, Any]:
        try:
            data = json.loads(path.read_bytes().decode("utf-8"))
        except OSError as error:
            raise InvalidConfiguration(path, [f"{what} cannot be read: {error.strerror}."]) from error
        except UnicodeDecodeError as error:
            raise InvalidConfiguration(
                path, [f"{what} is not UTF-8 at byte {error.start}. Save it as UTF-8."]
            ) from error
        except json.JSONDecodeError as error:
            raise InvalidConfiguration(
                path, [f"{what} is not JSON at line {error.lineno}, column {error.colno}: {error.msg}."]
            ) from error
        if not isinstance(data, dict):
            raise InvalidConfiguration(path, [f"{what} must be a JSON object."])
        return data

    def _unknown(self, data: Mapping[str, Any], known: set[str], where: str) -> None:
        for name in sorted(data.keys() - known):
            close = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean “{close[0]}”?" if close else f" Known: {', '.join(sorted(known))}."
            self._problems.append(f"{where}{name}: is not a setting.{hint}")

    def _text(self, data: Mapping[str, Any], name: str, *, required: bool = False, where: str = "") -> str:
        value = data.get(name, "")
        if not isinstance(value, str):
            self._problems.append(f"{where}{name}: must be text, not {type(value).__name__}.")
        elif required and not value.strip():
            self._problems.append(f"{where}{name}: is missing.")
        else:
            return value.strip()
        return ""

    def _number(
        self, data: Mapping[str, Any], name: str, default: int, *, least: int = 1, where: str = ""
    ) -> int:
        value = data.get(name, default)
        if isinstance(value, int) and not isinstance(value, bool) and value >= least:
            return value
        self._problems.append(f"{where}{name}: must be a whole number from {least}, not {value!r}.")
        return default

    def _money(self, data: Mapping[str, Any]) -> Decimal | None:
        value = data.get("pay_rate")
        if value is None:
            return None
        try:
            amount = Decimal(value if isinstance(value, str) else str(value))
        except InvalidOperation:
            amount = Decimal(-1)
        if not amount.is_finite() or amount < 0:
            self._problems.append(f'pay_rate: must be an amount per hour like "15.00", not {value!r}.')
            return None
        return amount
