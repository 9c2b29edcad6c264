"""A study's own instructions, and those that a vote was given beside."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.models import User, locked
from annotation.actions.events import record_event
from annotation.errors import InvalidStudy
from annotation.models import Event, InstructionText, Study
from annotation.numbers import number_in
from annotation.protocols.instructions import as_written, read_examples


@transaction.atomic
def set_instructions(
    *,
    study: Study,
    page: str,
    examples: Mapping[str, str],
    before_test: str = "",
    thanks: str = "",
    by: User | None,
    now: datetime,
) -> InstructionText:
    """Put a new version of the study's own instructions and texts in force; unchanged ones stay as they are.

    ``examples`` are written as :func:`read_examples` reads them, by question. Raise :class:`InvalidStudy`
    with what is wrong in ``page`` or ``examples-<question>``.
    """
    study = locked(study)
    problems = {} if page.strip() else {"page": _("The instructions are empty.")}
    read = {}
    for question in study.protocol.questions:
        try:
            read[question.key] = read_examples(question, examples.get(question.key, ""))
        except ValueError as error:
            problems[f"examples-{question.key}"] = str(error)
    for unknown in examples.keys() - {question.key for question in study.protocol.questions}:
        problems[f"examples-{unknown}"] = _("There is no such question.")
    if problems:
        raise InvalidStudy(problems=problems)
    texts = {"page": page, "before_test": before_test, "thanks": thanks}
    new = {name: text.replace("\r\n", "\n").strip() for name, text in texts.items()} | {"examples": read}
    own = study.instructions
    if own and all(getattr(own, name) == text for name, text in new.items()):
        return own
    version = study.instruction_texts.count() + 1
    made = InstructionText.objects.create(study=study, version=version, created_by=by, created_at=now, **new)
    study.instructions = made
    study.save(update_fields=["instructions"])
    subject = f"instructions {version}"
    record_event(study=study, type=Event.Type.INSTRUCTIONS_SET, by=by, now=now, subject=subject)
    return made


def texts_of(study: Study) -> dict[str, Any]:
    """Return the instructions and texts in force, as arguments of :func:`set_instructions`."""
    own, protocol = study.instructions, study.protocol
    instructions = own.as_instructions() if own else protocol.instructions
    rest = {name: getattr(own, name, "") for name in ("before_test", "thanks")}
    return as_written(instructions, protocol.questions) | rest


def instructions_shown(study: Study, submitted: Mapping[str, str]) -> int | None:
    """Return the instructions that the form says it stood beside (0: the protocol's).

    Those in force are returned if it has no such field, or one that is none of this study's. Forms sent
    beside those in force cost no query.
    """
    in_force: int | None = study.instructions_id
    value = submitted.get("instructions", "")
    if value == "0":
        return None
    shown = number_in(value)
    is_known = shown not in (0, in_force) and InstructionText.objects.filter(study=study, pk=shown).exists()
    return shown if is_known else in_force
