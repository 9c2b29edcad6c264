"""Commands in the topology: ``python -m tests.topology.world`` reads and answers lines of JSON.

A line is ``[command, what it is given]``, and its answer ``[failure, result]``. While the database is away,
commands that wait ask again.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tomannot.settings")
django.setup()

from django.core.files.base import ContentFile  # noqa: E402
from django.core.management import CommandError, call_command  # noqa: E402
from django.db import InterfaceError, OperationalError, connection  # noqa: E402
from django.urls import reverse  # noqa: E402
from django.utils import timezone  # noqa: E402

from annotation import actions  # noqa: E402
from annotation.models import Answer, Enrollment, StoryImport, Study, Vote  # noqa: E402
from annotation.tokens import VisitClaim, visit_token  # noqa: E402
from publishing.actions import releases  # noqa: E402
from publishing.models import Release  # noqa: E402
from publishing.queries import has_complete_story  # noqa: E402
from recruitment.actions import arrive_by_link  # noqa: E402
from tests import builders  # noqa: E402
from tests.publishing.support import verdict_counts  # noqa: E402

T = TypeVar("T")
PATIENCE = 240


def make(given: dict[str, Any]) -> list[dict[str, Any]]:
    """Studies of ``stories`` stories each, with ``people`` by the path of their page."""
    made = []
    for number in range(given["studies"]):
        study = builders.make_study(f"{given['slug']}-{number}", stories=given["stories"])
        people = builders.qualified(study, given["people"])
        if given.get("answered"):
            builders.answer_everything(people)
        pages = {person.pk: _path(person) for person in people}
        votes = given["stories"] * study.votes_per_story
        made.append({"slug": study.slug, "votes": votes, "people": pages})
    return made


def _path(enrollment: Enrollment) -> str:
    visit = arrive_by_link(enrollment=enrollment, now=timezone.now())
    token = visit_token(VisitClaim(enrollment.pk, visit.pk, enrollment.link_key))
    return reverse("annotation:stories", kwargs={"token": token})


def upload(given: dict[str, Any]) -> int:
    """Queue an import of ``stories`` stories into a new study; returns the import's number."""
    study = builders.make_study(given["slug"], stories=0, opened=False)
    rows = "".join(json.dumps(builders.story_row(number)) + "\n" for number in range(given["stories"]))
    file = ContentFile(rows.encode(), "stories.jsonl")
    return actions.queue_import(study=study, file=file, by=None, now=timezone.now()).pk


def imported(given: int) -> str:
    """Wait for an import, and return how it ended."""
    ended = (StoryImport.State.IMPORTED, StoryImport.State.REFUSED)
    return wait_for(lambda: StoryImport.objects.filter(pk=given, state__in=ended).first()).state


def publish(given: str) -> int:
    """Ask for a release of the first study with a complete story whose slug begins so; returns its id."""

    def requested() -> int | None:
        studies = Study.objects.filter(slug__startswith=given).order_by("pk")
        study = next((study for study in studies if has_complete_story(study)), None)
        return releases.request_release(study=study, by=None, now=timezone.now()).pk if study else None

    return wait_for(requested)


def released(given: int) -> dict[str, Any]:
    """Wait for a release; return its state, and the hashes of its files."""
    ended = (Release.State.PUBLISHED, Release.State.FAILED)
    found = Release.objects.select_related("study").filter(pk=given, state__in=ended)
    release = wait_for(found.first)
    files = {file.path: file.sha256 for file in release.files.all()}
    page = reverse("publishing:release", args=[release.study.slug, release.number])
    place = f"{release.study.slug}/{release.number}"
    return {"state": release.state, "failure": release.failure, "page": page, "files": files, "place": place}


def wait_for(look: Callable[[], T | None]) -> T:
    """Look once a second until there is something. Raise AssertionError after :data:`PATIENCE` seconds."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            if (found := look()) is not None:
                return found
        except (InterfaceError, OperationalError):
            connection.close()
        assert time.monotonic() < deadline, f"waited for {PATIENCE} seconds in vain"
        time.sleep(0.5)


def check(given: dict[str, Any]) -> dict[str, int]:
    """Compare what is stored with the forms that were sent: how many are lost, altered, doubled, and so on.

    ``sent`` has ``[enrollment, assignment, answers, acknowledged]`` of every honest form; ``releases`` the
    releases that were made in the storm and after it.
    """
    votes = Vote.objects.filter(assignment__story__study__slug__startswith=given["slug"])
    answers: dict[int, dict[str, str]] = {}
    first = votes.filter(revision=1)
    for vote, question, option in Answer.objects.filter(vote__in=first).values_list(
        "vote", "question", "option"
    ):
        answers.setdefault(vote, {})[question] = option
    stored: dict[int, list[Any]] = {}
    for pk, assignment, person in first.values_list("pk", "assignment", "assignment__enrollment"):
        stored.setdefault(assignment, []).append((person, answers.get(pk)))
    found: Counter[str] = Counter(lost=0, altered=0, doubled=0, unsent=0, over=0, miscounted=0)
    wanted = {assignment: (person, form) for person, assignment, form, _ in given["sent"]}
    for person, assignment, form, acknowledged in given["sent"]:
        kept = stored.get(assignment, [])
        found["lost"] += acknowledged and not kept
        found["altered"] += any(one != (person, form) for one in kept)
    found["doubled"] = sum(len(kept) > 1 for kept in stored.values())
    found["unsent"] = len(stored.keys() - wanted.keys())
    of_story = votes.counted().values_list("assignment__story", "assignment__slots")
    counted = Counter(of_story.iterator())
    found["over"] = sum(number > most for (_, most), number in counted.items())
    found["surplus"] = first.count() - counted.total()
    found["stored"], found["counted"] = len(stored), counted.total()
    for release in Release.objects.filter(pk__in=given["releases"]).select_related("study"):
        again = verdict_counts(release.study)
        figures = [release.stories, release.kept, release.dropped, release.incomplete]
        wanted_figures = [again.stories, again.kept, again.dropped, again.incomplete]
        later = votes.filter(assignment__story__study=release.study, submitted_at__gt=release.answers_until)
        if later.exists():  # it was asked for in the middle of the work: only its sums can be compared
            figures, wanted_figures = [release.stories, sum(figures[1:])], [again.stories] * 2
        found["miscounted"] += figures != wanted_figures
    return dict(found)


def integrity(_given: None) -> None:
    """Check every promise about the stored rows. Raise AssertionError with the report if one is broken."""
    said = io.StringIO()
    try:
        call_command("check_integrity", stdout=said)
    except CommandError as error:
        raise AssertionError(f"{error}\n{said.getvalue()}") from error


COMMANDS: dict[str, Callable[[Any], Any]] = {
    command.__name__: command for command in (make, upload, imported, publish, released, check, integrity)
}


def answer(line: str) -> list[Any]:
    """Run a command; return its failure and its result."""
    command, given = json.loads(line)
    connection.close()  # the server may have been restarted
    try:
        return ["", COMMANDS[command](given)]
    except Exception:  # noqa: BLE001  whatever it is, the storm says it
        return [traceback.format_exc(), None]


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(line)) + "\n")
        sys.stdout.flush()
