"""Writes that span rooms, each made of the rooms' own actions in one transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import Environment, User
from annotation import actions as annotation_actions
from annotation.actions.import_jobs import UNFINISHED
from annotation.errors import InvalidStudy, WrongState
from annotation.importing.files import read_rows
from annotation.importing.rows import SourceRow, StoryRow
from annotation.models import Enrollment, Story, Study
from annotation.protocols import multiple_choice
from annotation.rights import studies_of
from annotation.sql import lock_person
from dashboard.baseline import Admission, BaselinePlan, Who, admission_for, newest_consent
from dashboard.configuration import (
    CheckConfiguration,
    RoundConfiguration,
    StudyConfiguration,
    read_configuration,
)
from dashboard.people.retaking import newest_step
from dashboard.recruiting.doors import OPEN, STUDY_MOVES, along_with
from dashboard.samples import SAMPLE_STUDY, sample_consent
from publishing.baseline.actions import record_sample
from publishing.baseline.drawing import Drawn, draw
from publishing.facts import Statement
from publishing.models import Release
from publishing.statement.actions import describe_data
from qualification import actions as qualification_actions
from qualification.models import Round
from recruitment import actions as recruitment_actions
from recruitment.actions import set_join_link
from recruitment.models import Campaign


@transaction.atomic
def create_study(*, slug: str, config: StudyConfiguration, by: User | None, now: datetime) -> Study:
    """A study in state draft with everything its configuration says.

    All of it or none: whatever any of the steps refuses (see ``annotation.actions``,
    ``qualification.actions``, ``publishing.statement.actions`` and ``recruitment.actions``) undoes the
    others.
    """
    study = annotation_actions.create_study(slug=slug, settings=config.settings, by=by, now=now)
    if config.rehearsal:
        study = annotation_actions.make_rehearsal(study=study, by=by, now=now)
    annotation_actions.add_consent_text(study=study, text=config.consent, by=by, now=now)
    if config.qualified_through:
        source = _source(config.qualified_through, by)
        annotation_actions.admit_through(study=study, source=source, by=by, now=now)
    for round in config.rounds:
        add_round(study=study, config=round, beside=True, by=by, now=now)
    if config.checks:
        add_checks(study=study, config=config.checks, by=by, now=now)
    for path in config.stories:
        annotation_actions.import_stories(study=study, path=path, by=by, now=now)
    if config.statement != Statement():
        describe_data(study=study, statement=config.statement, by=by, now=now)
    if config.join_link:
        set_join_link(study=study, by=by, now=now, **config.join_link)
    study.refresh_from_db()
    return study


def _source(slug: str, by: User | None) -> Study:
    """The study through which people qualify; whoever names it must be allowed to look at it."""
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
    """A qualification round with its stories and key; the study's gate is open then.

    Newcomers take it alone, or with ``beside`` in turn with the active ones.
    """
    with _file_of(config.stories, f"{study.slug}-qualification.jsonl") as path:
        annotation_actions.import_stories(
            study=study, path=path, role=Story.Role.QUALIFICATION, by=by, now=now
        )
        rows = (row for row in read_rows(path, name=path.name) if isinstance(row, SourceRow))
        stories = [row for row in study.protocol.read(rows) if isinstance(row, StoryRow)]
    round = qualification_actions.create_round(
        study=study,
        story_ids=list(dict.fromkeys(story.story_id for story in stories)),
        title=config.title,
        attempts_allowed=config.attempts,
        pays_on_fail=config.pays_on_fail,
        by=by,
        now=now,
    )
    qualification_actions.set_answer_key(
        round=round,
        acceptable=config.acceptable,
        reasons=config.reasons,
        note=config.note,
        beside=beside,
        by=by,
        now=now,
    )


@transaction.atomic
def add_checks(*, study: Study, config: CheckConfiguration, by: User | None, now: datetime) -> None:
    """Hidden checks with their stories, known answers and rules.

    Raises :class:`InvalidStudy` for a story without known answers, or known answers without a story.
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
    """Take somebody out of a study, and wait for no answers of theirs as an expert any more.

    Raises what ``annotation.actions.remove_member`` raises.
    """
    annotation_actions.remove_member(study=study, user=user, by=by, now=now)
    qualification_actions.dismiss_from_study(study=study, expert=user, by=by, now=now)


def sample_round() -> RoundConfiguration:
    """Our own test: five sample stories with their answer key."""
    (round,) = read_configuration(SAMPLE_STUDY).rounds
    return round


@transaction.atomic
def choose_test(*, study: Study, test: str, by: User | None, now: datetime) -> Study:
    """Decide what people do before they are given stories: ``none``, ``own`` or ``sample``.

    ``own`` asks for a test: the study's newest one, or one still to be added. ``sample`` adds ours.
    Raises :class:`WrongState` while the study is open and for one that takes people from another study,
    for ``sample`` also while a file is coming in, and :class:`InvalidStudy` for another word.
    """
    if study.qualified_through_id and test != "none":
        raise WrongState(_("The study takes people who are qualified in another one, so it has no test."))
    if test == "sample":
        # The study's row, once locked, would keep that file from coming in, and the file our stories.
        if study.imports.filter(state__in=UNFINISHED).exists():
            raise WrongState(_("A file is coming into the study. Try again once it is in."))
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
    """The stories as a file that can be imported, there for as long as the context is."""
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
    """A draft study in which people answer a sample of a release's questions, and who may take part.

    All of it or nothing; the files of the release are read before the transaction begins. Its environment
    is the release's; pay, currency and licence are those of the study that was released. Raises what the
    steps raise: :class:`publishing.errors.NotDrawable`, and the refusals of ``annotation.actions`` and
    ``qualification.actions``.
    """
    drawn = draw(release, per_scenario=plan.per_scenario, seed=plan.seed)
    return _create_baseline(release, plan, drawn, by=by, now=now)


