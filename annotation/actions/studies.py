"""Create studies, and change their states and settings."""

import secrets
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Count, Max
from django.utils.translation import gettext as _

from accounts.models import Environment, User, locked
from annotation import locks, opening, rules, strata
from annotation.actions.events import record_event
from annotation.actions.members import set_role
from annotation.deciding import adaptive_problem
from annotation.errors import InvalidStudy, StudyExists, StudyNotReady, WrongState
from annotation.fixed_settings import fixed_settings, noted, pay_problem
from annotation.intake import grouped
from annotation.models import Assignment, ConsentText, Enrollment, Event, Membership, Story, Study, Vote
from annotation.models.enrollments import IntakeAnswer, IntakeGroup
from annotation.protocols import UnknownProtocol, get_protocol
from annotation.strata import limit_problem

RESERVED_SLUGS = frozenset({"new"})
"""Slugs that pages use in their own addresses."""


SETTINGS = (
    "title", "description", "contact", "protocol", "votes_per_story", "most_votes", "decided_by", "story_cap",
    "lease_minutes", "change_hours", "skip_allowance", "serving_order", "option_order", "incomplete_after",
    "pay_rate", "currency", "story_language", "license", "intake_questions", "intake_group", "serving_seed",
)  # fmt: skip
"""All settings of a study that can be changed here, in the order of their form."""
_FIELDS = {name: name for name in SETTINGS} | {"protocol": "protocol_name"}
"""The study's field for each setting."""


@transaction.atomic
def create_study(*, slug: str, settings: Mapping[str, Any], by: User | None, now: datetime) -> Study:
    """Create a draft study, owned by its creator.

    ``settings`` maps names of :data:`SETTINGS` to values; what it omits is as in :func:`usual_settings`. Its
    ``qualification_required`` says whether annotators take a test, which they do by default. Raise
    :class:`StudyExists` for a slug in use and :class:`InvalidStudy` for invalid values.
    """
    if slug in RESERVED_SLUGS:
        text = _("“%(slug)s” is the address of a page. Choose another short name.")
        raise InvalidStudy(problems={"slug": text % {"slug": slug}})
    chosen = {"qualification_required": True, **usual_settings(), **settings}
    if unknown := chosen.keys() - {"qualification_required", *SETTINGS}:
        raise InvalidStudy(problems=dict.fromkeys(sorted(unknown), "There is no such setting."))
    try:
        protocol = get_protocol(chosen.pop("protocol"))
    except UnknownProtocol as error:
        raise InvalidStudy(problems={"protocol": str(error)}) from error
    seed, is_tested = chosen.pop("serving_seed"), chosen.pop("qualification_required")
    study = Study(
        slug=slug,
        protocol_name=protocol.name,
        protocol_version=protocol.version,
        gate=Study.Gate.MISSING if is_tested else Study.Gate.NOT_REQUIRED,
        serving_seed=secrets.randbits(32) if seed is None else seed,
        pseudonym_key=secrets.token_hex(32),
        created_at=now,
        **chosen,
    )
    try:
        study.full_clean(validate_unique=False, validate_constraints=False)  # a query each; saving says it
    except ValidationError as error:
        raise InvalidStudy(problems=problems_of(error)) from error
    if problems := _adaptive_problems(study):
        raise InvalidStudy(problems=problems)
    try:
        with transaction.atomic():
            study.save()
    except IntegrityError as error:
        raise StudyExists(
            _("There is a study “%(slug)s” already. Choose another short name."), slug=slug
        ) from error
    record_event(study=study, type=Event.Type.STUDY_CREATED, by=by, now=now)
    if by:
        set_role(study=study, user=by, role=Membership.Role.OWNER, by=by, now=now)
    return study


@transaction.atomic
def add_consent_text(*, study: Study, text: str, by: User | None, now: datetime) -> ConsentText:
    """Add a version of the consent text; annotators who agreed to an older one are asked again."""
    if not text.strip():
        raise InvalidStudy("consent: The consent text is empty.")
    study = locked(study)
    study.consent_version += 1
    study.save(update_fields=["consent_version"])
    version = study.consent_version
    consent = ConsentText.objects.create(study=study, version=version, text=text.strip(), created_at=now)
    subject = f"consent {version}"
    record_event(study=study, type=Event.Type.CONSENT_TEXT_ADDED, by=by, now=now, subject=subject)
    return consent


@transaction.atomic
def set_gate(*, study: Study, gate: Study.Gate, by: User | None, now: datetime) -> Study:
    """Set whether annotators must qualify, and whether a round exists. Called by ``qualification``."""
    study = locked(study)
    if study.gate != gate:
        if study.state == Study.State.OPEN:
            raise WrongState(_("An open study’s test can’t be changed. Pause the study first."))
        study.gate = gate
        study.save(update_fields=["gate"])
        record_event(
            study=study, type=Event.Type.GATE_CHANGED, by=by, now=now, note="test: " + gate.replace("_", " ")
        )
    return study


