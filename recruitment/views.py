"""Where people arrive, and how they come by their link again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods

from accounts.actions import AddressTaken, AskedToBeForgotten, Erased
from accounts.limits import (
    ASKED_BY_CLIENT,
    ASKED_BY_PLACE,
    ASKED_FOR_ADDRESS,
    NEW_PLACES,
    client_of,
    retry_at,
)
from accounts.models import PlatformIdentity
from annotation.access import (
    LinkProblem,
    known_person_page,
    link_problem,
    page_url,
    revoked_link,
    too_many,
    wrong_link,
)
from annotation.models import Enrollment, Study
from annotation.refusals import refusal_page
from annotation.rules import ON_THE_WAY, REASON_OF_CLOSED_DOOR, Refusal
from annotation.tokens import ExpiredToken, InvalidToken, read_address_token, read_personal_token
from annotation.views.common import message, page
from recruitment import actions, queries
from recruitment.addresses import read_address
from recruitment.errors import CannotJoin, InvalidAddress, NotQueued
from recruitment.joining import hint_of, read_participant
from recruitment.links import personal_path, visit_path
from recruitment.models import JoinLink

NOT_QUEUED = gettext_lazy("The mail could not be sent just now. Please try again in a while.")


@csrf_exempt  # the signed token in the path is the authority; no cookie is read
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def arrive(request: HttpRequest, token: str) -> HttpResponse:
    """The page a personal link opens. Looking at it changes nothing; starting is a POST."""
    try:
        claim = read_personal_token(token)
    except InvalidToken:
        return wrong_link(request, token)
    enrollment = Enrollment.objects.select_related("study", "annotator").get(pk=claim.enrollment_id)
    if enrollment.link_version != claim.link_version or enrollment.annotator.erased_at:
        return revoked_link(request, enrollment)
    if enrollment.state in ON_THE_WAY and enrollment.study.state in REASON_OF_CLOSED_DOOR:
        return _closed(request, enrollment.study, queries.way_out_of(enrollment))
    if request.method == "POST":
        return redirect(visit_path(actions.arrive_by_link(enrollment=enrollment, now=timezone.now())))
    context = {
        "study": enrollment.study,
        "state": enrollment.state,
        "form_action": request.path,
    }
    return render(request, "recruitment/arrive.html", context)


@never_cache
@require_GET  # somebody new is given a place, so a HEAD does not come in
def join(request: HttpRequest, slug: str) -> HttpResponse:
    """A platform's participant comes, and is sent on to their own link, which does not say who they are."""
    link = JoinLink.objects.select_related("study").filter(study__slug=slug).first()
    if link is None:
        return wrong_link(request)
    participant = read_participant(request.GET.get(link.parameter))
    if participant is None:
        said = {
            "study": link.study,
            "heading": _("We cannot see who you are"),
            "text": _(
                "This link has to be opened from the place that invited you, which adds your id there to it. "
                "Go back to that place and open the link there again. If that does not help, write to the "
                "people who run the study."
            ),
            "way_out": queries.way_out_by(link, participant=None),
        }
        return render(request, "recruitment/no_way_in.html", said, status=400)
    now = timezone.now()
    is_new = link.study.state == Study.State.OPEN and not queries.has_place(link, participant)
    if is_new and (later := retry_at(NEW_PLACES, client_of(request), now=now)):
        return too_many(request, later)
    try:
        enrollment = actions.join(link=link, participant=participant, now=now)
    except CannotJoin:
        return _closed(request, link.study, queries.way_out_by(link, participant=participant))
    except AskedToBeForgotten:
        return link_problem(request, LinkProblem.FORGOTTEN)
    return redirect(personal_path(enrollment))


@csrf_exempt  # reads no cookie and changes nothing: it sends a mail to an address its owner confirmed
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def again(request: HttpRequest) -> HttpResponse:
    """Send me my link again. The answer is the same whether the address is known or not."""
    if not settings.SENDS_MAIL:
        return render(request, "recruitment/again.html", {"no_mail": True}, status=404)
    if request.method != "POST":
        return render(request, "recruitment/again.html")
    given = request.POST.get("email", "").strip()
    try:
        address = read_address(given)
    except InvalidAddress:
        context = {"email": given, "email_error": _("This is not an e-mail address.")}
        return render(request, "recruitment/again.html", context, status=422)
    now = timezone.now()
    if later := retry_at(ASKED_BY_CLIENT, client_of(request), now=now):
        return too_many(request, later)
    # Somebody else may have used this address up; its owner is told the same and has the earlier mails.
    try:
        if not retry_at(ASKED_FOR_ADDRESS, address, now=now):
            actions.ask_for_links(address=address)
    except NotQueued:
        context = {"email": given, "email_error": str(NOT_QUEUED)}
        return render(request, "recruitment/again.html", context, status=503)
    return render(request, "recruitment/again.html", {"asked": True})


