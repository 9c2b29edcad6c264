"""The whole evaluation of files of answers on a release."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from publishing.errors import BrokenDirectory, NotEvaluable
from publishing.evaluation import reading, scores
from publishing.files.directory import MANIFEST, file_facts


def evaluate(directory: Path, files: Sequence[Path], configs: Collection[str] = ()) -> dict[str, Any]:
    """Return every result. A model has the name of its file, without the ending.

    ``configs`` are the question sets to evaluate, by default all. The same files give the same document.
    Raise :class:`NotEvaluable`, :class:`~publishing.errors.BrokenDirectory` or ``OSError``.
    """
    try:
        return _evaluated(directory, files, configs)
    except (LookupError, TypeError, ValueError) as error:  # a damaged row in a file whose hash is right
        raise BrokenDirectory(f"{directory}: the rows are unsound; verify_release says where.") from error


def _evaluated(directory: Path, files: Sequence[Path], configs: Collection[str]) -> dict[str, Any]:
    names = [path.stem for path in files]
    if twice := [name for name in names if names.count(name) > 1]:
        raise NotEvaluable(f"Two files are called {twice[0]}: rename one, for results have the file's name.")
    release = reading.EvaluatedRelease(directory, configs)
    voting = {path.stem: path for path in files if reading.holds_votes(path)}
    answers = {path.stem: reading.read_answers(path, release) for path in files if path.stem not in voting}
    crowd = list(reading.crowd_votes(release)) if voting else []
    stories = dict.fromkeys(story_id for story_id, _, _ in crowd)
    document = release.described.document
    return {
        "release": {name: document[name] for name in ("study", "number", "environment")}
        | {"manifest_sha256": file_facts(directory, MANIFEST).sha256},
        "files": {path.stem: file_facts(path.parent, path.name).sha256 for path in files},
        "configs": list(release.questions) if answers else [],
        **scores.scores(release, answers),
        "human_baseline": {
            config: {"accuracy": found["accuracy"], "n": found["votes"], "interval": found["interval"]}
            for config, found in release.people.items()
            if config in release.questions
        },
        "votes": {
            name: scores.agreement(release.compared, crowd, reading.read_votes(path, release, stories))
            for name, path in voting.items()
        },
    }
