"""Studies, people and votes for tests, made as the product makes them: through actions only.

Every function takes the moment it happens at (``now``) where that matters; without it, the present.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from django.utils import timezone

from annotation import actions
from annotation.hidden_checks import CheckRules
from annotation.models import Assignment, ConsentText, Enrollment, Story, Study, WorkSession
from qualification import actions as qualification_actions
from qualification.models import Round
from tests.worlds import built_once

SAMPLE = Path(__file__).resolve().parent.parent / "sample_study"
"""The directory of the sample study."""

ALL_YES = {"q1": "yes", "q2": "yes", "q3": "yes", "q4": "yes"}
"""A complete form of the validity protocol that counts against nothing."""

ACCEPTED = {"q1": ["yes", "possibly"], "q2": ["yes", "possibly"], "q3": ["yes"], "q4": ["yes"]}
"""What the rounds made here accept for every story; :data:`ALL_YES` passes."""

_THINGS = ("tin", "crate", "parcel", "suitcase", "drawer", "jar", "toolbox", "barrel", "envelope", "basket")
_CONTENTS = ("gravel", "old keys", "wet sand", "feathers", "candle ends", "marbles", "torn maps", "wool")
_NAMES = ("Ilse", "Tomas", "Noor", "Bela", "Yuki", "Amadou", "Greta", "Pavel", "Sina", "Luca", "Dara")


def answers(**changes: str) -> dict[str, str]:
    """A complete form: yes to everything, except what is given (``answers(q3="no")``)."""
    return ALL_YES | changes


def story_row(number: int, *, prefix: str = "story", **changes: Any) -> dict[str, Any]:
    """One story-data row of our own; another ``number`` gives another story."""
    thing = _THINGS[number % len(_THINGS)]
    content = _CONTENTS[number // len(_THINGS) % len(_CONTENTS)]
    name = _NAMES[number % len(_NAMES)]
    key_information = f"The sealed {thing} with number {number} is filled with {content}."
    sentence = f"{name} carries {thing} {number} from the shed to the car."
    return {
        "story_id": f"{prefix}_{number:05d}_sev1",
        "core_id": f"{prefix}_{number:05d}",
        "scenario_name": "inside_reuse_labeled_containers",
        "story_prompt_example": None,
        "entities": {"Person X": name, "Object Z": f"the {thing}"},
        "severity_original": 1,
        "key_information": key_information,
        "story_sentence": sentence,
        "story": f"{key_information} {sentence}",
        "story_generator_model": "human-written",
        "question": f"What will {name} likely do next?",
        "action_unaware": f"drive off with {thing} {number}",
        "action_aware": f"empty {thing} {number} first",
    } | changes


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """The rows as JSON lines in a file; returns the file."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def import_rows(
    study: Study,
    rows: Iterable[Mapping[str, Any]],
    *,
    role: Story.Role = Story.Role.MAIN,
    now: datetime | None = None,
) -> list[Story]:
    """Import the rows; returns their stories in the order of the rows."""
    rows = list(rows)
    with tempfile.TemporaryDirectory(prefix="tomannot-rows-") as directory:
        path = write_rows(Path(directory) / "stories.jsonl", rows)
        actions.import_stories(study=study, path=path, role=role, by=None, now=now or timezone.now())
    story_ids = [row["story_id"] if "story_id" in row else row["id"] for row in rows]
    by_id = {story.story_id: story for story in Story.objects.filter(study=study, story_id__in=story_ids)}
    return [by_id[story_id] for story_id in story_ids]


