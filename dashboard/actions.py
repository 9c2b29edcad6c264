"""Writes that span rooms, each made of the rooms' own actions in one transaction."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from django.core.files import File
from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import Environment, User
from annotation import actions as annotation_actions
from annotation.actions.import_jobs import UNFINISHED
from annotation.errors import InvalidStudy, WrongState
from annotation.importing.files import read_rows
from annotation.importing.rows import SourceRow, StoryRow
from annotation.models import Enrollment, Story, StoryImport, Study
from annotation.protocols import multiple_choice
from annotation.protocols.multiple_choice.quiz import QUIZ
from annotation.rights import studies_of
from annotation.sql import lock_person
from dashboard.overview.checklist import check_opening
from dashboard.people.detail import newest_step
from dashboard.recruitment.study_state import OPEN, STUDY_MOVES, linked_campaigns
from dashboard.releases.human_baseline import Admission, BaselinePlan, Who, admission_for, newest_consent
from dashboard.settings.configuration import (
    CheckConfiguration,
    RoundConfiguration,
    StudyConfiguration,
    read_configuration,
)
from dashboard.settings.configuration_export import plan_of
from dashboard.settings.forms import filled_in
from dashboard.settings.sample_study import DEFAULT_SAMPLE, SAMPLE_STUDY, SAMPLES, sample_consent
from publishing.actions.statements import describe_data, fix_plan, record_sample
from publishing.facts import Statement
from publishing.human_baseline.drawing import Sample, draw
from publishing.models import Release
from publishing.study_filters import default_filter
from qualification import actions as qualification_actions
from qualification.models import Round
from recruitment import actions as recruitment_actions
from recruitment.actions import set_join_link
from recruitment.models import Campaign


@transaction.atomic
def create_study(*, slug: str, config: StudyConfiguration, by: User | None, now: datetime) -> Study:
    """Create a draft study with everything that its configuration says.

    All or nothing: a refusal by any step (see ``annotation.actions``, ``qualification.actions``,
    ``publishing.actions.statements`` and ``recruitment.actions``) undoes the others.
    """
    study = annotation_actions.create_study(slug=slug, settings=config.settings, by=by, now=now)
    if config.rehearsal:
        study = annotation_actions.make_rehearsal(study=study, by=by, now=now)
    annotation_actions.add_consent_text(study=study, text=config.consent, by=by, now=now)
    if config.instructions:
        annotation_actions.set_instructions(study=study, by=by, now=now, **config.instructions)
    if config.qualified_through:
        source = _source(config.qualified_through, by)
        annotation_actions.admit_through(study=study, source=source, by=by, now=now)
    if config.design:
        annotation_actions.set_design(study=study, by=by, now=now, **config.design)
    for path in config.stories:
        annotation_actions.import_stories(study=study, path=path, by=by, now=now)
    for round in config.rounds:
        add_round(study=study, config=round, beside=True, by=by, now=now)
    if config.checks:
        add_checks(study=study, config=config.checks, by=by, now=now)
    if config.statement != Statement():
        describe_data(study=study, statement=config.statement, by=by, now=now)
    if config.join_link:
        set_join_link(study=study, by=by, now=now, **config.join_link)
    study.refresh_from_db()
    return study


@transaction.atomic
def copy_stories(*, source: Study, study: Study, by: User | None, now: datetime) -> StoryImport:
    """Have a worker import the main stories of a study into another one with the same protocol."""
    stories = Story.objects.filter(study=source).wanted().select_related("study").order_by("pk")
    with TemporaryFile() as file:
        for story in stories.iterator(chunk_size=1000):
            row = source.protocol.source_row(story.as_row())
            file.write(json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
        upload = File(file, name=f"{source.slug}-stories.jsonl")
        return annotation_actions.queue_import(study=study, file=upload, by=by, now=now)


def _source(slug: str, by: User | None) -> Study:
    """Return the study that qualifies annotators for the new one; the creator must be allowed to see it."""
    visible = studies_of(by) if by else Study.objects.all()
    found = visible.filter(slug=slug).first()
    if found is None:
        raise InvalidStudy(
            f"qualified_through: there is no study “{slug}” here. Create it first, or leave this out."
        )
    return found


@transaction.atomic
def add_round(
    *, study: Study, config: RoundConfiguration, by: User | None, now: datetime, beside: bool = False
) -> None:
    """Add a qualification round with its stories and key; that of a test opens the study's gate.

    Newcomers take it alone, or with ``beside`` in turn with the active rounds.
    """
    with _file_of(config.stories, f"{study.slug}-qualification.jsonl") as path:
        role = Round(kind=config.kind).role
        annotation_actions.import_stories(study=study, path=path, role=role, by=by, now=now)
        protocol = QUIZ if role == Story.Role.QUIZ else study.protocol
        read = read_rows(path, name=path.name, headerless=protocol.headerless)
        rows = (row for row in read if isinstance(row, SourceRow))
        stories = [row for row in protocol.read(rows) if isinstance(row, StoryRow)]
    round = qualification_actions.create_round(
        study=study,
        story_ids=list(dict.fromkeys(story.story_id for story in stories)),
        kind=config.kind,
        title=config.title,
        attempts_allowed=config.attempts,
        pays_on_fail=config.pays_on_fail,
        by=by,
        now=now,
    )
    key = {name: getattr(config, name) for name in ("acceptable", "reasons", "note", "enough", "must_pass")}
    qualification_actions.set_answer_key(round=round, beside=beside, by=by, now=now, **key)


@transaction.atomic
def add_checks(*, study: Study, config: CheckConfiguration, by: User | None, now: datetime) -> None:
    """Add hidden checks with their stories, known answers and rules.

    Raise :class:`InvalidStudy` for a story without known answers, or known answers without a story.
    """
    with _file_of(config.stories, f"{study.slug}-checks.jsonl") as path:
        job = annotation_actions.import_stories(study=study, path=path, role=Story.Role.CHECK, by=by, now=now)
    stories = {story.story_id: story for story in job.stories.all()}
    unmatched = sorted(stories.keys() ^ config.acceptable.keys())
    if unmatched:
        raise InvalidStudy(
            f"checks: each story needs an entry in the key, and each entry a story: {', '.join(unmatched)}."
        )
    for story_id, accepted in config.acceptable.items():
        annotation_actions.set_check_key(story=stories[story_id], accepted=accepted, by=by, now=now)
    annotation_actions.change_check_rules(study=study, rules=config.rules, by=by, now=now)


@transaction.atomic
def remove_member(*, study: Study, user: User, by: User | None, now: datetime) -> None:
    """Remove a member from a study, and stop waiting for their answers as an expert.

    Raise what ``annotation.actions.remove_member`` raises.
    """
    annotation_actions.remove_member(study=study, user=user, by=by, now=now)
    qualification_actions.dismiss_from_study(study=study, expert=user, by=by, now=now)


def sample_round() -> RoundConfiguration:
    """Return the sample test: five sample stories with their answer key."""
    (round,) = read_configuration(SAMPLE_STUDY).rounds
    return round


@transaction.atomic
def choose_test(*, study: Study, test: str, by: User | None, now: datetime) -> Study:
    """Set the test that annotators take before stories: ``none``, ``own`` or ``sample``.

    ``own`` asks for a test: the study's newest one, or one still to be added. ``sample`` adds the sample
    test. Raise :class:`WrongState` if the study is open or admits through another study, or for ``sample``
    while an import is running; raise :class:`InvalidStudy` for any other word.
    """
    if study.qualified_through_id and test != "none":
        raise WrongState(
            _("The study admits participants through another study’s test, so it has none of its own.")
        )
    if test == "sample":
        # The study's row, once locked, would keep that file from coming in, and the file our stories.
        if study.imports.filter(state__in=UNFINISHED).exists():
            raise WrongState(_("An import is running. Try again when it has finished."))
        annotation_actions.set_gate(study=study, gate=Study.Gate.MISSING, by=by, now=now)
        add_round(study=study, config=sample_round(), by=by, now=now)
    elif test in ("none", "own"):
        has_round = Round.objects.active_in(study).exists()
        asked = Study.Gate.READY if has_round else Study.Gate.MISSING
        gate = Study.Gate.NOT_REQUIRED if test == "none" else asked
        annotation_actions.set_gate(study=study, gate=gate, by=by, now=now)
    else:
        raise InvalidStudy(problems={"test": f"“{test}” is none of none, own and sample."})
    study.refresh_from_db()
    return study


@contextmanager
def _file_of(stories: Path | Sequence[Mapping[str, Any]], name: str) -> Iterator[Path]:
    """Yield the stories as a file that can be imported; the file exists until the context ends."""
    if isinstance(stories, Path):
        yield stories
        return
    with TemporaryDirectory(prefix="tomannot-stories-") as place:
        path = Path(place) / name
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in stories)
        path.write_text("".join(lines), encoding="utf-8", errors="surrogatepass")
        yield path


def draw_baseline(
    *, release: Release, plan: BaselinePlan, by: User | None, now: datetime
) -> tuple[Study, Admission]:
    """Create a draft study that asks a sample of a release's questions, and admit its annotators.

    All or nothing; the release's files are read before the transaction begins. The environment is the
    release's; pay, currency and licence are the released study's. Raise
    :class:`publishing.errors.UnusableRelease` and the refusals of ``annotation.actions`` and
    ``qualification.actions``.
    """
    drawn = draw(release, per_scenario=plan.per_scenario, seed=plan.seed)
    return _create_baseline(release, plan, drawn, by=by, now=now)


@transaction.atomic
def _create_baseline(
    release: Release, plan: BaselinePlan, drawn: Sample, *, by: User | None, now: datetime
) -> tuple[Study, Admission]:
    source = release.study
    settings = {
        "title": plan.title,
        "contact": plan.contact or source.contact,
        "description": (
            f"How well people answer {len(drawn.questions)} questions about {len(drawn.story_ids)} "
            f"stories of “{source.title}”, release {release.number}."
        ),
        "protocol": multiple_choice.NAME,
        "votes_per_story": plan.votes_per_question,
        "qualification_required": plan.round is not None,
        **{name: getattr(source, name) for name in ("pay_rate", "currency", "license", "story_language")},
    }
    with _file_of(drawn.questions, f"{source.slug}-{release.number}-sample.jsonl") as path:
        config = StudyConfiguration(
            settings=settings,
            consent=plan.consent or newest_consent(source),
            rounds=(plan.round,) if plan.round else (),
            stories=[path],
            qualified_through=source.slug if plan.who is Who.QUALIFIED else "",
            rehearsal=release.environment == Environment.REHEARSAL,
        )
        study = create_study(slug=plan.slug, config=config, by=by, now=now)
    admission = admission_for(release, plan, drawn.story_ids)
    if admission.excluded:
        reason = f"was shown these stories in {source.slug}"
        annotation_actions.keep_out(study=study, annotators=admission.excluded, reason=reason, by=by, now=now)
    record_sample(
        study=study,
        release=release,
        drawn=drawn,
        per_scenario=plan.per_scenario,
        seed=plan.seed,
        by=by,
        now=now,
    )
    study.refresh_from_db()
    return study, admission


def chosen_configuration(*, consent: str, test: str, environment: str, **settings: Any) -> StudyConfiguration:
    """Return the configuration that these values of a form or a request make; ``test``: see choose_test."""
    return StudyConfiguration(
        settings=settings | {"qualification_required": test != "none"},
        consent=filled_in(consent, settings["contact"]),
        rounds=(sample_round(),) if test == "sample" else (),
        rehearsal=environment == Environment.REHEARSAL,
    )


def default_configuration(*, title: str, contact: str) -> StudyConfiguration:
    """Return the published procedure: sample consent text, sample test, and no stories yet."""
    sample = read_configuration(SAMPLE_STUDY)
    chosen = {"title": title, "contact": contact}
    consent = filled_in(sample_consent(), contact)
    return replace(sample, settings=chosen, stories=[], consent=consent, statement=Statement())


@transaction.atomic
def load_sample_study(*, now: datetime, name: str = DEFAULT_SAMPLE) -> Study:
    """Return an open sample study, marked as a test run. Create it if there is none.

    ``name`` is one of ``SAMPLES``.
    """
    config = replace(read_configuration(SAMPLES[name]), rehearsal=True)
    slug = "sample" if name == DEFAULT_SAMPLE else f"sample-{name}"
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        study = create_study(slug=slug, config=config, by=None, now=now)
        move_study(study=study, move=OPEN, campaigns=(), by=None, now=now)
        study.refresh_from_db()
    return study


@transaction.atomic
def move_study(
    *,
    study: Study,
    move: str,
    campaigns: Collection[int] | None,
    by: User | None,
    now: datetime,
    accepted: Sequence[str] = (),
    planned_filter: str = "",
) -> list[Campaign]:
    """Open, pause or close a study, and resume or pause the campaigns with these numbers along with it.

    The first opening fixes the study's plan, with the filter that its release is to use: without a
    ``planned_filter``, the default of the protocol's resolution.

    Without ``campaigns``, those that the page proposes move. ``accepted``: codes of the checklist's gaps with
    which a real study may open. Return the campaigns that moved. All or nothing: raise what the actions of
    both rooms raise, ``StudyNotReady`` first, then :class:`GapsNotAccepted`.
    """
    along = linked_campaigns(study, move)
    gaps = check_opening(study, accepted) if move == OPEN and not annotation_actions.blockers(study) else []
    noted = {"note": f"without: {', '.join(step.code.replace('_', ' ') for step in gaps)}"} if gaps else {}
    is_first = move == OPEN and study.opened_at is None
    study = STUDY_MOVES[move](study=study, by=by, now=now, **noted)
    if is_first:
        plan, rule = plan_of(study, now=now), planned_filter or default_filter(study)
        fix_plan(study=study, plan=plan, filter_name=rule, by=by, now=now)
    go = recruitment_actions.resume_campaign if move == OPEN else recruitment_actions.pause_campaign
    return [
        go(campaign=campaign, by=by, now=now)
        for campaign, is_proposed in along
        if (is_proposed if campaigns is None else campaign.number in campaigns)
    ]


@transaction.atomic
def let_take_test_again(
    *,
    enrollment: Enrollment,
    was_somebody_else: bool,
    reason: str,
    by: User | None,
    now: datetime,
    seen: int | None = None,
) -> Enrollment:
    """Return an annotator to before the test: their attempts become void, and nothing is deleted.

    ``was_somebody_else``: another person took the test, or declined, by typing this annotator's id. Then
    unproven visits are worth nothing, their attempts are not paid, and consent is asked for again. ``seen``:
    :func:`newest_step` when the researcher opened the page; None skips this check.

    Raise ``annotation.errors.ReasonMissing``, and ``WrongState`` for an annotator who is suspended or has
    left, or whose consent, tests or visits have changed since ``seen``.
    """
    lock_person(enrollment.pk)
    if seen is not None and seen != newest_step(enrollment):
        raise WrongState(
            _("This participant’s test or consent has changed. Nothing was done: reload the page.")
        )
    person = annotation_actions.reset_test(
        enrollment=enrollment, asks_consent=was_somebody_else, by=by, now=now, reason=reason
    )
    qualification_actions.void_attempts(enrollment=person, were_theirs=not was_somebody_else, now=now)
    recruitment_actions.reset_for_retake(
        enrollment=person, gives_up_unproven=was_somebody_else, reason=reason.strip(), by=by, now=now
    )
    return person