@transaction.atomic
def _create_baseline(
    release: Release, plan: BaselinePlan, drawn: Drawn, *, by: User | None, now: datetime
) -> tuple[Study, Admission]:
    """The study that asks what was drawn."""
    source = release.study
    settings = annotation_actions.StudySettings(
        title=plan.title,
        contact=plan.contact or source.contact,
        description=(
            f"How well people answer {len(drawn.questions)} questions about {len(drawn.sample.story_ids)} "
            f"stories of “{source.title}”, release {release.number}."
        ),
        protocol=multiple_choice.NAME,
        votes_per_story=plan.votes_per_question,
        pay_rate=source.pay_rate,
        currency=source.currency,
        license=source.license,
        qualification_required=plan.round is not None,
    )
    study = annotation_actions.create_study(slug=plan.slug, settings=settings, by=by, now=now)
    if release.environment == Environment.REHEARSAL:
        study = annotation_actions.make_rehearsal(study=study, by=by, now=now)
    consent = plan.consent or newest_consent(source)
    annotation_actions.add_consent_text(study=study, text=consent, by=by, now=now)
    admission = admission_for(release, plan, drawn.sample.story_ids)
    if plan.who is Who.QUALIFIED:
        annotation_actions.admit_through(study=study, source=source, by=by, now=now)
    if admission.excluded:
        annotation_actions.exclude(
            study=study,
            annotators=admission.excluded,
            reason=f"was shown these stories in {source.slug}",
            by=by,
            now=now,
        )
    if plan.round:
        add_round(study=study, config=plan.round, by=by, now=now)
    with _file_of(drawn.questions, f"{source.slug}-{release.number}-sample.jsonl") as path:
        annotation_actions.import_stories(study=study, path=path, by=by, now=now)
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


def default_configuration(*, title: str, contact: str) -> StudyConfiguration:
    """A study by the published procedure: our own consent text and five test stories, no stories yet."""
    sample = read_configuration(SAMPLE_STUDY)
    chosen = annotation_actions.StudySettings(title=title, contact=contact)
    consent = sample_consent().replace("{contact}", contact)
    return replace(sample, settings=chosen, stories=[], consent=consent, statement=Statement())


@transaction.atomic
def load_sample_study(*, now: datetime) -> Study:
    """The sample study, open and marked as a rehearsal; made when it is not there yet."""
    config = read_configuration(SAMPLE_STUDY)
    study = Study.objects.filter(slug="sample").first()
    if study is None:
        study = create_study(slug="sample", config=config, by=None, now=now)
        study = annotation_actions.make_rehearsal(study=study, by=None, now=now)
        study = annotation_actions.open_study(study=study, by=None, now=now)
    return study


@transaction.atomic
def move_study(
    *, study: Study, move: str, campaigns: Collection[int], by: User | None, now: datetime
) -> list[Campaign]:
    """Open, pause or close a study, and resume or pause these of its campaigns, by their numbers, with it.

    Returns the campaigns that moved. Raises what the actions of both rooms raise; then nothing has moved.
    """
    STUDY_MOVES[move](study=study, by=by, now=now)
    go = recruitment_actions.resume_campaign if move == OPEN else recruitment_actions.pause_campaign
    chosen = [found.campaign for found in along_with(study, move) if found.campaign.number in campaigns]
    return [go(campaign=campaign, by=by, now=now) for campaign in chosen]


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
    """Set a person back to before the test: their attempts are void, and nothing of them is deleted.

    ``was_somebody_else``: who took the test, or declined, only typed their id. Then the visits that nobody
    has proven are worth nothing, the attempts are not paid, and the person is asked for their consent.
    ``seen``: :attr:`Retaking.seen` of what the researcher has in front of them; without it no matter.

    Raises ``annotation.errors.ReasonMissing``, and ``WrongState`` for somebody who is suspended or has left,
    or who has consented, taken a test or been set back since it was seen.
    """
    lock_person(enrollment.pk)
    if seen is not None and seen != newest_step(enrollment):
        raise WrongState(
            _("This person’s test or consent has changed meanwhile. Nothing was done: look at it again.")
        )
    person = annotation_actions.set_back(
        enrollment=enrollment, asks_consent=was_somebody_else, by=by, now=now, reason=reason
    )
    qualification_actions.void_attempts(enrollment=person, were_theirs=not was_somebody_else, now=now)
    recruitment_actions.set_back(
        enrollment=person, gives_up_unproven=was_somebody_else, reason=reason.strip(), by=by, now=now
    )
    return person
