"""Reading a release's questions and votes, and the answers of models to them."""

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import orjson

from publishing.errors import BrokenDirectory, NotEvaluable
from publishing.facts import AskedQuestion
from publishing.files import rows
from publishing.files.directory import file_facts, read_manifest
from publishing.filters import Outcome
from publishing.human_baseline.release_files import ACCURACY
from publishing.verification import decisions, description
from publishing.verification.release import CheckedRelease
from publishing.verification.schema import VoteReader

T = TypeVar("T")
MOST_PROBLEMS = 10
"""Problems named per file of answers; all are counted."""
Answers = Mapping[str, str | None]
"""A model's answers by question id: labels, None where it gave none."""
Form = Mapping[str, str]
"""A vote: options by the key of their question, without the optional ones that were left open."""


class EvaluatedRelease:
    """A release's stories, and its question sets with one question per story, in the order of stories.

    ``passed_over`` are the ids of questions in sets that are not evaluated, ``hard`` of those that no
    shortcut answers, ``asked_people`` of those that people answered; ``people`` is their accuracy by set.
    """

    def __init__(self, directory: Path, configs: Collection[str] = ()) -> None:
        """Read the question sets: all, or those in ``configs``.

        Raise :class:`BrokenDirectory`, :class:`NotEvaluable` or ``OSError``.
        """
        checked = CheckedRelease(directory)
        described = description.read(checked)
        if described is None:
            raise BrokenDirectory(f"{directory}: {checked.shown[0]}")
        known = [one.config for one in described.layout.question_sets]
        if unknown := ", ".join(sorted(set(configs).difference(known))):
            raise NotEvaluable(
                f"The release has no question set {unknown}; it has: {', '.join(known) or 'none'}."
            )
        self.directory, self.described, self._listed = directory, described, read_manifest(directory)
        self.stories = list(self.rows(rows.config_path(rows.STORY_CONFIG)))
        self.questions = {config: list(self.rows(rows.config_path(config))) for config in known}
        others = [config for config in known if configs and config not in configs]
        self.passed_over = {row["id"] for config in others for row in self.questions.pop(config)}
        self.hard = {row["id"] for row in self.rows(rows.HARD_PATH)}
        self.asked_people = {row["story_id"] for row in self.rows(rows.BASELINE_VOTES_PATH)}
        accuracy: rows.Row = next(self.rows(ACCURACY, whole=True), {"configs": {}})
        self.people: Mapping[str, Mapping[str, Any]] = accuracy["configs"]

    @property
    def compared(self) -> list[AskedQuestion]:
        """Return the questions of the form that are answered by an option, not in words."""
        return [question for question in self.described.facts.asked if not question.in_words]

    def rows(self, path: str, *, whole: bool = False) -> Iterator[rows.Row]:
        """Yield the rows of a file, or its one document; nothing if the release has no such file.

        Raise :class:`BrokenDirectory` unless it has its hash.
        """
        if path not in self._listed:
            return
        if file_facts(self.directory, path).sha256 != self._listed[path]:
            raise BrokenDirectory(f"{self.directory}: {path} does not have the SHA-256 in MANIFEST.")
        with open(self.directory / path, "rb") as file:
            yield from map(orjson.loads, [file.read()] if whole else file)


def holds_votes(path: Path) -> bool:
    """Return True if a model's file holds votes on stories, False if it holds answers to questions."""
    with open(path, "rb") as file:
        row = _parsed(file.readline())
    return row is not None and "story_id" in row and "id" not in row


