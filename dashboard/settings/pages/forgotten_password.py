"""Choose a new password by a link that is mailed to the account's confirmed address."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.views import PasswordResetConfirmView
from django.http import HttpRequest, HttpResponse
from django.urls import reverse_lazy
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.access import rate_limited
from dashboard.settings.account_mails import ask_for_password_link
from recruitment.views.links import answer_request_for_mail


@require_http_methods(["GET", "HEAD", "POST"])
@rate_limited
def forgotten_password(request: HttpRequest) -> HttpResponse:
    """Ask for the address, and have the link mailed there."""
    template = "accounts/forgotten_password.html"
    return answer_request_for_mail(request, template, ask_for_password_link, kind="password ")


class NewPassword(PasswordResetConfirmView):
    """The page behind the link. It works once, and signs nobody in: a second factor is still asked for."""

    template_name = "accounts/new_password.html"
    success_url = reverse_lazy("accounts:sign_in")

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, _("Your password is changed."))
        return super().form_valid(form)

    def render_to_response(self, context: dict[str, Any], **named: Any) -> HttpResponse:
        return super().render_to_response(context, status=200 if self.validlink else 404, **named)
