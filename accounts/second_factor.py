"""A researcher's second factor: what django-allauth leaves to us."""

from typing import Any

from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django import forms
from django.conf import settings
from django.core.cache import caches
from django.core.exceptions import MiddlewareNotUsed, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _, gettext_lazy

from accounts.rate_limits import CODES, NAMESPACE, retry_at
from tomannot import clock

USED_SECONDS = 60
"""Longer than a code of an app is valid."""
RESEARCHERS_PAGES = {"dashboard", "admin"}


class _GuardedCode(forms.Form):
    """Limit guesses, and refuse a code for the second time, over all processes."""

    user: Any

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.fields["code"].label = gettext_lazy("Code from your app, or a recovery code")
        self.fields["code"].widget.attrs = {"autocomplete": "one-time-code", "autofocus": True}

    def clean_code(self) -> str:
        if retry_at(CODES, str(self.user.pk), now=clock.now()):
            raise ValidationError(_("There were too many wrong codes. Try again in ten minutes."))
        code: str = super().clean_code()  # type: ignore[misc]  # of the form that it is mixed with
        if not caches["shared"].add(f"{NAMESPACE}:code:{self.user.pk}:{code}", "", USED_SECONDS):
            raise ValidationError(_("This code was already used. Wait for the next one."))
        return code


class CodeForm(_GuardedCode, AuthenticateForm):
    """Ask for a code after the password."""


class CodeAgainForm(_GuardedCode, ReauthenticateForm):
    """Ask for a code before something sensitive."""


class RequireSecondFactor:
    """Lead researchers without a second factor to the page that sets one up, if the installation wants it."""

    def __init__(self, get_response: Any) -> None:
        if not settings.SECOND_FACTOR_REQUIRED:
            raise MiddlewareNotUsed
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response: HttpResponse = self.get_response(request)
        return response

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        """Leave out the pages of annotators and of the account itself, and who is not signed in."""
        match = request.resolver_match
        if match is None or not RESEARCHERS_PAGES & set(match.namespaces):
            return None
        if not request.user.is_authenticated or is_mfa_enabled(request.user, [Authenticator.Type.TOTP]):
            return None
        return redirect("mfa_activate_totp")
