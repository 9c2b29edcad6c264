"""A study's configuration file, read as a whole."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from annotation.actions import StudySettings
from dashboard.configuration.checks import CheckReader
from dashboard.configuration.values import InvalidConfiguration, StudyConfiguration
from publishing.facts import Statement
from publishing.statement.rules import problems as statement_problems
from recruitment.joining import InvalidJoinLink, JoinSettings, check_settings

STUDY_FIELDS = {
    "slug", "title", "description", "protocol", "votes_per_story", "story_cap", "lease_minutes",
    "change_hours", "pay_rate", "currency", "contact", "license", "serving_seed", "consent", "stories",
    "qualification", "qualification_required", "qualified_through", "join_link", "statement", "rehearsal",
    "truth", "checks",
}  # fmt: skip
JOIN_LINK_TEXTS = ("parameter", "placeholder", "source", "return_url", "screen_out_url", "leave_url")
JOIN_LINK_FIELDS = {*JOIN_LINK_TEXTS, "adds_parameter", "return_hosts"}
"""Not when it closes: that is of one study alone."""
STATEMENT_FIELDS = {item.name for item in fields(Statement)}


def _is_email(address: str) -> bool:
    try:
        validate_email(address)
    except ValidationError:
        return False
    return True


class StudyReader(CheckReader):
    """Reads one file that describes a study."""

    def read(self, content: bytes) -> StudyConfiguration:
        """The study in the content of the file. Raises :class:`InvalidConfiguration`."""
        data = self._object(content, self._name, "The configuration")
        self._unknown(data, STUDY_FIELDS, "")
        pay_rate = self._money(data)
        title = self._text(data, "title", required=True)
        contact = self._text(data, "contact", required=True)
        currency = self._text(data, "currency") or "USD"
        if contact and not _is_email(contact):
            self._problems.append(f"contact: “{contact}” is not an e-mail address.")
        if not re.fullmatch(r"[A-Z]{3}", currency):
            self._problems.append(f"currency: “{currency}” is not three capital letters, like USD.")
        consent = self._text(data, "consent", required=True)
        rounds = self._rounds(data.get("qualification"))
        statement = self._statement(data.get("statement", {}))
        join_link = self._join_link(data.get("join_link"))
        checks = self._checks(data.get("checks"))
        files = self._story_files(data.get("stories", []))
        required = self._flag(data, "qualification_required", bool(rounds))
        if rounds and not required:
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
            rounds=rounds,
            stories=files,
            statement=statement,
            join_link=join_link,
            qualified_through=through,
            rehearsal=rehearsal,
            checks=checks,
        )

    def _story_files(self, stories: Any) -> list[Path]:
        names = [stories] if isinstance(stories, str) else stories
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            self._problems.append("stories: must be the name of a file, or a list of names.")
            return []
        found = [self._path("stories", name) for name in names]
        return [path for path in found if path]

    def _join_link(self, data: Any) -> JoinSettings | None:
        if data is None:
            return None
        if not isinstance(data, dict):
            self._problems.append("join_link: must be an object.")
            return None
        self._unknown(data, JOIN_LINK_FIELDS, "join_link.")
        texts = {name: self._text(data, name, where="join_link.") for name in JOIN_LINK_TEXTS}
        link = JoinSettings(
            parameter=texts["parameter"] or "participant",
            placeholder=texts["placeholder"],
            adds_parameter=self._flag(data, "adds_parameter", False, where="join_link."),
            source=texts["source"],
            return_url=texts["return_url"],
            screen_out_url=texts["screen_out_url"],
            leave_url=texts["leave_url"],
            return_hosts=self._texts(data, "return_hosts", "join_link.", "hosts"),
        )
        try:
            check_settings(link)
        except InvalidJoinLink as error:
            self._problems.append(f"join_link.{error}")
        return link

    def _statement(self, data: Any) -> Statement:
        """What the researchers state about their data."""
        if not isinstance(data, dict):
            self._problems.append("statement: must be an object.")
            return Statement()
        self._unknown(data, STATEMENT_FIELDS, "statement.")
        creators = self._texts(data, "creators", "statement.", "names")
        said = {name: self._text(data, name, where="statement.") for name in STATEMENT_FIELDS - {"creators"}}
        statement = Statement(creators=tuple(creators), **said)
        wrong = statement_problems(statement)
        self._problems += [f"statement.{name}: {problem}" for name, problem in wrong.items()]
        return statement
