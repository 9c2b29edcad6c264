"""Require a second factor of researchers, if the installation wants it of everybody."""

from typing import Any

from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.deprecation import MiddlewareMixin


class RequireSecondFactor(MiddlewareMixin):
    """Lead researchers without a second factor from their pages to the one that sets it up."""

    def __init__(self, get_response: Any) -> None:
        if not settings.SECOND_FACTOR_REQUIRED:
            raise MiddlewareNotUsed
        super().__init__(get_response)

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        """Leave annotators, public pages, and the pages of the account itself alone."""
        match = request.resolver_match
        if match is None or not {"dashboard", "admin"} & set(match.namespaces):
            return None
        if not request.user.is_authenticated or is_mfa_enabled(request.user, [Authenticator.Type.TOTP]):
            return None
        return redirect("mfa_activate_totp")
