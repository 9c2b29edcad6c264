"""Resolve the tokens in annotators' addresses, and refuse links that no longer work."""

import enum
import functools
import math
from collections.abc import Callable
from datetime import datetime
from typing import Any, Concatenate, ParamSpec

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import get_script_prefix, reverse
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext, gettext_lazy as _, ngettext, override
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from accounts.rate_limits import LOGGED_ADDRESSES, WRONG_LINKS, RateLimited, client_of, retry_at
from annotation import actions
from annotation.models import Enrollment, Study, WorkSession
from annotation.refusals import texts_of
from annotation.requests import extended
from annotation.sql import get_person
from annotation.tokens import ExpiredToken, InvalidToken, meant_by, read_visit_token
from tomannot import clock

P = ParamSpec("P")
Text = str | Promise
FROM_YOUR_NETWORK = _("There were too many attempts from your network.")
AnnotatorView = Callable[Concatenate[HttpRequest, Enrollment, P], HttpResponse]


def annotator_page(view: AnnotatorView[P]) -> Callable[..., HttpResponse]:
    """Turn ``view(request, enrollment, …)`` into one addressed by a visit token.

    These pages read no session and set no cookie, because other sites frame them with all cookies
    blocked. The token in the path is the whole authority, so there is nothing for CSRF to protect.
    """

    @functools.wraps(view)
    def by_token(request: HttpRequest, token: str, *args: Any, **kwargs: Any) -> HttpResponse:
        expired = False
        try:
            claim = read_visit_token(token)
        except ExpiredToken:
            claim, expired = read_visit_token(token, however_old=True), True
        except InvalidToken:
            return wrong_link(request, token)
        try:
            enrollment, session = get_person(claim.enrollment_id), None
            if claim.session_id is not None:
                session = WorkSession.objects.get(pk=claim.session_id, enrollment=enrollment)
        except (Enrollment.DoesNotExist, WorkSession.DoesNotExist):  # a backup was restored
            return link_problem(request, LinkProblem.GONE)
        if expired:
            return _dead_link(request, LinkProblem.EXPIRED, enrollment, session)
        if enrollment.link_key != claim.link_key:
            return _dead_link(request, _revoked(enrollment), enrollment, session)
        extended(request).work_session = session
        extended(request).is_claimed = claim.is_claimed  # for is_claimed to read
        language = enrollment.language or get_language() or settings.LANGUAGE_CODE
        with override(language):
            response = view(request, enrollment, *args, **kwargs)
        response.headers.setdefault("Content-Language", language)
        return may_be_framed(response) if session and session.framed else response

    return csrf_exempt(never_cache(by_token))


