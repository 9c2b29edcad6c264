"""Find a participant by a platform's id, and show the platform's ids of a submission.

Ids travel in request and response bodies only, since addresses are logged and kept in histories.
"""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from annotation.models import Study
from annotation.rights import Right, by_and_now, write_page
from annotation.rules import pseudonym
from recruitment import actions
from recruitment.models import Mismatch, Submission, Visit
from recruitment.platforms import platform_of


@write_page(Right.CHANGE)
def find_by_id(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the participant with a platform's id, and their submissions."""
    found = actions.look_up(
        study=study,
        remote_id=request.POST.get("remote_id", "").replace("\0", "")[:200],
        **by_and_now(request),
    )
    rows = [(one, pseudonym(study.pseudonym_key, one.annotator.pk)) for one in found]
    return render(request, "dashboard/recruitment/found.html", {"rows": rows})


@write_page(Right.CHANGE)
def mismatch_ids(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Show the platform's ids of a mismatch's submission and participant."""
    found = get_object_or_404(Mismatch, pk=number, campaign__study=study)
    work = found.submission or found.visit
    assert work is not None  # the database asks for one of the two
    return _ids(request, study, work)


@write_page(Right.CHANGE)
def submission_ids(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Show the platform's ids of a submission and its participant."""
    return _ids(request, study, get_object_or_404(Submission, pk=number, campaign__study=study))


def _ids(request: HttpRequest, study: Study, work: Submission | Visit) -> HttpResponse:
    ids = actions.show_ids(work=work, **by_and_now(request))
    assert work.campaign is not None  # the visits and submissions of campaigns alone are shown
    platform = platform_of(work.campaign)
    context = {
        "ids": ids,
        "campaign": work.campaign,
        "words": platform.words,
        "pseudonym": pseudonym(study.pseudonym_key, work.annotator_id),
        "address": platform.work_page(ids["posting"]),
    }
    return render(request, "dashboard/recruitment/ids.html", context)