def blockers(study: Study) -> list[str]:
    """Return the reasons why the study cannot open, as sentences; empty if it can."""
    return opening.blockers(
        main_stories=Story.objects.filter(study=study, role=Story.Role.MAIN)[:1].count(),
        consent_version=study.consent_version,
        gate=study.gate,
        lacks_checks=lacks_checks(study),
        unserved=strata.unserved_strata(study),
        story_cap=study.story_cap,
        stories_of_design=strata.stories_of_design(study, at_most=True),
    )


def lacks_checks(study: Study) -> bool:
    """Return True if the study wants hidden checks and has none in use."""
    return study.check_every > 0 and not strata.usable_checks(study)


@transaction.atomic
def open_study(*, study: Study, by: User | None, now: datetime, note: str = "") -> Study:
    """Open the study to annotators. Raise :class:`StudyNotReady` with everything that is missing."""
    study = _lock_for(study, Study.State.OPEN)
    if missing := blockers(study):
        raise StudyNotReady(missing)
    study.opened_at = study.opened_at or now
    return _move(study, Study.State.OPEN, Event.Type.STUDY_OPENED, by=by, now=now, note=note)


@transaction.atomic
def pause_study(*, study: Study, by: User | None, now: datetime) -> Study:
    """Stop assigning stories for now. Annotators who hold one may finish it."""
    study = _lock_for(study, Study.State.PAUSED)
    return _move(study, Study.State.PAUSED, Event.Type.STUDY_PAUSED, by=by, now=now)


@transaction.atomic
def close_study(*, study: Study, by: User | None, now: datetime) -> Study:
    """Stop assigning stories. Annotators who hold one may finish it, and it counts."""
    study = _lock_for(study, Study.State.CLOSED)
    return _move(study, Study.State.CLOSED, Event.Type.STUDY_CLOSED, by=by, now=now)


@transaction.atomic
def group_intake(*, study: Study, by: User | None, now: datetime) -> None:
    """Count in groups what the voters of a closed study said about themselves, and delete their answers.

    Only once, so that no later count differs by one person. Do nothing for a study that is not closed.
    """
    study = locked(study)
    if study.state != Study.State.CLOSED or not study.intake_questions or study.intake_grouped_at:
        return
    answers = IntakeAnswer.objects.filter(enrollment__study=study)
    voted = answers.filter(enrollment__in=Vote.objects.of_study(study).values("assignment__enrollment"))
    for question in study.intake_questions:
        options = voted.filter(question=question).values_list("option").order_by()
        counts = dict(options.annotate(people=Count("pk")))
        IntakeGroup.objects.bulk_create(
            IntakeGroup(study=study, question=question, option=option, people=people)
            for option, people in grouped(counts, study.intake_group).items()
        )
    answers.delete()
    study.intake_grouped_at = now
    study.save(update_fields=["intake_grouped_at"])
    record_event(study=study, type=Event.Type.INTAKE_GROUPED, by=by, now=now)


@transaction.atomic
def freeze_answers(*, study: Study, now: datetime) -> Study:
    """Fix all answers saved so far, because they are being published.

    This includes answers stamped later than ``now`` by a machine whose clock is ahead. Return the study
    with the time up to which its answers are fixed.
    """
    study = locked(study)
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
    """Undo a freeze after a failed publication: only answers saved ``until`` then stay fixed (None: none)."""
    study = locked(study)
    locks.hold_answers(study.pk)
    study.answers_frozen_at = until
    study.save(update_fields=["answers_frozen_at"])
    record_event(study=study, type=Event.Type.ANSWERS_THAWED, by=None, now=now)
    return study


