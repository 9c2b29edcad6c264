"""Drawing a sample of stories from a published release, and reading their questions."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import orjson
from django.utils.translation import gettext as _

from annotation.rules import order_key
from publishing.errors import UnusableRelease
from publishing.files.rows import STORY_CONFIG, Row, config_path, layout_for
from publishing.models import Release

STORY_COLUMNS = ("core_id", "severity_original", "story_generator_model")
MOST_FOR_A_PAGE = 20_000
"""Largest number of kept stories for drawing within a page request: seconds, not minutes."""


class StoryFacts(NamedTuple):
    """The facts on which the choice depends."""

    story_id: str
    core_id: str
    scenario_name: str


@dataclass(frozen=True, slots=True)
class Sample:
    """The chosen stories, by scenario and then by draw order.

    ``short`` maps scenarios with too few stories to their number; all of these are taken. ``repeated_cores``
    counts stories beside another severity of the same core. ``questions`` are those about the stories, as
    rows for the multiple-choice protocol with the right answers, once :func:`draw` has read them.
    """

    story_ids: tuple[str, ...]
    short: dict[str, int]
    repeated_cores: int
    questions: tuple[Row, ...] = ()

    def truth(self) -> dict[str, dict[str, str]]:
        """Return the right answers in the format of ``manage.py simulate --truth``."""
        return {row["id"]: {"answer": row["answerKey"].lower()} for row in self.questions}


def has_questions(release: Release) -> bool:
    """Return True if the release has question sets."""
    return bool(layout_for(release.study.protocol_name).question_sets)


def check_not_withdrawn(release: Release) -> None:
    """Raise :class:`UnusableRelease` if the release was withdrawn: its errors would live on."""
    if release.withdrawn:
        told = _("Release %(number)s was withdrawn, so no questions are drawn from it: %(reason)s")
        raise UnusableRelease(told % {"number": release.number, "reason": release.withdrawn.reason})


def check_size_for_a_page(release: Release) -> None:
    """Raise :class:`UnusableRelease` if the release is too large to read within a page request."""
    if release.kept > MOST_FOR_A_PAGE:
        told = _(
            "This release has more than %(most)s stories, too many to read while a page loads. Draw "
            "from it with manage.py draw_baseline %(study)s %(number)s."
        ) % {"most": MOST_FOR_A_PAGE, "study": release.study.slug, "number": release.number}
        raise UnusableRelease(told)


def draw(release: Release, *, per_scenario: int, seed: int) -> Sample:
    """Draw whole stories of a published release, each with its questions from every set.

    Every file is compared with its published hash. Raise :class:`UnusableRelease` if the release is
    unpublished, withdrawn, without question sets, or its files are missing or changed. Memory grows by some
    hundred bytes per story of the release.
    """
    if release.state != Release.State.PUBLISHED:
        raise UnusableRelease(_("Release %(number)s is not published.") % {"number": release.number})
    check_not_withdrawn(release)
    layout = layout_for(release.study.protocol_name)
    if not layout.question_sets:
        lacking = _("A release of the protocol “%(protocol)s” has no questions to draw.")
        raise UnusableRelease(lacking % {"protocol": release.study.protocol_name})
    facts = (
        StoryFacts(row["story_id"], row["core_id"], row["scenario_name"])
        for row in _rows(release, STORY_CONFIG)
    )
    chosen = sample(facts, per_scenario=per_scenario, seed=seed)
    wanted = set(chosen.story_ids)
    stories = {row["story_id"]: row for row in _rows(release, STORY_CONFIG) if row["story_id"] in wanted}
    questions: list[Row] = []
    for question_set in layout.question_sets:
        ids = {question_set.question_id(stories[story_id]): story_id for story_id in chosen.story_ids}
        rows = {row["id"]: row for row in _rows(release, question_set.config) if row["id"] in ids}
        for question_id, story_id in ids.items():
            told = {name: stories[story_id][name] for name in STORY_COLUMNS}
            questions.append(rows[question_id] | {"config": question_set.config} | told)
    return replace(chosen, questions=tuple(questions))


def _rows(release: Release, config: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a config. Raise :class:`UnusableRelease` unless the file is as published."""
    path = config_path(config)
    published = release.files.get(path=path)
    digest = hashlib.sha256()
    try:
        with open(release.directory / path, "rb") as file:
            for line in file:
                digest.update(line)
                yield orjson.loads(line)
    except (OSError, ValueError) as error:
        told = _("%(path)s of release %(number)s cannot be read: %(reason)s.")
        raise UnusableRelease(told % {"path": path, "number": release.number, "reason": error}) from error
    if digest.hexdigest() != published.sha256:
        told = _("%(path)s of release %(number)s is not the published file. Restore it from a backup.")
        raise UnusableRelease(told % {"path": path, "number": release.number})


def sample(stories: Iterable[StoryFacts], *, per_scenario: int, seed: int) -> Sample:
    """Choose ``per_scenario`` stories of each scenario, or all if there are fewer.

    Stories are ordered by the SHA-256 of seed and story id (:func:`annotation.rules.order_key`), like a
    study's serving order: anybody can recompute it, and the order of the file does not matter. The first
    story of every core comes before the second of any, so that two severities of a core are taken only if a
    scenario has too few cores. Raise ``ValueError`` for less than one per scenario.
    """
    if per_scenario < 1:
        raise ValueError("Draw at least one story per scenario.")
    by_scenario: dict[str, list[StoryFacts]] = defaultdict(list)
    for story in stories:
        by_scenario[story.scenario_name].append(story)
    chosen: list[StoryFacts] = []
    for scenario in sorted(by_scenario):
        chosen += _cores_first(by_scenario[scenario], seed)[:per_scenario]
    cores = {story.core_id for story in chosen}
    return Sample(
        story_ids=tuple(story.story_id for story in chosen),
        short={name: len(found) for name, found in sorted(by_scenario.items()) if len(found) < per_scenario},
        repeated_cores=len(chosen) - len(cores),
    )


def _cores_first(stories: Iterable[StoryFacts], seed: int) -> list[StoryFacts]:
    """Return the stories in draw order, the first of every core before the second of any."""
    drawn = sorted(stories, key=lambda story: (order_key(seed, story.story_id), story.story_id))
    of_core: Counter[str] = Counter()
    rounds = []
    for place, story in enumerate(drawn):
        rounds.append((of_core[story.core_id], place, story))
        of_core[story.core_id] += 1
    return [story for _, _, story in sorted(rounds, key=lambda entry: entry[:2])]
