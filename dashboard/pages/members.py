"""People: who belongs to a study in which role, what each role may do, and who is invited."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation import actions
from annotation.errors import AnnotationError
from annotation.models import Invitation, Membership, Study
from annotation.rights import RIGHTS, Right, rights_in, signed_in, study_page, tokens_of
from dashboard.actions import remove_member
from dashboard.people.actions import invite
from dashboard.people.links import invitation_link
from recruitment.errors import NotQueued

Role = Membership.Role
NEW_LINK = "new_invitation"
"""In the session of who invites, where this site sends no mail: the invitation whose link is shown next."""

IN_WORDS = {
    Right.LOOK: gettext_lazy("See the study: its stories, the votes under pseudonyms, all figures"),
    Right.REVIEW: gettext_lazy("Judge people’s work: spot checks, decisions beside the votes"),
    Right.AUDIT: gettext_lazy("Read and export the log"),
    Right.CHANGE: gettext_lazy("Change the study: settings, stories, key, annotators, open and close it"),
    Right.PUBLISH: gettext_lazy("Publish a release"),
    Right.MANAGE: gettext_lazy("Decide who belongs to the study, and in which role"),
}


class InvitationForm(forms.Form):
    """Whom to invite, and as what."""

    address = forms.EmailField(
        label=gettext_lazy("E-mail address"),
        max_length=200,
        widget=forms.EmailInput(attrs={"class": "text", "autocomplete": "off"}),
    )
    role = forms.ChoiceField(
        label=gettext_lazy("Role"),
        choices=Role.choices,
        initial=Role.RESEARCHER,
        widget=forms.Select(attrs={"class": "text"}),
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@study_page(post=Right.MANAGE)
def members(request: HttpRequest, study: Study) -> HttpResponse:
    """Everybody who belongs to the study; a POST invites somebody."""
    form = InvitationForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            _invite(request, study, form.cleaned_data)
            return redirect("dashboard:members", slug=study.slug)
        except AnnotationError as error:
            form.add_error("address", str(error))
    return render(
        request,
        "dashboard/members.html",
        _context(request, study, form),
        status=422 if form.errors else 200,
    )


@require_POST
@study_page(post=Right.MANAGE)
def member(request: HttpRequest, study: Study, user_id: int) -> HttpResponse:
    """Give a member another role, or with ``remove`` take them out of the study."""
    found = Membership.objects.filter(study=study, user=user_id).select_related("user").first()
    role, now, by = request.POST.get("role", ""), timezone.now(), signed_in(request)
    if found is None:
        messages.info(request, _("This person does not belong to the study any more."))
    elif "remove" in request.POST:
        said = _("%(user)s does not belong to the study any more. What they did stays.")
        _try(request, found, said, lambda: remove_member(study=study, user=found.user, by=by, now=now))
    elif role in Role.values:
        said = _("%(user)s is %(role)s now.")
        _try(
            request,
            found,
            said,
            lambda: actions.set_role(study=study, user=found.user, role=role, by=by, now=now),
        )
    if Right.LOOK in rights_in(by, study):
        return redirect("dashboard:members", slug=study.slug)
    return redirect("dashboard:studies")


@require_POST
@study_page(post=Right.MANAGE)
def revoke_invitation(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Take an invitation back: its link opens nothing from now on."""
    found = Invitation.objects.open().select_related("study").filter(study=study, pk=number).first()
    if found is None:
        messages.info(request, _("This invitation has been accepted or taken back already."))
    else:
        actions.revoke_invitation(invitation=found, by=signed_in(request), now=timezone.now())
        messages.success(request, _("The invitation is taken back. Its link opens nothing any more."))
    return redirect("dashboard:members", slug=study.slug)


@require_POST
@study_page(post=Right.MANAGE)
def revoke_token(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Revoke somebody's API token that opens this study alone.

    One that opens others, too, is not the owner's of one of them to revoke: who is removed from the study
    loses it here, and the rest is for its owner and administrators.
    """
    now = timezone.now()
    found = tokens_of(study, now=now).filter(pk=number).first()
    if found is None:
        messages.info(request, _("This token does not open the study any more."))
    elif found.study_id is None:
        messages.error(request, _("This token opens other studies, too, so only its owner can revoke it."))
    else:
        actions.revoke_api_token(token=found, by=signed_in(request), now=now)
        messages.success(request, _("The token is revoked. It opens nothing any more."))
    return redirect("dashboard:members", slug=study.slug)


def _invite(request: HttpRequest, study: Study, said: dict[str, str]) -> None:
    """Invite; where no mail is sent, or none could be queued, the link is shown to pass on."""
    by, language = signed_in(request), get_language() or ""
    try:
        invitation = invite(
            study=study,
            address=said["address"],
            role=said["role"],
            language=language,
            by=by,
            now=timezone.now(),
        )
    except NotQueued:
        messages.error(
            request,
            _("The invitation is stored, but no mail could be queued, because Redis does not answer."),
        )
        offers = Invitation.objects.open().filter(study=study, invited_by=by)
        request.session[NEW_LINK] = offers.latest("pk").pk
        return
    if settings.SENDS_MAIL:
        messages.success(request, _("%(address)s is sent a link.") % {"address": invitation.address})
    else:
        request.session[NEW_LINK] = invitation.pk


def _try(request: HttpRequest, found: Membership, said: str, act: Callable[[], object]) -> None:
    try:
        act()
        found.role = request.POST.get("role", found.role)
        words = {"user": found.user.get_username(), "role": found.get_role_display()}
        messages.success(request, said % words)
    except AnnotationError as error:
        messages.error(request, str(error))


def _context(request: HttpRequest, study: Study, form: InvitationForm) -> dict[str, Any]:
    now = timezone.now()
    found = list(
        Membership.objects.filter(study=study).select_related("user", "added_by").order_by("added_at", "pk")
    )
    owners = sum(one.role == Role.OWNER for one in found)
    may_manage = Right.MANAGE in rights_in(request.user, study)
    offers = Invitation.objects.open().filter(study=study).select_related("study", "invited_by")
    return {
        "study": study,
        "form": form,
        "members": [
            {
                "row": one,
                "is_only_owner": owners == 1 and one.role == Role.OWNER,
                "is_me": one.user == request.user,
            }
            for one in found
        ],
        "roles": Role.choices,
        "rights": [
            {"words": words, "has": [right in RIGHTS[role] for role in Role]}
            for right, words in IN_WORDS.items()
        ],
        "may_manage": may_manage,
        "invitations": [{"row": one, "is_over": now >= one.expires_at} for one in offers]
        if may_manage
        else [],
        "tokens": tokens_of(study, now=now) if may_manage else [],
        "sends_mail": settings.SENDS_MAIL,
        "new_link": _new_link(request, study) if may_manage else None,
    }


def _new_link(request: HttpRequest, study: Study) -> dict[str, str] | None:
    """The link of the invitation made just now, told once: the session forgets it as it is shown."""
    if request.method != "GET" or NEW_LINK not in request.session:
        return None
    found = Invitation.objects.open().filter(study=study, pk=request.session.pop(NEW_LINK)).first()
    return {"address": found.address, "link": invitation_link(found)} if found else None