@transaction.atomic
def make_rehearsal(*, study: Study, by: User | None, now: datetime) -> Study:
    """Turn a study that no real annotator has begun into a rehearsal (test run), for good.

    A rehearsal's data counts only there, and its releases say that they hold no human judgements. Raise
    :class:`WrongState` once somebody has consented in the live study: simulated answers must never stand
    beside real ones.
    """
    study = locked(study)
    if study.environment == Environment.REHEARSAL:
        return study
    if Enrollment.objects.filter(study=study).exclude(state=Enrollment.State.INVITED).exists():
        raise WrongState(
            f"People have taken part in “{study.slug}”, so it cannot become a test run. "
            "Create another study for tests and simulations."
        )
    if study.qualified_through and study.qualified_through.environment != Environment.REHEARSAL:
        raise WrongState(
            f"Only people qualified in “{study.qualified_through.slug}” may take part in “{study.slug}”, and "
            "they are real. Use a study that is drawn from a test run."
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
    """Return a model's validation errors by field."""
    return {name: " ".join(texts) for name, texts in error.message_dict.items()}


def _lock_for(study: Study, target: Study.State) -> Study:
    """Lock the study and return it. Raise :class:`WrongState` if it can't get into this state."""
    study = locked(study)
    if target not in rules.STUDY_TRANSITIONS[study.state]:
        raise WrongState(
            _("“%(study)s” is %(state)s, so it can’t become %(target)s."),
            study=study.slug,
            state=study.get_state_display(),
            target=target.label,
        )
    return study


def _move(
    study: Study, target: Study.State, event: Event.Type, *, by: User | None, now: datetime, note: str = ""
) -> Study:
    study.state = target
    study.closed_at = now if target == Study.State.CLOSED else None
    study.save(update_fields=["state", "opened_at", "closed_at"])
    record_event(study=study, type=event, by=by, now=now, note=note)
    return study


@transaction.atomic
def change_study(*, study: Study, changes: Mapping[str, Any], by: User | None, now: datetime) -> Study:
    """Change settings of a study; ``changes`` maps names of :data:`SETTINGS` to values.

    The audit log records old and new values. Raise :class:`InvalidStudy` with the problem by setting: an
    invalid value, or a setting that is fixed by now (see ``annotation.fixed_settings``). Then nothing
    changes.
    """
    study = locked(study)
    before = settings_of(study)
    changed = {name: value for name, value in changes.items() if value != before[name]}
    if not changed:
        return study
    problems = _refusals(study, changed)
    for name, value in changed.items():
        setattr(study, _FIELDS[name], value)
    try:
        if "protocol" in changed:
            study.protocol_version = get_protocol(study.protocol_name).version
        problems |= (adaptive := _adaptive_problems(study, changed))
        study.full_clean(exclude={"slug", *adaptive})
    except UnknownProtocol as error:
        problems["protocol"] = str(error)
    except ValidationError as error:
        problems |= problems_of(error)
    if problems:
        raise InvalidStudy(problems=problems)
    study.save(update_fields=[*(_FIELDS[name] for name in changed), "protocol_version"])
    after = settings_of(study)
    note = noted(before, after, changed)
    record_event(study=study, type=Event.Type.STUDY_CHANGED, by=by, now=now, note=note)
    return study


def settings_of(study: Study) -> dict[str, Any]:
    """Return the study's settings by the names of :data:`SETTINGS`."""
    return {name: getattr(study, field) for name, field in _FIELDS.items()}


def usual_settings() -> dict[str, Any]:
    """Return the settings of the published procedure, which are the defaults of the study's fields."""
    return settings_of(Study(protocol_name="validity"))


def fixed_of(study: Study) -> dict[str, str]:
    """Return the settings that can no longer change, each with the reason."""
    has_stories = Story.objects.filter(study=study).exists()
    return fixed_settings(state=study.state, has_stories=has_stories)


def _adaptive_problems(study: Study, changed: Collection[str] = ()) -> dict[str, str]:
    """Return why the number of votes cannot be adaptive, if it is, by the setting that was changed."""
    if not study.most_votes:
        return {}
    if study.only_given:
        text = _(
            "Stories given by name get the same number of votes. Leave this empty, or choose another order."
        )
        return {"most_votes": text}
    numbers = {"least": study.votes_per_story, "most": study.most_votes}
    problem = adaptive_problem(study.protocol, **numbers, has_design=bool(study.stratum_field))
    touched = [name for name in ("most_votes", "votes_per_story", "protocol") if name in changed]
    return {next(iter(touched), "most_votes"): problem} if problem else {}


def _refusals(study: Study, changed: Mapping[str, Any]) -> dict[str, str]:
    fixed = fixed_of(study)
    refused = {name: fixed[name] for name in changed if name in fixed}
    if "pay_rate" in changed:
        problem = pay_problem(state=study.state, before=study.pay_rate, after=changed["pay_rate"])
        refused |= {"pay_rate": problem} if problem else {}
    votes = changed.keys() & {"votes_per_story", "most_votes"}
    if votes and Assignment.objects.filter(story__study=study, given=True).exists():
        refused |= dict.fromkeys(votes, _("Withdraw the assigned stories first."))
    if changed.get("serving_order") == Study.ServingOrder.GIVEN and study.stratum_field:
        refused |= {"serving_order": _("This study has a design, which decides who gets which story.")}
    if "story_cap" in changed and (problem := limit_problem(study, changed["story_cap"])):
        refused |= {"story_cap": problem}
    return refused
