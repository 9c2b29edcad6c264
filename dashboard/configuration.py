"""A study's configuration file: one JSON object, read strictly, with every mistake named at once."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from annotation.actions import StudySettings
from dashboard.storable import unstorable_text
from publishing.facts import Statement
from publishing.statement.rules import problems as statement_problems
from recruitment.joining import InvalidJoinLink, check_settings


class InvalidConfiguration(Exception):
    """A configuration that cannot be used; ``problems`` says everything that is wrong with it."""

    def __init__(self, file: Path | str, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(f"{file}: {problem}" for problem in problems))


@dataclass(frozen=True, slots=True)
class RoundConfiguration:
    """A qualification round: its stories and the answers that are accepted."""

    stories: Path | Sequence[Mapping[str, Any]]
    """A story file, or the rows of one."""
    acceptable: Mapping[str, Mapping[str, list[str]]]
    title: str = ""
    attempts: int = 1
    pays_on_fail: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class JoinLinkConfiguration:
    """The settings of a study's join link. Without a ``source``, ids are the study's own."""

    parameter: str = "participant"
    source: str = ""
    return_url: str = ""
    return_hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StudyConfiguration:
    """Everything that a configuration file says about a study.

    ``qualified_through`` is the slug of a study: only people qualified there may take part.
    """

    settings: StudySettings
    consent: str
    round: RoundConfiguration | None = None
    stories: list[Path] = field(default_factory=list)
    statement: Statement = field(default_factory=Statement)
    join_link: JoinLinkConfiguration | None = None
    qualified_through: str = ""
    rehearsal: bool = False


_STUDY_FIELDS = {
    "slug", "title", "description", "protocol", "votes_per_story", "story_cap", "lease_minutes",
    "change_hours", "pay_rate", "currency", "contact", "license", "serving_seed", "consent", "stories",
    "qualification", "qualification_required", "qualified_through", "join_link", "statement", "rehearsal",
    "truth",
}  # fmt: skip
_JOIN_LINK_FIELDS = {item.name for item in fields(JoinLinkConfiguration)}
_KEY_FIELDS = {"stories", "notes", "note"}
_STATEMENT_FIELDS = {item.name for item in fields(Statement)}
_ROUND_FIELDS = {"title", "attempts", "stories", "key", "pays_on_fail"}


def read_configuration(path: Path) -> StudyConfiguration:
    """The study that a file describes; the paths in it are relative to the file.

    Raises :class:`InvalidConfiguration` with everything that is wrong.
    """
    return _Reader(str(path), path.parent).read(_read_bytes(path, "The configuration"))


def parse_configuration(content: bytes, *, name: str) -> StudyConfiguration:
    """The study that the content of a file describes, which must hold everything itself: no path in it.

    Raises :class:`InvalidConfiguration` with everything that is wrong.
    """
    return _Reader(name, None).read(content)


def read_round(path: Path) -> RoundConfiguration:
    """A qualification round in a file of its own: the object that a study's “qualification” holds.

    Raises :class:`InvalidConfiguration` with everything that is wrong.
    """
    return _Reader(str(path), path.parent).read_round(_read_bytes(path, "The qualification round"))


def _is_email(address: str) -> bool:
    try:
        validate_email(address)
    except ValidationError:
        return False
    return True


def _read_bytes(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidConfiguration(path, [f"{what} cannot be read: {error.strerror}."]) from error


class _Reader:
    """Reads one file. Paths in it are relative to ``folder``; without a folder there may be none."""

    def __init__(self, name: str, folder: Path | None) -> None:
        self._name = name
        self._folder = folder
        self._problems: list[str] = []

    def read(self, content: bytes) -> StudyConfiguration:
        data = self._object(content, self._name, "The configuration")
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
        join_link = self._join_link(data.get("join_link"))
        files = self._story_files(data.get("stories", []))
        required = self._flag(data, "qualification_required", round_ is not None)
        if round_ and not required:
            self._problems.append("qualification_required: is false, but there is a qualification round.")
        through = self._text(data, "qualified_through")
        if through and required:
            self._problems.append(
                "qualified_through: cannot stand beside a qualification of the study's own. Remove one."
            )
        description = self._text(data, "description")
        protocol = self._text(data, "protocol") or "validity"
        license = self._text(data, "license") or "CC-BY-4.0"
        rehearsal = self._flag(data, "rehearsal", False)
        numbers = {
            name: self._number(data, name, default)
            for name, default in (("votes_per_story", 3), ("story_cap", 500), ("lease_minutes", 30))
        } | {"change_hours": self._number(data, "change_hours", 24, least=0)}
        if self._problems:
            raise InvalidConfiguration(self._name, self._problems)
        return StudyConfiguration(
            settings=StudySettings(
                title=title,
                contact=contact,
                pay_rate=pay_rate,
                currency=currency,
                qualification_required=required,
                serving_seed=data.get("serving_seed"),
                description=description,
                protocol=protocol,
                license=license,
                **numbers,
            ),
            consent=consent,
            round=round_,
            stories=files,
            statement=statement,
            join_link=join_link,
            qualified_through=through,
            rehearsal=rehearsal,
        )

    def _story_files(self, stories: Any) -> list[Path]:
        names = [stories] if isinstance(stories, str) else stories
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            self._problems.append("stories: must be the name of a file, or a list of names.")
            return []
        found = [self._path("stories", name) for name in names]
        return [path for path in found if path]

    def _path(self, where: str, named: str) -> Path | None:
        """A file named relative to the folder; None when there is none."""
        if self._folder is None:
            self._problems.append(
                f"{where}: names the file {named}, which is not here. Leave it out and import it afterwards, "
                "or use manage.py create_study."
                if where == "stories"
                else f"{where}: names the file {named}, which is not here. Give its content in its place."
            )
            return None
        path = self._folder / named
        if not path.is_file():
            self._problems.append(f"{where}: there is no file {path}.")
            return None
        return path

    def _join_link(self, data: Any) -> JoinLinkConfiguration | None:
        if data is None:
            return None
        if not isinstance(data, dict):
            self._problems.append("join_link: must be an object.")
            return None
        self._unknown(data, _JOIN_LINK_FIELDS, "join_link.")
        said = {
            name: self._text(data, name, where="join_link.") for name in ("parameter", "source", "return_url")
        }
        link = JoinLinkConfiguration(
            parameter=said["parameter"] or "participant",
            source=said["source"],
            return_url=said["return_url"],
            return_hosts=tuple(self._texts(data, "return_hosts", "join_link.", "hosts")),
        )
        try:
            check_settings(**asdict(link) | {"source": link.source or "own"})
        except InvalidJoinLink as error:
            self._problems.append(f"join_link.{error}")
        return link

    def _statement(self, data: Any) -> Statement:
        """What the researchers state about their data."""
        if not isinstance(data, dict):
            self._problems.append("statement: must be an object.")
            return Statement()
        self._unknown(data, _STATEMENT_FIELDS, "statement.")
        creators = self._texts(data, "creators", "statement.", "names")
        said = {name: self._text(data, name, where="statement.") for name in _STATEMENT_FIELDS - {"creators"}}
        statement = Statement(creators=tuple(creators), **said)
        wrong = statement_problems(statement)
        self._problems += [f"statement.{name}: {problem}" for name, problem in wrong.items()]
        return statement

    def read_round(self, content: bytes) -> RoundConfiguration:
        found = self._round(self._object(content, self._name, "The qualification round"))
        if self._problems or found is None:
            raise InvalidConfiguration(self._name, self._problems)
        return found

    def _round(self, data: Any) -> RoundConfiguration | None:
        if data is None:
            return None
        if not isinstance(data, dict):
            self._problems.append("qualification: must be an object with stories and key.")
            return None
        self._unknown(data, _ROUND_FIELDS, "qualification.")
        stories = self._round_stories(data.get("stories", ""))
        key = self._key(data.get("key", ""))
        if stories is None or key is None:
            return None
        notes = [key.get("note", ""), *(f"{story_id}: {note}" for story_id, note in key["notes"].items())]
        return RoundConfiguration(
            stories=stories,
            acceptable=key["stories"],
            title=self._text(data, "title", where="qualification."),
            attempts=self._number(data, "attempts", 1, where="qualification."),
            pays_on_fail=self._flag(data, "pays_on_fail", True, where="qualification."),
            note="\n".join(filter(None, notes)),
        )

    def _round_stories(self, given: Any) -> Path | Sequence[Mapping[str, Any]] | None:
        """The file of the round's stories, or their rows where they are given themselves."""
        if isinstance(given, list) and given and all(isinstance(row, dict) for row in given):
            return given
        if isinstance(given, str) and given.strip():
            return self._path("qualification.stories", given.strip())
        self._problems.append(
            "qualification.stories: must be the name of a story file, or a list of its rows."
            if given
            else "qualification.stories: is missing."
        )
        return None

    def _key(self, given: Any) -> dict[str, Any] | None:
        """The answer key with ``stories`` and ``notes``, from its file or as it stands here."""
        if isinstance(given, str):
            if not given.strip():
                self._problems.append("qualification.key: is missing.")
                return None
            path = self._path("qualification.key", given.strip())
            if path is None:
                return None
            key = self._object(_read_bytes(path, "The answer key"), path, "The answer key")
        elif isinstance(given, dict):
            key = given
        else:
            self._problems.append("qualification.key: must be an answer key, or the name of its file.")
            return None
        self._unknown(key, _KEY_FIELDS, "qualification.key.")
        return {
            "stories": self._acceptable(key.get("stories", {})),
            "notes": self._notes(key.get("notes", {})),
            "note": self._text(key, "note", where="qualification.key."),
        }

    def _acceptable(self, given: Any) -> dict[str, dict[str, list[str]]]:
        where = "qualification.key.stories"
        if not isinstance(given, dict):
            self._problems.append(f"{where}: must be an object with an entry for each story.")
            return {}
        for story_id, answers in given.items():
            if not isinstance(answers, dict) or not all(
                isinstance(accepted, list) and all(isinstance(option, str) for option in accepted)
                for accepted in answers.values()
            ):
                self._problems.append(f'{where}.{story_id}: must be like {{"q1": ["yes", "possibly"]}}.')
                return {}
        return given

    def _notes(self, given: Any) -> dict[str, str]:
        if isinstance(given, dict) and all(isinstance(note, str) for note in given.values()):
            return given
        self._problems.append("qualification.key.notes: must be an object with a text for each story.")
        return {}

    def _object(self, content: bytes, name: Path | str, what: str) -> dict[str, Any]:
        try:
            data = json.loads(content.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise InvalidConfiguration(
                name, [f"{what} is not UTF-8 at byte {error.start}. Save it as UTF-8."]
            ) from error
        except json.JSONDecodeError as error:
            raise InvalidConfiguration(
                name, [f"{what} is not JSON at line {error.lineno}, column {error.colno}: {error.msg}."]
            ) from error
        except RecursionError as error:
            raise InvalidConfiguration(name, [f"{what} is nested too deeply."]) from error
        except ValueError as error:  # Python reads no number of thousands of digits
            raise InvalidConfiguration(name, [f"{what} has a number that is too long."]) from error
        if (bad := unstorable_text(data)) is not None:
            said = f"{what} has a NUL or half a surrogate pair in {bad!a:.80}. Take it out."
            raise InvalidConfiguration(name, [said])
        if not isinstance(data, dict):
            raise InvalidConfiguration(name, [f"{what} must be a JSON object."])
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

    def _texts(self, data: Mapping[str, Any], name: str, where: str, what: str) -> list[str]:
        value = data.get(name, [])
        if isinstance(value, list) and all(isinstance(text, str) for text in value):
            return value
        self._problems.append(f"{where}{name}: must be a list of {what}.")
        return []

    def _flag(self, data: Mapping[str, Any], name: str, default: bool, *, where: str = "") -> bool:
        value = data.get(name, default)
        if isinstance(value, bool):
            return value
        self._problems.append(f"{where}{name}: must be true or false, not {value!r}.")
        return default

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
