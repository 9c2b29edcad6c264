"""The accepted answers of several hidden checks on one page."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from annotation import actions
from annotation.errors import InvalidCheckKeys
from annotation.models import Study
from annotation.rights import Right, signed_in, study_page
from dashboard.check_keys import CheckTable
from qualification.experts import closed_texts


@require_http_methods(["GET", "HEAD", "POST"])
@study_page(Right.CHANGE)
def check_keys(request: HttpRequest, study: Study) -> HttpResponse:
    """A row for each check that nobody has answered; a POST saves the changed rows, all or none."""
    sent = request.POST if request.method == "POST" else None
    table = CheckTable(study, closed=closed_texts(signed_in(request)), data=sent)
    if sent is not None and table.is_valid():
        try:
            made = actions.set_check_keys(
                proposed=table.proposed(), by=signed_in(request), now=timezone.now()
            )
            messages.success(request, _said(len(made)))
            return redirect("dashboard:checks", slug=study.slug)
        except InvalidCheckKeys as refused:
            table.refuse(refused.problems)
    context = {"study": study, "table": table, "problems": table.problems}
    return render(request, "dashboard/check_keys.html", context, status=422 if sent is not None else 200)


def _said(saved: int) -> str:
    if not saved:
        return _("Nothing was changed.")
    text = ngettext(
        "Saved. %(n)s check has these known answers and is in use.",
        "Saved. %(n)s checks have these known answers and are in use.",
        saved,
    )
    return text % {"n": saved}
