"""Qualification rounds in a configuration file: their stories, their answer keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dashboard.configuration.fields import FieldReader, read_bytes
from dashboard.configuration.values import InvalidConfiguration, RoundConfiguration

KEY_FIELDS = {"stories", "reasons", "notes", "note"}
ROUND_FIELDS = {"title", "attempts", "stories", "key", "pays_on_fail"}


class RoundReader(FieldReader):
    """Reads a file that is, or holds, qualification rounds."""

    def read_round(self, content: bytes) -> RoundConfiguration:
        """The round in a file of its own. Raises :class:`InvalidConfiguration`."""
        data = self._object(content, self._name, "The qualification round")
        found = self._round(data, "qualification")
        if self._problems or found is None:
            raise InvalidConfiguration(self._name, self._problems)
        return found

    def _rounds(self, given: Any) -> tuple[RoundConfiguration, ...]:
        """One round, or a list of several that people take in turn."""
        if given is None:
            return ()
        if not isinstance(given, list):
            found = [self._round(given, "qualification")]
        elif given:
            found = [self._round(data, f"qualification[{n}]") for n, data in enumerate(given)]
        else:
            self._problems.append("qualification: the list is empty. Leave it out, or give a round.")
            found = []
        return tuple(round for round in found if round)

    def _round(self, data: Any, where: str) -> RoundConfiguration | None:
        if not isinstance(data, dict):
            self._problems.append(f"{where}: must be an object with stories and key.")
            return None
        self._unknown(data, ROUND_FIELDS, f"{where}.")
        stories = self._round_stories(data.get("stories", ""), f"{where}.stories")
        key = self._key(data.get("key", ""), f"{where}.key")
        if stories is None or key is None:
            return None
        notes = [key["note"], *(f"{story_id}: {note}" for story_id, note in key["notes"].items())]
        return RoundConfiguration(
            stories=stories,
            acceptable=key["stories"],
            title=self._text(data, "title", where=f"{where}."),
            attempts=self._number(data, "attempts", 1, where=f"{where}."),
            pays_on_fail=self._flag(data, "pays_on_fail", True, where=f"{where}."),
            note="\n".join(filter(None, notes)),
            reasons=key["reasons"],
        )

    def _round_stories(self, given: Any, where: str) -> Path | Sequence[Mapping[str, Any]] | None:
        """The file of the round's stories, or their rows where they are given themselves."""
        if isinstance(given, list) and given and all(isinstance(row, dict) for row in given):
            return given
        if isinstance(given, str) and given.strip():
            return self._path(where, given.strip())
        self._problems.append(
            f"{where}: must be the name of a story file, or a list of its rows."
            if given
            else f"{where}: is missing."
        )
        return None

    def _key(self, given: Any, where: str) -> dict[str, Any] | None:
        """The answer key with ``stories``, ``reasons`` and ``notes``, from its file or as it stands here."""
        if isinstance(given, str):
            if not given.strip():
                self._problems.append(f"{where}: is missing.")
                return None
            path = self._path(where, given.strip())
            if path is None:
                return None
            key = self._object(read_bytes(path, "The answer key"), path, "The answer key")
        elif isinstance(given, dict):
            key = given
        else:
            self._problems.append(f"{where}: must be an answer key, or the name of its file.")
            return None
        self._unknown(key, KEY_FIELDS, f"{where}.")
        return {
            "stories": self._acceptable(key.get("stories", {}), f"{where}.stories"),
            "reasons": self._reasons(key.get("reasons", {}), f"{where}.reasons"),
            "notes": self._notes(key.get("notes", {}), f"{where}.notes"),
            "note": self._text(key, "note", where=f"{where}."),
        }

    def _acceptable(self, given: Any, where: str) -> dict[str, dict[str, list[str]]]:
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

    def _reasons(self, given: Any, where: str) -> dict[str, dict[str, str]]:
        if isinstance(given, dict) and all(
            isinstance(said, dict) and all(isinstance(reason, str) for reason in said.values())
            for said in given.values()
        ):
            return given
        self._problems.append(f'{where}: must have for each story an object like {{"q1": "Because …"}}.')
        return {}

    def _notes(self, given: Any, where: str) -> dict[str, str]:
        if isinstance(given, dict) and all(isinstance(note, str) for note in given.values()):
            return given
        self._problems.append(f"{where}: must be an object with a text for each story.")
        return {}
