"""What a researcher does about one person, from their page: pause them, let them go on, renew their link."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from annotation import actions
from annotation.actions.exclusions import check_reason
from annotation.errors import AnnotationError
from annotation.models import Study
from annotation.rights import Right, signed_in, study_page
from dashboard.persons import may_have_link
from dashboard.queries import enrollment_called
from recruitment.actions import send_link
from recruitment.errors import RecruitmentError
from recruitment.links import personal_link


@require_POST
@study_page(Right.CHANGE)
def set_standing(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponse:
    """Suspend somebody, who then reads what they are ``told``, or let them go on; each with a ``reason``."""
    person = enrollment_called(study, pseudonym)
    if person is None:
        raise Http404("Nobody in this study has this pseudonym.")
    by, now, do = signed_in(request), timezone.now(), request.POST.get("do", "")
    try:
        reason = check_reason(request.POST.get("reason", ""))
        if do == "suspend":
            told = request.POST.get("told", "")
            actions.suspend(enrollment=person, reason=told, note=reason, by=by, now=now)
            messages.success(request, _("Suspended: they are given no more stories. Their votes count on."))
        elif do == "let_go_on":
            actions.reinstate(enrollment=person, reason=reason, by=by, now=now)
            messages.success(request, _("They can go on. Failed checks are counted anew from now on."))
    except AnnotationError as error:
        messages.error(request, str(error))
    return redirect("dashboard:person", slug=study.slug, pseudonym=pseudonym)


@never_cache
@require_POST
@study_page(Right.CHANGE)
def persons_link(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponse:
    """Mail somebody their link again, or with ``do=renew`` end it and show the new one, this once."""
    person = enrollment_called(study, pseudonym)
    if person is None:
        raise Http404("Nobody in this study has this pseudonym.")
    by = signed_in(request)
    try:
        if request.POST.get("do") != "renew":
            send_link(enrollment=person, by=by)
            messages.success(request, _("Their link is on its way to them."))
        elif may_have_link(person):
            person = actions.revoke_link(enrollment=person, by=by, now=timezone.now())
            context = {"study": study, "pseudonym": pseudonym, "link": personal_link(person)}
            return render(request, "dashboard/new_link.html", context)
        else:
            messages.error(
                request,
                _("No new link is made for who comes by their work on a platform, or has been forgotten."),
            )
    except (AnnotationError, RecruitmentError) as error:
        messages.error(request, str(error))
    return redirect("dashboard:person", slug=study.slug, pseudonym=pseudonym)
