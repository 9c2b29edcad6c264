"""The page behind an invitation's link: who is signed in accepts, a newcomer gets an account."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import login
from django.contrib.auth.forms import UserCreationForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from accounts.actions import NameTaken
from accounts.limits import WRONG_LINKS, client_of, retry_at
from accounts.models import User
from annotation import actions
from annotation.access import too_many
from annotation.errors import AlreadyMember, InvitationClosed
from annotation.models import Invitation, Membership
from annotation.rights import RIGHTS, standing_of
from annotation.tokens import InvalidToken
from dashboard.pages.members import IN_WORDS
from dashboard.people.links import invitation_of

BACKEND = "django.contrib.auth.backends.ModelBackend"
Standing = Invitation.Standing

CLOSED = {
    Standing.ACCEPTED: (
        gettext_lazy("This invitation has been used"),
        gettext_lazy(
            "It works once. If it was you who accepted it, sign in and you will find the study in your list. "
            "If it was not, tell the people of the study at once."
        ),
    ),
    Standing.REVOKED: (
        gettext_lazy("This invitation has been taken back"),
        gettext_lazy(
            "It opens nothing any more. If you were sent a newer one, open that; "
            "otherwise ask the person who invited you."
        ),
    ),
    Standing.EXPIRED: (
        gettext_lazy("This invitation is too old"),
        gettext_lazy(
            "An invitation can be accepted for two weeks. Ask the person who invited you for a new one."
        ),
    ),
}


class NewcomerForm(UserCreationForm):  # type: ignore[type-arg]  # not subscriptable at run time
    """A name and a password, held against the site's rules for passwords."""

    class Meta:
        model = User
        fields = ("username",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs["class"] = "text"
            field.widget.attrs.pop("autofocus", None)


@sensitive_post_parameters("password1", "password2")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def invited(request: HttpRequest, token: str) -> HttpResponse:
    """What is offered and by whom. Looking changes nothing; accepting is a POST."""
    try:
        invitation = invitation_of(token)
        standing = standing_of(invitation, timezone.now())
        if standing is not Standing.OPEN:
            raise InvitationClosed(standing)
        if isinstance(request.user, User):
            return _known(request, invitation, request.user)
        return _newcomer(request, invitation)
    except InvalidToken:
        return _wrong(request)
    except InvitationClosed as closed:
        return _closed(request, closed.standing)


def _known(request: HttpRequest, invitation: Invitation, user: User) -> HttpResponse:
    """For who is signed in: one button."""
    if request.method == "POST":
        try:
            actions.accept_invitation(invitation=invitation, user=user, now=timezone.now())
            return redirect("dashboard:study", slug=invitation.study.slug)
        except AlreadyMember:
            pass  # the page says so
    member = Membership.objects.filter(study=invitation.study, user=user).first()
    context = _offer(invitation) | {"member": member}
    return render(request, "dashboard/invited.html", context, status=409 if request.method == "POST" else 200)


def _newcomer(request: HttpRequest, invitation: Invitation) -> HttpResponse:
    """For who is not: an account, or the way to sign in with the one they have."""
    about = User(email=invitation.address)  # a password must not resemble it
    form = NewcomerForm(request.POST if request.method == "POST" else None, instance=about)
    if form.is_valid():
        try:
            membership = actions.accept_as_newcomer(
                invitation=invitation,
                username=form.cleaned_data["username"],
                password=form.cleaned_data["password1"],
                now=timezone.now(),
            )
        except NameTaken:
            form.add_error("username", _("Somebody has this name already. Take another."))
        else:
            login(request, membership.user, backend=BACKEND)
            return redirect("dashboard:study", slug=invitation.study.slug)
    context = _offer(invitation) | {"form": form}
    return render(request, "dashboard/invited.html", context, status=422 if form.errors else 200)


def _offer(invitation: Invitation) -> dict[str, Any]:
    return {
        "invitation": invitation,
        "title": invitation.study.title,
        "may": [words for right, words in IN_WORDS.items() if right in RIGHTS[invitation.role]],
    }


def _wrong(request: HttpRequest) -> HttpResponse:
    """A link that we never made. Wrong ones are counted per client, so that nobody tries many."""
    later = retry_at(WRONG_LINKS, client_of(request), now=timezone.now())
    if later:
        return too_many(request, later)
    said = {
        "heading": _("This link does not work"),
        "text": _(
            "It may have been cut off when it was copied. Copy it as a whole, or ask the person who "
            "invited you for a new one."
        ),
    }
    return render(request, "pages/message.html", said, status=404)


def _closed(request: HttpRequest, standing: Invitation.Standing) -> HttpResponse:
    heading, text = CLOSED[standing]
    said: dict[str, Any] = {"heading": heading, "text": text}
    if standing is Standing.ACCEPTED:
        said["actions"] = [{"label": _("Your studies"), "url": reverse("dashboard:studies")}]
    return render(request, "pages/message.html", said, status=410)
