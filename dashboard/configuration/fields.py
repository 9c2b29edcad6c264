"""Reading a JSON file strictly: what every part of a configuration file needs."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from dashboard.configuration.values import InvalidConfiguration
from dashboard.storable import unstorable_text


def read_bytes(path: Path, what: str) -> bytes:
    """The content of a file. Raises :class:`InvalidConfiguration` where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidConfiguration(path, [f"{what} cannot be read: {error.strerror}."]) from error


class FieldReader:
    """Reads the fields of one file and collects what is wrong with them.

    Paths in it are relative to ``folder``; without a folder there may be none.
    """

    def __init__(self, name: str, folder: Path | None) -> None:
        self._name = name
        self._folder = folder
        self._problems: list[str] = []

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
