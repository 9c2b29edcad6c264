"""Members of a study with their roles, and invitations of colleagues."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import get_language, gettext as _, gettext_lazy

from annotation import actions
from annotation.models import Invitation, Membership, Study
from annotation.rights import RIGHTS, Right, by_and_now, form_page, granted, rights_in, tokens_of, write_page
from dashboard.actions import remove_member
from dashboard.http import ErrorsAsMessages, ErrorsInForm, render_form
from dashboard.settings.forms import RIGHTS_IN_WORDS
from dashboard.settings.mails import invitation_link, invite
from recruitment.errors import NotQueued
from tomannot import clock

Role = Membership.Role
NEW_LINK = "new_invitation"
"""Session key of the invitation whose link is shown next, if no mail could be sent."""


class InvitationForm(forms.Form):
    address = forms.EmailField(
        label=gettext_lazy("E-mail address"),
        max_length=200,
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=Role.choices, initial=Role.RESEARCHER)


@form_page(post=Right.MANAGE)
def members(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the members; a POST invites a colleague."""
    form = InvitationForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with ErrorsInForm(form, at="address"):
            _invite(request, study, form.cleaned_data)
            return redirect("dashboard:members", slug=study.slug)
    return render_form(request, "dashboard/settings/members.html", _context(request, study, form))


@write_page(Right.MANAGE)
def member(request: HttpRequest, study: Study, user_id: int) -> HttpResponse:
    """Give a member another role, or with ``remove`` take them out of the study."""
    found = Membership.objects.filter(study=study, user=user_id).select_related("user").first()
    role = request.POST.get("role", "")
    with ErrorsAsMessages(request):
        if found is None:
            messages.info(request, _("This account is no longer a member of the study."))
        elif "remove" in request.POST:
            remove_member(study=study, user=found.user, **by_and_now(request))
            done = _("%(user)s is no longer a member. Their work stays.")
            messages.success(request, done % {"user": found.user.get_username()})
        elif role in Role.values:
            actions.set_role(study=study, user=found.user, role=role, **by_and_now(request))
            changed = {"user": found.user.get_username(), "role": Role(role).label}
            messages.success(request, _("%(user)s is now %(role)s.") % changed)
    if Right.LOOK in rights_in(request.user, study):
        return redirect("dashboard:members", slug=study.slug)
    return redirect("dashboard:studies")


@write_page(Right.MANAGE)
def revoke_invitation(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Revoke an invitation: its link stops working."""
    found = Invitation.objects.open().select_related("study").filter(study=study, pk=number).first()
    if found is None:
        messages.info(request, _("This invitation was already accepted or revoked."))
    else:
        actions.revoke_invitation(invitation=found, **by_and_now(request))
        messages.success(request, _("The invitation is revoked. Its link no longer works."))
    return redirect("dashboard:members", slug=study.slug)


@write_page(Right.MANAGE)
def revoke_token(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Revoke a member's API token for this study alone.

    A token for several studies can be revoked only by its owner and administrators. It stops working
    here when its owner is removed from the study.
    """
    found = tokens_of(study, now=clock.now()).filter(pk=number).first()
    if found is None:
        messages.info(request, _("This token no longer opens the study."))
    elif found.study_id is None:
        messages.error(request, _("This token also opens other studies, so only its owner can revoke it."))
    else:
        actions.revoke_api_token(token=found, **by_and_now(request))
        messages.success(request, _("The token is revoked. It no longer works."))
    return redirect("dashboard:members", slug=study.slug)


def _invite(request: HttpRequest, study: Study, given: dict[str, str]) -> None:
    """Invite. If no mail goes out, show the link to pass on."""
    said = by_and_now(request)
    try:
        invitation = invite(study=study, language=get_language() or "", **given, **said)
    except NotQueued:
        messages.error(
            request, _("The invitation is saved, but no mail could be queued, because Redis does not answer.")
        )
        offers = Invitation.objects.open().filter(study=study, invited_by=said["by"])
        request.session[NEW_LINK] = offers.latest("pk").pk
        return
    if settings.SENDS_MAIL:
        messages.success(request, _("A link is on its way to %(address)s.") % {"address": invitation.address})
    else:
        request.session[NEW_LINK] = invitation.pk


def _context(request: HttpRequest, study: Study, form: InvitationForm) -> dict[str, Any]:
    now = clock.now()
    members = list(
        Membership.objects.filter(study=study).select_related("user", "added_by").order_by("added_at", "pk")
    )
    may_manage = Right.MANAGE in granted(request)
    offers = Invitation.objects.open().filter(study=study).select_related("study", "invited_by")
    return {
        "form": form,
        "members": members,
        "owners": sum(one.role == Role.OWNER for one in members),
        "roles": Role.choices,
        "rights": [
            {"words": words, "has": [right in RIGHTS[role] for role in Role]}
            for right, words in RIGHTS_IN_WORDS.items()
        ],
        "invitations": offers.annotate(is_over=Q(expires_at__lte=now)) if may_manage else (),
        "tokens": tokens_of(study, now=now) if may_manage else [],
        "sends_mail": settings.SENDS_MAIL,
        "new_link": _new_link(request, study) if may_manage else None,
    }


def _new_link(request: HttpRequest, study: Study) -> dict[str, str] | None:
    """Return the link of the newest invitation, once: the session forgets it."""
    if request.method != "GET" or NEW_LINK not in request.session:
        return None
    found = Invitation.objects.open().filter(study=study, pk=request.session.pop(NEW_LINK)).first()
    return {"address": found.address, "link": invitation_link(found)} if found else None
