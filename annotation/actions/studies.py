"""Making a study and moving it through its states."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from accounts.models import Environment, User
from annotation import locks, rules
from annotation.actions.events import record_event
from annotation.actions.members import set_role
from annotation.errors import InvalidStudy, StudyExists, StudyNotReady, WrongState
from annotation.models import CheckKey, ConsentText, Enrollment, Event, Membership, Story, Study, Vote
from annotation.protocols import UnknownProtocol, get_protocol

RESERVED_SLUGS = frozenset({"new"})
"""Short names that stand for something else in the addresses of pages."""


@dataclass(frozen=True, slots=True)
class StudySettings:
    """What a researcher decides about a study. The defaults are those of the published procedure."""

    title: str
    contact: str
    description: str = ""
    protocol: str = "validity"
    votes_per_story: int = 3
    story_cap: int = 500
    lease_minutes: int = 30
    change_hours: int = 24
    pay_rate: Decimal | None = None
    currency: str = "USD"
    license: str = "CC-BY-4.0"
    qualification_required: bool = True
    serving_seed: int | None = None


@transaction.atomic
def create_study(*, slug: str, settings: StudySettings, by: User | None, now: datetime) -> Study:
    """A new study in state draft, of which its maker is the owner.

    Raises :class:`StudyExists` for a slug in use and :class:`InvalidStudy` for values that cannot be.
    """
    if slug in RESERVED_SLUGS:
        raise InvalidStudy(problems={"slug": f"“{slug}” stands for a page. Choose another slug."})
    if Study.objects.filter(slug=slug).exists():
        raise StudyExists(f"There is a study “{slug}” already. Choose another slug.")
    try:
        protocol = get_protocol(settings.protocol)
    except UnknownProtocol as error:
        raise InvalidStudy(problems={"protocol": str(error)}) from error
    study = Study(
        slug=slug,
        title=settings.title,
        description=settings.description,
        protocol_name=protocol.name,
        protocol_version=protocol.version,
        gate=Study.Gate.MISSING if settings.qualification_required else Study.Gate.NOT_REQUIRED,
        votes_per_story=settings.votes_per_story,
        story_cap=settings.story_cap,
        lease_minutes=settings.lease_minutes,
        change_hours=settings.change_hours,
        pay_rate=settings.pay_rate,
        currency=settings.currency,
        contact=settings.contact,
        license=settings.license,
        serving_seed=secrets.randbits(32) if settings.serving_seed is None else settings.serving_seed,
        pseudonym_key=secrets.token_hex(32),
        created_at=now,
    )
    try:
        study.full_clean()
    except ValidationError as error:
        raise InvalidStudy(problems=problems_of(error)) from error
    try:
        with transaction.atomic():
            study.save()
    except IntegrityError as error:  # somebody else was first, since we looked
        raise StudyExists(f"There is a study “{slug}” already. Choose another slug.") from error
    record_event(study=study, type=Event.Type.STUDY_CREATED, by=by, now=now)
    if by:
        set_role(study=study, user=by, role=Membership.Role.OWNER, by=by, now=now)
    return study


@transaction.atomic
def add_consent_text(*, study: Study, text: str, by: User | None, now: datetime) -> ConsentText:
    """A new version of what people agree to; those who agreed to an older one are asked again."""
    if not text.strip():
        raise InvalidStudy("consent: The consent text is empty.")
    study = lock(study)
    study.consent_version += 1
    study.save(update_fields=["consent_version"])
    consent = ConsentText.objects.create(
        study=study, version=study.consent_version, text=text.strip(), created_at=now
    )
    record_event(
        study=study, type=Event.Type.CONSENT_TEXT_ADDED, by=by, now=now, subject=f"consent {consent.version}"
    )
    return consent


@transaction.atomic
def set_gate(*, study: Study, gate: Study.Gate, by: User | None, now: datetime) -> Study:
    """Say whether people must qualify and whether there is a round for it. Called by qualification."""
    study = lock(study)
    if study.gate != gate:
        if study.state == Study.State.OPEN:
            raise WrongState("An open study's qualification cannot be changed. Pause the study first.")
        study.gate = gate
        study.save(update_fields=["gate"])
        record_event(study=study, type=Event.Type.GATE_CHANGED, by=by, now=now, note=gate)
    return study


def blockers(study: Study) -> list[str]:
    """What still keeps the study from opening, as sentences. Empty: it can open."""
    return rules.blockers(
        main_stories=Story.objects.filter(study=study, role=Story.Role.MAIN)[:1].count(),
        consent_version=study.consent_version,
        gate=study.gate,
        lacks_checks=lacks_checks(study),
    )


def lacks_checks(study: Study) -> bool:
    """Whether people should meet hidden checks and there is none that they can be given."""
    return (
        study.check_every > 0
        and not CheckKey.objects.filter(story__study=study, state=CheckKey.State.IN_USE).exists()
    )


@transaction.atomic
def open_study(*, study: Study, by: User | None, now: datetime) -> Study:
    """Let people in. Raises :class:`StudyNotReady` with everything that is still missing."""
    study = lock(study)
    _check_transition(study, Study.State.OPEN)
    missing = blockers(study)
    if missing:
        raise StudyNotReady(missing)
    study.opened_at = study.opened_at or now
    return _move(study, Study.State.OPEN, Event.Type.STUDY_OPENED, by=by, now=now)


@transaction.atomic
def pause_study(*, study: Study, by: User | None, now: datetime) -> Study:
    """Give out no more stories for now. People who hold one may still finish it."""
    study = lock(study)
    _check_transition(study, Study.State.PAUSED)
    return _move(study, Study.State.PAUSED, Event.Type.STUDY_PAUSED, by=by, now=now)


@transaction.atomic
def close_study(*, study: Study, by: User | None, now: datetime) -> Study:
    """Give out no more stories. People who hold one may still finish it, and it counts."""
    study = lock(study)
    _check_transition(study, Study.State.CLOSED)
    return _move(study, Study.State.CLOSED, Event.Type.STUDY_CLOSED, by=by, now=now)


@transaction.atomic
def freeze_answers(*, study: Study, now: datetime) -> Study:
    """From now on the answers saved so far stay as they are: they are being published.

    All of them, also one that bears a later time than ``now``, from a machine whose clock is ahead.
    Returns the study with the moment up to which its answers are fixed.
    """
    study = lock(study)
    locks.hold_answers(study.pk)
    later = Vote.objects.filter(submitted_at__gt=now, assignment__story__study=study)
    newest = later.aggregate(newest=Max("submitted_at"))["newest"]
    frozen_at = max(now, newest or now, study.answers_frozen_at or now)
    study.answers_frozen_at = frozen_at
    study.save(update_fields=["answers_frozen_at"])
    record_event(study=study, type=Event.Type.ANSWERS_FROZEN, by=None, now=frozen_at)
    return study


@transaction.atomic
def thaw_answers(*, study: Study, until: datetime | None, now: datetime) -> Study:
    """Nothing came of a publication: only the answers saved ``until`` then (None: none) stay fixed."""
    study = lock(study)
    locks.hold_answers(study.pk)
    study.answers_frozen_at = until
    study.save(update_fields=["answers_frozen_at"])
    record_event(study=study, type=Event.Type.ANSWERS_THAWED, by=None, now=now)
    return study


@transaction.atomic
def make_rehearsal(*, study: Study, by: User | None, now: datetime) -> Study:
    """Turn a study that no real person has begun into a rehearsal, for good.

    Everything that happens in a rehearsal counts only there, and its releases say loudly that they
    hold no human judgements. Raises :class:`WrongState` once somebody has consented in the live study:
    simulated answers must never stand beside real ones.
    """
    study = lock(study)
    if study.environment == Environment.REHEARSAL:
        return study
    if Enrollment.objects.filter(study=study).exclude(state=Enrollment.State.INVITED).exists():
        raise WrongState(
            f"People have taken part in “{study.slug}”, so it cannot become a rehearsal. "
            "Create another study for tests and simulations."
        )
    if study.qualified_through and study.qualified_through.environment != Environment.REHEARSAL:
        raise WrongState(
            f"Only people qualified in “{study.qualified_through.slug}” may take part in “{study.slug}”, and "
            "they are real. Rehearse with a study that is drawn from a rehearsal."
        )
    real = Study.objects.filter(qualified_through=study).exclude(environment=Environment.REHEARSAL).first()
    if real:
        raise WrongState(
            f"“{real.slug}” is for people qualified in “{study.slug}”, and is real. "
            "Nobody could take part in it."
        )
    study.environment = Environment.REHEARSAL
    study.save(update_fields=["environment"])
    Enrollment.objects.filter(study=study).update(environment=Environment.REHEARSAL)
    record_event(study=study, type=Event.Type.STUDY_REHEARSAL, by=by, now=now)
    return study


def problems_of(error: ValidationError) -> dict[str, str]:
    """What a model's validation found, by field."""
    return {name: " ".join(texts) for name, texts in error.message_dict.items()}


def lock(study: Study) -> Study:
    """The study as it is now, held until the end of the transaction."""
    return Study.objects.select_for_update(of=("self",), no_key=True).get(pk=study.pk)


def _check_transition(study: Study, target: Study.State) -> None:
    if target not in rules.STUDY_TRANSITIONS[study.state]:
        raise WrongState(
            _("“%(study)s” is %(state)s; it cannot become %(target)s.")
            % {"study": study.slug, "state": study.get_state_display(), "target": target.label}
        )


def _move(study: Study, target: Study.State, event: Event.Type, *, by: User | None, now: datetime) -> Study:
    study.state = target
    study.closed_at = now if target == Study.State.CLOSED else None
    study.save(update_fields=["state", "opened_at", "closed_at"])
    record_event(study=study, type=event, by=by, now=now)
    return study
