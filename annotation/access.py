"""The one way from an address to the person it stands for."""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Callable
from datetime import datetime
from typing import Any, Concatenate, ParamSpec

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from accounts.limits import LOGGED_ADDRESSES, WRONG_LINKS, client_of, retry_at
from annotation import actions
from annotation.models import Enrollment, Study, WorkSession
from annotation.sql import get_person
from annotation.tokens import ExpiredToken, InvalidToken, VisitClaim, meant_by, read_visit_token

P = ParamSpec("P")
Text = str | Promise
FROM_YOUR_NETWORK = _("Too many tries came from your network.")
AnnotatorView = Callable[Concatenate[HttpRequest, Enrollment, P], HttpResponse]


def annotator_page(view: AnnotatorView[P]) -> Callable[..., HttpResponse]:
    """Turn ``view(request, enrollment, …)`` into one addressed by a visit token.

    These pages read no session and set no cookie, because other sites frame them with all cookies
    blocked. The token in the path is the whole authority, so there is nothing for CSRF to protect.
    """

    @functools.wraps(view)
    def by_token(request: HttpRequest, token: str, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            claim = read_visit_token(token)
        except ExpiredToken:
            claim = read_visit_token(token, however_old=True)
            return _dead_link(
                request, LinkProblem.EXPIRED, get_person(claim.enrollment_id), _session_of(claim)
            )
        except InvalidToken:
            return wrong_link(request, token)
        enrollment, session = get_person(claim.enrollment_id), _session_of(claim)
        if enrollment.link_version != claim.link_version:
            return _dead_link(request, _revoked(enrollment), enrollment, session)
        _set_session(request, session)
        request.is_claimed = claim.is_claimed  # type: ignore[attr-defined]  # for is_claimed to read
        response = view(request, enrollment, *args, **kwargs)
        return may_be_framed(response) if session and session.framed else response

    return csrf_exempt(never_cache(by_token))


def known_person_page(view: AnnotatorView[P]) -> Callable[..., HttpResponse]:
    """An :func:`annotator_page` for those who are known to be who they are.

    An address with somebody's id on a platform can be typed by anybody. Who came by it therefore gets a token
    that opens nothing but that visit's own work, also when the platform has confirmed this work since: it
    has not said who typed the address.
    """

    @functools.wraps(view)
    def known(
        request: HttpRequest, enrollment: Enrollment, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        if is_claimed(request):
            return only_claimed(request, enrollment)
        return view(request, enrollment, *args, **kwargs)

    return annotator_page(known)


def is_claimed(request: HttpRequest) -> bool:
    """Whether whoever asks came by an address that anybody could have typed."""
    claimed: bool = getattr(request, "is_claimed", False)
    return claimed


def work_session(request: HttpRequest) -> WorkSession | None:
    """The work session of the visit whose page this is; None when the visit is not paid by the piece."""
    session: WorkSession | None = getattr(request, "work_session", None)
    return session


def _set_session(request: HttpRequest, session: WorkSession | None) -> None:
    """Say of which visit a request is: the one place that does, for :func:`work_session` to read."""
    request.work_session = session  # type: ignore[attr-defined]


def session_id(request: HttpRequest) -> int | None:
    """The number of :func:`work_session`."""
    session = work_session(request)
    return session.pk if session else None


def is_given_up(request: HttpRequest) -> bool:
    """Whether the visit's work does not count, so that nothing more is to be done in it."""
    session = work_session(request)
    return session is not None and session.state == WorkSession.State.DOUBTED


def keep_session(request: HttpRequest, newer: WorkSession | None) -> None:
    """From here on the page shows the work session as it is after an answer, if that was given in it."""
    if newer and newer.pk == session_id(request):
        _set_session(request, newer)


def may_be_framed(response: HttpResponse) -> HttpResponse:
    """Let the platforms' own pages, and nobody else's, show this one in a frame."""
    response.xframe_options_exempt = True  # it knows no list; the policy does
    response._csp_replace = {  # type: ignore[attr-defined]  # as csp.decorators.csp_replace does
        **getattr(response, "_csp_replace", {}),
        "frame-ancestors": list(settings.FRAME_ANCESTORS),
    }
    # With same-origin, a form's way to the platform would carry “Origin: null”.
    response["Referrer-Policy"] = "strict-origin-when-cross-origin"
    return response


def _session_of(claim: VisitClaim) -> WorkSession | None:
    if claim.session_id is None:
        return None
    return WorkSession.objects.get(pk=claim.session_id, enrollment=claim.enrollment_id)


def only_claimed(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """The page for who came by an address that anybody could have typed, and asks for more than the work."""
    text = gettext(
        "Anybody could have typed the address by which you came here, so this page shows only the work you "
        "were sent for. To see, change or erase what is kept about you, write to %(contact)s."
    ) % {"contact": enrollment.study.contact}
    context = {
        "study": enrollment.study,
        "heading": _("This is not shown here"),
        "text": text,
        "actions": [{"url": page_url(request, "annotation:home"), "label": _("Back to the work")}],
    }
    return render(request, "pages/message.html", context, status=403)


_OPEN_AGAIN = _(
    "Please open the work again at the place that sent you: its page comes anew. Everything you have saved "
    "is still there."
)
_GIVE_BACK = _(
    "If you do not want to do it or cannot, give the HIT back with the button “Return” beside this page, so "
    "that somebody else can take it."
)


class LinkProblem(enum.Enum):
    """Why an address opens nothing: status, heading and what to do about it."""

    WRONG = (
        404,
        _("This link does not work"),
        _(
            "It may have been cut off when it was copied. Please open the link you were sent again, "
            "or copy it as a whole. If it still does not work, write to the people who invited you."
        ),
    )
    EXPIRED = (
        410,
        _("This page has been open for too long"),
        _(
            "Please open your personal link again, or the study at the place that invited you. "
            "Everything you have saved is still there."
        ),
    )
    REVOKED = (
        410,
        _("This link has been replaced"),
        _(
            "It does not open anything any more, so that nobody else can use it. Please open the newest link "
            "you were sent, or write to the people who invited you. Everything you have saved is still there."
        ),
    )
    FORGOTTEN = (
        410,
        _("You have been forgotten"),
        _(
            "You have left, and everything that said who you are has been erased, as you asked. "
            "So that nobody answers a story twice, your place cannot be opened again. "
            "Thank you for the time you gave. If you have a question, write to the people who invited you."
        ),
    )


def wrong_link(request: HttpRequest, token: str = "") -> HttpResponse:
    """The page for an address that we never made; after too many of them, one that asks to wait.

    Only wrong addresses are counted, so that people with a right one are let in whoever shares their
    network address. ``token``: the forged one of a person's page or link, of which its study's log is told.
    """
    later = retry_at(WRONG_LINKS, client_of(request), now=timezone.now())
    if later:
        return too_many(request, later)
    _note(LinkProblem.WRONG, Study.objects.filter(enrollments=meant_by(token)).first())
    return link_problem(request, LinkProblem.WRONG)


def revoked_link(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """The page for an address that was the person's own once."""
    problem = _revoked(enrollment)
    _note(problem, enrollment.study)
    return link_problem(request, problem)


def _note(problem: LinkProblem, study: Study | None) -> None:
    """Have the study's log say that an address was refused and why; not more often than anybody reads."""
    now = timezone.now()
    if study and retry_at(LOGGED_ADDRESSES, str(study.pk), now=now) is None:
        actions.note_refused_address(study=study, why=problem.name.lower(), now=now)


def _revoked(enrollment: Enrollment) -> LinkProblem:
    erased = enrollment.annotator.erased_at is not None
    return LinkProblem.FORGOTTEN if erased else LinkProblem.REVOKED


def _dead_link(
    request: HttpRequest, problem: LinkProblem, enrollment: Enrollment, session: WorkSession | None
) -> HttpResponse:
    """The page for a visit's address that is over: also in its frame, where the browser shows no other."""
    _note(problem, enrollment.study)
    if session is None or not session.framed:
        return link_problem(request, problem)
    _set_session(request, session)
    status, heading, text = problem.value
    text = text if problem is LinkProblem.FORGOTTEN else _OPEN_AGAIN
    lost = gettext("What you have just sent was not saved.") if request.POST else ""
    context = {
        "study": session.enrollment.study,
        "heading": heading,
        "text": "\n\n".join(filter(None, [str(text), str(_GIVE_BACK), lost])),
    }
    return may_be_framed(render(request, "pages/message.html", context, status=status))


def link_problem(request: HttpRequest, problem: LinkProblem) -> HttpResponse:
    """The page for an address that opens nothing (404) or nothing any more (410).

    It also says what became of a form that was sent there.
    """
    status, heading, text = problem.value
    context: dict[str, Any] = {"heading": heading, "text": text}
    if request.POST:
        context["text"] = f"{text}\n\n{_lost(request, problem)}"
    if settings.SENDS_MAIL and problem is not LinkProblem.FORGOTTEN:
        context["actions"] = [{"label": _("Send me my link again"), "url": reverse("link:again")}]
    return render(request, "pages/message.html", context, status=status)


def _lost(request: HttpRequest, problem: LinkProblem) -> str:
    """What became of the form; only answers to stories are sent by htmx, and they are kept as drafts."""
    if request.headers.get("HX-Request") and problem is not LinkProblem.FORGOTTEN:
        return gettext(
            "The answers you have just sent are not saved. They are kept on this device, and are sent by "
            "themselves when you open your newest link here."
        )
    return gettext("What you have just sent was not saved.")


def too_many(request: HttpRequest, later: datetime, *, what: Text = FROM_YOUR_NETWORK) -> HttpResponse:
    """The page for somebody who tries too often (429): of what there was too much, and when to try again."""
    seconds = max(1, math.ceil((later - timezone.now()).total_seconds()))
    minutes = math.ceil(seconds / 60)
    when = ngettext(
        "Please try again in %(minutes)s minute.", "Please try again in %(minutes)s minutes.", minutes
    ) % {"minutes": minutes}
    text = f"{what} {when}"
    context = {"heading": _("Please wait a little"), "text": text}
    response = render(request, "pages/message.html", context, status=429)
    response["Retry-After"] = str(seconds)
    return response


def page_url(request: HttpRequest, name: str, **kwargs: Any) -> str:
    """The address of another page of the same visit."""
    assert request.resolver_match is not None
    return reverse(name, kwargs={"token": request.resolver_match.kwargs["token"], **kwargs})
