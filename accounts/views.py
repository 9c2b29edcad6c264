"""Sign in, sign out, change the password: Django's views with our templates. django-axes stops guessing."""

from datetime import datetime
from importlib import import_module
from typing import Any

from allauth.account.internal.flows.login import perform_password_login
from allauth.account.models import Login
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import views
from django.core.validators import MaxLengthValidator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _
from django.views.generic.edit import ProcessFormView

from accounts.rate_limits import SIGN_INS, client_of, retry_at
from tomannot import clock

LONGEST_NAME = 150  # as Django has it; django-axes stores none of more than 255 characters


class LimitsGuesses(ProcessFormView):
    """Answer a POST with 429 beyond :data:`~accounts.rate_limits.SIGN_INS`, before a password is hashed."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        until = retry_at(SIGN_INS, client_of(request), now=clock.now())
        return too_many(request, until) if until else super().post(request, *args, **kwargs)


class SignIn(LimitsGuesses, views.LoginView):
    template_name = "accounts/sign_in.html"
    redirect_authenticated_user = True

    def get_form(self, form_class: Any = None) -> Any:
        form = super().get_form(form_class)  # Django says how long a name may be, and does not check it
        form.fields["username"].validators.append(MaxLengthValidator(LONGEST_NAME))
        return form

    def get_context_data(self, **named: Any) -> dict[str, Any]:
        provider = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"][0]["name"]
        return super().get_context_data(provider=provider, **named)

    def form_valid(self, form: Any) -> HttpResponse:
        """Begin the session, or ask for the second factor of an account that has one."""
        login = Login(user=form.get_user(), redirect_url=self.get_success_url())
        response: HttpResponse = perform_password_login(self.request, form.cleaned_data, login)
        return response


def openid(request: HttpRequest, step: str) -> HttpResponse:
    """Sign in with the OpenID Connect provider; 404 without one."""
    if not settings.OPENID_ISSUER or step not in ("go", "back"):
        raise Http404
    until = retry_at(SIGN_INS, client_of(request), now=clock.now())
    return too_many(request, until) if until else import_module("accounts.openid").sign_in_step(request, step)


def too_many(request: HttpRequest, until: datetime) -> HttpResponse:
    response = render(request, "accounts/too_many_sign_ins.html", status=429)
    response["Retry-After"] = str(int((until - clock.now()).total_seconds()) + 1)
    return response


class ChangePassword(LimitsGuesses, views.PasswordChangeView):
    template_name = "accounts/password.html"
    success_url = reverse_lazy("dashboard:studies")

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, _("Your password is changed."))
        response = super().form_valid(form)
        UserSession.objects.create_from_request(self.request)  # the session has a new key
        return response


def locked_out(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
    """Explain a lockout after too many wrong passwords, and when to try again."""
    return render(request, "accounts/locked_out.html", status=429)