def known_person_page(view: AnnotatorView[P]) -> Callable[..., HttpResponse]:
    """Make an :func:`annotator_page` for visitors whose identity is confirmed.

    Anybody can type an address with somebody's platform id in it. A visitor who came that way gets a token
    that opens only that visit's own work. This stays so after the platform confirms the work, which does
    not say who typed the address.
    """

    @functools.wraps(view)
    def known(
        request: HttpRequest, enrollment: Enrollment, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        if is_claimed(request):
            return refuse_claimed(request, enrollment)
        return view(request, enrollment, *args, **kwargs)

    return annotator_page(known)


def is_claimed(request: HttpRequest) -> bool:
    """Return True if the visitor's identity is only claimed, by an address that anybody could have typed."""
    return bool(getattr(request, "is_claimed", False))


def work_session(request: HttpRequest) -> WorkSession | None:
    """Return the work session of this visit, or None if no platform pays for it."""
    session: WorkSession | None = getattr(request, "work_session", None)
    return session


def session_id(request: HttpRequest) -> int | None:
    """Return the id of the visit's work session, or None."""
    session = work_session(request)
    return session.pk if session else None


def is_given_up(request: HttpRequest) -> bool:
    """Return True if the platform did not confirm the visit, so that its work does not count."""
    session = work_session(request)
    return session is not None and session.state == WorkSession.State.DOUBTED


def keep_session(request: HttpRequest, newer: WorkSession | None) -> None:
    """Show the work session as it is after an answer, if the answer was given in it."""
    if newer and newer.pk == session_id(request):
        extended(request).work_session = newer


def may_be_framed(response: HttpResponse) -> HttpResponse:
    """Allow only the platforms' own pages to frame this response."""
    response.xframe_options_exempt = True  # it knows no list; the policy does
    response._csp_replace = {  # type: ignore[attr-defined]  # as csp.decorators.csp_replace does
        **getattr(response, "_csp_replace", {}),
        "frame-ancestors": list(settings.FRAME_ANCESTORS),
    }
    # With same-origin, a form's way to the platform would carry “Origin: null”.
    response["Referrer-Policy"] = "strict-origin-when-cross-origin"
    return response


def refuse_claimed(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Refuse a page beyond the work itself to a visitor whose identity is only claimed (403)."""
    text = gettext(
        "Anybody could have typed the address that brought you here, so it opens only the assignment you "
        "were sent for. To see, change or delete what we keep about you, write to %(contact)s."
    ) % {"contact": enrollment.study.contact}
    context = {
        "study": enrollment.study,
        "heading": _("Not available from this link"),
        "text": text,
        "actions": [{"url": page_url(request, "annotation:home"), "label": _("Back to the assignment")}],
    }
    return render(request, "pages/message.html", context, status=403)


class LinkProblem(enum.StrEnum):
    """A reason why a link does not work. The template of refusals says what to do about it."""

    WRONG = "link_wrong"
    EXPIRED = "link_expired"
    REVOKED = "link_revoked"
    GONE = "link_gone"
    FORGOTTEN = "link_forgotten"

    @property
    def status(self) -> int:
        """Return the HTTP status of a page that says so: the link never worked, or no longer works."""
        return 404 if self is LinkProblem.WRONG else 410


def wrong_link(request: HttpRequest, token: str = "") -> HttpResponse:
    """Render the page for a link that we never made, or for too many of them (429).

    Only wrong links are counted, so a valid link works whoever else shares its network address. ``token``
    is the forged token; the log of the study that it names records it.
    """
    later = retry_at(WRONG_LINKS, client_of(request), now=clock.now())
    if later:
        return too_many(request, later)
    _note(LinkProblem.WRONG, Study.objects.filter(enrollments=meant_by(token)).first())
    return link_problem(request, LinkProblem.WRONG)


def revoked_link(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Render the page for a link that was replaced or whose owner deleted their data."""
    problem = _revoked(enrollment)
    _note(problem, enrollment.study)
    return link_problem(request, problem)


def _note(problem: LinkProblem, study: Study | None) -> None:
    """Record in the study's log why a link was refused, within the limit for such entries."""
    now = clock.now()
    if study and retry_at(LOGGED_ADDRESSES, str(study.pk), now=now) is None:
        actions.note_refused_address(study=study, why=problem.name.lower(), now=now)


def _revoked(enrollment: Enrollment) -> LinkProblem:
    erased = enrollment.annotator.erased_at is not None
    return LinkProblem.FORGOTTEN if erased else LinkProblem.REVOKED


def _dead_link(
    request: HttpRequest, problem: LinkProblem, enrollment: Enrollment, session: WorkSession | None
) -> HttpResponse:
    """Render the page for a visit that is over, framed if the visit was: a frame shows no other response."""
    _note(problem, enrollment.study)
    if session is None or not session.framed:
        return link_problem(request, problem)
    extended(request).work_session = session
    heading, text = texts_of(problem)
    open_again, give_back = texts_of("framed_visit_over")
    text = text if problem is LinkProblem.FORGOTTEN else open_again
    lost = gettext("What you just sent was not saved.") if request.POST else ""
    context = {
        "study": session.enrollment.study,
        "heading": heading,
        "text": "\n\n".join(filter(None, [text, give_back, lost])),
    }
    return may_be_framed(render(request, "pages/message.html", context, status=problem.status))


def link_problem(request: HttpRequest, problem: LinkProblem) -> HttpResponse:
    """Render the page for a link that never worked (404) or no longer works (410).

    The page also says whether a form sent to that link was saved.
    """
    heading, text = texts_of(problem)
    context: dict[str, Any] = {"heading": heading, "text": text}
    if request.POST and request.headers.get("HX-Request") and problem is not LinkProblem.FORGOTTEN:
        kept = gettext(  # only answers to stories are sent by htmx; the device keeps them
            "The answers you just sent are not saved yet. They are kept on this device and resent "
            "automatically when you open your newest link here."
        )
        context["text"] = f"{text}\n\n{kept}"
    elif request.POST:
        context["text"] = f"{text}\n\n{gettext('What you just sent was not saved.')}"
    if settings.SENDS_MAIL and problem is not LinkProblem.FORGOTTEN:
        context["actions"] = [{"label": _("Send me my link again"), "url": reverse("link:again")}]
    return render(request, "pages/message.html", context, status=problem.status)


def too_many(request: HttpRequest, later: datetime, *, what: Text = FROM_YOUR_NETWORK) -> HttpResponse:
    """Render the page for too many requests (429): what was too much, and when to try again."""
    seconds = max(1, math.ceil((later - clock.now()).total_seconds()))
    minutes = math.ceil(seconds / 60)
    when = ngettext(
        "Please try again in %(minutes)s minute.", "Please try again in %(minutes)s minutes.", minutes
    ) % {"minutes": minutes}
    text = f"{what} {when}"
    context = {"heading": _("Please wait a moment"), "text": text}
    response = render(request, "pages/message.html", context, status=429)
    response["Retry-After"] = str(seconds)
    return response


def rate_limited(view: Callable[P, HttpResponse]) -> Callable[P, HttpResponse]:
    """Answer with :func:`too_many` when the view, which takes the request first, raises ``RateLimited``."""

    @functools.wraps(view)
    def limited(*args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return view(*args, **kwargs)
        except RateLimited as error:
            request = args[0]
            assert isinstance(request, HttpRequest)
            return too_many(request, error.until, what=error.what or FROM_YOUR_NETWORK)

    return limited


_PLACEHOLDER = "token-of-anybody"


@functools.cache
def _page_of_anybody(name: str, _prefix: str) -> str:
    return reverse(name, kwargs={"token": _PLACEHOLDER})


def page_url(request: HttpRequest, name: str, **kwargs: Any) -> str:
    """Return the URL of another page of the same visit."""
    assert request.resolver_match is not None
    token = request.resolver_match.kwargs["token"]
    if kwargs:
        return reverse(name, kwargs={"token": token, **kwargs})
    # A page of a story has nine of these, and looking an address up costs as much as a query.
    return _page_of_anybody(name, get_script_prefix()).replace(f"/{_PLACEHOLDER}/", f"/{token}/", 1)
