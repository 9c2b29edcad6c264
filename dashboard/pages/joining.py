"""The study's join link, whose completion code something is, and who is owed what."""

from __future__ import annotations

from uuid import UUID, uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from annotation.models import Study
from annotation.rights import Right, rights_in, signed_in, study_page
from annotation.rules import pseudonym
from dashboard.recruiting.join_form import JoinLinkForm, addresses
from dashboard.recruiting.owed import CameBy, columns_of, owed_rows, owed_to
from dashboard.recruiting.paid import paid_in_form, paid_in_table
from dashboard.spreadsheets import csv_stream
from recruitment import actions
from recruitment.errors import CannotPay, RecruitmentError
from recruitment.join_platforms import PLATFORMS
from recruitment.joining import InvalidJoinLink, own_source
from recruitment.links import join_address_of
from recruitment.models import JoinLink, LinkPayment
from recruitment.queries import came_by, check_code

NEWEST = 10
"""Entries about what was paid that are shown; all of them are in the log."""


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(Right.CHANGE)
def owed_file(request: HttpRequest, study: Study) -> HttpResponseBase:
    """What each completion code is owed, as a table; of everybody, or of those who came one way.

    A POST names participants of the platform, so that no log has their ids, and is told about them alone.
    """
    if request.method == "POST":
        participants = request.POST.get("participants", "").split()
        columns = ("participant", *columns_of(study))
        return csv_stream(request, f"{study.slug}-owed", columns, owed_to(study, participants))
    asked = request.GET.get("came_by", "")
    way = CameBy(asked) if asked in CameBy.values else None
    name = f"{study.slug}-owed{f'-{way}' if way else ''}"
    return csv_stream(request, name, columns_of(study), owed_rows(study, way))


@require_POST
@study_page(post=Right.CHANGE)
def note_paid(request: HttpRequest, study: Study) -> HttpResponse:
    """Note what people were paid outside: one of them, or all in a table that comes back."""
    table = request.FILES.get("table")
    try:
        paid = (
            paid_in_table(study, table)
            if table
            else paid_in_form(study, request.POST.get("who", ""), request.POST.get("paid", ""))
        )
        number = actions.note_link_payments(
            study=study,
            amounts=paid.amounts,
            seen=paid.seen,
            reason=request.POST.get("reason", "").replace("\0", ""),
            token=_token(request),
            by=signed_in(request),
            now=timezone.now(),
        )
        said = ngettext(
            "Noted what %(number)s person was paid.", "Noted what %(number)s people were paid.", number
        )
        messages.success(request, said % {"number": number} if number else _("This was noted before."))
    except RecruitmentError as error:
        messages.error(request, str(error))
    return redirect(f"{reverse('dashboard:joining', args=[study.slug])}#paid")


def _token(request: HttpRequest) -> UUID:
    """That of the form, which notes once, however often it is pressed."""
    try:
        return UUID(request.POST.get("token", ""))
    except ValueError as error:
        raise CannotPay(_("Load the page again: this form cannot be told from others.")) from error


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(post=Right.CHANGE)
def joining(request: HttpRequest, study: Study) -> HttpResponse:
    """How people come from a platform; a POST looks a code up, so that no log has it or the id with it."""
    link = JoinLink.objects.select_related("study").filter(study=study).first()
    code, participant = request.POST.get("code", ""), request.POST.get("participant", "")
    context = {
        "study": study,
        "link": link,
        "addresses": addresses(link) if link else None,
        "try_address": join_address_of(link, "try-1") if link else "",
        "is_own": link is not None and link.source == own_source(study.pk),
        "people": came_by(link).count() if link else 0,
        "is_over": link is not None and link.closes_at is not None and link.closes_at <= timezone.now(),
        "ways": CameBy.choices,
        "token": uuid4(),
        "noted": _noted(study),
        "may_change": Right.CHANGE in rights_in(request.user, study),
        "asked": request.method == "POST",
        "code": code,
        "participant": participant,
        "found": check_code(study, code, participant=participant) if code else None,
    }
    return render(request, "dashboard/joining.html", context)


def _noted(study: Study) -> list[tuple[str, LinkPayment]]:
    """The newest entries about what was paid outside, each with the person's pseudonym."""
    newest = LinkPayment.objects.filter(enrollment__study=study).select_related("enrollment", "noted_by")
    return [
        (pseudonym(study.pseudonym_key, entry.enrollment.annotator_id), entry)
        for entry in newest.order_by("-pk")[:NEWEST]
    ]


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(Right.CHANGE)
def join_link(request: HttpRequest, study: Study) -> HttpResponse:
    """The form of the join link. A POST saves it, or with ``look`` only shows what it comes to."""
    link = JoinLink.objects.filter(study=study).first()
    platform = PLATFORMS.get(request.GET.get("platform", ""))
    form = JoinLinkForm.of(study, link, platform, request.POST if request.method == "POST" else None)
    looks = "look" in request.POST
    if not looks and form.is_valid() and _save(request, study, form):
        return redirect("dashboard:joining", slug=study.slug)
    context = {
        "study": study,
        "link": link,
        "form": form,
        "platforms": PLATFORMS.items(),
        "platform": platform,
        "addresses": form.shown(),
    }
    return render(request, "dashboard/join_link.html", context, status=422 if form.errors else 200)


@require_POST
@study_page(Right.CHANGE)
def close_join_link(request: HttpRequest, study: Study) -> HttpResponse:
    """Nobody new comes in by the join link any more; who has a place keeps it, and their code."""
    if JoinLink.objects.filter(study=study).exists():
        now = timezone.now()
        actions.set_join_link(study=study, by=signed_in(request), now=now, closes_at=now)
        messages.success(request, _("The join link is closed. Who has a place goes on."))
    return redirect("dashboard:joining", slug=study.slug)


def _save(request: HttpRequest, study: Study, form: JoinLinkForm) -> bool:
    """Save what the form says; whether it was possible. What was wrong stands at its field else."""
    by = signed_in(request)
    try:
        actions.set_join_link(study=study, by=by, now=timezone.now(), **form.settings())
    except InvalidJoinLink as error:
        form.refuse_setting(error)
        return False
    messages.success(request, _("The join link is saved. Give the platform the address below."))
    return True
