"""A person's tests and the visits in which they came, and letting them take the test again."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.actions.enrollments import LONGEST_REASON
from annotation.errors import AnnotationError
from annotation.models import Enrollment, Study
from annotation.rights import Right, rights_in, signed_in, study_page
from dashboard.actions import let_take_test_again
from dashboard.people.retaking import retaking_of
from dashboard.queries import enrollment_called


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@study_page(post=Right.CHANGE)
def tests(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponse:
    """What somebody has taken, which of their visits are proven; a POST lets them take the test again."""
    person = enrollment_called(study, pseudonym)
    if person is None:
        raise Http404("Nobody in this study has this pseudonym.")
    if request.method != "POST":
        context = {
            "study": study,
            "person": person,
            "pseudonym": pseudonym,
            "retaking": retaking_of(person),
            "longest": LONGEST_REASON,
            "may_change": Right.CHANGE in rights_in(request.user, study),
        }
        return render(request, "dashboard/tests.html", context)
    _give_back(request, person)
    return redirect("dashboard:tests", slug=study.slug, pseudonym=pseudonym)


def _give_back(request: HttpRequest, person: Enrollment) -> None:
    """Let the person take the test again, and say what came of it."""
    try:
        let_take_test_again(
            enrollment=person,
            was_somebody_else="somebody_else" in request.POST,
            reason=request.POST.get("reason", ""),
            seen=int(request.POST.get("seen", "")),
            by=signed_in(request),
            now=timezone.now(),
        )
        messages.success(
            request, _("Done. They can begin as soon as they open the work or their link again.")
        )
    except ValueError:
        messages.error(request, _("Nothing was saved: the form was not complete. Decide again."))
    except AnnotationError as error:
        messages.error(request, str(error))
