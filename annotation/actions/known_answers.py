"""Accepted answers that come with the stories of hidden checks in their import file."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from annotation.actions.hidden_checks import set_check_key
from annotation.errors import InvalidCheckKey
from annotation.importing.problems import Problem
from annotation.importing.rows import SourceRow
from annotation.models import Story, StoryImport

PREFIX = "accepted_"
"""A field ``accepted_q1`` lists the accepted options of ``q1``, like ``yes|possibly``."""


class KnownAnswers:
    """Takes the accepted answers out of a file's rows, and sets them as keys of the checks that are new."""

    def __init__(self, job: StoryImport) -> None:
        self._job = job
        self._found: dict[str, tuple[int, dict[str, list[str]]]] = {}

    def take(self, rows: Iterable[SourceRow | Problem]) -> Iterator[SourceRow | Problem]:
        """Yield the rows without these fields. In a file for another role they stay, and are refused."""
        for row in rows:
            if isinstance(row, Problem) or self._job.role != Story.Role.CHECK:
                yield row
                continue
            given = {name: value for name, value in row.data.items() if name.startswith(PREFIX)}
            if any(given.values()):
                accepted = {name.removeprefix(PREFIX): _options(value) for name, value in given.items()}
                story_id = str(row.data.get("story_id") or row.data.get("id")).strip()
                self._found[story_id] = (row.line, accepted)
            yield replace(row, data={name: value for name, value in row.data.items() if name not in given})

    def store(self, *, now: datetime) -> Iterator[Problem]:
        """Set the keys of the stories that this import added. Yield what is wrong with any."""
        for story in self._job.stories.filter(story_id__in=self._found).order_by("pk"):
            line, accepted = self._found[story.story_id]
            try:
                set_check_key(story=story, accepted=accepted, by=self._job.requested_by, now=now)
            except InvalidCheckKey as error:
                remedy = "List the keys of the accepted options, like yes|possibly, for every question."
                for problem in error.problems:
                    yield Problem(self._job.file_name, line, f"{PREFIX}…", problem, remedy)


def _options(value: Any) -> list[str]:
    if isinstance(value, list):
        return [str(option) for option in value]
    return [option for option in re.split(r"[|,;\s]+", str(value)) if option]