@built_once
def make_study(
    slug: str = "study",
    *,
    stories: int | Iterable[Mapping[str, Any]] = 3,
    qualification: int | Mapping[str, Any] = 0,
    opened: bool = True,
    now: datetime | None = None,
    **settings: Any,
) -> Study:
    """A study with a consent text and its stories, open unless told otherwise.

    ``stories`` is a number of made-up ones or the rows themselves. ``qualification`` is the number of
    stories in its round (0: nobody needs to qualify) or the keyword arguments of :func:`add_round`.
    ``settings`` are those of :func:`create_study`.
    """
    now = now or timezone.now()
    chosen: dict[str, Any] = {
        "title": "A study for tests",
        "contact": "study@example.org",
        "serving_seed": 1,
        "qualification_required": bool(qualification),
    } | settings
    study = actions.create_study(slug=slug, settings=chosen, by=None, now=now)
    actions.add_consent_text(study=study, text="We store your answers.\n\nYou may stop.", by=None, now=now)
    rows = [story_row(number) for number in range(stories)] if isinstance(stories, int) else list(stories)
    if rows:
        import_rows(study, rows, now=now)
    if qualification:
        wanted = {"rows": qualification} if isinstance(qualification, int) else qualification
        add_round(study, now=now, **wanted)
    if opened:
        actions.open_study(study=study, by=None, now=now)
    study.refresh_from_db()
    return study


def add_round(
    study: Study,
    rows: int | Sequence[Mapping[str, Any]] = 2,
    *,
    key: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    attempts_allowed: int = 1,
    kind: Round.Kind = Round.Kind.TEST,
    beside: bool = False,
    now: datetime | None = None,
    **mark: Any,
) -> Round:
    """A qualification round with its answer key (:data:`ACCEPTED` for every story unless given).

    Newcomers take it alone, or with ``beside`` in turn with the active ones. ``mark`` is the pass mark, and
    may hold the key's reasons.
    """
    now = now or timezone.now()
    made = make_round(study, rows, attempts_allowed=attempts_allowed, kind=kind, now=now)
    story_ids = made.round_stories.values_list("story__story_id", flat=True)
    qualification_actions.set_answer_key(
        round=made,
        acceptable=key or dict.fromkeys(story_ids, ACCEPTED),
        beside=beside,
        by=None,
        now=now,
        **mark,
    )
    return made


def add_checks(
    study: Study, count: int = 3, *, every: int = 5, now: datetime | None = None, **thresholds: Any
) -> list[Story]:
    """Hidden checks that accept :data:`ACCEPTED`, one in each ``every`` stories; the study is refreshed."""
    now = now or timezone.now()
    rows = [story_row(number, prefix="known") for number in range(500, 500 + count)]
    made = import_rows(study, rows, role=Story.Role.CHECK, now=now)
    for story in made:
        actions.set_check_key(story=story, accepted=ACCEPTED, by=None, now=now)
    actions.change_check_rules(study=study, rules=CheckRules(every, **thresholds), by=None, now=now)
    study.refresh_from_db()
    return made


def work_through(
    enrollment: Enrollment,
    stories: int,
    *,
    on_checks: Mapping[str, str] = ALL_YES,
    now: datetime | None = None,
) -> list[Story]:
    """The person answers so many stories, checks with ``on_checks``; returns the stories in their order."""
    met = []
    for _ in range(stories):
        assignment = claim(enrollment, now=now)
        submitted = on_checks if assignment.story.role == Story.Role.CHECK else ALL_YES
        actions.record_vote(
            assignment_id=assignment.pk, enrollment=enrollment, submitted=submitted, now=now or timezone.now()
        )
        met.append(assignment.story)
    return met


def make_round(
    study: Study,
    rows: int | Sequence[Mapping[str, Any]] = 2,
    *,
    attempts_allowed: int = 1,
    kind: Round.Kind = Round.Kind.TEST,
    now: datetime | None = None,
) -> Round:
    """A qualification round without a key."""
    now = now or timezone.now()
    if isinstance(rows, int):
        rows = [story_row(number, prefix="test") for number in range(rows)]
    stories = import_rows(study, rows, role=Story.Role.QUALIFICATION, now=now)
    story_ids = [story.story_id for story in stories]
    return qualification_actions.create_round(
        study=study, story_ids=story_ids, attempts_allowed=attempts_allowed, kind=kind, by=None, now=now
    )


