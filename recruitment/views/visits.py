"""Pages for platforms' participants: arriving at a campaign, and handing in. Platforms' notifications."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from accounts.rate_limits import CAMPAIGN_VISITS, REFUSED_VISITS, RateLimited, client_of, count_try, used_up
from annotation import queries as annotation_queries
from annotation.access import annotator_page, may_be_framed, page_url, rate_limited, work_session, wrong_link
from annotation.models import ConsentText, Enrollment
from annotation.protocols.base import Protocol
from annotation.refusals import texts_of
from annotation.views.common import closing_url, continue_link, page
from recruitment import actions, queries, visit_endings
from recruitment.arrival_rules import ArrivalProblem, CannotArrive, Ending, lets_in
from recruitment.links import visit_path
from recruitment.models import Campaign, Visit
from recruitment.pay import advertised_pay
from recruitment.places import has_story_for_newcomers
from recruitment.platforms import PLATFORMS, InvalidHook, platform_named, platform_of
from tomannot import clock

PREFETCHED = ("prefetch", "prerender")
STATUSES = {
    ArrivalProblem.NO_IDS: 400,
    ArrivalProblem.WRONG_IDS: 400,
    ArrivalProblem.FOREIGN_SITE: 400,
    ArrivalProblem.OUT_OF_DATE: 410,
    ArrivalProblem.UNKNOWN_POSTING: 404,
    ArrivalProblem.OTHER_WORK: 409,
    ArrivalProblem.FORGOTTEN: 410,
}
"""HTTP status of the page that refuses an arrival; 403 for other reasons."""


@never_cache
@require_http_methods(["GET"])  # it creates a visit, so no HEAD
def campaign(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Show a preview, start the visit of an arriving participant, or refuse with a reason."""
    if _is_prefetched(request):
        return HttpResponse(status=503)
    campaign = Campaign.objects.select_related("study").filter(study__slug=slug, number=number).first()
    if campaign is None:
        return wrong_link(request)
    response = _preview_or_start(request, campaign)
    return may_be_framed(response) if platform_of(campaign).is_framed else response


