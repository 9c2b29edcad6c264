"""Excluding a person, so that none of their votes counts, and taking that back."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from annotation import actions
from annotation.actions.exclusions import LONGEST_REASON, standing_exclusion
from annotation.errors import AnnotationError
from annotation.models import Assignment, Enrollment, Story, Study
from annotation.rights import Right, signed_in, study_page
from dashboard.queries import enrollment_called


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(Right.CHANGE)
def exclude(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponse:
    """Exclude somebody, or readmit who is excluded; each with a reason."""
    person = enrollment_called(study, pseudonym)
    if person is None:
        raise Http404("Nobody in this study has this pseudonym.")
    if request.method == "POST":
        return _decide(request, person, pseudonym)
    votes = Assignment.objects.filter(enrollment=person, story__role=Story.Role.MAIN)
    context = {
        "study": study,
        "person": person,
        "pseudonym": pseudonym,
        "standing": standing_exclusion(person),
        "earlier": person.vote_exclusions.of_people().exclude(lifted_at=None).order_by("-pk"),
        "counting": votes.filter(state=Assignment.State.SUBMITTED).count(),
        "excluded": votes.filter(state=Assignment.State.EXCLUDED).count(),
        "told": _(
            "We have stopped collecting answers from you in this study. What you gave is kept and credited. "
            "If you have a question about this, please write to us."
        ),
        "longest": LONGEST_REASON,
    }
    return render(request, "dashboard/exclude.html", context)


def _decide(request: HttpRequest, person: Enrollment, pseudonym: str) -> HttpResponse:
    by, now, reason = signed_in(request), timezone.now(), request.POST.get("reason", "")
    try:
        if request.POST.get("do") == "readmit":
            back = actions.readmit_annotator(enrollment=person, reason=reason, by=by, now=now)
            messages.success(request, _readmitted(back))
        else:
            told = request.POST.get("told", "")
            actions.exclude_annotator(enrollment=person, reason=reason, told=told, by=by, now=now)
            messages.success(
                request, _("Excluded. Their votes stay stored, and their slots are served again.")
            )
    except AnnotationError as error:
        messages.error(request, str(error))
    return redirect("dashboard:exclude", slug=person.study.slug, pseudonym=pseudonym)


def _readmitted(back: actions.Readmission) -> str:
    counting = ngettext(
        "Readmitted: %(votes)s vote counts again.",
        "Readmitted: %(votes)s votes count again.",
        back.counting,
    ) % {"votes": back.counting}
    if not back.displaced:
        return counting
    displaced = ngettext(
        "The slot of %(votes)s had been filled meanwhile: it is surplus.",
        "The slots of %(votes)s had been filled meanwhile: they are surplus.",
        back.displaced,
    ) % {"votes": back.displaced}
    return f"{counting} {displaced}"
