"""Where people arrive."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from annotation.access import link_problem
from annotation.models import Enrollment
from annotation.refusals import refusal_page
from annotation.rules import ON_THE_WAY, REASON_OF_CLOSED_DOOR, Refusal
from annotation.tokens import InvalidToken, read_personal_token
from recruitment import actions
from recruitment.links import visit_path


@csrf_exempt  # the signed token in the path is the authority; no cookie is read
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def arrive(request: HttpRequest, token: str) -> HttpResponse:
    """The page a personal link opens. Looking at it changes nothing; starting is a POST."""
    try:
        enrollment_id = read_personal_token(token)
    except InvalidToken:
        return link_problem(request, expired=False)
    enrollment = Enrollment.objects.select_related("study").get(pk=enrollment_id)
    if enrollment.state in ON_THE_WAY and enrollment.study.state in REASON_OF_CLOSED_DOOR:
        closed = refusal_page(Refusal(REASON_OF_CLOSED_DOOR[enrollment.study.state]))
        said = {"study": enrollment.study, "heading": closed.title, "text": closed.text}
        return render(request, "pages/message.html", said)
    if request.method == "POST":
        return redirect(visit_path(actions.arrive_by_link(enrollment=enrollment, now=timezone.now())))
    context = {
        "study": enrollment.study,
        "state": enrollment.state,
        "form_action": request.path,
    }
    return render(request, "recruitment/arrive.html", context)
