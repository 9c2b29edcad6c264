"""Pages of personal links: arriving, joining, and getting the link by e-mail."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import get_language, gettext as _, gettext_lazy, override
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_http_methods

from accounts import rate_limits
from accounts.actions import AddressTaken, AskedToBeForgotten, Erased
from accounts.models import PlatformIdentity
from annotation import access, tokens
from annotation.actions import choose_language
from annotation.models import Enrollment, Study
from annotation.refusals import refusal_page, texts_of
from annotation.rules import REASON_BY_STUDY_STATE, UNDECIDED, Refusal
from annotation.views.common import message, page
from recruitment import actions, queries
from recruitment.errors import CannotJoin, InvalidAddress, NotQueued
from recruitment.join_links import hint_of, read_participant
from recruitment.links import personal_path, visit_path
from recruitment.mails import read_address
from recruitment.models import JoinLink
from tomannot import clock

NOT_QUEUED = gettext_lazy("We couldn’t send the mail. Please try again in a while.")


@csrf_exempt  # the signed token in the path is the authority; no cookie is read
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def arrive(request: HttpRequest, token: str) -> HttpResponse:
    """Welcome the owner of a personal link; start the visit on POST. A GET changes nothing."""
    try:
        enrollment_id, link_key = tokens.read_personal_token(token)
    except tokens.InvalidToken:
        return access.wrong_link(request, token)
    enrollment = Enrollment.objects.select_related("study", "annotator").filter(pk=enrollment_id).first()
    if enrollment is None:
        return access.link_problem(request, access.LinkProblem.GONE)
    if enrollment.link_key != link_key or enrollment.annotator.erased_at:
        return access.revoked_link(request, enrollment)
    if enrollment.state in UNDECIDED and enrollment.study.state in REASON_BY_STUDY_STATE:
        return _closed(request, enrollment.study, queries.leave_address_of(enrollment))
    if "language" in request.POST:
        choose_language(enrollment=enrollment, language=request.POST["language"])
        return redirect(request.path)
    if request.method == "POST":
        page = "consent" if enrollment.state == Enrollment.State.DECLINED else "home"
        return redirect(visit_path(actions.arrive_by_link(enrollment=enrollment, now=clock.now()), page=page))
    context = {
        "study": enrollment.study,
        "state": enrollment.state,
        "joined": enrollment.annotator.identities.filter(platform=queries.LINK).exists(),
        "language_url": request.path,
    }
    with override(enrollment.language or get_language() or settings.LANGUAGE_CODE):
        return render(request, "recruitment/arrive.html", context)


@never_cache
@require_GET  # it may create an enrollment, so no HEAD
@access.rate_limited
def join(request: HttpRequest, slug: str) -> HttpResponse:
    """Enroll a participant who came by the join link, and redirect to their link, which hides their id."""
    link = JoinLink.objects.select_related("study").filter(study__slug=slug).first()
    if link is None:
        return access.wrong_link(request)
    participant = read_participant(request.GET.get(link.parameter))
    if participant is None:
        way_out = queries.leave_address_by(link, participant=None)
        context = {"study": link.study, "way_out": way_out, "is_unknown": True}
        return render(request, "recruitment/no_way_in.html", context, status=400)
    now = clock.now()
    is_new = link.study.state == Study.State.OPEN and not queries.came_by(link, participant).exists()
    if is_new:
        rate_limits.count_try(rate_limits.NEW_ENROLLMENTS, rate_limits.client_of(request), now=now)
    try:
        enrollment = actions.join(link=link, participant=participant, now=now)
    except CannotJoin:
        return _closed(request, link.study, queries.leave_address_by(link, participant=participant))
    except AskedToBeForgotten:
        return access.link_problem(request, access.LinkProblem.FORGOTTEN)
    return redirect(personal_path(enrollment))


@csrf_exempt  # reads no cookie and changes nothing: it sends a mail to an address its owner confirmed
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@access.rate_limited
def again(request: HttpRequest) -> HttpResponse:
    """Send somebody their personal links. The page is the same whether or not the address is known."""
    return answer_request_for_mail(
        request, "recruitment/again.html", lambda address: actions.ask_for_links(address=address)
    )


def answer_request_for_mail(
    request: HttpRequest, template: str, send: Callable[[str], None], *, kind: str = ""
) -> HttpResponse:
    """Show the form for an address, and call ``send`` with it: so often per ``kind``, and without telling.

    Whoever asks gets the same answer for every address, so ``send`` must not take longer for some.
    """
    if not settings.SENDS_MAIL:
        return render(request, template, {"no_mail": True}, status=404)
    if request.method != "POST":
        return render(request, template)
    given = request.POST.get("email", "").strip()
    try:
        address = read_address(given)
    except InvalidAddress:
        context = {"email": given, "email_error": _("This is not an e-mail address.")}
        return render(request, template, context, status=422)
    now = clock.now()
    rate_limits.count_try(rate_limits.ASKED_BY_CLIENT, rate_limits.client_of(request), now=now)
    # A stranger may have used up the address's limit: say the same; its owner has the earlier mails.
    try:
        if not rate_limits.retry_at(rate_limits.ASKED_FOR_ADDRESS, kind + address, now=now):
            send(address)
    except NotQueued:
        context = {"email": given, "email_error": str(NOT_QUEUED)}
        return render(request, template, context, status=503)
    return render(request, template, {"asked": True})


@csrf_exempt  # the signed token in the path is the authority; no cookie is read
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: HttpRequest, token: str) -> HttpResponse:
    """Confirm an e-mail address on POST, by the link in the mail. A GET changes nothing."""
    try:
        identity_id, digest = tokens.read_address_token(token)
        if not tokens.is_digest_of(digest, PlatformIdentity.objects.get(pk=identity_id).person):
            raise PlatformIdentity.DoesNotExist
        if request.method == "POST":
            actions.confirm_address(identity_id=identity_id, now=clock.now())
        confirmed = PlatformIdentity.objects.get(pk=identity_id).confirmed_at is not None
    except tokens.ExpiredToken:
        return _unconfirmed(request, "expired")
    except tokens.InvalidToken:
        return access.wrong_link(request)
    except PlatformIdentity.DoesNotExist:
        return _unconfirmed(request, "removed")
    except AddressTaken:
        return _unconfirmed(request, "taken")
    return render(request, "recruitment/confirm.html", {"confirmed": confirmed})


@require_http_methods(["GET", "HEAD", "POST"])
@access.known_person_page
@access.rate_limited
def address(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Show, store or remove the annotator's e-mail address."""
    if enrollment.annotator.erased_at:
        return _forgotten(request, enrollment)
    if request.method != "POST":
        return _address(request, enrollment)
    given = "" if "forget" in request.POST else request.POST.get("email", "").strip()
    if given and not settings.SENDS_MAIL:
        return _address(request, enrollment, given, _("This site sends no mail, so it keeps no address."))
    try:
        cleaned = read_address(given) if given else ""
    except InvalidAddress:
        return _address(request, enrollment, given, _("This is not an e-mail address."))
    now = clock.now()
    counted = (
        (rate_limits.ASKED_BY_ENROLLMENT, str(enrollment.pk)),
        (rate_limits.ASKED_BY_CLIENT, rate_limits.client_of(request)),
    )
    for limit, whom in (*counted, (rate_limits.ASKED_FOR_ADDRESS, cleaned)) if cleaned else ():
        rate_limits.count_try(limit, whom, now=now, what=_("Too many mails were requested."))
    try:
        actions.give_address(enrollment=enrollment, address=cleaned, language=get_language() or "", now=now)
    except Erased:
        return _forgotten(request, enrollment)
    except NotQueued:
        return _address(request, enrollment, given, str(NOT_QUEUED), status=503)
    return redirect(access.page_url(request, "link:address"))


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
    }
    return page(request, enrollment, "recruitment/address.html", context, status=status if error else 200)


def _forgotten(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    text = _(
        "As you asked, we no longer keep anything that says who you are. If you have a question, "
        "write to %(contact)s."
    ) % {"contact": enrollment.study.contact}
    return message(request, enrollment, _("Your personal data has been deleted"), text, status=409)


def _unconfirmed(request: HttpRequest, problem: str) -> HttpResponse:
    [text] = texts_of(f"address_{problem}", "recruitment/refusals.txt")
    again = {"label": _("Send me my link again"), "url": reverse("link:again")}
    links = [again] if problem == "taken" else []
    context = {"heading": _("The address was not confirmed"), "text": text, "actions": links}
    return render(request, "pages/message.html", context, status=410)


def _closed(request: HttpRequest, study: Study, way_out: str | None) -> HttpResponse:
    """Say that nobody new can join: the study is not open, or the link is full."""
    reason = REASON_BY_STUDY_STATE.get(study.state)
    closed = refusal_page(Refusal(reason)) if reason else None
    context = {"study": study, "way_out": way_out, "closed": closed}
    return render(request, "recruitment/no_way_in.html", context)
