"""Pages of a study’s setup: what still blocks its opening, its settings, texts and test, and its design."""

import re
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db.models import Count, F, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _, gettext_lazy

from annotation.actions import add_consent_text, change_study, set_design, set_instructions
from annotation.actions.instructions import texts_of
from annotation.actions.studies import fixed_of, settings_of
from annotation.design import fills_exactly, people_needed
from annotation.forms import instructions_context
from annotation.models import LIVING, Enrollment, Study
from annotation.opening import unserved_in_words
from annotation.protocols import is_installed
from annotation.rights import CREATE, Right, by_and_now, form_page, granted, read_page, write_page
from annotation.strata import fill_of_strata, unserved_strata
from dashboard import actions
from dashboard.http import ErrorsAsMessages, ErrorsInForm, render_form
from dashboard.overview.checklist import checklist, proxies_step
from dashboard.releases.human_baseline import newest_consent
from dashboard.settings.forms import EXAMPLES, ConsentForm, InstructionsForm, SettingsForm, choose, prose
from dashboard.settings.preview import preview_of
from dashboard.settings.sample_study import SAMPLE_PROTOCOL
from qualification.models import Round


@form_page(post=Right.CHANGE)
def settings(request: HttpRequest, study: Study) -> HttpResponse:
    """Show every decision about the study. A POST changes its settings."""
    form = _form(request, study, request.POST if request.method == "POST" else None)
    if form.is_valid():
        changes = {name: form.cleaned_data[name] for name in form.fields}
        with ErrorsInForm(form):
            change_study(study=study, changes=changes, **by_and_now(request))
            messages.success(request, _("The settings are saved."))
            return redirect("dashboard:settings", slug=study.slug)
    return _page(request, study, form=form)


@write_page(Right.CHANGE)
def consent(request: HttpRequest, study: Study) -> HttpResponse:
    """Save a new version of the consent text."""
    form = ConsentForm(request.POST)
    if not form.is_valid():
        return _page(request, study, consent_form=form)
    text = form.cleaned_data["consent"].replace("\r\n", "\n").strip()
    if text == newest_consent(study):
        messages.info(request, _("The consent text is unchanged."))
    else:
        made = add_consent_text(study=study, text=text, **by_and_now(request))
        messages.success(
            request, _("Version %(version)s of the consent text is in force.") % {"version": made.version}
        )
    return redirect("dashboard:settings", slug=study.slug)