def read_answers(path: Path, release: EvaluatedRelease) -> Answers:
    """Read a model's answers, one for each question. Raise :class:`NotEvaluable` with every problem."""
    asked = {row["id"]: row["choices"] for found in release.questions.values() for row in found}
    if not asked:
        raise NotEvaluable("The release has no question sets.")

    def answer_in(row: rows.Row) -> str | None:
        given, choices = row.get("answer", ""), asked[row["id"]]
        pairs = list(zip(choices["label"], choices["text"], strict=True))
        labels = [label for label, text in pairs if given in (label, text)]
        if not labels and given is not None:
            offered = " or ".join(f"“{label}” (“{text[:40]}”)" for label, text in pairs)
            raise ValueError(f"answer is not a choice: write {offered}, or null for no answer.")
        return labels[0] if labels else None

    return _read(path, "id", asked, release.passed_over, answer_in)


def read_votes(path: Path, release: EvaluatedRelease, stories: Collection[str]) -> Mapping[str, Form]:
    """Read a model's votes, one for each of ``stories``. Raise :class:`NotEvaluable` with every problem."""

    def form_in(row: rows.Row) -> Form:
        form = {}
        for question in release.compared:
            given = row.get(question.key)
            if given is None and question.optional:
                continue
            if str(given) not in question.options:
                raise ValueError(f"{question.key} is not one of {', '.join(question.options)}.")
            form[question.key] = str(given)
        return form

    incomplete = {row["story_id"] for row in release.rows(rows.INCOMPLETE_PATH)}
    return _read(path, "story_id", stories, incomplete, form_in)


def crowd_votes(release: EvaluatedRelease) -> Iterator[tuple[str, str, list[Form]]]:
    """Yield id, core and votes of every complete story.

    Raise :class:`NotEvaluable` if the options of a question depend on the story, or its rows do, or if all
    questions are answered in words.
    """
    if not release.described.decides_by_itself:
        raise NotEvaluable("The options depend on the story here, so votes on stories cannot be compared.")
    if not release.compared:
        raise NotEvaluable("Every question is answered in words, so votes on stories cannot be compared.")
    cores = {
        row["story_id"]: row["core_id"]
        for outcome in (Outcome.KEPT, Outcome.DROPPED)
        for row in release.rows(rows.STORY_PATHS[outcome])
    }
    next(release.rows(rows.VOTES_PATH), None)  # compares the hash
    reader = VoteReader(release.described.facts.asked)
    for voted in decisions.votes_by_story(CheckedRelease(release.directory), reader):
        if voted.story_id in cores:
            forms: list[Form] = [{one.field: one.option for one in vote.answers} for vote in voted.votes]
            if any(one.row for vote in voted.votes for one in vote.answers):
                raise NotEvaluable("Every story has rows of its own, so votes on stories cannot be compared.")
            yield voted.story_id, cores[voted.story_id], forms


def _read(
    path: Path,
    key: str,
    wanted: Collection[str],
    passed_over: Collection[str],
    value: Callable[[rows.Row], T],
) -> dict[str, T]:
    found: dict[str, T] = {}
    first_line: dict[str, int] = {}
    problems = []
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            row = _parsed(line)
            name = row.get(key) if row else None
            if row is None or not isinstance(name, str):
                said = f"This is not a JSON object with the text {key}: write one per line."
            elif name in first_line:
                said = f"{name} was answered on line {first_line[name]} already: remove one of the two."
            elif name not in wanted:
                if name in passed_over:
                    continue
                said = f"{name} is not in the release: remove the line, or use the release it is from."
            else:
                first_line[name] = number
                try:
                    found[name] = value(row)
                    continue
                except ValueError as error:
                    said = f"{name}: {error}"
            problems.append(f"{path}:{number}: {said}")
    if missing := [name for name in wanted if name not in first_line]:
        shown = ", ".join(missing[:MOST_PROBLEMS]) + (" …" if len(missing) > MOST_PROBLEMS else "")
        problems.append(f"{path}: {len(missing)} of {len(wanted)} answers are missing; add: {shown}")
    if problems:
        more = [f"… and {len(problems) - MOST_PROBLEMS} more problems"] if problems[MOST_PROBLEMS:] else []
        raise NotEvaluable("\n".join([*problems[:MOST_PROBLEMS], *more]))
    return found


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        row = orjson.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None
