"""From a platform's id to a person and their work, and what the platform calls a piece of work.

Ids come and go in the bodies of requests only: an address is logged and kept in histories.
"""

from __future__ import annotations

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from annotation.models import Study
from annotation.rights import Right, signed_in, study_page
from annotation.rules import pseudonym
from recruitment import actions
from recruitment.links import page_on_platform
from recruitment.models import Difference, Submission, Visit


@never_cache
@require_POST
@study_page(post=Right.CHANGE)
def find(request: HttpRequest, study: Study) -> HttpResponse:
    """Whom a platform's id is about, and what became of their work."""
    found = actions.look_up(
        study=study,
        remote_id=request.POST.get("remote_id", "").replace("\0", "")[:200],
        by=signed_in(request),
        now=timezone.now(),
    )
    rows = [(one, pseudonym(study.pseudonym_key, one.annotator.pk)) for one in found]
    return render(request, "dashboard/found.html", {"study": study, "rows": rows})


@never_cache
@require_POST
@study_page(post=Right.CHANGE)
def ids_of_difference(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """What the platform calls the work that a difference is about, and its person."""
    found = get_object_or_404(Difference, pk=number, campaign__study=study)
    work = _works(study).filter(pk=found.submission_id or 0).first()
    return _ids(request, study, work or _visits(study).get(pk=found.visit_id or 0))


@never_cache
@require_POST
@study_page(post=Right.CHANGE)
def ids_of_work(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """The same of a piece of work that the platform has listed."""
    return _ids(request, study, get_object_or_404(_works(study), pk=number))


def _ids(request: HttpRequest, study: Study, work: Submission | Visit) -> HttpResponse:
    ids = actions.show_ids(work=work, by=signed_in(request), now=timezone.now())
    annotator = work.enrollment.annotator_id if isinstance(work, Visit) else work.annotator_id
    context = {
        "study": study,
        "ids": ids,
        "campaign": work.campaign,
        "pseudonym": pseudonym(study.pseudonym_key, annotator),
        "address": page_on_platform(work.platform, ids.posting),
    }
    return render(request, "dashboard/ids.html", context)


def _works(study: Study) -> QuerySet[Submission]:
    needed = ("campaign__study", "posting", "visit__enrollment")
    return Submission.objects.filter(campaign__study=study).select_related(*needed)


def _visits(study: Study) -> QuerySet[Visit]:
    needed = ("campaign__study", "posting", "enrollment")
    return Visit.objects.filter(campaign__study=study).select_related(*needed)
