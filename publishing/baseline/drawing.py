"""Reading the questions of a sample from the files of a published release."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from django.utils.translation import gettext as _

from publishing.baseline.sampling import Sample, StoryFacts, sample
from publishing.errors import NotDrawable
from publishing.files.rows import STORY_CONFIG, Row, config_path, layout_for
from publishing.models import Release

MOST_FOR_A_PAGE = 20_000
"""Kept stories up to which a sample is drawn while a page is waiting: seconds, not minutes."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The stories drawn from a release, and every question of its question sets about them.

    ``questions`` are rows that the multiple-choice protocol reads, with the right answers.
    """

    sample: Sample
    questions: tuple[Row, ...]

    def truth(self) -> dict[str, dict[str, str]]:
        """The right answers in the shape that ``manage.py simulate --truth`` takes."""
        return {row["id"]: {"answer": row["answerKey"].lower()} for row in self.questions}


def can_be_drawn_from(release: Release) -> bool:
    """Whether the release has question sets."""
    return bool(layout_for(release.study.protocol_name).question_sets)


def check_stands(release: Release) -> None:
    """Raises :class:`NotDrawable` for a release that was withdrawn: what was wrong with it would live on."""
    if release.withdrawn:
        raise NotDrawable(
            _("Release %(number)s was withdrawn, so no questions are drawn from it: %(reason)s")
            % {"number": release.number, "reason": release.withdrawn.reason}
        )


def check_size_for_a_page(release: Release) -> None:
    """Raises :class:`NotDrawable` when reading the release takes longer than a page may."""
    if release.kept is not None and release.kept > MOST_FOR_A_PAGE:
        raise NotDrawable(
            _(
                "This release has more than %(most)s stories, too many to read while a page is waiting. Draw "
                "from it with manage.py draw_baseline %(study)s %(number)s."
            )
            % {"most": MOST_FOR_A_PAGE, "study": release.study.slug, "number": release.number}
        )


def draw(release: Release, *, per_scenario: int, seed: int) -> Drawn:
    """Whole stories of a published release, each with its questions from every question set.

    Every file is compared with the hash it was published with. Raises :class:`NotDrawable` for a
    release that is not published or was withdrawn, has no question sets, or whose files are not there as
    published. Memory grows with the number of stories in the release, by some hundred bytes each.
    """
    if release.state != Release.State.PUBLISHED:
        raise NotDrawable(_("Release %(number)s is not published.") % {"number": release.number})
    check_stands(release)
    layout = layout_for(release.study.protocol_name)
    if not layout.question_sets:
        raise NotDrawable(
            _("A release of the protocol “%(protocol)s” has no questions to draw.")
            % {"protocol": release.study.protocol_name}
        )
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
        questions += [
            rows[question_id]
            | {
                "config": question_set.config,
                "core_id": stories[story_id]["core_id"],
                "severity_original": stories[story_id]["severity_original"],
                "story_generator_model": stories[story_id]["story_generator_model"],
            }
            for question_id, story_id in ids.items()
        ]
    return Drawn(chosen, tuple(questions))


def _rows(release: Release, config: str) -> Iterator[dict[str, Any]]:
    """The rows of a config, as a stream. Raises :class:`NotDrawable` unless they are as published."""
    path = config_path(config)
    published = release.files.get(path=path)
    digest = hashlib.sha256()
    try:
        with open(release.directory / path, "rb") as file:
            for line in file:
                digest.update(line)
                yield orjson.loads(line)
    except (OSError, ValueError) as error:
        raise NotDrawable(
            _("%(path)s of release %(number)s cannot be read: %(reason)s.")
            % {"path": path, "number": release.number, "reason": error}
        ) from error
    if digest.hexdigest() != published.sha256:
        raise NotDrawable(
            _("%(path)s of release %(number)s is not the file that was published; restore it from a copy.")
            % {"path": path, "number": release.number}
        )
