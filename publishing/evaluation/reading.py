"""Reading a release's questions and votes, and the answers of models to them."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import orjson

from publishing.errors import BrokenDirectory, NotEvaluable
from publishing.facts import NOT_STATED
from publishing.files import rows
from publishing.files.directory import MANIFEST, file_facts, read_manifest
from publishing.filters import Outcome
from publishing.human_baseline.released import ACCURACY
from publishing.verification import decisions, description
from publishing.verification.findings import Findings
from publishing.verification.schema import VoteReader

T = TypeVar("T")
MOST_PROBLEMS = 10
"""Problems named per file of answers; all are counted."""
Answers = Mapping[str, str | None]
"""A model's answers by question id: labels, None where it gave none."""
Form = Mapping[str, str]
"""A vote: options by the key of their question."""


class StoryFacts(NamedTuple):
    """The facts about a story by which results are grouped. Stories of one core are resampled together."""

    core: str
    scenario: str
    severity: str


class Question(NamedTuple):
    """A question: ``choices`` has texts by label, ``right`` is the label of the right one."""

    id: str
    choices: Mapping[str, str]
    right: str


@dataclass(frozen=True, slots=True)
class EvaluatedRelease:
    """The questions of a release by question set; each set has one per story, in the order of ``stories``."""

    directory: Path
    manifest_sha256: str
    described: description.Description
    stories: Sequence[StoryFacts]
    questions: Mapping[str, Sequence[Question]]
    passed_over: Collection[str]
    """The ids of questions in other sets, which are not evaluated."""
    hard: Collection[str]
    """The ids of questions that no shortcut answers."""
    asked_people: Collection[str]
    """The ids of questions that people answered, too."""
    people: Mapping[str, Mapping[str, Any]]
    """The accuracy of people by question set."""

    def rows(self, path: str) -> Iterator[rows.Row]:
        """Yield the rows of a file. Raise :class:`BrokenDirectory` unless it has its hash."""
        return _rows(self.directory, path)


def read_release(directory: Path, configs: Collection[str] = ()) -> EvaluatedRelease:
    """Read the question sets of a release: all, or those in ``configs``.

    Every file read is compared with MANIFEST. Raise :class:`BrokenDirectory`, :class:`NotEvaluable` or
    ``OSError``.
    """
    findings = Findings()
    described = description.read(directory, findings)
    if described is None:
        raise BrokenDirectory(f"{directory}: {findings.shown[0]}")
    known = [one.config for one in described.layout.question_sets]
    if unknown := sorted(set(configs).difference(known)):
        raise NotEvaluable(
            f"The release has no question set {', '.join(unknown)}; it has: {', '.join(known) or 'none'}."
        )
    questions = {
        config: [_question(row) for row in _rows(directory, rows.config_path(config))] for config in known
    }
    others = [config for config in known if configs and config not in configs]
    passed_over = {question.id for config in others for question in questions.pop(config)}
    people, asked_people = {}, set[str]()
    if (directory / ACCURACY).exists():
        (accuracy,) = _rows(directory, ACCURACY, whole=True)
        people = accuracy["configs"]
        asked_people = {row["story_id"] for row in _rows(directory, rows.BASELINE_VOTES_PATH)}
    return EvaluatedRelease(
        directory,
        file_facts(directory, MANIFEST).sha256,
        described,
        [_story_facts(row) for row in _rows(directory, rows.config_path(rows.STORY_CONFIG))],
        questions,
        passed_over,
        {row["id"] for row in _rows(directory, rows.HARD_PATH)},
        asked_people,
        people,
    )


def _rows(directory: Path, path: str, *, whole: bool = False) -> Iterator[rows.Row]:
    """Yield the rows of a file, or its one document."""
    if file_facts(directory, path).sha256 != read_manifest(directory).get(path):
        raise BrokenDirectory(f"{directory}: {path} does not have the SHA-256 in MANIFEST.")
    with open(directory / path, "rb") as file:
        yield from map(orjson.loads, [file.read()] if whole else file)


def _story_facts(row: rows.Row) -> StoryFacts:
    severity = row["severity_original"]
    return StoryFacts(
        row["core_id"], row["scenario_name"] or NOT_STATED, NOT_STATED if severity is None else str(severity)
    )


def _question(row: rows.Row) -> Question:
    choices = dict(zip(row["choices"]["label"], row["choices"]["text"], strict=True))
    return Question(row["id"], choices, row["answerKey"])


def holds_votes(path: Path) -> bool:
    """Return True if a model's file holds votes on stories, False if it holds answers to questions."""
    with open(path, "rb") as file:
        row = _parsed(file.readline())
    return row is not None and "story_id" in row and "id" not in row


def read_answers(path: Path, release: EvaluatedRelease) -> Answers:
    """Read a model's answers, one for each question. Raise :class:`NotEvaluable` with every problem."""
    asked = {question.id: question for found in release.questions.values() for question in found}
    if not asked:
        raise NotEvaluable("The release has no question sets.")

    def answer_in(row: rows.Row) -> str | None:
        given, choices = row.get("answer", ""), asked[row["id"]].choices
        if given is None:
            return None
        labels = [label for label, text in choices.items() if given in (label, text)]
        if not labels:
            offered = " or ".join(f"“{label}” (“{text[:40]}”)" for label, text in choices.items())
            raise ValueError(f"answer is not a choice: write {offered}, or null for no answer.")
        return labels[0]

    return _read(path, "id", asked, release.passed_over, answer_in)


def read_votes(path: Path, release: EvaluatedRelease, stories: Collection[str]) -> Mapping[str, Form]:
    """Read a model's votes, one for each of ``stories``. Raise :class:`NotEvaluable` with every problem."""
    asked = release.described.asked

    def form_in(row: rows.Row) -> Form:
        for question in asked:
            if row.get(question.key) not in question.options:
                raise ValueError(f"{question.key} is not one of {', '.join(question.options)}.")
        return {question.key: row[question.key] for question in asked}

    incomplete = {row["story_id"] for row in release.rows(rows.INCOMPLETE_PATH)}
    return _read(path, "story_id", stories, incomplete, form_in)


def crowd_votes(release: EvaluatedRelease) -> Iterator[tuple[str, str, list[Form]]]:
    """Yield id, core and votes of every complete story.

    Raise :class:`NotEvaluable` if the options of a question depend on the story.
    """
    if not release.described.decides_by_itself:
        raise NotEvaluable("The options depend on the story here, so votes on stories cannot be compared.")
    cores = {
        row["story_id"]: row["core_id"]
        for outcome in (Outcome.KEPT, Outcome.DROPPED)
        for row in release.rows(rows.STORY_PATHS[outcome])
    }
    next(release.rows(rows.VOTES_PATH), None)  # compares the hash
    findings = Findings()
    reader = VoteReader(release.described.asked)
    for voted in decisions.votes_by_story(release.directory, reader, findings):
        if voted.story_id in cores:
            forms: list[Form] = [{one.field: one.option for one in vote.answers} for vote in voted.votes]
            yield voted.story_id, cores[voted.story_id], forms


def _read(
    path: Path,
    key: str,
    wanted: Collection[str],
    passed_over: Collection[str],
    value: Callable[[rows.Row], T],
) -> dict[str, T]:
    """Read one value for each wanted id. ``value`` raises ``ValueError`` with what is wrong with a row."""
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
