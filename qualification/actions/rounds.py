"""Rounds of stories, and their answer keys: create, set a key with reasons, activate, retire."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Max, Q
from django.utils.translation import gettext as _

from accounts.models import User, locked
from annotation import actions as annotation_actions
from annotation.errors import ChangedMeanwhile, InvalidInput, InvalidKey, WrongState
from annotation.grading import key_problems
from annotation.models import Event, Story, Study
from qualification.experts import chosen_in, counts, readers_in, why_undecided
from qualification.models import TESTS, AcceptableOption, AnswerKey, KeyReader, KeyReason, Round, RoundStory
from qualification.queries import why_no_test
from qualification.rules import LONGEST_WHY, needs_reason


@transaction.atomic
def create_round(
    *,
    study: Study,
    story_ids: Sequence[str],
    by: User | None,
    now: datetime,
    kind: Round.Kind = Round.Kind.TEST,
    title: str = "",
    attempts_allowed: int = 1,
    pays_on_fail: bool = True,
) -> Round:
    """Create a round of these stories, in this order. It can be attempted once it has an answer key.

    Raise :class:`InvalidInput` for no stories, a repeated story, one that is not a qualification story of
    the study, or one whose answers practice would give away; and :class:`WrongState` for a study that relies
    on another study's test.
    """
    check_has_test(locked(study))
    stories = {
        story.story_id: story
        for story in Story.objects.filter(study=study, role=Round(kind=kind).role, story_id__in=story_ids)
    }
    unknown = [story_id for story_id in story_ids if story_id not in stories]
    if unknown:
        raise InvalidInput(
            _("Not imported into “%(study)s” with the role %(role)s: %(stories)s. Import them first."),
            study=study.slug,
            role=Round(kind=kind).role,
            stories=", ".join(unknown),
        )
    if not story_ids or len(set(story_ids)) != len(story_ids):
        raise InvalidInput(_("A round needs at least one story, and each story once."))
    _check_kept_apart(study, [stories[story_id] for story_id in story_ids], kind)
    last = Round.objects.filter(study=study).aggregate(last=Max("number"))["last"] or 0
    made = Round.objects.create(
        study=study,
        number=last + 1,
        kind=kind,
        title=title,
        attempts_allowed=attempts_allowed,
        pays_on_fail=pays_on_fail,
        created_at=now,
    )
    RoundStory.objects.bulk_create(
        RoundStory(round=made, story=stories[story_id], position=position)
        for position, story_id in enumerate(story_ids, start=1)
    )
    record_about_round(round=made, type=Event.Type.ROUND_CREATED, by=by, now=now)
    return made


def record_about_round(
    *,
    round: Round,
    type: Event.Type,
    by: User | None,
    now: datetime,
    note: str = "",
    member: User | None = None,
) -> None:
    """Record an event of the round in its study's log."""
    subject = f"round {round.number}"
    annotation_actions.record_event(
        study=round.study, type=type, by=by, now=now, member=member, subject=subject, note=note
    )


def _check_kept_apart(study: Study, stories: Sequence[Story], kind: str) -> None:
    """Raise ``InvalidInput`` for texts that practice or a quiz reveals and a test, vote or check asks."""
    used = RoundStory.objects.filter(round__study=study)
    others = used.exclude(round__kind=kind) if kind in TESTS else used.filter(round__kind__in=TESTS)
    asked = Q(pk__in=others.values("story"))
    if kind != Round.Kind.TEST:
        asked |= ~Q(role__in=(Story.Role.QUALIFICATION, Story.Role.QUIZ))
    found = Story.objects.filter(asked, study=study, text_hash__in=[story.text_hash for story in stories])
    elsewhere = set(found.values_list("text_hash", flat=True))
    if secret := [story.story_id for story in stories if story.text_hash in elsewhere]:
        text = _(
            "Practice and quizzes show the right answers, so their texts can’t be in a test, be voted on "
            "or be hidden checks: %(stories)s."
        )
        raise InvalidInput(text, stories=", ".join(secret))


@transaction.atomic
def activate_round(*, round: Round, by: User | None, now: datetime) -> Round:
    """Activate a retired round again, alternating with other active rounds; practice replaces practice.

    Raise :class:`InvalidInput` for practice of a text that is voted on, and :class:`WrongState` for a round
    without a key and while experts are answering: the first attempt would freeze the key. An active round is
    returned unchanged.
    """
    rounds = lock_rounds_of(round.study)
    round = rounds[round.pk]
    if round.state == Round.State.PREPARING:
        raise WrongState(_("The round has no answer key yet, so nobody can take it."))
    check_decided(round)
    if round.is_practice or _others_differ(round, rounds.values()):
        retire_others(round, rounds.values(), by=by, now=now)
    return move_round(round=round, state=Round.State.ACTIVE, by=by, now=now)


