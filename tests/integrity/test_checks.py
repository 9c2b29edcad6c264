"""Every check of ``check_integrity``: silent on a healthy study, and the one to speak when it is broken."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation import actions
from annotation.models import Assignment, Enrollment, Study, Vote
from annotation.rules import Refusal
from integrity.catalogue import CHECKS, Check, CheckOutcome, run
from tests.dashboard.worlds import World, build_world
from tests.integrity.breaks import ALL_BREAKS, TOGETHER, Break
from tests.integrity.breaks.core import disable_triggers, sql
from tests.integrity.breaks.slots import full_story_offered
from tests.integrity.breaks.votes import (
    answer_lost,
    changed_after_the_release,
    no_turned_into_yes,
    story_rewritten,
)

pytestmark = pytest.mark.django_db

RELEASES = {
    "published_release_is_unchanged",
    "every_release_gets_done",
    "release_names_nobody",
    "release_is_in_the_log",
    "withdrawal_is_of_a_published_release_and_says_why",
    "withdrawal_is_in_the_log",
}
"""The checks that need a real release: see ``test_releases``."""


@pytest.fixture(scope="module")
def world(module_transaction: None) -> World:
    """Built once, the triggers off."""
    built = build_world()
    disable_triggers()
    return built


def _broken(study: Study | None = None, checks: Iterable[Check] = CHECKS) -> dict[str, CheckOutcome]:
    outcomes = run(checks, study_id=study.pk if study else None)
    return {outcome.check.name: outcome for outcome in outcomes if not outcome.holds}


def test_everything_holds_in_studies_in_full_use(world: World) -> None:
    assert not _broken()


@pytest.mark.parametrize("breaks", TOGETHER.values(), ids=TOGETHER)
def test_checks_find_exactly_what_is_broken(world: World, breaks: tuple[Break, ...]) -> None:
    """If one is broken alone, the checks of other promises take turns; the torture form has all."""
    for one in breaks:
        one.break_it(world)

    broken = _broken(checks=CHECKS if len(breaks) > 1 else _some(*breaks))

    assert set(broken) == set().union(*({one.check} | one.implied for one in breaks))
    for one in breaks:
        assert broken[one.check].offenders.count >= 1
        assert broken[one.check].offenders.rows


def _some(one: Break) -> list[Check]:
    """The checks of the same promise, and a sixth of the others, another sixth each time."""
    number = ALL_BREAKS.index(one)
    promises = {check.invariant for check in CHECKS if check.name in {one.check} | one.implied}
    return [
        check for place, check in enumerate(CHECKS) if check.invariant in promises or place % 6 == number % 6
    ]


@pytest.mark.torture
@pytest.mark.parametrize("one", ALL_BREAKS, ids=lambda one: one.break_it.__name__)
def test_each_break_alone_is_found_exactly(world: World, one: Break) -> None:
    one.break_it(world)

    assert set(_broken()) == {one.check} | one.implied


def test_every_check_is_proven_to_find_something() -> None:
    assert {one.check for one in ALL_BREAKS} | RELEASES == {check.name for check in CHECKS}
    assert len({check.name for check in CHECKS}) == len(CHECKS)


def test_breaks_in_one_world_prove_their_checks_each_by_itself() -> None:
    for name, breaks in TOGETHER.items():
        proven = {one.check for one in breaks}
        assert len(proven) == len(breaks), name
        assert not proven & {implied for one in breaks for implied in one.implied}, name


def test_offenders_are_counted_and_the_first_are_named(world: World) -> None:
    no_turned_into_yes(world)
    sql("DELETE FROM annotation_event WHERE type = 'vote_submitted'")

    broken = _broken()["vote_is_in_the_log"].offenders

    votes = list(Vote.objects.filter(revision=1).order_by("pk").values_list("pk", flat=True))
    assert broken.count == len(votes)
    assert broken.rows == tuple(map(str, votes))


def test_answers_that_were_given_back_may_be_replaced(world: World) -> None:
    """A release that failed fixed nothing for good."""
    changed_after_the_release(world)
    actions.thaw_answers(study=world.study, until=None, now=timezone.now())
    assert not _broken()

    actions.freeze_answers(study=world.study, now=timezone.now())
    assert not _broken()
    changed_after_the_release(world)
    assert set(_broken(world.study)) == {"published_answer_is_not_replaced"}


def test_only_the_named_study_is_looked_at(world: World) -> None:
    story_rewritten(world)
    full_story_offered(world)
    answer_lost(world)  # the newest answer was given in the other study

    assert set(_broken(world.study)) == {"story_is_as_imported", "full_story_is_not_offered"}
    assert set(_broken(world.other)) == {"vote_answers_the_whole_form"}


def test_command_says_every_check_in_a_line(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("check_integrity")

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(CHECKS)
    assert all(line.startswith("ok ") for line in lines)


def test_command_fails_and_names_the_rows(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    full_story_offered(world)

    with pytest.raises(CommandError, match=f"1 of {len(CHECKS)} checks") as error:
        call_command("check_integrity", study="main")

    assert error.value.returncode == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("BROKEN")]
    assert line == (
        "BROKEN   1  full_story_is_not_offered: Stories that are full but marked as having a free slot. "
        f"1 found: {world.full.pk}"
    )


def test_command_speaks_json(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    full_story_offered(world)

    with pytest.raises(CommandError):
        call_command("check_integrity", json=True)

    said = json.loads(capsys.readouterr().out)
    assert said["holds"] is False
    assert len(said["checks"]) == len(CHECKS)
    (broken,) = [check for check in said["checks"] if not check["holds"]]
    assert broken == {
        "name": "full_story_is_not_offered",
        "invariant": 1,
        "holds": False,
        "sentence": "Stories that are full but marked as having a free slot.",
        "count": 1,
        "rows": [str(world.full.pk)],
    }


def test_command_knows_the_studies(world: World) -> None:
    with pytest.raises(CommandError, match="Studies here: keyed, main, other, recruited, reviewed"):
        call_command("check_integrity", study="mian")


def test_the_world_is_what_it_says(world: World) -> None:
    """The breaks above mean something only if these people are where they are said to be."""
    states = dict(Assignment.objects.filter(story=world.full).values_list("enrollment", "state"))
    assert states[world.leaver.pk] == Assignment.State.EXPIRED
    assert states[world.late.pk] == Assignment.State.SURPLUS
    assert sorted(states.values()) == ["expired", "submitted", "submitted", "surplus"]
    assert not isinstance(actions.assign_next_story(enrollment=world.holder, now=timezone.now()), Refusal)
    assert world.free.has_free_slot
    assert world.suspended.state == Enrollment.State.SUSPENDED
    assert world.failed.attempts.count() == 2