@csrf_exempt  # the signed token in the path is the authority; no cookie is read
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: HttpRequest, token: str) -> HttpResponse:
    """The page that the first mail leads to. Looking at it changes nothing; confirming is a POST."""
    try:
        identity_id = read_address_token(token)
        if request.method == "POST":
            actions.confirm_address(identity_id=identity_id, now=timezone.now())
        confirmed = PlatformIdentity.objects.get(pk=identity_id).confirmed_at is not None
    except ExpiredToken:
        return _unconfirmed(request, _("This mail is too old. Give your address again on “Your place”."))
    except InvalidToken:
        return wrong_link(request)
    except PlatformIdentity.DoesNotExist:
        return _unconfirmed(request, _("The address has been changed or removed since this mail was sent."))
    except AddressTaken:
        return _unconfirmed(
            request,
            _(
                "This address is used for another place here already. If that place is yours as well, have "
                "its link sent to you and go on there; otherwise give another address on “Your place”."
            ),
            [{"label": _("Send me my link again"), "url": reverse("link:again")}],
        )
    return render(request, "recruitment/confirm.html", {"confirmed": confirmed, "form_action": request.path})


@require_http_methods(["GET", "HEAD", "POST"])
@known_person_page
def address(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """The address to which the person's link may be sent: given, confirmed or not, forgotten."""
    if enrollment.annotator.erased_at:
        return _forgotten(request, enrollment)
    if request.method != "POST":
        return _address(request, enrollment)
    given = "" if "forget" in request.POST else request.POST.get("email", "").strip()
    if given and not settings.SENDS_MAIL:
        return _address(request, enrollment, given, _("This site sends no mail, so no address is kept."))
    try:
        cleaned = read_address(given) if given else ""
    except InvalidAddress:
        return _address(request, enrollment, given, _("This is not an e-mail address."))
    now = timezone.now()
    if cleaned and (later := _mails_too_often(request, enrollment, cleaned)):
        return too_many(request, later, what=_("Too many mails were asked for."))
    try:
        actions.give_address(enrollment=enrollment, address=cleaned, language=get_language() or "", now=now)
    except Erased:
        return _forgotten(request, enrollment)
    except NotQueued:
        return _address(request, enrollment, given, str(NOT_QUEUED), status=503)
    return redirect(page_url(request, "link:address"))


def _mails_too_often(request: HttpRequest, enrollment: Enrollment, address: str) -> datetime | None:
    """When the next mail may be asked for, if that is not now."""
    counted = [
        (ASKED_BY_PLACE, str(enrollment.pk)),
        (ASKED_BY_CLIENT, client_of(request)),
        (ASKED_FOR_ADDRESS, address),
    ]
    now = timezone.now()
    return next((later for limit, whom in counted if (later := retry_at(limit, whom, now=now))), None)


def _address(
    request: HttpRequest, enrollment: Enrollment, given: str = "", error: str = "", *, status: int = 422
) -> HttpResponse:
    stored = queries.address_of(enrollment)
    used = queries.confirmed_address_of(enrollment)
    context = {
        "used": hint_of(used.person) if used else "",
        "stored": stored,
        "hint": hint_of(stored.person) if stored else "",
        "email": given,
        "email_error": error,
        "sends_mail": settings.SENDS_MAIL,
        "form_action": request.path,
    }
    return page(request, enrollment, "recruitment/address.html", context, status=status if error else 200)


def _forgotten(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    text = _(
        "You asked for it, so nothing that says who you are is kept here any more. "
        "If you have a question, write to %(contact)s."
    ) % {"contact": enrollment.study.contact}
    return message(request, enrollment, _("You have been forgotten"), text, status=409)


def _unconfirmed(request: HttpRequest, text: str, ways_on: Sequence[dict[str, str]] = ()) -> HttpResponse:
    said = {"heading": _("The address was not confirmed"), "text": text, "actions": ways_on}
    return render(request, "pages/message.html", said, status=410)


def _closed(request: HttpRequest, study: Study, way_out: queries.WayOut | None) -> HttpResponse:
    """Nobody new is let in: because of the study, or into an open one by this link."""
    said: dict[str, object] = {"study": study, "way_out": way_out}
    if study.state in REASON_OF_CLOSED_DOOR:
        closed = refusal_page(Refusal(REASON_OF_CLOSED_DOOR[study.state]))
        said |= {"heading": closed.title, "text": closed.text}
    else:
        said |= {
            "heading": _("Enough people have come"),
            "text": _("Nobody new can come in by this link any more. Thank you for your interest."),
        }
    return render(request, "recruitment/no_way_in.html", said)