@rate_limited
def _preview_or_start(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    if campaign.state == Campaign.State.DRAFT:  # its texts and pay may still change
        return _refused(request, campaign, ArrivalProblem.NOT_OPEN)
    if platform_of(campaign).is_preview(request.GET):
        return render(request, "recruitment/preview.html", _preview(campaign))
    return _start_visit(request, campaign)


@require_http_methods(["GET"])  # it records that the annotator was sent back, so no HEAD
@annotator_page
def hand_in(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Show how the work is handed in: on the platform, or by the code. Say how a settled visit ended."""
    if _is_prefetched(request):
        return HttpResponse(status=503)
    session, now = work_session(request), clock.now()
    visit = queries.visit_of(session)
    if visit is None:
        return _code(request, enrollment)
    if visit.replaced_at:  # the participant took the same assignment again
        text = _(
            "You returned this assignment or its time ran out, and then you took it again. To "
            "continue, open it again on the site that sent you."
        )
        context = {"heading": _("This page is out of date"), "text": text}
        return page(request, enrollment, "pages/message.html", context, status=409)
    outcome = visit_endings.outcome_of(visit)
    if outcome:
        over = {"visit": visit, "session": session, "outcome": outcome.value}
        return page(request, enrollment, "recruitment/over.html", over)
    ending = visit_endings.ending_of(visit, now=now)
    assert session is not None  # a visit found by it
    has_work = session.stories_submitted or session.test_begun
    asks_to = request.META["QUERY_STRING"] == visit_endings.UNFINISHED and has_work
    if ending == Ending.GO_ON and not asks_to:
        return redirect(page_url(request, "annotation:home"))
    ending = Ending.PARTIAL if ending == Ending.GO_ON else ending
    if ending.is_work and annotation_queries.owes_closing_answer(enrollment):
        return redirect(closing_url(request))
    return _way_back(request, enrollment, visit, ending, now=now)


def _way_back(
    request: HttpRequest, enrollment: Enrollment, visit: Visit, ending: Ending, *, now: datetime
) -> HttpResponse:
    """Show the way back to the platform, and record that a visit with work was sent there."""
    session = visit.session
    assert visit.campaign is not None  # only visits for campaigns have a work session
    link = platform_of(visit.campaign).hand_in_link(visit, ending)
    if link and ending.is_work:
        is_partial = ending == Ending.PARTIAL
        ended_by = visit_endings.why_ended(enrollment, session, now=now) if is_partial else ""
        actions.record_hand_in(visit=visit, ended_by=ended_by, now=now)
    context: dict[str, Any] = {
        "visit": visit,
        "ending": ending.value,
        "link": link,
        "session": session,
        "may_be_somebody_else": visit_endings.may_be_somebody_else(visit),
        "goes_on": ending == Ending.PARTIAL and visit_endings.may_go_on(enrollment, session, now=now),
        "actions": [continue_link(request)],
    }
    response = page(request, enrollment, "recruitment/hand_in.html", context)
    if link and link.fields:
        sites = [visit.submit_to, *settings.FRAME_ANCESTORS]  # a platform may send on to another of its own
        response._csp_update = {"form-action": sites}  # type: ignore[attr-defined]  # as csp_update does
    return response


@csrf_exempt  # the platform's signature or password is the authority; no cookie is read
@never_cache
@require_POST
def hook(request: HttpRequest, platform: str, environment: str) -> HttpResponse:
    """Take in a platform's notification. Refuse one that is not proven to be the platform's."""
    if platform not in PLATFORMS:
        raise Http404
    try:
        hint = platform_named(platform).read_hook(request.headers, request.body, environment=environment)
    except InvalidHook as error:
        return HttpResponse(status=error.status, headers=error.headers)
    if hint:
        actions.handle_notification(platform=platform, environment=environment, hint=hint, now=clock.now())
    return HttpResponse(status=204)


def _code(request: HttpRequest, enrollment: Enrollment) -> HttpResponse:
    """Show the completion code of a participant who came by a link, and their way back."""
    completion = queries.completion_of(enrollment)
    if completion is None:
        return redirect(page_url(request, "annotation:home"))
    if annotation_queries.owes_closing_answer(enrollment):
        return redirect(closing_url(request))
    context = {
        "completion": completion,
        "missing": max(0, completion.least_stories - enrollment.stories_submitted),
        "goes_on": enrollment.state == Enrollment.State.QUALIFIED and visit_endings.may_go_on(enrollment),
        "work": annotation_queries.work_so_far(enrollment),
        "actions": [continue_link(request, _("Answer more stories"))],
    }
    return page(request, enrollment, "recruitment/finish.html", context)


def _preview(campaign: Campaign) -> dict[str, Any]:
    """Describe the work with an example of the protocol's own, never with a story of the study."""
    protocol: Protocol = campaign.study.protocol
    consent = ConsentText.objects.filter(study=campaign.study_id).order_by("version").last()
    examples = protocol.instructions.examples
    return {
        "study": campaign.study,
        "campaign": campaign,
        "lets_somebody_in": lets_in(campaign)
        and (campaign.is_test or has_story_for_newcomers(campaign.study)),
        "hourly": advertised_pay(campaign.reward, campaign.minutes_expected),
        "questions": protocol.questions,
        "example_parts": max((example.parts for example in examples), key=len, default=()),
        "consent": consent,
        "countries": ", ".join(campaign.countries),
    }


def _start_visit(request: HttpRequest, campaign: Campaign) -> HttpResponse:
    now = clock.now()
    platform = platform_of(campaign)
    if platform.verifies_arrivals:
        until = used_up(REFUSED_VISITS, client_of(request), now=now)
        if until:
            raise RateLimited(until)
    try:
        arrival, is_proven = platform.read_arrival(campaign, request.GET, now=now)
        if not queries.is_known_visit(campaign, arrival):
            count_try(CAMPAIGN_VISITS, client_of(request), now=now)
        visit = actions.arrive_for_campaign(campaign=campaign, arrival=arrival, is_proven=is_proven, now=now)
    except CannotArrive as error:
        return _refused(request, campaign, error.problem)
    return redirect(visit_path(visit, is_claimed=not is_proven))


def _refused(request: HttpRequest, campaign: Campaign, problem: ArrivalProblem) -> HttpResponse:
    """Say why the arrival is refused and how to get back. Log it; change nothing."""
    now = clock.now()
    count_try(REFUSED_VISITS, client_of(request), now=now)
    actions.record_refused_visit(campaign=campaign, problem=problem, now=now)
    title, text = texts_of(problem, "recruitment/refusals.txt")
    context = {
        "study": campaign.study,
        "campaign": campaign,
        "title": title,
        "text": text,
        "may_be_somebody_else": problem == ArrivalProblem.TEST_TAKEN,
        "link": platform_of(campaign).return_link(campaign),
    }
    return render(request, "recruitment/refused.html", context, status=STATUSES.get(problem, 403))


def _is_prefetched(request: HttpRequest) -> bool:
    said = f"{request.headers.get('Sec-Purpose', '')} {request.headers.get('Purpose', '')}".lower()
    return any(word in said for word in PREFETCHED)
