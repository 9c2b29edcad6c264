"""What annotators will see of a study: the invitation, the consent page, a story with its questions."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.template.loader import render_to_string

from annotation.forms import question_fields
from annotation.models import Story, Study
from annotation.protocols import UnknownProtocol, get_protocol
from annotation.protocols.base import Protocol
from dashboard.samples import sample_item
from dashboard.study_forms import NO_TEST, USUAL, NewStudyForm, filled_in


def preview_of(study: Study, *, consent: str) -> dict[str, Any]:
    """The context of the template ``dashboard/_preview.html``.

    The story is the study's first one, or else one of ours; ``study`` need not be saved.
    """
    protocol = _protocol(study)
    own = _first_story(study)
    item = _item(protocol, own)
    mail = render_to_string("recruitment/mail_invitation.txt", {"study": study, "link": "https://…"})
    return {
        "study": study,
        "mail": mail.strip(),
        "consent": consent,
        "is_sample": own is None,
        "fields": question_fields(protocol, item) if protocol and item is not None else [],
    }


def study_of(form: NewStudyForm) -> tuple[Study, str]:
    """The study, not saved, and the consent text that a form describes as far as it is filled in."""
    form.is_valid()
    given = {name: form.cleaned_data.get(name) or form.data.get(name, "") for name in form.fields}
    usual = asdict(USUAL)
    valid = {name: form.cleaned_data.get(name, usual[name]) for name in usual if name in form.fields}
    try:
        protocol = get_protocol(given["protocol"])
    except UnknownProtocol:
        protocol = get_protocol(USUAL.protocol)
    study = Study(
        slug="",
        title=given["title"] or "…",
        description=given["description"],
        contact=given["contact"] or "…",
        protocol_name=protocol.name,
        protocol_version=protocol.version,
        gate=Study.Gate.NOT_REQUIRED if given["test"] == NO_TEST else Study.Gate.READY,
        votes_per_story=valid["votes_per_story"],
        story_cap=valid["story_cap"],
        pay_rate=valid["pay_rate"],
        currency=given["currency"],
        license=given["license"],
    )
    return study, filled_in(given["consent"], study.contact)


def _protocol(study: Study) -> Protocol | None:
    try:
        return get_protocol(study.protocol_name, study.protocol_version)
    except UnknownProtocol:
        return None


def _first_story(study: Study) -> Story | None:
    if study._state.adding:
        return None
    main = Story.objects.main().filter(study=study)
    next_one = main.filter(has_free_slot=True).order_by("order_key").first()
    return next_one or main.order_by("story_id").first()


def _item(protocol: Protocol | None, own: Story | None) -> Any:
    if protocol is None:
        return None
    return protocol.parse(own.content) if own else sample_item(protocol)
