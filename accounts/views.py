"""Signing in and out, and the password. Django's own views with our pages; django-axes locks out guessers."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth import views
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _


class SignIn(views.LoginView):
    """The researchers' door. Whoever is signed in already goes on at once."""

    template_name = "accounts/sign_in.html"
    redirect_authenticated_user = True


class SignOut(views.LogoutView):
    """Ends the session; only by POST."""

    next_page = "dashboard:home"


class ChangePassword(views.PasswordChangeView):
    """A new password for who is signed in and knows the old one."""

    template_name = "accounts/password.html"
    success_url = reverse_lazy("dashboard:studies")

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, _("Your password is changed."))
        return super().form_valid(form)


def locked_out(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
    """After too many wrong passwords: what happened, and when to try again."""
    return render(request, "accounts/locked_out.html", status=429)
