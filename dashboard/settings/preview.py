"""Preview of a study: the invitation, the consent page, a story with its questions."""

from typing import Any

from django.template.loader import render_to_string

from annotation.actions import usual_settings
from annotation.forms import question_fields
from annotation.models import Story, Study
from annotation.protocols import UnknownProtocol, get_protocol, is_installed
from dashboard.settings.forms import NO_TEST, NewStudyForm, filled_in
from dashboard.settings.sample_study import sample_item


def preview_of(study: Study, *, consent: str) -> dict[str, Any]:
    """Return the context of ``dashboard/settings/_preview.html``.

    The story is the study's first one, or else a sample; ``study`` need not be saved.
    """
    installed = is_installed(study.protocol_name, study.protocol_version)
    protocol = get_protocol(study.protocol_name, study.protocol_version) if installed else None
    main = Story.objects.main().filter(study=study.pk)
    own = main.filter(has_free_slot=True).order_by("order_key").first() or main.order_by("story_id").first()
    item = (protocol.parse(own.content) if own else sample_item(protocol)) if protocol else None
    mail = render_to_string("recruitment/mail_invitation.txt", {"study": study, "link": "https://…"})
    return {
        "study": study,
        "mail": mail.strip(),
        "consent": consent,
        "is_sample": own is None,
        "fields": question_fields(protocol, item) if protocol and item is not None else [],
    }


def study_of(form: NewStudyForm) -> tuple[Study, str]:
    """Return the unsaved study and the consent text of a form, as far as it is filled in."""
    form.is_valid()
    given = {name: form.cleaned_data.get(name) or form.data.get(name, "") for name in form.fields}
    usual = usual_settings()
    valid = {name: form.cleaned_data.get(name, usual[name]) for name in form.Meta.fields}
    try:
        protocol = get_protocol(valid.pop("protocol"))
    except UnknownProtocol:
        protocol = get_protocol(usual["protocol"])
    typed = {name: given[name] for name in ("description", "currency", "license")}
    typed |= {name: given[name] or "…" for name in ("title", "contact")}
    study = Study(
        protocol_name=protocol.name,
        protocol_version=protocol.version,
        gate=Study.Gate.NOT_REQUIRED if given["test"] == NO_TEST else Study.Gate.READY,
        **valid | typed,
    )
    return study, filled_in(given["consent"], study.contact)
