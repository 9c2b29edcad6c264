"""A researcher's API tokens: create one, whose secret is shown once, and revoke them."""

from datetime import timedelta
from typing import Any

from allauth.account.decorators import reauthentication_required
from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.text import format_lazy
from django.utils.translation import gettext as _, gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods

from accounts.models import User
from annotation import actions
from annotation.models import ApiToken, Study
from annotation.rights import acts, researchers_page, signed_in, studies_of
from tomannot import clock

PAST_SHOWN = 20
"""Revoked or expired tokens on the page."""
DAYS = (
    (7, gettext_lazy("a week")),
    (30, gettext_lazy("a month")),
    (90, gettext_lazy("three months")),
    (365, gettext_lazy("a year")),
)


class TokenForm(forms.Form):
    """Name, study, scopes and validity of a new token."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=100,
        help_text=gettext_lazy("For example, the script that uses it."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    study = forms.ModelChoiceField(
        Study.objects.none(),
        label=gettext_lazy("Study"),
        required=False,
        empty_label=gettext_lazy("all studies that I can see"),
        to_field_name="slug",
    )
    scopes = forms.MultipleChoiceField(
        label=gettext_lazy("What it is for"),
        choices=[
            (scope.value, format_lazy(gettext_lazy("{words} ({name})"), words=scope.label, name=scope.value))
            for scope in ApiToken.Scope
        ],
        help_text=gettext_lazy("A token never allows more than you may do yourself."),
        widget=forms.CheckboxSelectMultiple,
    )
    days = forms.TypedChoiceField(label=gettext_lazy("Valid for"), choices=DAYS, coerce=int, initial=90)

    def __init__(self, user: User, data: Any = None) -> None:
        super().__init__(data)
        study = self.fields["study"]
        assert isinstance(study, forms.ModelChoiceField)
        study.queryset = studies_of(user).order_by("slug")


@require_http_methods(["GET", "HEAD", "POST"])
@researchers_page
@reauthentication_required(allow_get=True)  # a token keeps working after its owner signs out
def api_tokens(request: HttpRequest) -> HttpResponse:
    """List the reader's tokens. A POST, once confirmed, creates one, and its response shows the secret."""
    user, secret = signed_in(request), ""
    form = TokenForm(user, request.POST if request.method == "POST" else None)
    if form.is_valid():
        said, now = form.cleaned_data, clock.now()
        expires_at = now + timedelta(days=said.pop("days"))
        _token, secret = actions.make_api_token(owner=user, **said, expires_at=expires_at, by=user, now=now)
        form = TokenForm(user)
    status = 201 if secret else 422 if form.errors else 200
    tokens = _tokens(user)
    has_valid = any(row["status"] is ApiToken.Status.VALID for row in tokens)
    context = {"form": form, "secret": secret, "tokens": tokens, "has_valid": has_valid}
    context["example"] = studies_of(user).order_by("-created_at").first()
    return render(request, "dashboard/settings/api_tokens.html", context, status=status)


@acts
@researchers_page
def revoke_api_token(request: HttpRequest, number: int) -> HttpResponse:
    user = signed_in(request)
    token = get_object_or_404(ApiToken, owner=user, pk=number)
    actions.revoke_api_token(token=token, by=user, now=clock.now())
    messages.success(request, _("“%(name)s” is revoked and no longer works.") % {"name": token.name})
    return redirect("dashboard:api_tokens")


@acts
@researchers_page
def revoke_all_api_tokens(request: HttpRequest) -> HttpResponse:
    """Revoke all of the reader's tokens at once."""
    user = signed_in(request)
    count = actions.revoke_all_api_tokens(owner=user, by=user, now=clock.now())
    said = ngettext("%(count)s token is revoked.", "%(count)s tokens are revoked.", count)
    messages.success(request, said % {"count": count})
    return redirect("dashboard:api_tokens")


def _tokens(user: User) -> list[dict[str, Any]]:
    now = clock.now()
    rows = [
        {"token": token, "status": token.status(now), "scopes": [ApiToken.Scope(s) for s in token.scopes]}
        for token in ApiToken.objects.filter(owner=user).select_related("study")
    ]
    valid = [row for row in rows if row["status"] is ApiToken.Status.VALID]
    return valid + [row for row in rows if row not in valid][:PAST_SHOWN]