@transaction.atomic
def retire_round(*, round: Round, by: User | None, now: datetime) -> Round:
    """Stop giving the round to new annotators. Open attempts can be finished.

    Raise :class:`WrongState` for the only active round of the test, and for one without a key.
    """
    round = lock_rounds_of(round.study)[round.pk]
    if round.state == Round.State.PREPARING:
        raise WrongState(_("The round has no answer key yet, so it is not active."))
    others = Round.objects.active_in(round.study).exclude(pk=round.pk)
    if round.state == Round.State.ACTIVE and not round.is_practice and not others.exists():
        raise WrongState(
            _("This is the only active round, and without it there is no test. Activate another round first.")
        )
    return move_round(round=round, state=Round.State.RETIRED, by=by, now=now)


def retire_others(round: Round, locked: Iterable[Round], *, by: User | None, now: datetime) -> None:
    """Retire the other active rounds of this kind: tests, or practice."""
    for other in locked:
        is_like = other.is_practice == round.is_practice and other.pk != round.pk
        if is_like and other.state == Round.State.ACTIVE:
            move_round(round=other, state=Round.State.RETIRED, by=by, now=now)


def _others_differ(round: Round, rounds: Iterable[Round]) -> bool:
    """Return True if a quiz would alternate with a test: they ask for different things."""
    active = [one.kind for one in rounds if one.state == Round.State.ACTIVE and not one.is_practice]
    return any(kind != round.kind for kind in active)


def check_has_test(study: Study) -> None:
    """Raise :class:`WrongState` for a study that relies on another study's test."""
    if why_not := why_no_test(study):
        raise WrongState(why_not)


def check_decided(round: Round) -> None:
    """Raise :class:`WrongState` for a round whose experts' answers are not revealed."""
    if why_not := why_undecided(round):
        raise WrongState(why_not)


@transaction.atomic
def remember_readers(*, round: Round) -> None:
    """Record everybody who can read the round's new key, or its revealed answers."""
    readers = readers_in([round.study_id])
    KeyReader.objects.bulk_create(
        (KeyReader(round=round, reader=reader) for reader in readers), ignore_conflicts=True
    )


def lock_rounds_of(study: Study) -> dict[int, Round]:
    """Lock and return all rounds of the study by id, ordered by number."""
    held = Round.objects.select_for_update(of=("self",), no_key=True).select_related("study")
    return {one.pk: one for one in held.filter(study=study).order_by("number")}


@transaction.atomic
def move_round(*, round: Round, state: Round.State, by: User | None, now: datetime) -> Round:
    """Set a locked round's state and record the event, unless it is in that state already.

    Raise :class:`InvalidInput` for practice of a text that was imported to be voted on meanwhile.
    """
    if round.state != state:
        if round.is_practice and state == Round.State.ACTIVE:
            entries = round.round_stories.select_related("story").order_by("position")
            _check_kept_apart(round.study, [entry.story for entry in entries], round.kind)
        round.state = state
        round.save(update_fields=["state"])
        record_about_round(round=round, type=Event.Type.ROUND_CHANGED, by=by, now=now, note=state)
    return round


AcceptableAnswers = Mapping[str, Mapping[str, Sequence[str]]]
"""Per story id, per form field (``q1``, or ``question.row``): the accepted options."""
Reasons = Mapping[str, Mapping[str, str]]
"""Per story id, per form field: the reason for accepting these options. Not every field needs one."""


