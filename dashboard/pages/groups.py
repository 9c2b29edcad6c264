"""Putting a person into one of the study's groups on a platform, or taking them out, by hand."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotation.models import Study
from annotation.rights import Right, signed_in, study_page
from dashboard.queries import enrollment_called
from dashboard.recruiting.groups import memberships_of
from recruitment import actions
from recruitment.errors import CannotGrant, RecruitmentError


@require_POST
@study_page(post=Right.CHANGE)
def set_group(request: HttpRequest, study: Study, pseudonym: str) -> HttpResponse:
    """Put somebody in or take them out; the platform is told by a worker."""
    person = enrollment_called(study, pseudonym)
    if person is None:
        raise Http404("Nobody in this study has this pseudonym.")
    asked = (request.POST.get("platform", ""), request.POST.get("kind", ""))
    known = {(found.campaign.platform, found.kind.value): found for found in memberships_of(person)}
    try:
        if asked not in known:
            raise CannotGrant(_("There is no such group for this person any more. Nothing was changed."))
        actions.set_membership(
            campaign=known[asked].campaign,
            annotator=person.annotator,
            kind=known[asked].kind,
            is_member=request.POST.get("way") == "in",
            by=signed_in(request),
            now=timezone.now(),
        )
        messages.success(request, _("Written down, and sent to the platform."))
    except RecruitmentError as error:
        messages.error(request, str(error))
    return redirect("dashboard:person", slug=study.slug, pseudonym=pseudonym)
