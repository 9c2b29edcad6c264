"""The pages behind mailed links: an invitation, which newcomers accept with an account; a new password."""

from typing import Any

from allauth.account.internal.flows.login import perform_login
from allauth.account.models import Login
from django.contrib import messages
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.views import PasswordResetConfirmView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse, reverse_lazy
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.actions import NameTaken
from accounts.models import User
from accounts.rate_limits import WRONG_LINKS, client_of, retry_at
from annotation import actions
from annotation.access import rate_limited, too_many
from annotation.errors import AlreadyMember, InvitationClosed
from annotation.models import Invitation, Membership
from annotation.rights import RIGHTS, invitation_status
from annotation.tokens import InvalidToken
from dashboard.http import render_form
from dashboard.settings.forms import RIGHTS_IN_WORDS
from dashboard.settings.mails import ask_for_password_link, invitation_of
from recruitment.views.links import answer_request_for_mail
from tomannot import clock

UNUSABLE = "dashboard/settings/invitation_unusable.html"


class NewcomerForm(UserCreationForm):  # type: ignore[type-arg]  # not subscriptable at run time
    """A name and a password, which must pass the site's password rules."""

    class Meta:
        model = User
        fields = ("username",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].widget.attrs.pop("autofocus", None)


@sensitive_post_parameters("password1", "password2")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def invited(request: HttpRequest, token: str) -> HttpResponse:
    """Show an invitation; a POST accepts it."""
    try:
        invitation = invitation_of(token)
        status = invitation_status(invitation, clock.now())
        if status is not Invitation.Status.OPEN:
            raise InvitationClosed(status)
        if isinstance(request.user, User):
            return _known(request, invitation, request.user)
        return _newcomer(request, invitation)
    except InvalidToken:
        return _wrong(request)
    except InvitationClosed as closed:
        return render(request, UNUSABLE, {"status": closed.status.value}, status=410)


def _known(request: HttpRequest, invitation: Invitation, user: User) -> HttpResponse:
    """Show the signed-in reader a button to accept."""
    if request.method == "POST":
        try:
            actions.accept_invitation(invitation=invitation, user=user, now=clock.now())
            return redirect("dashboard:overview", slug=invitation.study.slug)
        except AlreadyMember:
            pass  # the page says so
    member = Membership.objects.filter(study=invitation.study, user=user).first()
    context = _offer(invitation) | {"member": member}
    return render(
        request, "dashboard/settings/invited.html", context, status=409 if request.method == "POST" else 200
    )


def _newcomer(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    """Let a newcomer create an account, or sign in with the one they have."""
    about = User(email=invitation.address)  # a password must not resemble it
    form = NewcomerForm(request.POST if request.method == "POST" else None, instance=about)
    if form.is_valid():
        try:
            membership = actions.accept_as_newcomer(
                invitation=invitation,
                username=form.cleaned_data["username"],
                password=form.cleaned_data["password1"],
                now=clock.now(),
            )
        except NameTaken:
            form.add_error("username", _("This name is taken. Choose another."))
        else:
            overview = reverse("dashboard:overview", kwargs={"slug": invitation.study.slug})
            response: HttpResponse = perform_login(
                request, Login(user=membership.user, redirect_url=overview)
            )
            return response
    context = _offer(invitation) | {"form": form}
    return render_form(request, "dashboard/settings/invited.html", context)


def _offer(invitation: Invitation) -> dict[str, Any]:
    return {
        "invitation": invitation,
        "title": invitation.study.title,
        "may": [words for right, words in RIGHTS_IN_WORDS.items() if right in RIGHTS[invitation.role]],
    }


def _wrong(request: HttpRequest) -> HttpResponse:
    """Answer an invalid link. These are counted per client, so that nobody can guess many."""
    later = retry_at(WRONG_LINKS, client_of(request), now=clock.now())
    if later:
        return too_many(request, later)
    return render(request, UNUSABLE, status=404)


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
