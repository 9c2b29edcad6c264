"""Where the people of a platform arrive, and where they are sent back with their work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.limits import NEW_PLACES, REFUSED_VISITS, client_of, retry_at, used_up
from accounts.models import PlatformIdentity
from annotation.access import annotator_page, may_be_framed, page_url, too_many, work_session, wrong_link
from annotation.models import Enrollment
from annotation.views.common import page
from recruitment import actions, queries, ways_back
from recruitment.arriving.arrival import Arrival, CannotArrive, Problem
from recruitment.arriving.ending import Ending
from recruitment.arriving.mturk import is_preview, read_mturk
from recruitment.links import visit_path
from recruitment.models import Campaign
from recruitment.previewing import preview_context
from recruitment.refusing import refusal_of
from recruitment.verifying import who_comes

MTURK = PlatformIdentity.Platform.MTURK
PREFETCHED = ("prefetch", "prerender")


@never_cache
@require_http_methods(["GET"])  # coming makes a visit, so a HEAD does not come
def campaign(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Somebody comes from a platform: shown what they would do, let in to their visit, or told why not."""
    if _is_prefetched(request):
        return HttpResponse(status=503)
    found = Campaign.objects.select_related("study").filter(study__slug=slug, number=number).first()
    if found is None:
        return wrong_link(request)
    is_framed = found.platform == MTURK
    if found.state == Campaign.State.DRAFT:  # what it will say and pay is not decided yet
        response = _refused(request, found, Problem.NOT_OPEN)
    elif is_framed and is_preview(dict(request.GET.lists())):
        response = render(request, "recruitment/preview.html", preview_context(found))
    else:
        response = _come_in(request, found)
    return may_be_framed(response) if is_framed else response


@require_http_methods(["GET"])  # looking remembers that somebody was sent, so a HEAD does not look
@annotator_page
def hand_in(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """The button that hands the work in where the person came from, and nothing else, once it is done."""
    if _is_prefetched(request):
        return HttpResponse(status=503)
    session = work_session(request)
    now = timezone.now()
    visit = queries.visit_of(session) if session else None
    if visit is None:
        return redirect(page_url(request, "annotation:home"))
    if visit.replaced_at:
        return _taken_anew(request, enrollment)
    outcome = ways_back.outcome_of(visit)
    if outcome:
        over = {"visit": visit, "session": session, "outcome": outcome.value}
        return page(request, enrollment, "recruitment/over.html", over)
    ending = ways_back.ending_of(visit, now=now)
    if ending == Ending.GO_ON:
        return redirect(page_url(request, "annotation:home"))
    way = ways_back.way_to_hand_in(visit, ending)
    if way and ending.is_work:
        actions.send_to_hand_in(visit=visit, now=now)
    context: dict[str, Any] = {
        "visit": visit,
        "ending": ending.value,
        "way": way,
        "session": session,
        "may_be_another": queries.was_taken_before(visit),
    }
    response = page(request, enrollment, "recruitment/hand_in.html", context)
    if way and way.fields:
        sites = [visit.submit_to, *settings.FRAME_ANCESTORS]  # a platform may send on to another of its own
        response._csp_update = {"form-action": sites}  # type: ignore[attr-defined]  # as csp_update does
    return response


def _taken_anew(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """For a page that was left open when its person took the same piece of work once more."""
    said = {
        "heading": _("This page is of an earlier time"),
        "text": _(
            "You gave this piece of work back or its time ran out, and then you took it again. Open it once "
            "more at the place that sent you: it goes on there."
        ),
    }
    return page(request, enrollment, "pages/message.html", said, status=409)


def _come_in(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    now = timezone.now()
    if campaign.platform != MTURK:  # the platform will be asked who they are
        later = used_up(REFUSED_VISITS, client_of(request), now=now)
        if later:
            return too_many(request, later)
    try:
        arrival, is_proven = READERS[campaign.platform](request, campaign)
        is_new = not queries.is_known_visit(campaign, arrival)
        if is_new and (later := retry_at(NEW_PLACES, client_of(request), now=now)):
            return too_many(request, later)
        visit = actions.arrive_for_campaign(campaign=campaign, arrival=arrival, is_proven=is_proven, now=now)
    except CannotArrive as error:
        return _refused(request, campaign, error.problem, other_visit=error.other_visit)
    return redirect(visit_path(visit, is_claimed=not is_proven))


def _from_mturk(request: HttpRequest, campaign: Campaign) -> tuple[Arrival, bool]:
    """Nothing of it is signed, and Mechanical Turk says who has accepted what only once it is handed in."""
    sites = settings.MTURK_SUBMIT_HOSTS[campaign.environment]
    return read_mturk(dict(request.GET.lists()), submit_sites=sites), False


def _from_prolific(request: HttpRequest, campaign: Campaign) -> tuple[Arrival, bool]:
    if any(len(values) > 1 for _name, values in request.GET.lists()):
        raise CannotArrive(Problem.WRONG_IDS)
    return who_comes(campaign, request.GET.dict(), now=timezone.now())


READERS: dict[str, Callable[[HttpRequest, Campaign], tuple[Arrival, bool]]] = {
    MTURK: _from_mturk,
    PlatformIdentity.Platform.PROLIFIC: _from_prolific,
}


def _refused(
    request: HttpRequest, campaign: Campaign, problem: Problem, *, other_visit: int | None = None
) -> HttpResponse:
    """A plain page that says what is wrong and how to get back; it is logged, and nothing is changed."""
    now = timezone.now()
    if later := retry_at(REFUSED_VISITS, client_of(request), now=now):
        return too_many(request, later)
    actions.note_refused_visit(
        study=campaign.study,
        problem=problem,
        campaign_number=campaign.number,
        other_visit=other_visit,
        now=now,
    )
    refusal = refusal_of(problem)
    context = {
        "study": campaign.study,
        "campaign": campaign,
        "heading": refusal.heading,
        "text": refusal.text,
        "may_be_another": problem == Problem.TAKEN_BY_ANOTHER,
        "way": ways_back.way_of_refused(campaign),
    }
    return render(request, "recruitment/refused.html", context, status=refusal.status)


def _is_prefetched(request: HttpRequest) -> bool:
    """Whether a browser fetches the page ahead, without anybody having opened it."""
    said = f"{request.headers.get('Sec-Purpose', '')} {request.headers.get('Purpose', '')}".lower()
    return any(word in said for word in PREFETCHED)