@form_page(post=Right.CHANGE)
def instructions(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the instructions in force and all versions. A POST puts a new version in force."""
    if not is_installed(study.protocol_name, study.protocol_version):
        messages.info(request, _("The study’s protocol is not installed here, so its form can’t be shown."))
        return redirect("dashboard:settings", slug=study.slug)
    texts = texts_of(study)
    texts |= {f"{EXAMPLES}{question}": text for question, text in texts.pop("examples").items()}
    form = InstructionsForm(study.protocol, request.POST if request.method == "POST" else None, initial=texts)
    if form.is_valid():
        with ErrorsInForm(form):
            made = set_instructions(study=study, **by_and_now(request), **form.texts())
            said = _("Version %(version)s of the instructions is in force.") % {"version": made.version}
            messages.success(request, said)
            return redirect("dashboard:instructions", slug=study.slug)
    context = {
        "form": form,
        "versions": study.instruction_texts.select_related("created_by").order_by("-version"),
    } | instructions_context(study.protocol, study.instructions)
    return render_form(request, "dashboard/settings/instructions.html", context, errors=form.errors)


@write_page(Right.CHANGE)
def test(request: HttpRequest, study: Study) -> HttpResponse:
    """Set the test that participants take before stories."""
    with ErrorsAsMessages(request):
        actions.choose_test(study=study, test=request.POST.get("test", ""), **by_and_now(request))
        messages.success(request, _("Saved."))
    return redirect("dashboard:settings", slug=study.slug)


@read_page()
def preview(request: HttpRequest, study: Study) -> HttpResponse:
    """Preview the study as participants see it."""
    shown = preview_of(study, consent=newest_consent(study))
    return render(request, "dashboard/settings/preview.html", {"preview": shown})


def _form(request: HttpRequest, study: Study, data: Any = None) -> SettingsForm:
    form = SettingsForm(data, initial=settings_of(study))
    form.fix(fixed_of(study))
    if Right.CHANGE not in granted(request):
        for field in form.fields.values():
            field.disabled = True
    return form


def _page(
    request: HttpRequest,
    study: Study,
    *,
    form: SettingsForm | None = None,
    consent_form: ConsentForm | None = None,
) -> HttpResponse:
    wrong = (form and form.errors) or (consent_form and consent_form.errors)
    may_change = Right.CHANGE in granted(request)
    is_draft = study.state == Study.State.DRAFT
    steps = [step for step in (*checklist(study), *proxies_step(request)) if is_draft or not step.done]
    context = {
        "form": form or _form(request, study),
        "consent_form": consent_form or ConsentForm(initial={"consent": newest_consent(study)}),
        "consent": newest_consent(study),
        "may_clone": may_change and request.user.has_perm(CREATE),
        "steps": steps,
        "sample_protocol": SAMPLE_PROTOCOL,
        "rounds": [round.number for round in Round.objects.active_in(study)],
    }
    return render_form(request, "dashboard/settings/settings.html", context, errors=wrong)


MOST_SHORT = 200
"""Participants listed at most."""


class DesignForm(forms.Form):
    """The column that divides the items, and a line for each stratum."""

    by_column = forms.ChoiceField(label=gettext_lazy("Column"), required=False)
    load = prose(
        gettext_lazy("Items per participant"),
        gettext_lazy("A line per stratum: “false belief: 10”. Empty: no design."),
    )

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = {stored: own for own, stored in study.protocol.columns.items()}
        choose(self, "by_column", [(name, names.get(name, name)) for name in Study.StratumField.values])

    def clean_load(self) -> dict[str, int]:
        load = {}
        for line in filter(None, map(str.strip, self.cleaned_data["load"].splitlines())):
            name, colon, number = line.rpartition(":")
            if not colon or not re.fullmatch(r"\s*\d{1,4}\s*", number) or name.strip() in load:
                raise ValidationError(_("“%(line)s” is not a stratum with its number.") % {"line": line[:80]})
            load[name.strip()] = int(number)
        return load


@form_page(post=Right.CHANGE)
def design(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the design, and which strata and participants lack answers. A POST sets a draft's design."""
    load = "\n".join(f"{stratum.name}: {stratum.load}" for stratum in study.strata.all())
    initial = {"by_column": study.stratum_field, "load": load}
    form = DesignForm(study, request.POST if request.method == "POST" else None, initial=initial)
    if form.is_valid():
        with ErrorsInForm(form):
            set_design(study=study, **form.cleaned_data, **by_and_now(request))
            messages.success(request, _("The design is saved."))
            return redirect("dashboard:design", slug=study.slug)
    strata = [each for each in fill_of_strata(study) if each.load]
    total = sum(study.strata.values_list("load", flat=True))
    context = {
        "form": form if study.state == Study.State.DRAFT else None,
        "strata": [
            each._asdict() | {"newcomers": people_needed(most=each.most, free=each.free, load=each.load)}
            for each in strata
        ],
        "unserved": [unserved_in_words(*stratum) for stratum in unserved_strata(study)],
        "is_exact": fills_exactly([each.participants for each in strata]),
        "people": _people_short(study, total)[:MOST_SHORT],
        "total": total,
    }
    return render_form(request, "dashboard/settings/design.html", context, errors=form.errors)


def _people_short(study: Study, load: int) -> Any:
    """Return the participants who began, and hold or gave fewer answers than the design's ``load``."""
    theirs = Q(assignments__stratum__isnull=False)
    begun = Enrollment.objects.filter(study=study).annotate(
        items=Count("assignments", filter=theirs),
        there=Count("assignments", filter=theirs & Q(assignments__state__in=LIVING)),
    )
    return begun.filter(items__gt=0, there__lt=load).annotate(lacking=load - F("there")).order_by("pk")