def load_sample(study: Study, *, now: datetime | None = None) -> Round:
    """The sample study's main stories, and its qualification round with its key."""
    now = now or timezone.now()
    actions.import_stories(study=study, path=SAMPLE / "stories.jsonl", by=None, now=now)
    rows = [
        json.loads(line) for line in (SAMPLE / "qualification.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    key = json.loads((SAMPLE / "answer_key.json").read_text(encoding="utf-8"))["stories"]
    return add_round(study, rows, key=key, now=now)


def invite(study: Study, count: int = 1, *, now: datetime | None = None) -> list[Enrollment]:
    """People who have their link and have not used it yet."""
    return actions.invite(study=study, count=count, by=None, now=now or timezone.now())


def consent(enrollment: Enrollment, *, now: datetime | None = None) -> Enrollment:
    """The person agrees to the newest consent text."""
    text = ConsentText.objects.filter(study=enrollment.study_id).latest("version")
    return actions.give_consent(enrollment=enrollment, consent=text, now=now or timezone.now())


def take_test(
    enrollment: Enrollment, submitted: Mapping[str, str] = ALL_YES, *, now: datetime | None = None
) -> Enrollment:
    """The person gives these answers to every story of the round, and hands the test in.

    They do so in the newest visit from a platform that is open for the test, if there is one.
    """
    now = now or timezone.now()
    tests = WorkSession.objects.filter(enrollment=enrollment, story_limit=0, state="open")
    session = tests.order_by("-pk").values_list("pk", flat=True).first()
    attempt = qualification_actions.start_attempt(enrollment=enrollment, now=now, session_id=session)
    for entry in attempt.round.round_stories.select_related("story__study"):
        given = submitted
        if attempt.round.is_quiz:
            given = {name: right[0] for name, right in attempt.key.accepted[entry.pk].items()}
        qualification_actions.save_answers(
            attempt=attempt, round_story=entry, submitted=given, session_id=session
        )
    qualification_actions.submit_attempt(attempt=attempt, now=now, session_id=session)
    return Enrollment.objects.select_related("study", "consent").get(pk=enrollment.pk)


def qualified(study: Study, count: int = 1, *, now: datetime | None = None) -> list[Enrollment]:
    """People who may be served stories: invited, agreed, and tested where the study asks for it."""
    people = [consent(enrollment, now=now) for enrollment in invite(study, count, now=now)]
    if study.gate == Study.Gate.NOT_REQUIRED:
        return people
    return [take_test(enrollment, now=now) for enrollment in people]


def claim(enrollment: Enrollment, *, now: datetime | None = None) -> Assignment:
    """The story the person is given; it must be one."""
    outcome = actions.assign_next_story(enrollment=enrollment, now=now or timezone.now())
    assert isinstance(outcome, Assignment), f"refused: {outcome.reason}"
    return outcome


def vote(
    enrollment: Enrollment, submitted: Mapping[str, str] = ALL_YES, *, now: datetime | None = None
) -> actions.Receipt:
    """The person is given a story and answers it."""
    assignment = claim(enrollment, now=now)
    return actions.record_vote(
        assignment_id=assignment.pk, enrollment=enrollment, submitted=submitted, now=now or timezone.now()
    )


def answer_everything(people: Iterable[Enrollment], submitted: Mapping[str, str] = ALL_YES) -> int:
    """Everybody in turn answers every story they are given; returns the number of votes."""
    votes = 0
    for enrollment in people:
        while isinstance(
            assignment := actions.assign_next_story(enrollment=enrollment, now=timezone.now()), Assignment
        ):
            actions.record_vote(
                assignment_id=assignment.pk, enrollment=enrollment, submitted=submitted, now=timezone.now()
            )
            votes += 1
    return votes
