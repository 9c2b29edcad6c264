"""Alerts of a study: what a member is mailed about, hours that count as stalled, and webhooks."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import get_language, gettext as _, gettext_lazy

from annotation import actions
from annotation.alert_kinds import EVENT_KINDS, AlertKind
from annotation.models import Alert, Membership, Study, Webhook
from annotation.rights import Right, by_and_now, form_page, granted, signed_in, write_page
from dashboard.alerts.webhooks import WebhookRefused, read_address, secret_of
from dashboard.http import ErrorsAsMessages, render_form
from dashboard.settings.forms import RowForm
from tomannot import clock

SHOWN = 20
"""Newest alerts on the page."""


def _kinds(choices: Any, **more: Any) -> forms.MultipleChoiceField:
    return forms.MultipleChoiceField(
        choices=choices, widget=forms.CheckboxSelectMultiple, label=gettext_lazy("Alert when"), **more
    )


class MailsForm(forms.Form):
    """A member's address, and what they are mailed about in a study."""

    email = forms.EmailField(label=gettext_lazy("Your e-mail address"), required=False, max_length=254)
    kinds = _kinds([(kind.value, kind.label) for kind in (*EVENT_KINDS, AlertKind.DIGEST)], required=False)


StalledForm = forms.modelform_factory(Study, RowForm, fields=["stall_hours"])


class WebhookForm(forms.Form):
    """Address and kinds of a new webhook."""

    url = forms.CharField(
        label=gettext_lazy("Address"), max_length=500, help_text=gettext_lazy("It begins with https://.")
    )
    kinds = _kinds([(kind.value, kind.label) for kind in EVENT_KINDS])

    def clean_url(self) -> str:
        """Refuse an address to which nothing would be sent."""
        url: str = self.cleaned_data["url"]
        try:
            read_address(url)
        except WebhookRefused as error:
            raise forms.ValidationError(str(error)) from error
        return url


@form_page()
def alerts(request: HttpRequest, study: Study) -> HttpResponse:
    """Show all about alerts. A POST stores the reader's own choice."""
    form = MailsForm(request.POST) if request.method == "POST" else None
    if form and form.is_valid():
        membership = get_object_or_404(Membership, study=study, user=signed_in(request))
        language = get_language() or ""
        now = clock.now()
        actions.choose_alerts(membership=membership, **form.cleaned_data, language=language, now=now)
        messages.success(request, _("Your choice is saved."))
        return redirect("dashboard:alerts", slug=study.slug)
    return _page(request, study, mails=form)


@write_page(Right.LOOK)
def test(request: HttpRequest, study: Study) -> HttpResponse:
    """Send a test alert to the reader, and to the webhooks if they may change these."""
    by = signed_in(request)
    may_change = Right.CHANGE in granted(request)
    with ErrorsAsMessages(request):
        actions.send_test_alert(study=study, to_webhooks=may_change, by=by, now=clock.now())
        messages.success(request, _("A test alert is on its way. The list below shows when it is sent."))
    return redirect("dashboard:alerts", slug=study.slug)


@write_page(Right.CHANGE)
def stalled(request: HttpRequest, study: Study) -> HttpResponse:
    """Store how many hours without votes mean that the study has stalled."""
    form = StalledForm(request.POST)
    if not form.is_valid():
        return _page(request, study, hours=form)
    hours = form.cleaned_data["stall_hours"]
    actions.set_stall_hours(study=study, hours=hours, **by_and_now(request))
    messages.success(request, _("Saved."))
    return redirect("dashboard:alerts", slug=study.slug)


@write_page(Right.CHANGE)
def webhooks(request: HttpRequest, study: Study) -> HttpResponse:
    """Add a webhook, and show its secret this once."""
    form = WebhookForm(request.POST, auto_id="webhook_%s")
    if not form.is_valid():
        return _page(request, study, webhook=form)
    made = actions.add_webhook(study=study, **form.cleaned_data, **by_and_now(request))
    return _page(request, study, made=made)


@write_page(Right.CHANGE)
def remove(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Remove a webhook, if it is still there."""
    for hook in Webhook.objects.filter(study=study, pk=number).select_related("study"):
        actions.remove_webhook(webhook=hook, **by_and_now(request))
    messages.success(request, _("The webhook is removed."))
    return redirect("dashboard:alerts", slug=study.slug)


def _page(
    request: HttpRequest,
    study: Study,
    *,
    mails: MailsForm | None = None,
    hours: "forms.ModelForm[Study] | None" = None,
    webhook: WebhookForm | None = None,
    made: Webhook | None = None,
) -> HttpResponse:
    user = signed_in(request)
    membership = Membership.objects.filter(study=study, user=user).first()
    may_change = Right.CHANGE in granted(request)
    chosen = {"email": user.email, "kinds": membership.alerts if membership else []}
    hooks = study.webhooks.filter(removed_at=None) if may_change else Webhook.objects.none()
    shown = Alert.objects.filter(Q(user=user) | Q(webhook__in=hooks), study=study)
    errors = [form.errors for form in (mails, hours, webhook) if form]
    context = {
        "mails": (mails or MailsForm(initial=chosen)) if membership else None,
        "hours": hours or StalledForm(instance=study),
        "webhook": webhook or WebhookForm(auto_id="webhook_%s"),
        "webhooks": hooks,
        "alerts": shown.select_related("event", "webhook")[:SHOWN],
        "secret": secret_of(made) if made else "",
        "sends_mail": settings.SENDS_MAIL,
    }
    response = render_form(request, "dashboard/settings/alerts.html", context, errors=errors)
    response.status_code = 201 if made else response.status_code
    return response
