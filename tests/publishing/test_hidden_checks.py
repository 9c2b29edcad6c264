"""Hidden checks are in no figure and no release; the card says that there were some, and what came of it."""

from __future__ import annotations

import gzip
from datetime import timedelta

import pyarrow.parquet as pq
import pytest
from django.utils import timezone

from annotation import actions
from annotation.hidden_checks import CheckRules
from annotation.models import CheckResult, Enrollment, ReviewSample, Story, Study, Vote
from dashboard.figures import compute
from publishing import queries
from publishing.models import Release
from publishing.story_stream import judged_stories
from tests import builders
from tests.publishing.support import published, verdict_counts

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("releases_root")]

WRONG = builders.answers(q1="no", q2="no", q3="no", q4="no")


def _failing_every_check(*, stories: int, answers: int) -> tuple[Study, list[Enrollment]]:
    """Every story is kept by two people who fail every hidden check they meet."""
    study = builders.make_study("checked", stories=stories, votes_per_story=2)
    builders.add_checks(study, 3, minimum=2, warn_percent=40)
    people = builders.qualified(study, 2)
    for person in people:
        builders.work_through(person, answers, on_checks=WRONG)
    return study, people


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
    study, people = _failing_every_check(stories=16, answers=19)
    checks = list(study.stories.filter(role=Story.Role.CHECK))
    assert CheckResult.objects.filter(passed=False).count() == 6

    release = published(study)

    fared = verdict_counts(study)
    assert (fared.kept, fared.dropped, fared.incomplete) == (16, 0, 0)
    assert Vote.objects.of_study(study).count() == 32
    assert {judged.story.story_id for judged in judged_stories(study)}.isdisjoint(c.story_id for c in checks)
    document, persons = compute.figures(study, judged_stories(study), now=timezone.now())
    assert document["verdicts"]["stories"] == document["verdicts"]["kept"] == 16
    assert document["votes"] == {"counted": 32, "wanted": 32}
    assert {person["votes"] for person in persons} == {16}
    sample = actions.draw_sample(
        study=study, kind=ReviewSample.Kind.RANDOM, people=9, per_person=50, by=None, now=timezone.now()
    )
    assert sample.items.count() == 32
    assert not sample.items.filter(vote__assignment__story__role=Story.Role.CHECK).exists()
    text = _text_of(release)
    for check in checks:
        assert check.story_id not in text
        assert check.core_id not in text
        assert check.content["key_information"] not in text
        assert check.content["story_sentence"] not in text
    assert "order_position" not in text
    assert len(people) == 2


def test_the_card_says_how_many_checks_there_were_and_what_came_of_them() -> None:
    study, _ = _failing_every_check(stories=8, answers=10)
    release = published(study)
    card = (release.directory / "README.md").read_text(encoding="utf-8")

    answers = CheckResult.objects.count()
    assert "**Hidden checks.** Annotators also got stories with known answers" in card
    assert f"answered {answers} times, and {answers} of {answers} (100.0 %) of these first answers" in card
    assert "From 2 checks on, failing 40 % or more led to a warning; 2 annotators were warned." in card

    before = queries.release_facts(release)
    later = timezone.now() + timedelta(hours=1)
    actions.change_check_rules(study=study, rules=CheckRules(0), by=None, now=later)
    (late,) = builders.qualified(study)
    assert queries.release_facts(Release.objects.get(pk=release.pk)) == before
    assert before.checks is not None
    assert before.checks.rules == CheckRules(5, 2, 40, None)
    assert late.study_id == study.pk


def test_a_study_without_checks_says_nothing_of_them() -> None:
    study = builders.make_study("plain", stories=1, votes_per_story=1)
    builders.vote(builders.qualified(study)[0])
    card = (published(study).directory / "README.md").read_text(encoding="utf-8")
    assert "known answers" not in card