@transaction.atomic
def set_answer_key(
    *,
    round: Round,
    acceptable: AcceptableAnswers,
    by: User | None,
    now: datetime,
    note: str = "",
    reasons: Reasons | None = None,
    beside: bool = False,
    after: int | None = None,
    enough: int | None = None,
    must_pass: Collection[str] = (),
) -> AnswerKey:
    """Set the accepted options of a round, as a new version of its answer key.

    The first key of a study that waits for its test makes the test ready. Everybody who can read the key now
    is recorded and cannot be asked as an expert about its texts any more.

    With its first key, a round becomes the active one; with ``beside``, it alternates with the rounds that
    are active already. A study has one practice round at a time. ``after`` is the version that this one was
    made from (0: none).

    The pass mark is frozen with the key: ``enough`` acceptable answers (None: all, as published), among them
    all of those about the stories in ``must_pass``.

    Raise :class:`InvalidKey` with all missing or unknown entries, among them missing reasons where experts
    disagree or the key departs from their choice; :class:`ChangedMeanwhile` if ``after`` is not the newest
    version; and :class:`WrongState` once the round has attempts, before the experts' answers are revealed,
    or for a study that relies on another study's test.
    """
    study = locked(round.study)
    check_has_test(study)
    rounds = lock_rounds_of(round.study)
    round = rounds[round.pk]
    reasons = reasons or {}
    if round.attempts.exists():
        raise WrongState(
            _("Annotators have attempted this round, so its key can’t change. Create a new round instead.")
        )
    check_decided(round)
    last = round.keys.order_by("version").values_list("version", flat=True).last() or 0
    if after is not None and after != last:
        text = _("Version %(version)s of the key has been saved in the meantime. Look at it first.")
        raise ChangedMeanwhile(text, version=last)
    round_stories = list(round.round_stories.select_related("story__study").order_by("position"))
    problems = [
        *_key_problems(round_stories, acceptable, enough, must_pass),
        *_reason_problems(round, round_stories, acceptable, reasons),
    ]
    if problems:
        raise InvalidKey(problems)
    key = AnswerKey.objects.create(
        round=round,
        version=last + 1,
        enough=enough,
        must_pass=[entry.position for entry in round_stories if entry.story.story_id in must_pass],
        note=note,
        created_by=by,
        created_at=now,
    )
    _store(key, round_stories, acceptable, reasons)
    remember_readers(round=round)
    subject = f"round {round.number} key {key.version}"
    annotation_actions.record_event(study=study, type=Event.Type.KEY_SET, by=by, now=now, subject=subject)
    if round.state == Round.State.PREPARING:
        if round.is_practice or not beside or _others_differ(round, rounds.values()):
            retire_others(round, rounds.values(), by=by, now=now)
        move_round(round=round, state=Round.State.ACTIVE, by=by, now=now)
    if study.gate == Study.Gate.MISSING and not round.is_practice:
        annotation_actions.set_gate(study=study, gate=Study.Gate.READY, by=by, now=now)
    return key


def _store(
    key: AnswerKey, round_stories: list[RoundStory], acceptable: AcceptableAnswers, reasons: Reasons
) -> None:
    options, why = [], []
    for entry in round_stories:
        story_id = entry.story.story_id
        for cell in entry.story.cells:
            question, row = cell.key
            at = {"key": key, "round_story": entry, "question": question, "row": row}
            accepted = sorted(set(acceptable[story_id][cell.field]))
            options += [AcceptableOption(**at, option=option) for option in accepted]
            if reason := reasons.get(story_id, {}).get(cell.field, "").strip():
                why.append(KeyReason(**at, reason=reason))
    AcceptableOption.objects.bulk_create(options)
    KeyReason.objects.bulk_create(why)


def _key_problems(
    round_stories: list[RoundStory],
    acceptable: AcceptableAnswers,
    enough: int | None,
    must_pass: Collection[str],
) -> Iterator[str]:
    known = {entry.story.story_id for entry in round_stories}
    for story_id in sorted(acceptable.keys() - known):
        yield _("The key mentions “%(story)s”, which is not a story of the round.") % {"story": story_id}
    for entry in round_stories:
        story = entry.story
        yield from key_problems(story.story_id, story.cells, acceptable.get(story.story_id, {}))
    answers = sum(len(entry.story.cells) for entry in round_stories)
    if enough is not None and not 1 <= enough <= answers:
        yield _("The pass mark must be from 1 to %(n)s, the number of answers.") % {"n": answers}
    for story_id in sorted(set(must_pass) - known):
        yield _("“%(story)s” must be passed, but is not a story of the round.") % {"story": story_id}


def _reason_problems(
    round: Round, round_stories: list[RoundStory], acceptable: AcceptableAnswers, reasons: Reasons
) -> Iterator[str]:
    # The number of experts per option, by story and form field, as far as revealed.
    ids = dict(round.round_stories.values_list("position", "story__story_id"))
    chosen = {(ids[at], name): counts(cell) for (at, name), cell in chosen_in(round).items()}
    named = {(entry.story.story_id, cell.field) for entry in round_stories for cell in entry.story.cells}
    for story_id, why in reasons.items():
        for name, reason in why.items():
            place = {"story": story_id, "field": name, "most": LONGEST_WHY}
            if (story_id, name) not in named:
                yield _("%(story)s, %(field)s: there is a reason, but no such question.") % place
            if len(reason.strip()) > LONGEST_WHY:
                yield _("%(story)s, %(field)s: the reason is longer than %(most)s characters.") % place
    for story_id, name in sorted(named & chosen.keys()):
        accepted = acceptable.get(story_id, {}).get(name, ())
        said_why = reasons.get(story_id, {}).get(name, "").strip()
        if not said_why and needs_reason(accepted, chosen[story_id, name]):
            yield _(
                "%(story)s, %(field)s: give a reason, because the key differs from what all experts chose."
            ) % {"story": story_id, "field": name}
