"""Hidden checks are in no figure and no release; the card says that there were some, and what came of it."""

from __future__ import annotations

import gzip
from datetime import timedelta

import pyarrow.parquet as pq
import pytest
from django.utils import timezone

from annotation import actions
from annotation.hidden_checks import CheckRules
from annotation.models import CheckResult, ReviewSample, Story, Vote
from dashboard.figures import compute
from publishing import queries
from publishing.models import Release
from publishing.story_stream import judged_stories
from tests import builders
from tests.publishing.support import published, verdict_counts
from tests.worlds import built_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("releases_root")]

WRONG = builders.answers(q1="no", q2="no", q3="no", q4="no")


@built_once
def failing_every_check() -> Release:
    """Two people fail every hidden check that they meet, and keep all eight stories."""
    study = builders.make_study("checked", stories=8, votes_per_story=2)
    builders.add_checks(study, 3, minimum=2, warn_percent=40)
    for person in builders.qualified(study, 2):
        builders.work_through(person, 10, on_checks=WRONG)
    return published(study)


def _text_of(release: Release) -> str:
    texts = []
    for path in sorted(path for path in release.directory.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if path.suffix == ".parquet":
            content = str(pq.read_table(path).to_pylist()).encode()
        elif path.suffix == ".gz":
            content = gzip.decompress(content)
        texts.append(content.decode("utf-8", errors="replace"))
    return "\n".join(texts)


def test_checks_are_in_no_count_and_no_file() -> None:
    release = failing_every_check()
    study = release.study
    checks = list(study.stories.filter(role=Story.Role.CHECK))
    assert CheckResult.objects.filter(passed=False).count() == 4

    fared = verdict_counts(study)
    assert (fared.kept, fared.dropped, fared.incomplete) == (8, 0, 0)
    assert Vote.objects.of_study(study).count() == 16
    assert {judged.story.story_id for judged in judged_stories(study)}.isdisjoint(c.story_id for c in checks)
    document, persons = compute.figures(study, judged_stories(study), now=timezone.now())
    assert document["verdicts"]["stories"] == document["verdicts"]["kept"] == 8
    assert document["votes"] == {"counted": 16, "wanted": 16}
    assert {person["votes"] for person in persons} == {8}
    sample = actions.draw_sample(
        study=study, kind=ReviewSample.Kind.RANDOM, people=9, per_person=50, by=None, now=timezone.now()
    )
    assert sample.items.count() == 16
    assert not sample.items.filter(vote__assignment__story__role=Story.Role.CHECK).exists()
    text = _text_of(release)
    for check in checks:
        assert check.story_id not in text
        assert check.core_id not in text
        assert check.content["key_information"] not in text
        assert check.content["story_sentence"] not in text
    assert "order_position" not in text


def test_the_card_says_how_many_checks_there_were_and_what_came_of_them() -> None:
    release = failing_every_check()
    card = (release.directory / "README.md").read_text(encoding="utf-8")

    answers = CheckResult.objects.count()
    assert "**Hidden checks.** Annotators also got stories with known answers" in card
    assert f"answered {answers} times, and {answers} of {answers} (100.0 %) of these first answers" in card
    assert "From 2 checks on, failing 40 % or more led to a warning; 2 annotators were warned." in card

    before = queries.release_facts(release)
    later = timezone.now() + timedelta(hours=1)
    actions.change_check_rules(study=release.study, rules=CheckRules(0), by=None, now=later)
    (late,) = builders.qualified(release.study)
    assert queries.release_facts(Release.objects.get(pk=release.pk)) == before
    assert before.checks is not None
    assert before.checks.rules == CheckRules(5, 2, 40, None)
    assert late.study_id == release.study_id


def test_a_study_without_checks_says_nothing_of_them(release: Release) -> None:
    card = (release.directory / "README.md").read_text(encoding="utf-8")
    assert "known answers" not in card
