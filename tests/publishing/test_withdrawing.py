"""What a withdrawn release can no longer be used for, and what it still can."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.errors import ReasonMissing
from annotation.models import Event, Study
from annotation.reasons import LONGEST_STATEMENT
from publishing.actions.published import request_deposit, withdraw_release
from publishing.errors import UnusableRelease
from publishing.human_baseline.drawing import draw
from publishing.models import Deposit, Release
from tests.publishing.support import published

pytestmark = pytest.mark.django_db(transaction=True)

WHY = "Two people judged as one."


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def withdrawn(release: Release) -> Release:
    withdraw_release(release=release, reason=WHY, by=None, now=timezone.now())
    return Release.objects.select_related("study").get(pk=release.pk)


def test_the_command_withdraws_and_names_the_places_outside(release: Release) -> None:
    Deposit.objects.create(
        release=release,
        kind="s3",
        place="s3://ours/small",
        state="done",
        requested_at=timezone.now(),
        done_at=timezone.now(),
        url="https://ours.example/small",
    )
    said = json.loads(run("withdraw_release", "small", "1", "--reason", f" {WHY} ", "--json"))
    assert said == {"study": "small", "number": 1, "reason": WHY, "deposits": ["s3://ours/small"]}
    assert Event.objects.get(type=Event.Type.RELEASE_WITHDRAWN).note == WHY
    with pytest.raises(CommandError, match=r"was already withdrawn on .*: Two people") as again:
        run("withdraw_release", "small", "1", "--reason", "again")
    assert again.value.returncode == 1
    with pytest.raises(CommandError, match="has no release 7"):
        run("withdraw_release", "small", "7", "--reason", "x")


def test_a_reason_has_to_be_one(release: Release) -> None:
    for reason in ("", " \n", "a\0b", "x" * (LONGEST_STATEMENT + 1)):
        with pytest.raises(ReasonMissing, match="Give the reason"):
            withdraw_release(release=release, reason=reason, by=None, now=timezone.now())


def test_it_is_brought_nowhere_any_more(release: Release) -> None:
    with pytest.raises(
        CommandError, match=r"withdrawn on .*Two people.*A withdrawn release is not deposited"
    ) as refused:
        run("deposit_release", "small", str(withdrawn(release).number), "--to", "zip:small.zip")
    assert refused.value.returncode == 1
    destination: Any = object()
    with pytest.raises(UnusableRelease):
        request_deposit(
            release=Release.objects.get(pk=release.pk), destination=destination, by=None, now=timezone.now()
        )
    assert not Deposit.objects.exists()


def test_no_questions_are_drawn_from_it(release: Release) -> None:
    assert draw(release, per_scenario=1, seed=1).questions
    with pytest.raises(UnusableRelease, match=r"was withdrawn, so no questions .* Two people"):
        draw(withdrawn(release), per_scenario=1, seed=1)
    with pytest.raises(CommandError, match="was withdrawn"):
        run("draw_baseline", "small", "1")


def test_its_files_verify_and_import_as_before(release: Release, tmp_path: Path) -> None:
    directory = str(withdrawn(release).directory)
    run("verify_release", directory)
    run("import_release", directory, "--study", "again")
    assert Study.objects.filter(slug="again").exists()


def test_the_next_release_is_made_beside_it(release: Release) -> None:
    withdrawn(release)
    second = published(release.study)
    assert list(Release.objects.not_withdrawn()) == [second]
    card = (second.directory / "README.md").read_text(encoding="utf-8")
    assert "Kept in both: 2" in card, "what has changed is still told against the release before"
